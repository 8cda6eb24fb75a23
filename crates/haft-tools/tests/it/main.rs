//! The tools as a model calls them: through the whole pipeline, on a real store.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop, and say what it skipped"
)]

mod apply_patch;
mod bash;
mod batch;
mod edit;
mod every_tool;
mod glob;
mod grep;
mod hazards;
mod invalid;
mod job;
mod list;
mod network;
mod question;
mod read;
mod sequences;
mod tidy;
mod todoread;
mod todowrite;
mod undo;
mod world;
mod write;
