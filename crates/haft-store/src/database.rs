//! The database file: one connection that writes, one that reads, and how each is used.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use haft_runtime::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::failure::Fault;
use crate::{private, schema};

/// More than there are different statements, so that each is prepared once.
const STATEMENTS: usize = 32;

/// How long a log may be left for the next process to read when the last one closes the database.
///
/// Emptying it means to wait for the disk, a millisecond or twenty; reading this much does not.
const SHORT_LOG: u64 = 1024 * 1024;

/// How many pages a log may have before it is moved into the database: 8 MiB.
const LONG_LOG: i64 = 2048;

/// An open database. Reads do not wait for writes, nor for another process's.
#[derive(Debug)]
pub(crate) struct Database {
    path: PathBuf,
    busy: Duration,
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
}

impl Database {
    /// Opens the file, makes it if it is not there, and brings it to the present format.
    pub(crate) fn open(path: &Path, busy: Duration) -> Result<Self, StoreError> {
        private::secure(path);
        let open = || {
            let writer = connect(path, busy)?;
            schema::migrate(&writer, path)?;
            Ok((writer, connect(path, busy)?))
        };
        let (writer, reader) =
            open().map_err(|fault: Fault| fault.explain("open the store", path, busy))?;
        Ok(Self {
            path: path.to_owned(),
            busy,
            writer: Mutex::new(writer),
            reader: Mutex::new(reader),
        })
    }

    /// Reads, without waiting for a writer. `what` completes "cannot …".
    pub(crate) fn read<T>(
        &self,
        what: &str,
        query: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        query(&lock(&self.reader)).map_err(|fault| fault.explain(what, &self.path, self.busy))
    }

    /// Changes all that `change` changes, or nothing. `what` completes "cannot …".
    pub(crate) fn write<T>(
        &self,
        what: &str,
        change: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        in_transaction(&lock(&self.writer), change)
            .map_err(|fault| fault.explain(what, &self.path, self.busy))
    }

    /// Like [`Self::write`], but it waits for nobody: `None` if somebody else is writing.
    pub(crate) fn write_now<T>(
        &self,
        what: &str,
        change: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<Option<T>, StoreError> {
        let Some(writer) = lock_if_free(&self.writer) else { return Ok(None) };
        let write = || {
            writer.busy_timeout(Duration::ZERO)?;
            let outcome = in_transaction(&writer, change);
            writer.busy_timeout(self.busy)?;
            outcome
        };
        match write() {
            Ok(outcome) => Ok(Some(outcome)),
            Err(fault) if fault.is_busy() => Ok(None),
            Err(fault) => Err(fault.explain(what, &self.path, self.busy)),
        }
    }

    /// Moves a long log into the database, so that it is written from its beginning again.
    pub(crate) fn shorten_log(&self) -> Result<(), StoreError> {
        self.read("shorten the log", |connection| {
            let step = |step: &str| connection.query_row(step, [], |row| row.get::<_, i64>(1));
            if step("PRAGMA wal_checkpoint(NOOP)")? < LONG_LOG {
                return Ok(());
            }
            // First most of it, while others write; then the rest, which they wait for. A writer
            // of another process is not waited for: it comes to this by itself.
            step("PRAGMA wal_checkpoint(PASSIVE)")?;
            connection.busy_timeout(Duration::ZERO)?;
            let restarted = step("PRAGMA wal_checkpoint(RESTART)");
            connection.busy_timeout(self.busy)?;
            Ok(restarted.map(drop)?)
        })
    }

    fn log(&self) -> PathBuf {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        log.into()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if fs_err::metadata(self.log()).is_ok_and(|log| log.len() > SHORT_LOG) {
            let writer = lock(&self.writer);
            // If others are using it, one of them empties it later.
            let empty = || {
                writer.busy_timeout(Duration::ZERO)?;
                writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            };
            empty().ok();
        }
    }
}

/// Runs `change` as one transaction that has the right to write from its start.
///
/// One that first reads and then wants to write could find that another process wrote in between.
pub(crate) fn in_transaction<T>(
    connection: &Connection,
    change: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let _unless_committed = Rollback(connection);
    let outcome = change(connection)?;
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(outcome)
}

/// Ends a transaction that was not committed, also when its thread panics.
struct Rollback<'a>(&'a Connection);

impl Drop for Rollback<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // If this fails, then because SQLite has rolled back by itself.
            self.0.execute_batch("ROLLBACK").ok();
        }
    }
}

fn connect(path: &Path, busy: Duration) -> Result<Connection, Fault> {
    // Our own lock guards each connection, and a path is never read as a URI.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(busy)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Moving the log into the database waits for the disk. Not in the middle of somebody's commit:
    // there is a time for that, in `shorten_log`. Pages that the system holds in memory are not worth
    // megabytes of ours: the last ones are what is used.
    connection.execute_batch(
        "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
         PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -256;",
    )?;
    Ok(connection)
}

/// A panic elsewhere leaves the connection usable: its transaction was rolled back.
fn lock(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same, unless another thread has it.
fn lock_if_free(connection: &Mutex<Connection>) -> Option<MutexGuard<'_, Connection>> {
    match connection.try_lock() {
        Ok(free) => Some(free),
        Err(TryLockError::Poisoned(free)) => Some(free.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(test)]
mod tests {
    use haft_runtime::{CallId, Draft, EventKind, SessionId};

    use super::*;
    use crate::events;

    #[test]
    fn a_database_that_cannot_grow_is_full_and_loses_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("haft.db");
        let database = Database::open(&path, Duration::ZERO).unwrap();
        lock(&database.writer).execute_batch("PRAGMA max_page_count = 40").unwrap();
        let session = SessionId::fresh();
        let draft = || {
            let (call, data) = (CallId::fresh(), "x".repeat(3000).into());
            Draft::now(Some(session.clone()), EventKind::Noted { call, name: "n".into(), data })
        };
        let mut logged = 0;
        let refused = loop {
            match events::append(&database, &[draft(), draft()]) {
                Ok(_) => logged += 2,
                Err(error) => break error,
            }
        };
        assert!(matches!(&refused, StoreError::Full { path: full } if *full == path));
        drop(database);
        let database = Database::open(&path, Duration::ZERO).unwrap();
        assert!(logged > 0);
        assert_eq!(events::list(&database, &session, 0, usize::MAX).unwrap().len(), logged);
        let next = events::append(&database, &[draft()]).unwrap();
        assert_eq!(next, [logged as u64 + 1], "the numbers of what was refused are free");
    }
}
