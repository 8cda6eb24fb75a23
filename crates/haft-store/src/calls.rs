//! Calls: which events are theirs, and the record that these add up to.

use haft_runtime::{CallId, CallRecord, CallState, EventKind, Metadata, SessionId, StoreError};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::columns::{from_count, to_time, to_value};
use crate::database::Database;
use crate::failure::Fault;

const BEGIN: &str = "INSERT INTO calls (session, id, pending) VALUES (?1, ?2, ?3)";

const RUN: &str = "UPDATE calls SET running = ?3 WHERE session = ?1 AND id = ?2 AND running IS NULL AND ended IS NULL";

const END: &str = "UPDATE calls SET ended = ?3 WHERE session = ?1 AND id = ?2 AND ended IS NULL";

const IS_THERE: &str = "SELECT 1 FROM calls WHERE session = ?1 AND id = ?2";

/// The events of those calls that the inner query chooses, from the first call on.
macro_rules! events_of {
    ($chosen:literal) => {
        concat!(
            "SELECT pending.at, pending.body, running.body, ended.at, ended.body FROM (",
            "SELECT * FROM calls WHERE session = (SELECT n FROM sessions WHERE id = ?1) ",
            $chosen,
            ") AS chosen
            JOIN events AS pending
                ON pending.key = (chosen.session << 32 | chosen.pending)
            LEFT JOIN events AS running
                ON running.key = (chosen.session << 32 | chosen.running)
            LEFT JOIN events AS ended
                ON ended.key = (chosen.session << 32 | chosen.ended)
            ORDER BY chosen.pending"
        )
    };
}

const GET: &str = events_of!("AND id = ?2");

const LIST: &str = events_of!("ORDER BY pending LIMIT ?2");

/// Moves the call along that an event is about, if it is about one. `row` is the session's.
pub(crate) fn follow(
    connection: &Connection,
    (session, row): (&SessionId, i64),
    seq: i64,
    kind: &EventKind,
) -> Result<(), Fault> {
    let (call, step) = match kind {
        EventKind::CallPending { call, .. } => (call, BEGIN),
        EventKind::CallRunning { call, .. } => (call, RUN),
        EventKind::CallCompleted { call, .. } | EventKind::CallError { call, .. } => (call, END),
        _ => return Ok(()),
    };
    match connection.prepare_cached(step)?.execute(params![row, call.as_str(), seq]) {
        Ok(0) => Err(out_of_turn(connection, (session, row), call)?.into()),
        Ok(_) => Ok(()),
        Err(error) if step == BEGIN && Fault::is_repeat(&error) => {
            Err(StoreError::RepeatedCall { session: session.clone(), call: call.clone() }.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Why a call cannot be moved along.
fn out_of_turn(
    connection: &Connection,
    (session, row): (&SessionId, i64),
    call: &CallId,
) -> Result<StoreError, Fault> {
    let known = connection
        .prepare_cached(IS_THERE)?
        .query_row(params![row, call.as_str()], |_| Ok(()))
        .optional()?;
    let why = match known {
        Some(()) => "is past that already; nothing goes back",
        None => "is unknown; a call is pending before it is anything else",
    };
    Ok(StoreError::OutOfTurn { session: session.clone(), call: call.clone(), why })
}

pub(crate) fn get(
    database: &Database,
    session: &SessionId,
    call: &CallId,
) -> Result<Option<CallRecord>, StoreError> {
    database.read("read the call", |connection| {
        let mut statement = connection.prepare_cached(GET)?;
        let mut rows = statement.query(params![session.as_str(), call.as_str()])?;
        rows.next()?.map(|row| record(session, row)).transpose()
    })
}

pub(crate) fn list(
    database: &Database,
    session: &SessionId,
    limit: usize,
) -> Result<Vec<CallRecord>, StoreError> {
    database.read("list the session's calls", |connection| {
        connection
            .prepare_cached(LIST)?
            .query_and_then(params![session.as_str(), from_count(limit)], |row| {
                record(session, row)
            })?
            .collect()
    })
}

/// Folds a call's events into what is remembered of it.
fn record(session: &SessionId, row: &Row<'_>) -> Result<CallRecord, Fault> {
    let mut record = arrived(session, row)?;
    if has(row, 2)? {
        run(&mut record, to_value(row, 2)?)?;
    }
    if has(row, 4)? {
        record.ended = Some(to_time(row, 3)?);
        end(&mut record, to_value(row, 4)?)?;
    }
    Ok(record)
}

fn has(row: &Row<'_>, column: usize) -> Result<bool, Fault> {
    Ok(row.get_ref(column)? != rusqlite::types::ValueRef::Null)
}

fn arrived(session: &SessionId, row: &Row<'_>) -> Result<CallRecord, Fault> {
    let EventKind::CallPending { call, parent, message, agent, tool, args } = to_value(row, 1)?
    else {
        return Err(misplaced());
    };
    Ok(CallRecord {
        session: session.clone(),
        id: call,
        parent,
        message,
        agent,
        tool,
        args,
        state: CallState::Pending,
        output: None,
        error: None,
        metadata: Metadata::new(),
        started: to_time(row, 0)?,
        ended: None,
    })
}

fn run(record: &mut CallRecord, event: EventKind) -> Result<(), Fault> {
    let EventKind::CallRunning { tool, args, .. } = event else {
        return Err(misplaced());
    };
    record.tool = tool;
    record.args = args;
    record.state = CallState::Running;
    Ok(())
}

fn end(record: &mut CallRecord, event: EventKind) -> Result<(), Fault> {
    match event {
        EventKind::CallCompleted { output, .. } => {
            record.output = Some(std::sync::Arc::unwrap_or_clone(output));
            record.state = CallState::Completed;
        }
        EventKind::CallError { error, metadata, .. } => {
            record.error = Some(error);
            record.metadata = metadata;
            record.state = CallState::Error;
        }
        _ => return Err(misplaced()),
    }
    Ok(())
}

fn misplaced() -> Fault {
    Fault::Unreadable { what: "a call", source: "one of its events is of another kind".into() }
}
