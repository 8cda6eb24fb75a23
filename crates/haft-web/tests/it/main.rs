//! The web against servers on this machine: honest, broken and hostile ones.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop"
)]

mod bombs;
mod fetching;
mod hostile;
mod lines;
mod pages;
mod providers;
mod proxies;
mod site;
mod tls;
