//! What the host decides about commands, for the tools that run them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use haft_exec::sandbox::{Demand, Network, Protected};
use haft_exec::{Command, Keeper, Reach, Rules, Sandbox, environment};
use haft_runtime::permission::{Action, Clearance, Effect};
use haft_runtime::{Context, SessionId, ToolError};
use haft_workspace::Workspace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bash::confine::sandbox;
use crate::bash::hosts;
use crate::bash::stash::Stash;
use crate::jobs::Jobs;

/// What the tools `bash` and `job` need of their host; shared by
/// [`Builder::share`](haft_runtime::Builder::share). Dropping it ends every command.
#[derive(Debug)]
pub struct Commands {
    keeper: Keeper,
    settings: CommandSettings,
    pub(crate) jobs: Jobs,
    pub(crate) stash: Arc<Stash>,
}

/// What a command's sandbox is made after.
pub struct Grounds<'a> {
    /// Where it works.
    pub workspace: &'a Arc<Workspace>,
    /// The session it runs for.
    pub session: &'a SessionId,
    /// What it was allowed to do.
    pub effects: &'a [Effect],
    /// What the rules say of an effect: files that may not be read are hidden from it.
    pub ruled: &'a (dyn Fn(&Effect) -> Action + Sync),
    /// What rules and grants say of hosts; without it, none is opened for this command.
    pub hosts: Option<Clearance>,
}

/// How commands are run, and what they may do.
#[derive(Debug, Clone)]
pub struct CommandSettings {
    /// The shell; it must understand what bash does, see [`haft_exec::shell`].
    pub shell: PathBuf,
    /// What the environment of commands is made of; secrets are left out of it.
    pub environment: Vec<(OsString, OsString)>,
    /// Variables that are passed on though they look like secrets.
    pub keep_env: Vec<String>,
    /// The home folder, for `~`.
    pub home: Option<PathBuf>,
    /// How far commands are confined.
    pub sandbox: SandboxMode,
    /// What happens where the kernel lacks a layer of the sandbox.
    pub demand: Demand,
    /// What every confined command can reach; hosts that were allowed are reached through a proxy.
    pub network: Network,
    /// Folders beside the workspace that may be changed.
    pub writable: Vec<PathBuf>,
    /// Files and folders that no confined command can read, unless the call was allowed to.
    pub hidden: Vec<PathBuf>,
    /// What stays as it is though it lies in the workspace; relative to its root.
    pub protected: Vec<Protected>,
    /// The folder in which every session gets one that is its `/tmp`; without it, each command
    /// has a new one.
    pub scratch: Option<PathBuf>,
}

impl CommandSettings {
    /// Commands for this shell, with an empty environment, confined to the workspace.
    #[must_use]
    pub fn new(shell: impl Into<PathBuf>) -> Self {
        Self {
            shell: shell.into(),
            environment: Vec::new(),
            keep_env: Vec::new(),
            home: None,
            sandbox: SandboxMode::WorkspaceWrite,
            demand: Demand::WhatThereIs,
            network: Network::Off,
            writable: Vec::new(),
            hidden: Vec::new(),
            protected: Vec::new(),
            scratch: None,
        }
    }
}

impl Commands {
    /// `keeper` starts the commands.
    #[must_use]
    pub fn new(keeper: Keeper, settings: CommandSettings) -> Self {
        Self { keeper, settings, jobs: Jobs::default(), stash: Arc::default() }
    }

    /// Who starts the commands.
    #[must_use]
    pub fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// What rules and grants say of hosts, where commands are held to it.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn hosts(&self, cx: &Context) -> Result<Option<Clearance>, ToolError> {
        hosts::known(&self.settings, cx).await
    }

    /// Gives `command` its environment, with `set` on top, and the sandbox that `grounds` call for.
    ///
    /// # Errors
    /// If the disk does not answer.
    pub async fn confine(
        &self,
        mut command: Command,
        grounds: Grounds<'_>,
        mut set: Vec<(OsString, OsString)>,
    ) -> Result<Command, ToolError> {
        command.sandbox = sandbox(&self.settings, &grounds).await?;
        let known = grounds.hosts;
        command.hosts =
            known.and_then(|known| hosts::open(&mut command.sandbox, grounds.effects, known));
        set.push(("HAFT_SESSION".into(), grounds.session.as_str().into()));
        let reach = match command.sandbox {
            Sandbox::Off => Reach::Open,
            Sandbox::Confined(_) => {
                set.push(("TMPDIR".into(), "/tmp".into()));
                Reach::Confined
            }
        };
        let rules = Rules { keep: self.settings.keep_env.clone(), set, reach };
        command.env = environment(self.settings.environment.iter().cloned(), &rules);
        Ok(command)
    }

    /// How they are run.
    #[must_use]
    pub fn settings(&self) -> &CommandSettings {
        &self.settings
    }
}

/// How far commands are confined. The stricter is the greater.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// Not at all: a command may do what its user may do.
    Off,
    /// It may change the workspace and a `/tmp` of its own.
    WorkspaceWrite,
    /// It may change only a `/tmp` of its own.
    ReadOnly,
}

impl SandboxMode {
    /// The word that it is written as.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::WorkspaceWrite => "workspace-write",
            Self::ReadOnly => "read-only",
        }
    }
}

impl FromStr for SandboxMode {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Off, Self::WorkspaceWrite, Self::ReadOnly]
            .into_iter()
            .find(|mode| mode.as_str() == text)
            .ok_or("write off, workspace-write or read-only")
    }
}
