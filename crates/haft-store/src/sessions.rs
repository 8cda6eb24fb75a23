//! Conversations, and what is known about each.

use haft_runtime::{NewSession, Session, SessionId, StoreError};
use jiff::Timestamp;
use rusqlite::{Connection, Row, params};

use crate::columns::{from_count, from_time, to_count, to_id, to_id_if_any, to_time};
use crate::database::Database;
use crate::failure::Fault;

/// A session that was opened keeps what it was told then. One that began with an event was told
/// nothing yet, and its project is empty.
const OPEN: &str = "
    INSERT INTO sessions (id, project, parent, agent, created, updated, last_seq, calls)
    VALUES (?1, ?2, ?3, ?4, ?5, ?5, 0, 0)
    ON CONFLICT (id) DO UPDATE
    SET project = excluded.project, parent = excluded.parent, agent = excluded.agent
    WHERE project = '' AND excluded.project <> ''";

const GET: &str = "
    SELECT id, project, parent, agent, created, updated, calls FROM sessions WHERE id = ?1";

const LIST: &str = "
    SELECT id, project, parent, agent, created, updated, calls FROM sessions
    WHERE ?1 IS NULL OR project = ?1
    ORDER BY updated DESC, n DESC LIMIT ?2";

pub(crate) fn open(database: &Database, new: &NewSession) -> Result<Session, StoreError> {
    // Most sessions that are opened are there already, and need no right to write.
    if let Some(session) = get(database, &new.id)?
        && (!session.project.is_empty() || new.project.is_empty())
    {
        return Ok(session);
    }
    database.write("open the session", |connection| {
        connection.prepare_cached(OPEN)?.execute(params![
            new.id.as_str(),
            new.project,
            new.parent.as_ref().map(SessionId::as_str),
            new.agent.as_str(),
            from_time(Timestamp::now()),
        ])?;
        find(connection, &new.id)?
            .ok_or_else(|| StoreError::failed("the session just opened is gone").into())
    })
}

/// What belongs to a session, in an order in which nothing points at what is gone.
const FORGET: [&str; 4] = [
    "DELETE FROM calls WHERE session = (SELECT n FROM sessions WHERE id = ?1)",
    "DELETE FROM events WHERE key IN (
        SELECT key FROM events JOIN sessions
        ON key > (n << 32) AND key <= (n << 32 | 0xffffffff) WHERE id = ?1)",
    "DELETE FROM documents WHERE scope = 'session' AND owner = ?1",
    "DELETE FROM sessions WHERE id = ?1",
];

pub(crate) fn forget(database: &Database, id: &SessionId) -> Result<bool, StoreError> {
    database.write("forget the session", |connection| {
        let mut last = 0;
        for step in FORGET {
            last = connection.prepare_cached(step)?.execute([id.as_str()])?;
        }
        Ok(last > 0)
    })
}

pub(crate) fn get(database: &Database, id: &SessionId) -> Result<Option<Session>, StoreError> {
    database.read("read the session", |connection| find(connection, id))
}

pub(crate) fn list(
    database: &Database,
    project: Option<&str>,
    limit: usize,
) -> Result<Vec<Session>, StoreError> {
    database.read("list the sessions", |connection| {
        connection
            .prepare_cached(LIST)?
            .query_and_then(params![project, from_count(limit)], session)?
            .collect()
    })
}

fn find(connection: &Connection, id: &SessionId) -> Result<Option<Session>, Fault> {
    let mut statement = connection.prepare_cached(GET)?;
    let mut rows = statement.query([id.as_str()])?;
    rows.next()?.map(session).transpose()
}

fn session(row: &Row<'_>) -> Result<Session, Fault> {
    Ok(Session {
        id: to_id(row, 0)?,
        project: row.get(1)?,
        parent: to_id_if_any(row, 2)?,
        agent: to_id(row, 3)?,
        created: to_time(row, 4)?,
        updated: to_time(row, 5)?,
        calls: to_count(row, 6)?,
    })
}
