//! The server as clients meet it: the official suite, and what takes a clock of one's own to see.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test stops at what it did not expect, and says what it skips"
)]

mod changes;
mod client;
mod conformance;
mod parking;
mod progress;
