//! A store that is opened when it is first needed, for commands that may never need it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use haft_runtime::permission::Reply;
use haft_runtime::{
    AskId, CallId, CallRecord, Draft, Event, Grant, GrantId, KeptOutput, NewSession, PostedAsk,
    Scope, Session, SessionId, Spill, Store, StoreError,
};
use jiff::Timestamp;
use serde_json::Value;

use crate::{Options, SqliteStore};

/// A [`SqliteStore`] that is opened at its first use.
///
/// If that fails, whoever used it gets the error, and the next use tries again.
#[derive(Debug)]
pub struct LazyStore {
    /// None if there is no place for it.
    dir: Option<PathBuf>,
    options: Options,
    opened: OnceLock<SqliteStore>,
    opening: Mutex<()>,
}

impl LazyStore {
    /// Remembers where the store is; touches nothing.
    pub fn new(dir: impl Into<PathBuf>, options: Options) -> Self {
        Self { dir: Some(dir.into()), ..Self::nowhere(options) }
    }

    /// A store that fails whenever it is used, because there is no place for it.
    #[must_use]
    pub fn nowhere(options: Options) -> Self {
        Self { dir: None, options, opened: OnceLock::new(), opening: Mutex::new(()) }
    }

    fn store(&self) -> Result<&SqliteStore, StoreError> {
        if let Some(store) = self.opened.get() {
            return Ok(store);
        }
        // One thread opens, the others wait for it instead of opening their own.
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = self.opened.get() {
            return Ok(store);
        }
        let Some(dir) = &self.dir else {
            return Err(StoreError::failed(
                "there is no place for haft's state; set HOME or XDG_STATE_HOME to an absolute path",
            ));
        };
        let store = SqliteStore::open(dir, self.options)?;
        Ok(self.opened.get_or_init(|| store))
    }
}

impl Store for LazyStore {
    fn open_session(&self, new: &NewSession) -> Result<Session, StoreError> {
        self.store()?.open_session(new)
    }

    fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        self.store()?.session(id)
    }

    fn sessions(&self, project: Option<&str>, limit: usize) -> Result<Vec<Session>, StoreError> {
        self.store()?.sessions(project, limit)
    }

    fn forget_session(&self, id: &SessionId) -> Result<bool, StoreError> {
        self.store()?.forget_session(id)
    }

    fn append(&self, drafts: &[Draft]) -> Result<Vec<u64>, StoreError> {
        self.store()?.append(drafts)
    }

    fn append_now(&self, drafts: &[Draft]) -> Result<Option<Vec<u64>>, StoreError> {
        // Opening takes longer than those can wait who call this.
        self.opened.get().map_or(Ok(None), |store| store.append_now(drafts))
    }

    fn tidy(&self) -> Result<(), StoreError> {
        self.opened.get().map_or(Ok(()), Store::tidy)
    }

    fn events(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        self.store()?.events(session, after, limit)
    }

    fn call(&self, session: &SessionId, call: &CallId) -> Result<Option<CallRecord>, StoreError> {
        self.store()?.call(session, call)
    }

    fn calls(&self, session: &SessionId, limit: usize) -> Result<Vec<CallRecord>, StoreError> {
        self.store()?.calls(session, limit)
    }

    fn grants(&self, project: Option<&str>) -> Result<Vec<Grant>, StoreError> {
        self.store()?.grants(project)
    }

    fn add_grant(&self, grant: &Grant) -> Result<(), StoreError> {
        self.store()?.add_grant(grant)
    }

    fn revoke_grant(&self, id: &GrantId) -> Result<bool, StoreError> {
        self.store()?.revoke_grant(id)
    }

    fn post_ask(&self, posted: &PostedAsk) -> Result<(), StoreError> {
        self.store()?.post_ask(posted)
    }

    fn posted_asks(
        &self,
        project: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<PostedAsk>, StoreError> {
        self.store()?.posted_asks(project, now)
    }

    fn answer_ask(&self, id: &AskId, reply: &Reply, now: Timestamp) -> Result<bool, StoreError> {
        self.store()?.answer_ask(id, reply, now)
    }

    fn ask_answer(&self, id: &AskId) -> Result<Option<Reply>, StoreError> {
        self.store()?.ask_answer(id)
    }

    fn await_ask(&self, id: &AskId, until: Timestamp) -> Result<(), StoreError> {
        self.store()?.await_ask(id, until)
    }

    fn withdraw_ask(&self, id: &AskId) -> Result<(), StoreError> {
        self.store()?.withdraw_ask(id)
    }

    fn document(&self, scope: &Scope, name: &str) -> Result<Option<Value>, StoreError> {
        self.store()?.document(scope, name)
    }

    fn document_names(
        &self,
        scope: &Scope,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        self.store()?.document_names(scope, prefix, limit)
    }

    fn update_document(
        &self,
        scope: &Scope,
        name: &str,
        change: &mut dyn FnMut(Option<Value>) -> Result<Value, StoreError>,
    ) -> Result<(), StoreError> {
        self.store()?.update_document(scope, name, change)
    }

    fn keep(
        &self,
        session: &SessionId,
        call: &CallId,
        text: &str,
    ) -> Result<KeptOutput, StoreError> {
        self.store()?.keep(session, call, text)
    }

    fn spill(&self) -> Result<Spill, StoreError> {
        self.store()?.spill()
    }

    fn adopt(
        &self,
        session: &SessionId,
        call: &CallId,
        spill: &Path,
    ) -> Result<KeptOutput, StoreError> {
        self.store()?.adopt(session, call, spill)
    }

    fn kept(&self, path: &Path) -> Result<Option<KeptOutput>, StoreError> {
        self.store()?.kept(path)
    }
}
