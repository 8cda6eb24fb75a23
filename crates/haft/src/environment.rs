//! What the system says about us: the one place that reads the environment and the current directory.

use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::fs::FileType;

/// Everything haft takes from the process it is.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    /// Where it was started.
    pub(crate) current_dir: PathBuf,
    /// The user's home.
    pub(crate) home: Option<PathBuf>,
    /// Where the user's config is.
    pub(crate) config_dir: Option<PathBuf>,
    /// Where our state is.
    pub(crate) state_dir: Option<PathBuf>,
    /// The config of whoever manages this machine.
    pub(crate) managed_config: PathBuf,
    /// Where this program is.
    pub(crate) program: Option<PathBuf>,
    /// The user's shell.
    pub(crate) shell: Option<PathBuf>,
    /// All variables, for the commands that are run.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// Whether a program can send us something while we work.
    pub(crate) stdin_is_pipe: bool,
    /// Whether a person reads what we print.
    pub(crate) stdout_is_terminal: bool,
    /// Whether a person can be asked.
    pub(crate) stderr_is_terminal: bool,
    /// Whether colours are wanted, where a terminal shows them.
    pub(crate) colour: bool,
}

impl Environment {
    /// Reads it, once.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let home = absolute("HOME");
        let under_home = |path: &str| home.as_ref().map(|home| home.join(path));
        let config = absolute("XDG_CONFIG_HOME").or_else(|| under_home(".config"));
        let state = absolute("XDG_STATE_HOME").or_else(|| under_home(".local/state"));
        let stdout_is_terminal = std::io::stdout().is_terminal();
        let dumb = var("TERM").is_some_and(|term| term == "dumb");
        let no_colour = var("NO_COLOR").is_some_and(|value| !value.is_empty());
        Ok(Self {
            current_dir: current_dir().context("the current directory cannot be found")?,
            config_dir: config.map(|dir| dir.join("haft")),
            state_dir: state.map(|dir| dir.join("haft")),
            managed_config: PathBuf::from("/etc/haft/managed.toml"),
            program: std::env::current_exe().ok(),
            shell: absolute("SHELL"),
            variables: variables(),
            stdin_is_pipe: is_pipe(std::io::stdin()),
            stdout_is_terminal,
            stderr_is_terminal: std::io::stderr().is_terminal(),
            colour: !dumb && !no_colour,
            home,
        })
    }

    /// Where a program is on the search path.
    pub(crate) fn which(&self, program: &str) -> Option<PathBuf> {
        let (_, path) = self.variables.iter().find(|(name, _)| name == "PATH")?;
        let is_program = |path: &PathBuf| {
            let access = rustix::fs::Access::EXEC_OK;
            path.is_file() && rustix::fs::access(path, access).is_ok()
        };
        std::env::split_paths(path).map(|dir| dir.join(program)).find(is_program)
    }

    /// A folder or file that a variable names by its whole path.
    pub(crate) fn folder(&self, variable: &str) -> Option<PathBuf> {
        let found = self.variables.iter().find(|(name, _)| name == variable);
        found.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
    }

    /// A variable, if it is set to a text.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let found = self.variables.iter().find(|(key, _)| key.as_os_str() == name);
        found.and_then(|(_, value)| value.to_str()).filter(|it| !it.is_empty()).map(str::to_owned)
    }

    /// The workspace: what the user named, else the git root above us, else where we are.
    pub(crate) fn workspace(&self, named: Option<&Path>) -> std::io::Result<PathBuf> {
        if let Some(named) = named {
            let dir = self.current_dir.join(named);
            let refused = |kind, why: &str| {
                let message =
                    format!("the workspace {} {why}; name another with --dir", dir.display());
                std::io::Error::new(kind, message)
            };
            return match std::fs::canonicalize(&dir) {
                Ok(dir) if dir.is_dir() => Ok(dir),
                Ok(_) => Err(refused(ErrorKind::NotADirectory, "is not a folder")),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    Err(refused(error.kind(), "does not exist"))
                }
                Err(error) => Err(refused(error.kind(), &format!("cannot be reached ({error})"))),
            };
        }
        let here = fs_err::canonicalize(&self.current_dir)?;
        let root = here.ancestors().find(|dir| dir.join(".git").exists());
        Ok(root.map(Path::to_path_buf).unwrap_or(here))
    }
}

#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
fn var(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
fn current_dir() -> std::io::Result<PathBuf> {
    std::env::current_dir()
}

/// Whether somebody is at the other end; a file is what it is.
fn is_pipe(file: impl AsFd) -> bool {
    let kind = rustix::fs::fstat(file).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::Socket))
}

fn variables() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// The first word of the command line after the program's own name.
#[cfg(target_os = "linux")]
pub(crate) fn first_argument() -> Option<OsString> {
    std::env::args_os().nth(1)
}

/// A folder that a variable names; the XDG rules want relative ones ignored.
fn absolute(name: &str) -> Option<PathBuf> {
    var(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
