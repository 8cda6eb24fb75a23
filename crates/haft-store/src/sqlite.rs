//! The store itself: a database, a folder of outputs, and the trait over both.

use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_runtime::permission::Reply;
use haft_runtime::{
    AskId, CallId, CallRecord, Draft, Event, Grant, GrantId, KeptOutput, NewSession, PostedAsk,
    Scope, Session, SessionId, Spill, Store, StoreError,
};
use jiff::Timestamp;
use serde_json::Value;

use crate::database::Database;
use crate::outputs::Outputs;
use crate::waiters::Waiters;
use crate::{asks, calls, documents, events, failure, grants, private, sessions};

/// How much is kept for how long, and how patient a store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Kept outputs that are older are removed.
    pub keep_age: Duration,
    /// Kept outputs take no more than this together; the oldest go first.
    pub keep_bytes: u64,
    /// How long to wait for another process that is writing.
    pub busy: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            // A week: long enough to come back to a conversation after a holiday weekend.
            keep_age: Duration::from_secs(7 * 24 * 60 * 60),
            keep_bytes: 512 * 1024 * 1024,
            // A write takes microseconds, so whoever blocks this long is stuck.
            busy: Duration::from_secs(5),
        }
    }
}

/// A store in a folder of its own.
#[derive(Debug)]
pub struct SqliteStore {
    database: Database,
    outputs: Outputs,
    waiters: Waiters,
}

impl SqliteStore {
    /// Opens the store in `dir`, haft's state folder, and makes both if they are not there yet.
    ///
    /// # Errors
    /// If the folder or the database cannot be made, read or brought to the present format, or if
    /// a later version of haft wrote it.
    pub fn open(dir: &Path, options: Options) -> Result<Self, StoreError> {
        let outputs = dir.join("outputs");
        private::make_folder(&outputs).map_err(|error| failure::no_folder(dir, error))?;
        let dir = canonical(dir)?;
        let database = Database::open(&dir.join("haft.db"), options.busy)?;
        let outputs = Outputs::new(canonical(&outputs)?, options.keep_age, options.keep_bytes);
        outputs.tidy_if_due(&database);
        let waiters = Waiters::new(dir.join("asks"));
        Ok(Self { database, outputs, waiters })
    }
}

impl SqliteStore {
    /// Whether whoever waited for this ask is dead; it is taken down then.
    fn is_left_behind(&self, id: &AskId) -> bool {
        let is_dead = self.waiters.is_dead(id);
        if is_dead {
            // If that fails, its lease ends it.
            self.withdraw_ask(id).unwrap_or_default();
        }
        is_dead
    }
}

/// Absolute, as the current directory may change, and free of links, so that it can be compared.
fn canonical(path: &Path) -> Result<PathBuf, StoreError> {
    fs_err::canonicalize(path).map_err(|error| failure::file("open the store", path, error))
}

impl Store for SqliteStore {
    fn open_session(&self, new: &NewSession) -> Result<Session, StoreError> {
        sessions::open(&self.database, new)
    }

    fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        sessions::get(&self.database, id)
    }

    fn sessions(&self, project: Option<&str>, limit: usize) -> Result<Vec<Session>, StoreError> {
        sessions::list(&self.database, project, limit)
    }

    fn forget_session(&self, id: &SessionId) -> Result<bool, StoreError> {
        let forgotten = sessions::forget(&self.database, id)?;
        self.outputs.remove_those_of(&self.database, id)?;
        Ok(forgotten)
    }

    fn append(&self, drafts: &[Draft]) -> Result<Vec<u64>, StoreError> {
        events::append(&self.database, drafts)
    }

    fn append_now(&self, drafts: &[Draft]) -> Result<Option<Vec<u64>>, StoreError> {
        events::append_now(&self.database, drafts)
    }

    fn tidy(&self) -> Result<(), StoreError> {
        self.database.shorten_log()
    }

    fn events(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        events::list(&self.database, session, after, limit)
    }

    fn call(&self, session: &SessionId, call: &CallId) -> Result<Option<CallRecord>, StoreError> {
        calls::get(&self.database, session, call)
    }

    fn calls(&self, session: &SessionId, limit: usize) -> Result<Vec<CallRecord>, StoreError> {
        calls::list(&self.database, session, limit)
    }

    fn grants(&self, project: Option<&str>) -> Result<Vec<Grant>, StoreError> {
        grants::list(&self.database, project)
    }

    fn add_grant(&self, grant: &Grant) -> Result<(), StoreError> {
        grants::add(&self.database, grant)
    }

    fn revoke_grant(&self, id: &GrantId) -> Result<bool, StoreError> {
        grants::revoke(&self.database, id)
    }

    fn post_ask(&self, posted: &PostedAsk) -> Result<(), StoreError> {
        self.waiters.hold(&posted.ask.id);
        asks::post(&self.database, posted)
    }

    fn posted_asks(
        &self,
        project: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<PostedAsk>, StoreError> {
        let mut asks = asks::list(&self.database, project, now)?;
        asks.retain(|posted| !self.is_left_behind(&posted.ask.id));
        Ok(asks)
    }

    fn answer_ask(&self, id: &AskId, reply: &Reply, now: Timestamp) -> Result<bool, StoreError> {
        Ok(!self.is_left_behind(id) && asks::answer(&self.database, id, reply, now)?)
    }

    fn ask_answer(&self, id: &AskId) -> Result<Option<Reply>, StoreError> {
        asks::reply(&self.database, id)
    }

    fn await_ask(&self, id: &AskId, until: Timestamp) -> Result<(), StoreError> {
        asks::wait(&self.database, id, until)
    }

    fn withdraw_ask(&self, id: &AskId) -> Result<(), StoreError> {
        self.waiters.release(id);
        asks::withdraw(&self.database, id)
    }

    fn document(&self, scope: &Scope, name: &str) -> Result<Option<Value>, StoreError> {
        documents::get(&self.database, scope, name)
    }

    fn document_names(
        &self,
        scope: &Scope,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        documents::names(&self.database, scope, prefix, limit)
    }

    fn update_document(
        &self,
        scope: &Scope,
        name: &str,
        change: &mut dyn FnMut(Option<Value>) -> Result<Value, StoreError>,
    ) -> Result<(), StoreError> {
        documents::update(&self.database, scope, name, change)
    }

    fn keep(
        &self,
        session: &SessionId,
        call: &CallId,
        text: &str,
    ) -> Result<KeptOutput, StoreError> {
        self.outputs.keep(&self.database, session, call, text)
    }

    fn spill(&self) -> Result<Spill, StoreError> {
        Ok(self.outputs.spill())
    }

    fn adopt(
        &self,
        session: &SessionId,
        call: &CallId,
        spill: &Path,
    ) -> Result<KeptOutput, StoreError> {
        self.outputs.adopt(&self.database, session, call, spill)
    }

    fn kept(&self, path: &Path) -> Result<Option<KeptOutput>, StoreError> {
        self.outputs.find(&self.database, path)
    }
}
