//! Everything this crate promises, with real processes: as root and as another user.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test stops at what it did not expect, and says what it skipped"
)]

mod commands;
mod ending;
mod escape;
mod network;
mod prompts;
mod proxy;
mod rooms;
mod sandbox;
mod world;
