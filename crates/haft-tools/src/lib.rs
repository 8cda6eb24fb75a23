//! The tools that come with haft: one file and one text each. The public API is [`register`],
//! [`Commands`] for hosts that let commands run, and [`Web`] for hosts that let the web be read.

use haft_runtime::Registry;

mod apply_patch;
mod bash;
mod batch;
mod change;
mod codesearch;
mod commands;
mod edit;
mod files;
mod glob;
mod grep;
mod invalid;
mod job;
mod jobs;
mod list;
mod question;
mod read;
mod search;
mod stamps;
mod text_file;
mod todoread;
mod todos;
mod todowrite;
mod undo;
mod web;
mod webfetch;
mod websearch;
mod write;

pub use bash::confine::perhaps_secret;
pub use commands::{CommandSettings, Commands, Grounds, SandboxMode};
pub use web::{Web, WebSettings};

/// The rules that hold where nobody has written others, in the form of a rules file.
pub const DEFAULT_RULES: &str = include_str!("default_rules.toml");

/// What a model does with the path of an output that was too long to show.
pub const KEPT_HINT: &str = "read takes this path, with offset and limit; grep searches it";

/// Adds every tool, in the order in which models are shown them.
pub fn register(registry: &mut Registry) {
    registry
        .tool::<read::Read>()
        .tool::<list::List>()
        .tool::<glob::Glob>()
        .tool::<grep::Grep>()
        .tool::<write::Write>()
        .tool::<edit::Edit>()
        .tool::<apply_patch::ApplyPatch>()
        .tool::<undo::Undo>()
        .tool::<bash::Bash>()
        .tool::<job::Jobs>()
        .tool::<webfetch::WebFetch>()
        .tool::<websearch::WebSearch>()
        .tool::<codesearch::CodeSearch>()
        .tool::<todowrite::TodoWrite>()
        .tool::<todoread::TodoRead>()
        .tool::<question::AskUser>()
        .tool::<batch::Batch>()
        .fallback::<invalid::Invalid>();
}
