//! What users add to haft: hooks, tools, skills and agents, each a file or a program of theirs.
//!
//! Nothing here decides whom to believe: the host gives only what the user wrote or has trusted.

mod agents;
mod bm25;
mod front_matter;
mod hooks;
mod program;
mod skills;
mod tool_search;
mod tools;
pub mod tree;

pub use agents::{
    AgentDefinition, AgentMode, FoundAgents, agent_files, built_in_agents, find_agents,
};
pub use hooks::{CommandHooks, HookEntry, HookEvent, OnFailure, hook_files};
pub use program::{Origin, Programs};
pub use skills::{FoundSkills, Skill, SkillTool, skill_folders, skill_scripts};
pub use tool_search::ToolSearch;
pub use tools::{Broken, CustomTool, FoundTools, Manifest, Seal, find_tools, manifest_runs};
