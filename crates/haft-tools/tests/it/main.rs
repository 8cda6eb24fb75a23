//! The tools as a model calls them: through the whole pipeline, on a real store.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop"
)]

mod batch;
mod every_tool;
mod glob;
mod grep;
mod invalid;
mod list;
mod question;
mod read;
mod tidy;
mod todoread;
mod todowrite;
mod world;
