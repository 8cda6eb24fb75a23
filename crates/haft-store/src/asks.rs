//! Asks that wait for an answer from another process.

use haft_runtime::permission::Reply;
use haft_runtime::{AskId, PostedAsk, StoreError};
use jiff::{SignedDuration, Timestamp};
use rusqlite::params;

use crate::columns::{from_time, from_value, to_time, to_value};
use crate::database::Database;

const POST: &str = "
    INSERT INTO asks (id, project, created, until, body) VALUES (?1, ?2, ?3, ?4, ?5)";

const LIST: &str = "
    SELECT project, created, until, body FROM asks
    WHERE (?1 IS NULL OR project = ?1) AND until > ?2 AND reply IS NULL
    ORDER BY created, n";

const ANSWER: &str = "
    UPDATE asks SET reply = ?2 WHERE id = ?1 AND until > ?3 AND reply IS NULL";

const REPLY: &str = "SELECT reply FROM asks WHERE id = ?1 AND reply IS NOT NULL";

const AWAIT: &str = "UPDATE asks SET until = ?2 WHERE id = ?1";

const WITHDRAW: &str = "DELETE FROM asks WHERE id = ?1";

const CLEAN: &str = "DELETE FROM asks WHERE until < ?1";

/// How long an ask that nobody waits for stays: its process may only have been asleep with the machine.
const FORGOTTEN: SignedDuration = SignedDuration::from_hours(24);

pub(crate) fn post(database: &Database, posted: &PostedAsk) -> Result<(), StoreError> {
    let body = from_value(&posted.ask)?;
    let old = posted.created.saturating_sub(FORGOTTEN).unwrap_or(Timestamp::MIN);
    database.write("put the ask up", |connection| {
        connection.prepare_cached(CLEAN)?.execute([from_time(old)])?;
        connection.prepare_cached(POST)?.execute(params![
            posted.ask.id.as_str(),
            posted.project,
            from_time(posted.created),
            from_time(posted.until),
            body,
        ])?;
        Ok(())
    })
}

pub(crate) fn list(
    database: &Database,
    project: Option<&str>,
    now: Timestamp,
) -> Result<Vec<PostedAsk>, StoreError> {
    database.read("read the asks", |connection| {
        connection
            .prepare_cached(LIST)?
            .query_and_then(params![project, from_time(now)], |row| {
                Ok(PostedAsk {
                    project: row.get(0)?,
                    created: to_time(row, 1)?,
                    until: to_time(row, 2)?,
                    ask: to_value(row, 3)?,
                })
            })?
            .collect()
    })
}

pub(crate) fn answer(
    database: &Database,
    id: &AskId,
    reply: &Reply,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let reply = from_value(reply)?;
    database.write("answer the ask", |connection| {
        let mut statement = connection.prepare_cached(ANSWER)?;
        Ok(statement.execute(params![id.as_str(), reply, from_time(now)])? > 0)
    })
}

pub(crate) fn reply(database: &Database, id: &AskId) -> Result<Option<Reply>, StoreError> {
    database.read("read the answer", |connection| {
        let mut statement = connection.prepare_cached(REPLY)?;
        let mut rows = statement.query([id.as_str()])?;
        rows.next()?.map(|row| to_value(row, 0)).transpose()
    })
}

pub(crate) fn wait(database: &Database, id: &AskId, until: Timestamp) -> Result<(), StoreError> {
    database.write("go on waiting for the answer", |connection| {
        connection.prepare_cached(AWAIT)?.execute([id.as_str(), &from_time(until)])?;
        Ok(())
    })
}

pub(crate) fn withdraw(database: &Database, id: &AskId) -> Result<(), StoreError> {
    database.write("take the ask down", |connection| {
        connection.prepare_cached(WITHDRAW)?.execute([id.as_str()])?;
        Ok(())
    })
}
