//! Everything this crate promises: places, patches and diffs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    reason = "a test stops at what it did not expect, and says what it left out"
)]

mod diffs;
mod git;
mod nasty;
mod patch_places;
mod patch_texts;
mod round_trips;
mod texts;
