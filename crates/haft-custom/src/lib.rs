//! What users add to haft: hooks, tools, skills and agents, each a file or a program of theirs.
//!
//! Nothing here decides whom to believe: the host gives only what the user wrote or has trusted.

mod hooks;
mod program;
mod tools;
pub mod tree;

pub use hooks::{CommandHooks, HookEntry, HookEvent, OnFailure};
pub use program::{Origin, Programs};
pub use tools::{Broken, CustomTool, FoundTools, Manifest, Seal, find_tools};
