//! A hook as a config file has it, and the tools it is for.

use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::program::Origin;
use crate::tree;

/// How long a hook may take if it is not told otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);

/// When a hook runs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum HookEvent {
    /// Before a call: may rewrite it, refuse it, allow it, or have the user asked.
    PreToolUse,
    /// When the user is about to be asked: may answer instead.
    PermissionRequest,
    /// After a call: may rewrite the answer, add to it, or refuse it.
    PostToolUse,
    /// After a call that failed, was denied, or was refused.
    PostToolUseFailure,
    /// When work in a session begins.
    SessionStart,
    /// When it is over.
    SessionEnd,
}

impl HookEvent {
    /// The word that it is written as.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PermissionRequest => "PermissionRequest",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
        }
    }
}

/// A command that is run at an event: JSON on its standard input, JSON on its standard output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookEntry {
    /// The tools it is for: names with `|` between them, a regular expression for whole names, or `*`
    /// (all). For SessionStart: `startup` or `resume`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// What to run, as for `bash -c`, in the workspace root.
    pub command: String,
    /// Seconds it may take (60).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// Whether it runs in the sandbox (true). A project's own hooks always do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<bool>,
    /// What happens to the call if the hook fails (`block`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
}

/// What happens to a call whose hook fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// It is refused.
    Block,
    /// It goes on.
    Ignore,
}

/// A hook that is ready to run.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) event: HookEvent,
    pub(super) command: String,
    pub(super) timeout: Duration,
    pub(super) is_confined: bool,
    pub(super) on_failure: OnFailure,
    /// Files of the project that it runs, as they were when they were trusted.
    bound: Vec<(PathBuf, String)>,
    /// None: for all.
    matcher: Option<Regex>,
}

/// Most words of a command that are looked at.
const LOOKED_AT: usize = 200;

/// The files of a project that a command names: what trusting the command must bind.
#[must_use]
pub fn hook_files(command: &str, root: &Path) -> Vec<PathBuf> {
    let ends_word = |c: char| c.is_whitespace() || "\"'`;|&<>()=$,".contains(c);
    let words = command.split(ends_word).filter(|word| !word.is_empty()).take(LOOKED_AT);
    let mut files: Vec<PathBuf> = words
        .filter_map(|word| fs_err::canonicalize(root.join(word)).ok())
        .filter(|path| path.starts_with(root) && path.is_file())
        .collect();
    files.sort();
    files.dedup();
    files
}

fn content(path: &Path) -> String {
    tree::hash(path).unwrap_or_else(|_| "unreadable".to_owned())
}

impl Ready {
    pub(super) fn new(
        event: HookEvent,
        entry: HookEntry,
        origin: Origin,
        root: &Path,
    ) -> Result<Self, String> {
        let HookEntry { matcher, command, timeout, confined, on_failure } = entry;
        if command.trim().is_empty() || command.contains('\0') {
            return Err(format!("a hook for {} has no command to run", event.as_str()));
        }
        let matcher = matcher.filter(|text| !matches!(text.trim(), "" | "*"));
        let matcher = matcher.map(|text| compile(&text)).transpose()?;
        let files = match origin {
            Origin::Project => hook_files(&command, root),
            Origin::User => Vec::new(),
        };
        let bound = files.into_iter().map(|path| (path.clone(), content(&path))).collect();
        Ok(Self {
            event,
            command,
            timeout: timeout.map_or(TIMEOUT, Duration::from_secs),
            is_confined: confined.unwrap_or(true) || origin == Origin::Project,
            on_failure: on_failure.unwrap_or(OnFailure::Block),
            bound,
            matcher,
        })
    }

    /// The first file that is not what it was when this program was started.
    pub(super) fn changed(&self) -> Option<&Path> {
        let changed = self.bound.iter().find(|(path, hash)| content(path) != *hash);
        changed.map(|(path, _)| path.as_path())
    }

    pub(super) fn is_for(&self, event: HookEvent, name: &str) -> bool {
        let matches = |matcher: &Regex| matcher.is_match(name);
        self.event == event && self.matcher.as_ref().is_none_or(matches)
    }
}

/// Whole names, in any case: hooks written for other programs say `Bash`, and one that guards
/// something must not miss it for that.
fn compile(matcher: &str) -> Result<Regex, String> {
    let whole = format!("(?i)^(?:{matcher})$");
    let bad = |error| format!("the matcher `{}` is no pattern: {error}", super::shown(matcher));
    Regex::new(&whole).map_err(bad)
}
