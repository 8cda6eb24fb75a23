//! The tools as a model calls them: through the whole pipeline, on a real store.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::string_slice,
    reason = "a test that cannot go on should stop, and say what it skipped"
)]

mod against_bash;
mod apply_patch;
mod bash;
mod batch;
mod codesearch;
mod edit;
mod endurance;
mod every_tool;
mod foretold;
mod glob;
mod grep;
mod hazards;
mod invalid;
mod job;
mod list;
mod network;
mod question;
mod read;
#[path = "../../../haft-shell/tests/it/scripts.rs"]
mod scripts;
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
