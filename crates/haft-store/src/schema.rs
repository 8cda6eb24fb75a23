//! The tables, as the steps that lead to them from an empty file.

use std::path::Path;

use haft_runtime::StoreError;
use rusqlite::{Connection, ErrorCode};

use crate::database::in_transaction;
use crate::failure::Fault;

/// Step *i* leads from format *i* to format *i + 1*. A step that was released is never changed.
///
/// Times are RFC 3339 in UTC with nine digits of a second: exact, and in order as text.
const STEPS: &[&str] = &[
    "
    CREATE TABLE sessions (
        n        INTEGER PRIMARY KEY, -- what other tables call it
        id       TEXT NOT NULL UNIQUE,
        project  TEXT NOT NULL,
        parent   TEXT,
        agent    TEXT NOT NULL,
        created  TEXT NOT NULL,
        updated  TEXT NOT NULL,
        last_seq INTEGER NOT NULL,
        calls    INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE events (
        key     INTEGER PRIMARY KEY, -- session << 32 | seq: one tree, no index beside it
        session INTEGER AS (key >> 32) VIRTUAL,
        seq     INTEGER AS (key & 0xffffffff) VIRTUAL,
        at      TEXT NOT NULL,
        type    TEXT AS (body ->> 'type') VIRTUAL,
        body    TEXT NOT NULL -- JSON
    ); -- not STRICT, which would work out the virtual columns, and parse the JSON, at each insert

    CREATE TABLE calls (
        session INTEGER NOT NULL REFERENCES sessions (n),
        id      TEXT NOT NULL,
        pending INTEGER NOT NULL, -- the numbers of the events that brought it so far
        running INTEGER,
        ended   INTEGER,
        PRIMARY KEY (session, id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE grants (
        n       INTEGER PRIMARY KEY,
        id      TEXT NOT NULL UNIQUE,
        project TEXT NOT NULL,
        key     TEXT NOT NULL,
        pattern TEXT NOT NULL,
        created TEXT NOT NULL,
        session TEXT NOT NULL,
        UNIQUE (project, key, pattern)
    ) STRICT;

    CREATE TABLE documents (
        scope   TEXT NOT NULL CHECK (scope IN ('session', 'project')),
        owner   TEXT NOT NULL,
        name    TEXT NOT NULL,
        version INTEGER NOT NULL, -- rises with each change
        body    TEXT NOT NULL, -- JSON
        PRIMARY KEY (scope, owner, name)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE outputs (
        n       INTEGER PRIMARY KEY,
        file    TEXT NOT NULL UNIQUE, -- its name in the folder of outputs
        session TEXT NOT NULL,
        call    TEXT NOT NULL,
        bytes   INTEGER NOT NULL,
        created TEXT NOT NULL
    ) STRICT;
    CREATE INDEX outputs_by_age ON outputs (created, bytes);
",
    "
    CREATE TABLE asks (
        n       INTEGER PRIMARY KEY,
        id      TEXT NOT NULL UNIQUE,
        project TEXT NOT NULL,
        created TEXT NOT NULL,
        until   TEXT NOT NULL, -- somebody waits for the answer so long
        body    TEXT NOT NULL, -- JSON
        reply   TEXT -- JSON, once it is answered
    ) STRICT;
",
];

/// The newest format we know.
const KNOWN: i64 = STEPS.len() as i64;

/// How often the change to a write-ahead log is tried; others that start can be in the way.
const TRIES: usize = 100;

/// Brings the database to the present format; safe when several processes do so at once.
pub(crate) fn migrate(connection: &Connection, path: &Path) -> Result<(), Fault> {
    if version(connection, path)? == STEPS.len() {
        return Ok(());
    }
    use_write_ahead_log(connection)?;
    in_transaction(connection, |connection| {
        // Another process may have been faster.
        let found = version(connection, path)?;
        for step in STEPS.iter().skip(found) {
            connection.execute_batch(step)?;
        }
        connection.pragma_update(None, "user_version", KNOWN)?;
        Ok(())
    })
}

fn version(connection: &Connection, path: &Path) -> Result<usize, Fault> {
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    match usize::try_from(found) {
        Ok(found) if found <= STEPS.len() => Ok(found),
        _ => Err(StoreError::Newer { path: path.to_owned(), found, known: KNOWN }.into()),
    }
}

fn use_write_ahead_log(connection: &Connection) -> Result<(), Fault> {
    for _ in 0..TRIES {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok::<String, _>(mode) => {
                let message = format!(
                    "its file system allows only the journal mode `{mode}`, which several processes \
                     cannot share; choose a state folder on a local disk"
                );
                return Err(StoreError::failed(message).into());
            }
            // This change gives up at once when somebody is in the way; a transaction waits.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                in_transaction(connection, |_| Ok(()))?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(StoreError::failed("other processes kept it busy while it was being made; try again")
        .into())
}
