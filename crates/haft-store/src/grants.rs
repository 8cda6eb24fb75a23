//! Standing answers that the user gave.

use haft_runtime::{Grant, GrantId, StoreError};
use rusqlite::params;

use crate::columns::{from_time, to_id, to_time};
use crate::database::Database;

const ADD: &str = "
    INSERT INTO grants (id, project, key, pattern, created, session)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (project, key, pattern) DO NOTHING";

const LIST: &str = "
    SELECT id, project, key, pattern, created, session FROM grants
    WHERE ?1 IS NULL OR project = ?1
    ORDER BY created, n";

const REVOKE: &str = "DELETE FROM grants WHERE id = ?1";

pub(crate) fn list(database: &Database, project: Option<&str>) -> Result<Vec<Grant>, StoreError> {
    database.read("read the grants", |connection| {
        connection
            .prepare_cached(LIST)?
            .query_and_then([project], |row| {
                Ok(Grant {
                    id: to_id(row, 0)?,
                    project: row.get(1)?,
                    key: row.get(2)?,
                    pattern: row.get(3)?,
                    created: to_time(row, 4)?,
                    session: to_id(row, 5)?,
                })
            })?
            .collect()
    })
}

pub(crate) fn add(database: &Database, grant: &Grant) -> Result<(), StoreError> {
    database.write("keep the grant", |connection| {
        connection.prepare_cached(ADD)?.execute(params![
            grant.id.as_str(),
            grant.project,
            grant.key,
            grant.pattern,
            from_time(grant.created),
            grant.session.as_str(),
        ])?;
        Ok(())
    })
}

pub(crate) fn revoke(database: &Database, id: &GrantId) -> Result<bool, StoreError> {
    database.write("revoke the grant", |connection| {
        Ok(connection.prepare_cached(REVOKE)?.execute([id.as_str()])? > 0)
    })
}
