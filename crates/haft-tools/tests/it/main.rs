//! The tools as a model calls them: through the whole pipeline, on a real store.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop"
)]

mod apply_patch;
mod batch;
mod edit;
mod every_tool;
mod glob;
mod grep;
mod hazards;
mod invalid;
mod list;
mod question;
mod read;
mod sequences;
mod tidy;
mod todoread;
mod todowrite;
mod undo;
mod world;
mod write;
