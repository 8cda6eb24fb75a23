//! Everything this crate promises: on the corpora, on random scripts, and against bash itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    reason = "a test stops at what it did not expect, and says what it counted"
)]

mod corpus;
mod findings;
mod gate;
mod paths;
mod programs;
mod properties;
mod scripts;
mod ways_out;
