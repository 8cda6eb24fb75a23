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
mod codesearch;
mod edit;
mod every_tool;
mod glob;
mod grep;
mod hazards;
mod invalid;
mod job;
mod list;
mod question;
mod read;
mod sequences;
#[path = "../../../haft-web/tests/it/site.rs"]
mod site;
mod tidy;
mod todoread;
mod todowrite;
mod undo;
mod webfetch;
mod websearch;
mod world;
mod write;
