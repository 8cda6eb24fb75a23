//! Why a command could not be started.

use std::io;
use std::path::PathBuf;

/// Why a command could not be started. Nothing of it has run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The program is not on the `PATH` it was given.
    #[error("{} was not found on the PATH of the command; give its full path, or install it", .0.display())]
    NotFound(PathBuf),
    /// The program that keeps commands could not be started, or is gone.
    #[error("the keeper of commands does not answer: {0}; is the program still where it was?")]
    Keeper(#[source] io::Error),
    /// A step before the program failed.
    #[error("could not {what}: {error}")]
    Refused {
        /// What was being done.
        what: String,
        /// What the system said.
        error: io::Error,
    },
    /// A step before the program failed, for a reason of our own.
    #[error("could not {0}")]
    Impossible(String),
    /// Files for it could not be made.
    #[error("no pipe or terminal for the command: {0}; too many files may be open")]
    Files(#[source] io::Error),
}

impl SpawnError {
    /// What the keeper said, in a type.
    pub(crate) fn from_keeper(what: String, errno: i32) -> Self {
        match errno {
            0 => Self::Impossible(what),
            errno => Self::Refused { what, error: io::Error::from_raw_os_error(errno) },
        }
    }
}
