//! Why a change was not made, cut by who acts next.

use std::io;
use std::path::PathBuf;

use crate::open::OpenError;
use crate::write::WriteError;

/// A path that is not as a change expects it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} {why}", .path.display())]
pub struct Conflict {
    /// The path.
    pub path: PathBuf,
    /// What is otherwise.
    pub why: String,
}

/// Why a change was not made. Except after [`ChangeError::Stuck`] everything is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// Something was changed by somebody else.
    #[error("nothing was changed: {}", listed(.0))]
    Conflicts(Vec<Conflict>),
    /// A file could not be written or removed.
    #[error("{}: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What stopped it.
        source: WriteError,
    },
    /// A folder could not be opened on the way.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A folder or link could not be made or removed.
    #[error("failed to {what} {}: {source}", .path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// The step that failed.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// What is needed to put a file back is not kept any more.
    #[error(
        "the content that {} had is no longer kept: the journal has an age limit and a quota",
        .path.display()
    )]
    Lost {
        /// The file.
        path: PathBuf,
    },
    /// One path stands in a change twice.
    #[error("{} stands in one change twice", .path.display())]
    Twice {
        /// The path.
        path: PathBuf,
    },
    /// There is nothing to undo or redo.
    #[error("{0}")]
    Nothing(String),
    /// The way back could not be put on disk, so the change was not begun.
    #[error("the journal cannot be written, so nothing was changed: {0}")]
    Journal(io::Error),
    /// A change failed, and somebody has already built on a part of it.
    #[error("{cause}; some of it could not be taken back: {}", listed(.conflicts))]
    Stuck {
        /// Why the change failed.
        cause: Box<Self>,
        /// What could not be taken back.
        conflicts: Vec<Conflict>,
    },
}

impl ChangeError {
    pub(super) fn journal(error: io::Error) -> Self {
        Self::Journal(error)
    }

    pub(super) fn conflict(path: impl Into<PathBuf>, why: impl Into<String>) -> Self {
        Self::Conflicts(vec![Conflict { path: path.into(), why: why.into() }])
    }
}

/// How many are named; the rest is counted.
const NAMED: usize = 10;

fn listed(conflicts: &[Conflict]) -> String {
    let mut named: Vec<String> =
        conflicts.iter().take(NAMED).map(|conflict| conflict.to_string()).collect();
    if conflicts.len() > NAMED {
        named.push(format!("and {} more", conflicts.len() - NAMED));
    }
    named.join("; ")
}
