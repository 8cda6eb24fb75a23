//! What users add, as a model meets it: through the whole pipeline, with real programs.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop"
)]

mod hooks;
mod tool_search;
mod tools;
mod world;
