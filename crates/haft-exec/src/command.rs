//! What is to run: a program with all it is given, and how it is confined.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::proxy::Hosts;
use crate::sandbox::Sandbox;

/// A program, what it is given, and what it may do. Nothing is inherited: what is not here is not there.
#[derive(Debug, Clone)]
pub struct Command {
    /// A path, or a bare name that is looked up on the `PATH` of [`env`](Self::env).
    pub program: PathBuf,
    /// The arguments after the program's own name.
    pub args: Vec<OsString>,
    /// The folder it starts in.
    pub cwd: PathBuf,
    /// Its whole environment; see [`environment`](crate::environment()).
    pub env: Vec<(OsString, OsString)>,
    /// What it reads.
    pub stdin: Stdin,
    /// Where its standard error goes.
    pub errors: Errors,
    /// A terminal of this size instead of pipes.
    pub terminal: Option<Size>,
    /// What it may touch.
    pub sandbox: Sandbox,
    /// Which hosts it reaches through a proxy, though it is confined without a network. The proxy
    /// lives as long as the [`Process`](crate::Process), and programs find it by the usual variables.
    pub hosts: Option<Arc<dyn Hosts>>,
    /// What it may use.
    pub limits: Limits,
}

impl Command {
    /// A command without a sandbox, limits or input.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Vec::new(),
            stdin: Stdin::Nothing,
            errors: Errors::Apart,
            terminal: None,
            sandbox: Sandbox::Off,
            hosts: None,
            limits: Limits::default(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<T: Into<OsString>>(mut self, args: impl IntoIterator<Item = T>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Where the program is, if it is anywhere.
    pub(crate) fn program_path(&self) -> Option<PathBuf> {
        if self.program.as_os_str().as_encoded_bytes().contains(&b'/') {
            return Some(self.program.clone());
        }
        let path = self.env.iter().find(|(name, _)| name == OsStr::new("PATH"));
        let path = path.map_or(OsStr::new("/usr/bin:/bin"), |(_, value)| value);
        let absolute = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        absolute.map(|folder| folder.join(&self.program)).find(|file| is_program(file))
    }
}

/// What a command reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing: reading ends at once.
    #[default]
    Nothing,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// What is written to the [`Input`](crate::Input) that the process gives, until it is dropped.
    Open,
}

/// Where the standard error of a command goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Errors {
    /// A stream of its own: every piece is known to be of one or the other, but two that come at the
    /// same time may change places.
    #[default]
    Apart,
    /// The same stream as its output: exactly in the order in which it came.
    Joined,
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Characters in a line.
    pub columns: u16,
    /// Lines.
    pub rows: u16,
}

/// What a command may use. `None` leaves the system's own limit.
///
/// Core files are never written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Seconds of processor time of each process.
    pub cpu_seconds: Option<u64>,
    /// Bytes of each file that is written.
    pub file_bytes: Option<u64>,
    /// Bytes of address space of each process.
    pub memory_bytes: Option<u64>,
    /// Processes of the user; inside a sandbox, of all commands that share its network. Root is not
    /// bound by it.
    pub processes: Option<u64>,
}

fn is_program(file: &Path) -> bool {
    fs_err::metadata(file)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
