//! Stores to test with, and things to put into them.

use std::path::Path;
use std::sync::Arc;

use haft_runtime::{
    AgentId, CallId, Draft, ErrorReport, EventKind, Metadata, Output, SessionId, Store,
};
use haft_store::{Options, SqliteStore};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A store in a folder that goes when it goes.
pub(crate) fn store() -> (TempDir, SqliteStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    (dir, store)
}

pub(crate) fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(dir, Options::default()).unwrap()
}

/// The database behind the store's back.
pub(crate) fn behind(dir: &Path) -> Connection {
    Connection::open(dir.join("haft.db")).unwrap()
}

pub(crate) fn session(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

pub(crate) fn call(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

pub(crate) fn draft(session_id: &str, kind: EventKind) -> Draft {
    Draft::now(Some(session(session_id)), kind)
}

pub(crate) fn pending(id: &str) -> EventKind {
    EventKind::CallPending {
        call: call(id),
        parent: None,
        message: None,
        agent: AgentId::parse("build").unwrap(),
        tool: "Read".into(),
        args: json!("{\"path\": \"a\"}"),
    }
}

pub(crate) fn running(id: &str) -> EventKind {
    EventKind::CallRunning { call: call(id), tool: "read".into(), args: json!({ "path": "a" }) }
}

pub(crate) fn progress(id: &str) -> EventKind {
    EventKind::CallProgress { call: call(id), title: "half".into(), metadata: Metadata::new() }
}

pub(crate) fn completed(id: &str) -> EventKind {
    let output = Arc::new(Output::new("a", "text of a").with("lines", 1));
    EventKind::CallCompleted { call: call(id), tool: "read".into(), output }
}

pub(crate) fn error(id: &str) -> EventKind {
    let error = ErrorReport { kind: "failed".into(), message: "a is gone".into(), denial: None };
    let metadata = json!({ "seen": 3 }).as_object().cloned().unwrap();
    EventKind::CallError { call: call(id), tool: "read".into(), error, metadata }
}

pub(crate) fn noted(data: Value) -> EventKind {
    EventKind::Noted { call: call("call_x"), name: "file.edited".into(), data }
}

/// The numbers that the log of a session holds.
pub(crate) fn numbers(store: &dyn Store, session_id: &str) -> Vec<u64> {
    let events = store.events(&session(session_id), 0, usize::MAX).unwrap();
    events.iter().map(|event| event.seq).collect()
}
