//! The matching engine as a whole: scored on a corpus, held to properties, and read by name.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test stops at what it did not expect, and takes its seed from the environment"
)]

mod corpus;
mod landing;
mod misses;
mod properties;
mod score;
