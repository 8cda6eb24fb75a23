//! The log: events get their numbers, are written down, and move their calls along.

use haft_runtime::{Draft, Event, EventKind, SessionId, StoreError};
use jiff::Timestamp;
use rusqlite::{Connection, params};

use crate::calls;
use crate::columns::{from_count, from_time, from_value, to_count, to_time, to_value};
use crate::database::Database;
use crate::failure::Fault;

/// Takes as many numbers as a batch needs at once, and creates a session that is not there.
const ADVANCE: &str = "
    INSERT INTO sessions (id, project, agent, created, updated, last_seq, calls)
    VALUES (?1, '', ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (id) DO UPDATE SET
        updated = max(updated, excluded.updated),
        last_seq = last_seq + excluded.last_seq,
        calls = calls + excluded.calls
    RETURNING n, last_seq";

const LOG: &str = "INSERT INTO events (key, at, body) VALUES ((?1 << 32 | ?2), ?3, ?4)";

const LIST: &str = "
    SELECT events.seq, events.at, events.body
    FROM sessions JOIN events ON key > (n << 32 | ?2) AND key <= (n << 32 | 0xffffffff)
    WHERE id = ?1
    ORDER BY key LIMIT ?3";

/// What fits into the lower half of an event's key.
const LAST: i64 = u32::MAX as i64;

/// The agent of a session that began with an event which names none.
const NOBODY: &str = "unknown";

const WHAT: &str = "log what happened";

pub(crate) fn append(database: &Database, drafts: &[Draft]) -> Result<Vec<u64>, StoreError> {
    let mut batch = Batch::new(drafts)?;
    database.write(WHAT, |connection| batch.log(connection))
}

/// The same, unless somebody else is writing.
pub(crate) fn append_now(
    database: &Database,
    drafts: &[Draft],
) -> Result<Option<Vec<u64>>, StoreError> {
    let mut batch = Batch::new(drafts)?;
    database.write_now(WHAT, |connection| batch.log(connection))
}

pub(crate) fn list(
    database: &Database,
    session: &SessionId,
    after: u64,
    limit: usize,
) -> Result<Vec<Event>, StoreError> {
    let after = from_count(after).min(LAST);
    database.read("read the session's events", |connection| {
        connection
            .prepare_cached(LIST)?
            .query_and_then(params![session.as_str(), after, from_count(limit)], |row| {
                Ok(Event {
                    session: Some(session.clone()),
                    seq: to_count(row, 0)?,
                    at: to_time(row, 1)?,
                    kind: to_value::<EventKind>(row, 2)?.into(),
                })
            })?
            .collect()
    })
}

/// Drafts with all that can be done before the transaction, because all other writers wait from then on.
struct Batch<'a> {
    entries: Vec<Entry<'a>>,
    shares: Vec<Share<'a>>,
}

impl<'a> Batch<'a> {
    fn new(drafts: &'a [Draft]) -> Result<Self, StoreError> {
        let entries = drafts.iter().map(Entry::new).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { entries, shares: Share::of_each_session(drafts) })
    }

    fn log(&mut self, connection: &Connection) -> Result<Vec<u64>, Fault> {
        for share in &mut self.shares {
            share.take_numbers(connection)?;
        }
        self.entries.iter().map(|entry| entry.log(connection, &mut self.shares)).collect()
    }
}

/// A draft, and how it will stand in the log.
struct Entry<'a> {
    draft: &'a Draft,
    body: Option<String>,
}

impl<'a> Entry<'a> {
    fn new(draft: &'a Draft) -> Result<Self, StoreError> {
        let body = draft.is_kept().then(|| from_value(&*draft.kind)).transpose()?;
        Ok(Self { draft, body })
    }

    fn log(&self, connection: &Connection, shares: &mut [Share<'_>]) -> Result<u64, Fault> {
        let session = self.draft.session.as_ref();
        let Some(share) = shares.iter_mut().find(|share| Some(share.session) == session) else {
            return Ok(0);
        };
        share.last_given += 1;
        let seq = share.last_given;
        if let Some(body) = &self.body {
            let at = from_time(self.draft.at);
            connection.prepare_cached(LOG)?.execute(params![share.row, seq, at, body])?;
            calls::follow(connection, (share.session, share.row), seq, &self.draft.kind)?;
        }
        Ok(seq.unsigned_abs())
    }
}

/// One session's part of a batch.
struct Share<'a> {
    session: &'a SessionId,
    agent: &'a str,
    first: Timestamp,
    last: Timestamp,
    drafts: i64,
    calls: i64,
    row: i64,
    last_given: i64,
}

impl<'a> Share<'a> {
    fn of_each_session(drafts: &'a [Draft]) -> Vec<Self> {
        let mut shares: Vec<Self> = Vec::new();
        for draft in drafts {
            let Some(session) = &draft.session else {
                continue;
            };
            match shares.iter_mut().find(|share| share.session == session) {
                Some(share) => share.count(draft),
                None => {
                    let mut share = Self::new(session, draft.at);
                    share.count(draft);
                    shares.push(share);
                }
            }
        }
        shares
    }

    fn new(session: &'a SessionId, at: Timestamp) -> Self {
        let agent = NOBODY;
        Self { session, agent, first: at, last: at, drafts: 0, calls: 0, row: 0, last_given: 0 }
    }

    fn count(&mut self, draft: &'a Draft) {
        self.first = self.first.min(draft.at);
        self.last = self.last.max(draft.at);
        self.drafts += 1;
        if let EventKind::CallPending { agent, .. } = &*draft.kind {
            self.calls += 1;
            if self.agent == NOBODY {
                self.agent = agent.as_str();
            }
        }
    }

    fn take_numbers(&mut self, connection: &Connection) -> Result<(), Fault> {
        let (row, last) = connection.prepare_cached(ADVANCE)?.query_row(
            params![
                self.session.as_str(),
                self.agent,
                from_time(self.first),
                from_time(self.last),
                self.drafts,
                self.calls,
            ],
            |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)),
        )?;
        if last > LAST {
            let message = format!("session `{}` has no numbers left; begin another", self.session);
            return Err(StoreError::failed(message).into());
        }
        self.row = row;
        self.last_given = last - self.drafts;
        Ok(())
    }
}
