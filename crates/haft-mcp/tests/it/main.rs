//! The server as clients meet it: the official suite, and what takes a clock of one's own to see.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops at what it did not expect"
)]

mod changes;
mod client;
mod conformance;
mod parking;
mod progress;
mod servers;
#[path = "../../../haft-web/tests/it/site.rs"]
mod site;
