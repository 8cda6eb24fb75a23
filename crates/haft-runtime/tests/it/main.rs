//! Calls through the whole pipeline, as a host makes them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop"
)]

mod arguments;
mod bounds;
mod events;
mod hooks;
mod interleavings;
mod life;
mod memory;
mod permission;
mod registry;
mod repetition;
mod storing;
mod world;
