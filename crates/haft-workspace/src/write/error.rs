//! What can go wrong with a write, cut by who acts next.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use blake3::Hash;
use rustix::io::Errno;

/// Why a file was not written. Except after [`WriteError::Torn`] the file is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The file no longer holds what the caller saw.
    #[error(
        "`{}` has changed since it was read; read it again and repeat the change on what is there now",
        name.display()
    )]
    Changed {
        /// The file's name in its folder.
        name: PathBuf,
        /// The hash of what is there now.
        now: Hash,
    },
    /// A new file was to be made, and there is one already.
    #[error("`{}` exists already; read it before replacing it, or choose another name", name.display())]
    Exists {
        /// The file's name in its folder.
        name: PathBuf,
    },
    /// The file is not there, or not there any more.
    #[error("`{}` does not exist (any more); create it instead, or check the name", name.display())]
    Missing {
        /// The file's name in its folder.
        name: PathBuf,
    },
    /// The name has become a symbolic link after the caller resolved it.
    #[error("`{}` has become a symbolic link; resolve the path again", name.display())]
    Swapped {
        /// The file's name in its folder.
        name: PathBuf,
    },
    /// Something other than a regular file has the name.
    #[error("`{}` is {kind}, not a regular file; only regular files can be written", name.display())]
    NotAFile {
        /// The file's name in its folder.
        name: PathBuf,
        /// What it is, with its article.
        kind: &'static str,
    },
    /// The name is not one component of a path.
    #[error("`{}` is not the name of a file in a folder", name.display())]
    BadName {
        /// What was given as a name.
        name: PathBuf,
    },
    /// The file is marked read-only.
    #[error("`{}` is read-only; make it writable first if it is meant to be changed", name.display())]
    ReadOnly {
        /// The file's name in its folder.
        name: PathBuf,
    },
    /// The system refuses access.
    #[error("not permitted to {what} for `{}`: {source}; the user must grant access", name.display())]
    Denied {
        /// The file's name in its folder.
        name: PathBuf,
        /// The step that was refused.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// There is no room for the new content.
    #[error("no room to {what} for `{}`: {source}; free some space and repeat", name.display())]
    Full {
        /// The file's name in its folder.
        name: PathBuf,
        /// The step that found no room.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Someone else has held the file's lock all the time.
    #[error(
        "`{}` was locked by another writer for {} s; repeat when that one is done",
        name.display(), waited.as_secs()
    )]
    Busy {
        /// The file's name in its folder.
        name: PathBuf,
        /// How long the lock was waited for.
        waited: Duration,
    },
    /// The file can only be rewritten in place, and no recovery folder was given.
    #[error(
        "`{}` cannot be replaced by a new file because {why}, and without a recovery folder it is \
         not rewritten in place",
        name.display()
    )]
    NoRecovery {
        /// The file's name in its folder.
        name: PathBuf,
        /// What a replacement would lose.
        why: Obstacle,
    },
    /// Rewriting in place failed half-way, and so did putting the old content back.
    #[error(
        "`{}` is damaged: rewriting it failed ({source}) and so did putting it back; its old content \
         is kept in `{}` and is put back at the next start",
        name.display(), backup.display()
    )]
    Torn {
        /// The file's name in its folder.
        name: PathBuf,
        /// The recovery file with the old content.
        backup: PathBuf,
        /// Why rewriting failed.
        source: io::Error,
    },
    /// The caller's `change` declined.
    #[error(transparent)]
    Refused(Box<dyn std::error::Error + Send + Sync>),
    /// Any other failure of the system.
    #[error("failed to {what} for `{}`: {source}", name.display())]
    Io {
        /// The file's name in its folder.
        name: PathBuf,
        /// The step that failed.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

impl WriteError {
    /// Wraps the refusal of a `change`, in the caller's own words.
    pub fn refused(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Refused(reason.into())
    }

    /// Sorts a failure of the system by who acts next.
    pub(super) fn system(name: &OsStr, what: &'static str, source: impl Into<io::Error>) -> Self {
        let (name, source) = (PathBuf::from(name), source.into());
        match Errno::from_io_error(&source) {
            Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => Self::Full { name, what, source },
            Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Self::Denied { name, what, source },
            _ => Self::Io { name, what, source },
        }
    }
}

/// Why a file cannot be replaced by renaming a new one over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Obstacle {
    /// Other names of the same file would keep the old content.
    #[error("it has other names (hard links) that would keep the old content")]
    Links,
    /// The new file would belong to somebody else.
    #[error("its owner or group could not be kept")]
    Owner,
    /// The new file would lack an extended attribute or access list.
    #[error("its extended attributes could not be kept")]
    Attributes,
    /// No file can be created beside it.
    #[error("no file can be created in its folder")]
    Folder,
    /// The file is a mount point of its own.
    #[error("it is mounted by itself")]
    Mounted,
}
