//! From what SQLite and the system say to what the operator can act on.

use std::error::Error;
use std::io;
use std::path::Path;
use std::time::Duration;

use haft_runtime::StoreError;
use rusqlite::{ErrorCode, ffi};

/// What can go wrong inside a query, before it is known what the query was for.
#[derive(Debug)]
pub(crate) enum Fault {
    /// SQLite failed.
    Sqlite(rusqlite::Error),
    /// A row holds what cannot be there.
    Unreadable {
        /// What it should have been.
        what: &'static str,
        /// Why it is not.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Nothing is left to explain.
    Told(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Told(error)
    }
}

impl Fault {
    /// Whether a row with the same key was there already.
    pub(crate) fn is_repeat(error: &rusqlite::Error) -> bool {
        extended_code(error) == Some(ffi::SQLITE_CONSTRAINT_PRIMARYKEY)
    }

    /// Whether somebody else is writing.
    pub(crate) fn is_busy(&self) -> bool {
        let code = match self {
            Self::Sqlite(error) => error.sqlite_error_code(),
            _ => None,
        };
        matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// Says what failed, on what, and what to do. `what` completes "cannot …".
    pub(crate) fn explain(self, what: &str, path: &Path, busy: Duration) -> StoreError {
        match self {
            Self::Told(error) => error,
            Self::Unreadable { what: part, source } => StoreError::caused(
                format!(
                    "cannot {what}: {} holds {part} that is damaged, or that needs a later haft",
                    path.display()
                ),
                source,
            ),
            Self::Sqlite(error) => explain_sqlite(error, what, path, busy),
        }
    }
}

fn explain_sqlite(error: rusqlite::Error, what: &str, path: &Path, busy: Duration) -> StoreError {
    let file = path.display();
    let message = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            return StoreError::Full { path: path.to_owned() };
        }
        Some(ErrorCode::SystemIoFailure) if could_not_grow(&error) => {
            return StoreError::Full { path: path.to_owned() };
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            return StoreError::Busy {
                path: path.to_owned(),
                seconds: busy.as_secs_f64().ceil() as u64,
            };
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => format!(
            "cannot {what}: {file} is not a database, or is damaged; \
             move it aside, and haft begins a new one"
        ),
        Some(ErrorCode::CannotOpen) => format!(
            "cannot {what}: {file} cannot be opened; \
             see that it is a file, and that you may write to it and to its folder"
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => format!(
            "cannot {what}: {file} cannot be written; \
             see that you may write to it and to its folder, or choose another state folder"
        ),
        _ => format!("cannot {what} in {file}"),
    };
    StoreError::caused(message, error)
}

/// The index beside the log is mapped into memory, and says "full" in its own way.
fn could_not_grow(error: &rusqlite::Error) -> bool {
    extended_code(error) == Some(ffi::SQLITE_IOERR_SHMSIZE)
}

fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}

/// A file of ours could not be handled. `what` completes "cannot …".
pub(crate) fn file(what: &str, path: &Path, error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::Full { path: path.to_owned() }
        }
        _ => StoreError::caused(format!("cannot {what}"), error),
    }
}

/// The state folder could not be made.
pub(crate) fn no_folder(dir: &Path, error: io::Error) -> StoreError {
    let advice = match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            "a file is in its place; move that aside"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            return StoreError::Full { path: dir.to_owned() };
        }
        _ => "see that you may write there, or choose another state folder",
    };
    let message = format!("cannot make haft's state folder {}; {advice}", dir.display());
    StoreError::caused(message, error)
}
