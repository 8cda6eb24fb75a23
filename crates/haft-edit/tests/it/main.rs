//! The crate as a whole: the engine scored on a corpus, patches and diffs held to properties, and both read by name.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test stops at what it did not expect, says what it left out, and takes its seed from the environment"
)]

mod corpus;
mod diffs;
mod git;
mod landing;
mod misses;
mod nasty;
mod patch_places;
mod patch_texts;
mod properties;
mod round_trips;
mod score;
mod slips;
mod texts;
