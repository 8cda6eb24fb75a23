//! Everything this crate promises, on real files and with real processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at what it did not expect"
)]

mod journal;
mod searching;
mod writing;
