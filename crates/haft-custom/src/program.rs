//! Starts what users add: confined, fed through standard input, bounded, ended with all it started.

use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_exec::{
    Command, EndedBy, Exit, Patience, Reach, Rules, Sandbox, SpawnError, Stdin, Stream, environment,
};
use haft_runtime::permission::{Action, Clearance, Effect};
use haft_runtime::{SessionId, ToolError};
use haft_tools::{Commands, Grounds};
use haft_workspace::Workspace;

/// Who wrote something that users add.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The machine's administrator, or the user.
    User,
    /// The repository, and the user has trusted it.
    Project,
}

/// How programs that users add are started.
#[derive(Clone)]
pub struct Programs {
    commands: Arc<Commands>,
    workspace: Arc<Workspace>,
}

/// For whom a program runs, and what it was allowed.
pub(crate) struct Purpose<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) effects: &'a [Effect],
    pub(crate) ruled: &'a (dyn Fn(&Effect) -> Action + Sync),
    /// What rules and grants say of hosts, for programs that may reach some.
    pub(crate) hosts: Option<Clearance>,
    /// What its environment says of the occasion.
    pub(crate) set: Vec<(OsString, OsString)>,
    /// Whether it is confined; only the user's own may not be.
    pub(crate) reach: Reach,
    /// What it may change where it is confined.
    pub(crate) changes: Changes,
}

/// What a confined program may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changes {
    /// What commands may.
    Workspace,
    /// Nothing: it says of itself that it only reads, and is held to it.
    Nothing,
}

/// How a program ended.
pub(crate) struct Finished {
    pub(crate) exit: Option<Exit>,
    pub(crate) by: EndedBy,
}

/// Why a program gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error("it could not be started: {0}")]
    Start(#[from] SpawnError),
    #[error("it was lost: {0}")]
    Lost(#[from] io::Error),
    #[error("{0}")]
    Confine(ToolError),
    #[error("cancelled")]
    Cancelled,
}

impl Programs {
    /// Programs that run as `commands` says, in the root of `workspace`.
    #[must_use]
    pub fn new(commands: Arc<Commands>, workspace: Arc<Workspace>) -> Self {
        Self { commands, workspace }
    }

    pub(crate) fn commands(&self) -> &Commands {
        &self.commands
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Where programs without a folder are looked for: nothing relative, and nothing of the workspace,
    /// which may hold another program under a known name.
    pub(crate) fn search_path(&self) -> Vec<PathBuf> {
        let settings = self.commands.settings();
        let path = settings.environment.iter().find(|(name, _)| name == "PATH");
        let path = path.map_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"), |(_, value)| value);
        let root = self.workspace.root();
        let is_fine = |folder: &PathBuf| {
            let real = fs_err::canonicalize(folder).unwrap_or_else(|_| folder.clone());
            folder.is_absolute() && !folder.starts_with(root) && !real.starts_with(root)
        };
        std::env::split_paths(path).filter(is_fine).collect()
    }

    /// A script for the shell that runs commands here.
    pub(crate) fn shell(&self, script: &str) -> Command {
        let shell = &self.commands.settings().shell;
        Command::new(shell, self.workspace.root()).args(["-c", script])
    }

    /// Runs `command` on `input` to its end; what it says goes to `take`.
    pub(crate) async fn run(
        &self,
        mut command: Command,
        input: Vec<u8>,
        purpose: Purpose<'_>,
        timeout: Duration,
        cancel: impl Future<Output = ()>,
        take: impl FnMut(Stream, &[u8]) -> io::Result<()>,
    ) -> Result<Finished, Trouble> {
        command.stdin = Stdin::Bytes(input);
        let command = self.place(command, purpose).await.map_err(Trouble::Confine)?;
        let mut cancel = std::pin::pin!(cancel);
        let mut process = tokio::select! {
            biased;
            () = &mut cancel => return Err(Trouble::Cancelled),
            process = self.commands.keeper().spawn(&command) => process?,
        };
        let patience = Patience { timeout: Some(timeout), ..Patience::default() };
        let ended = process.run(take, patience, cancel).await?;
        Ok(Finished { exit: ended.exited.map(|exited| exited.exit), by: ended.by })
    }

    /// A program that lies in a place which is private inside must be seen there all the same.
    fn show_program(&self, command: &mut Command) {
        let Sandbox::Confined(confinement) = &mut command.sandbox else { return };
        let Some(folder) = command.program.parent() else { return };
        let is_private = ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|it| folder.starts_with(it));
        if is_private && !folder.starts_with(self.workspace.root()) {
            confinement.visible.push(folder.to_owned());
        }
    }

    /// Gives a command its environment and its sandbox.
    async fn place(&self, command: Command, purpose: Purpose<'_>) -> Result<Command, ToolError> {
        let Purpose { session, effects, ruled, hosts, mut set, reach, changes } = purpose;
        set.push(("HAFT_PROJECT_DIR".into(), self.workspace.root().into()));
        set.extend(std::env::join_paths(self.search_path()).ok().map(|path| ("PATH".into(), path)));
        let settings = self.commands.settings();
        if reach == Reach::Confined {
            let grounds = Grounds { workspace: &self.workspace, session, effects, ruled, hosts };
            let mut command = self.commands.confine(command, grounds, set).await?;
            if let (Sandbox::Confined(confinement), Changes::Nothing) =
                (&mut command.sandbox, changes)
            {
                confinement.writable.clear();
            }
            self.show_program(&mut command);
            return Ok(command);
        }
        set.push(("HAFT_SESSION".into(), session.as_str().into()));
        let rules = Rules { keep: settings.keep_env.clone(), set, reach };
        let env = environment(settings.environment.iter().cloned(), &rules);
        Ok(Command { env, sandbox: Sandbox::Off, ..command })
    }
}

/// Holds on to the first `most` bytes of what comes, and knows whether there was more.
#[derive(Debug)]
pub(crate) struct Beginning {
    bytes: Vec<u8>,
    most: usize,
    pub(crate) is_cut: bool,
}

impl Beginning {
    pub(crate) fn of(most: usize) -> Self {
        Self { bytes: Vec::new(), most, is_cut: false }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = self.most - self.bytes.len();
        self.is_cut |= bytes.len() > room;
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// As text, without blanks around it.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).trim().to_owned()
    }
}

/// At most `most` bytes of a text, cut on a character.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!("{}…", text.get(..end).unwrap_or_default())
}
