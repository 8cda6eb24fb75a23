//! Providers and the loop as they are used: real requests over loopback, real tools, a real store.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod ceilings;
mod faults;
mod instructions;
mod protocols;
mod recording;
mod sessions;
mod talk;
mod world;
