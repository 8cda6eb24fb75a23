//! Small JSON documents that many processes may change at once.

use haft_runtime::{Scope, StoreError};
use rusqlite::params;
use serde_json::Value;

use crate::columns::{from_value, to_value};
use crate::database::Database;

const GET: &str =
    "SELECT version, body FROM documents WHERE scope = ?1 AND owner = ?2 AND name = ?3";

const CREATE: &str = "
    INSERT INTO documents (scope, owner, name, version, body) VALUES (?1, ?2, ?3, 1, ?4)
    ON CONFLICT DO NOTHING";

const REPLACE: &str = "
    UPDATE documents SET version = version + 1, body = ?4
    WHERE scope = ?1 AND owner = ?2 AND name = ?3 AND version = ?5";

const NAMES: &str = "
    SELECT name FROM documents
    WHERE scope = ?1 AND owner = ?2 AND substr(name, 1, length(?3)) = ?3 ORDER BY name LIMIT ?4";

type Change<'a> = &'a mut dyn FnMut(Option<Value>) -> Result<Value, StoreError>;

pub(crate) fn get(
    database: &Database,
    scope: &Scope,
    name: &str,
) -> Result<Option<Value>, StoreError> {
    Ok(read(database, scope, name)?.map(|(_, body)| body))
}

pub(crate) fn names(
    database: &Database,
    scope: &Scope,
    prefix: &str,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let (scope, owner) = columns(scope);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    database.read("list the documents", |connection| {
        let mut statement = connection.prepare_cached(NAMES)?;
        let names = statement.query_map(params![scope, owner, prefix, limit], |row| row.get(0))?;
        names.map(|name| Ok(name?)).collect()
    })
}

/// Lets `change` work on a copy, and takes its answer only if the original is still the same.
///
/// So no lock is held while foreign code runs: it may be slow, panic, or use the store itself.
/// Each round that is lost is one that somebody else has won.
pub(crate) fn update(
    database: &Database,
    scope: &Scope,
    name: &str,
    change: Change<'_>,
) -> Result<(), StoreError> {
    loop {
        let (version, body) = read(database, scope, name)?.unzip();
        let changed = change(body.clone())?;
        // What a file was seen to be, for one, is mostly what it was the last time.
        if body.as_ref() == Some(&changed) || write(database, scope, name, version, &changed)? {
            return Ok(());
        }
    }
}

fn read(
    database: &Database,
    scope: &Scope,
    name: &str,
) -> Result<Option<(i64, Value)>, StoreError> {
    let (scope, owner) = columns(scope);
    database.read("read the document", |connection| {
        let mut statement = connection.prepare_cached(GET)?;
        let mut rows = statement.query([scope, owner, name])?;
        rows.next()?.map(|row| Ok((row.get(0)?, to_value(row, 1)?))).transpose()
    })
}

/// Writes the document unless it is no longer what it was; says whether it did.
fn write(
    database: &Database,
    scope: &Scope,
    name: &str,
    seen: Option<i64>,
    value: &Value,
) -> Result<bool, StoreError> {
    let (scope, owner) = columns(scope);
    let body = from_value(value)?;
    database.write("change the document", |connection| {
        let changed = match seen {
            None => {
                connection.prepare_cached(CREATE)?.execute(params![scope, owner, name, body])?
            }
            Some(version) => connection
                .prepare_cached(REPLACE)?
                .execute(params![scope, owner, name, body, version])?,
        };
        Ok(changed > 0)
    })
}

fn columns(scope: &Scope) -> (&'static str, &str) {
    match scope {
        Scope::Session(id) => ("session", id.as_str()),
        Scope::Project(root) => ("project", root),
    }
}
