//! Texts that were too long to show: a file each, a row each, and only so many of them.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use haft_runtime::{CallId, KeptOutput, SessionId, Spill, StoreError};
use jiff::Timestamp;
use rusqlite::{Connection, Row, params};

use crate::columns::{from_count, from_time, to_count, to_id, to_time};
use crate::database::Database;
use crate::failure::{self, Fault};
use crate::private;

/// A file without a row may be about to get one; after so long its process is surely gone.
const ORPHANED_AFTER: Duration = Duration::from_secs(60 * 60);

const ADD: &str = "
    INSERT INTO outputs (file, session, call, bytes, created) VALUES (?1, ?2, ?3, ?4, ?5)";

const FIND: &str = "SELECT session, call, bytes, created FROM outputs WHERE file = ?1";

const ALL: &str = "SELECT file FROM outputs";

/// Whether anything is too old or too much, from one index.
const FORGET_OF: &str = "DELETE FROM outputs WHERE session = ?1 RETURNING file";

const IS_DUE: &str = "
    SELECT coalesce(min(created) < ?1 OR sum(bytes) > ?2, FALSE) FROM outputs";

/// Forgets what is too old, and what does not fit beside all that is newer; `?3` is the newest,
/// whatever the clock says.
const FORGET: &str = "
    DELETE FROM outputs WHERE file <> ?3 AND (created < ?1 OR n IN (
        SELECT n FROM (
            SELECT n, sum(bytes) OVER (ORDER BY file = ?3 DESC, created DESC, n DESC) AS so_far
            FROM outputs
        ) WHERE so_far > ?2
    )) RETURNING file";

/// The folder of kept outputs. Only names that we gave are ever touched.
#[derive(Debug)]
pub(crate) struct Outputs {
    folder: PathBuf,
    keep_age: Duration,
    keep_bytes: u64,
}

impl Outputs {
    /// `folder` is canonical.
    pub(crate) fn new(folder: PathBuf, keep_age: Duration, keep_bytes: u64) -> Self {
        Self { folder, keep_age, keep_bytes }
    }

    /// Keeps a text.
    pub(crate) fn keep(
        &self,
        database: &Database,
        session: &SessionId,
        call: &CallId,
        text: &str,
    ) -> Result<KeptOutput, StoreError> {
        let bytes = self.within_quota(text.len() as u64)?;
        let draft = self.draft();
        write_whole(&draft, text)?;
        self.take_over(database, session, call, &draft, bytes)
    }

    /// A place for a file that is to be kept, and how long it may be.
    pub(crate) fn spill(&self) -> Spill {
        Spill { path: self.draft(), room: self.keep_bytes }
    }

    /// Keeps a file that was written to a place of ours.
    pub(crate) fn adopt(
        &self,
        database: &Database,
        session: &SessionId,
        call: &CallId,
        draft: &Path,
    ) -> Result<KeptOutput, StoreError> {
        let named = draft.file_name().and_then(|name| name.to_str());
        let is_draft = named.is_some_and(|name| is_ours(name) && name.ends_with(".tmp"));
        if !is_draft || draft.parent() != Some(&self.folder) {
            let draft = draft.display();
            return Err(StoreError::failed(format!("{draft} is no place for a kept output")));
        }
        let size = fs_err::symlink_metadata(draft).map(|file| file.len());
        let size = size.map_err(|error| failure::file("keep the output", draft, error))?;
        let kept = self.within_quota(size);
        let kept = kept.and_then(|bytes| self.take_over(database, session, call, draft, bytes));
        kept.inspect_err(|_| drop(fs_err::remove_file(draft)))
    }

    fn draft(&self) -> PathBuf {
        self.folder.join(format!("out_{}.tmp", uuid::Uuid::now_v7().simple()))
    }

    /// Gives a whole file its name first and its row last, so that no row lacks its file.
    fn take_over(
        &self,
        database: &Database,
        session: &SessionId,
        call: &CallId,
        draft: &Path,
        bytes: u64,
    ) -> Result<KeptOutput, StoreError> {
        let path = draft.with_extension("txt");
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        fs_err::rename(draft, &path).map_err(|error| {
            fs_err::remove_file(draft).ok();
            failure::file("keep the output", &path, error)
        })?;
        let created = Timestamp::now();
        let forgotten = database.write("keep the output", |connection| {
            let (session, call) = (session.as_str(), call.as_str());
            let row = params![file, session, call, from_count(bytes), from_time(created)];
            connection.prepare_cached(ADD)?.execute(row)?;
            self.forget(connection, &file)
        });
        match forgotten {
            Ok(forgotten) => self.remove(&forgotten),
            Err(error) => {
                fs_err::remove_file(&path).ok();
                return Err(error);
            }
        }
        self.remove_orphans(database);
        Ok(KeptOutput { path, session: session.clone(), call: call.clone(), bytes, created })
    }

    /// The output whose file this is, by whatever path.
    pub(crate) fn find(
        &self,
        database: &Database,
        path: &Path,
    ) -> Result<Option<KeptOutput>, StoreError> {
        let Some((path, file)) = self.own(path) else {
            return Ok(None);
        };
        database.read("look up the kept output", |connection| {
            let mut statement = connection.prepare_cached(FIND)?;
            let mut rows = statement.query([file])?;
            rows.next()?.map(|row| kept(path, row)).transpose()
        })
    }

    /// Removes what one session left behind.
    pub(crate) fn remove_those_of(
        &self,
        database: &Database,
        session: &SessionId,
    ) -> Result<(), StoreError> {
        let files = database.write("forget the session's outputs", |connection| {
            let mut statement = connection.prepare_cached(FORGET_OF)?;
            statement.query_and_then([session.as_str()], |row| Ok(row.get(0)?))?.collect()
        });
        files.map(|files: Vec<String>| self.remove(&files))
    }

    /// Enforces the limits if they are exceeded and nobody is writing. Nobody waits for this, and
    /// it may fail: the next output that is kept does it again.
    pub(crate) fn tidy_if_due(&self, database: &Database) {
        let is_due = database.read("look for old outputs", |connection| {
            let limits = params![self.oldest(), from_count(self.keep_bytes)];
            Ok(connection.prepare_cached(IS_DUE)?.query_row(limits, |row| row.get(0))?)
        });
        if let Ok(true) = is_due
            && let Ok(Some(forgotten)) =
                database.write_now("forget old outputs", |connection| self.forget(connection, ""))
        {
            self.remove(&forgotten);
        }
    }

    fn within_quota(&self, bytes: u64) -> Result<u64, StoreError> {
        if bytes <= self.keep_bytes {
            return Ok(bytes);
        }
        Err(StoreError::failed(format!(
            "cannot keep an output of {bytes} bytes in {}: all kept outputs together may take {}; \
             raise that limit, or make the output smaller",
            self.folder.display(),
            self.keep_bytes,
        )))
    }

    /// Deletes the rows of what is beyond the limits, and names their files.
    fn forget(&self, connection: &Connection, newest: &str) -> Result<Vec<String>, Fault> {
        connection
            .prepare_cached(FORGET)?
            .query_and_then(params![self.oldest(), from_count(self.keep_bytes), newest], |row| {
                Ok(row.get(0)?)
            })?
            .collect()
    }

    fn oldest(&self) -> String {
        let oldest = Timestamp::now().checked_sub(self.keep_age);
        from_time(oldest.unwrap_or(Timestamp::MIN))
    }

    /// Removes files whose rows are gone. One that cannot be removed is an orphan from now on.
    fn remove(&self, files: &[String]) {
        for file in files {
            fs_err::remove_file(self.folder.join(file)).ok();
        }
    }

    /// Removes what processes left behind that were killed between file and row. What cannot be
    /// removed now is tried again when the next output is kept.
    fn remove_orphans(&self, database: &Database) {
        let rows: Result<HashSet<String>, _> =
            database.read("list the kept outputs", |connection| {
                let mut statement = connection.prepare_cached(ALL)?;
                statement.query_and_then([], |row| Ok(row.get(0)?))?.collect()
            });
        let (Ok(rows), Ok(entries)) = (rows, fs_err::read_dir(&self.folder)) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| is_ours(name)) else {
                continue;
            };
            if !rows.contains(name) && entry.metadata().is_ok_and(|file| is_old(&file)) {
                fs_err::remove_file(entry.path()).ok();
            }
        }
    }

    /// The canonical path and the name of a file in our folder; none for any other.
    fn own(&self, path: &Path) -> Option<(PathBuf, String)> {
        let path = fs_err::canonicalize(path).ok()?;
        let name = path.file_name()?.to_str()?.to_owned();
        let is_own = path.parent() == Some(&self.folder) && path.is_file();
        is_own.then_some((path, name))
    }
}

/// Writes a file that has no name yet.
fn write_whole(draft: &Path, text: &str) -> Result<(), StoreError> {
    let write = || private::make_file(draft)?.write_all(text.as_bytes());
    write().map_err(|error| {
        fs_err::remove_file(draft).ok();
        failure::file("keep the output", draft, error)
    })
}

fn kept(path: PathBuf, row: &Row<'_>) -> Result<KeptOutput, Fault> {
    Ok(KeptOutput {
        path,
        session: to_id(row, 0)?,
        call: to_id(row, 1)?,
        bytes: to_count(row, 2)?,
        created: to_time(row, 3)?,
    })
}

fn is_ours(name: &str) -> bool {
    name.starts_with("out_") && (name.ends_with(".txt") || name.ends_with(".tmp"))
}

fn is_old(file: &std::fs::Metadata) -> bool {
    let age = file.modified().map(|then| SystemTime::now().duration_since(then));
    matches!(age, Ok(Ok(age)) if age > ORPHANED_AFTER)
}
