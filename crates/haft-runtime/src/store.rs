//! What must outlive a process: the trait, and the records it keeps. The engine is another crate's.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use crate::event::{Draft, Event};
use crate::ids::{AskId, CallId, GrantId, SessionId};
use crate::permission::Reply;

mod records;

pub use records::{
    CallRecord, CallState, Grant, KeptOutput, NewSession, PostedAsk, Scope, Session, Spill,
};

/// Where sessions, calls, events, grants, asks, documents and kept outputs live.
///
/// Every method but [`Store::append_now`] may block; the runtime calls them only from threads that
/// may wait. A method that returned `Ok` has happened for good: a process killed a moment later finds
/// it again. Many processes may use one store at once.
pub trait Store: Send + Sync + 'static {
    /// Creates the session, or returns the one that has this id already.
    ///
    /// # Errors
    /// If the store fails.
    fn open_session(&self, new: &NewSession) -> Result<Session, StoreError>;

    /// The session with this id.
    ///
    /// # Errors
    /// If the store fails.
    fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError>;

    /// Up to `limit` sessions of one project, or of all; the ones used last come first.
    ///
    /// # Errors
    /// If the store fails.
    fn sessions(&self, project: Option<&str>, limit: usize) -> Result<Vec<Session>, StoreError>;

    /// Forgets a session with its calls, events, documents and kept outputs; `false` if there is none.
    ///
    /// # Errors
    /// If the store fails; then nothing is forgotten.
    fn forget_session(&self, id: &SessionId) -> Result<bool, StoreError>;

    /// Numbers the drafts in order, logs those that [`Draft::is_kept`], and brings the records of
    /// their calls up to date: all of it or nothing.
    ///
    /// Numbers continue the session's own count, across processes. A draft without a session is
    /// numbered 0 and otherwise ignored; one of an unknown session creates that session.
    ///
    /// # Errors
    /// If the store fails; then no draft was logged.
    fn append(&self, drafts: &[Draft]) -> Result<Vec<u64>, StoreError>;

    /// As [`Store::append`], unless it would have to wait for somebody else: then `None`, and nothing
    /// was logged. Called from threads that may not wait.
    ///
    /// # Errors
    /// If the store fails; then no draft was logged.
    fn append_now(&self, _drafts: &[Draft]) -> Result<Option<Vec<u64>>, StoreError> {
        Ok(None)
    }

    /// Housekeeping that may take its time, called now and then.
    ///
    /// # Errors
    /// If the store fails; nothing is lost by that.
    fn tidy(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Up to `limit` events of a session that come after number `after`, in order.
    ///
    /// # Errors
    /// If the store fails.
    fn events(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError>;

    /// One call of a session.
    ///
    /// # Errors
    /// If the store fails.
    fn call(&self, session: &SessionId, call: &CallId) -> Result<Option<CallRecord>, StoreError>;

    /// Up to `limit` calls of a session, from the first on.
    ///
    /// # Errors
    /// If the store fails.
    fn calls(&self, session: &SessionId, limit: usize) -> Result<Vec<CallRecord>, StoreError>;

    /// The standing answers that hold in a project, or in all; oldest first.
    ///
    /// # Errors
    /// If the store fails.
    fn grants(&self, project: Option<&str>) -> Result<Vec<Grant>, StoreError>;

    /// Keeps a standing answer. The same key and pattern in the same project are kept once.
    ///
    /// # Errors
    /// If the store fails.
    fn add_grant(&self, grant: &Grant) -> Result<(), StoreError>;

    /// Forgets a standing answer; `false` if there was none with this id.
    ///
    /// # Errors
    /// If the store fails.
    fn revoke_grant(&self, id: &GrantId) -> Result<bool, StoreError>;

    /// Puts an ask up for others to answer.
    ///
    /// # Errors
    /// If the store fails, or has no such board.
    fn post_ask(&self, _posted: &PostedAsk) -> Result<(), StoreError> {
        Err(StoreError::failed("this store has no place where asks wait for others"))
    }

    /// The asks of one project, or of all, that somebody waits for at `now` and nobody has answered;
    /// oldest first.
    ///
    /// # Errors
    /// If the store fails.
    fn posted_asks(
        &self,
        _project: Option<&str>,
        _now: Timestamp,
    ) -> Result<Vec<PostedAsk>, StoreError> {
        Ok(Vec::new())
    }

    /// Answers a posted ask; `false` if nobody waits for it at `now`, or it has been answered.
    ///
    /// # Errors
    /// If the store fails.
    fn answer_ask(&self, _id: &AskId, _reply: &Reply, _now: Timestamp) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// The answer to a posted ask, if there is one.
    ///
    /// # Errors
    /// If the store fails.
    fn ask_answer(&self, _id: &AskId) -> Result<Option<Reply>, StoreError> {
        Ok(None)
    }

    /// Says that the answer to a posted ask is waited for until then.
    ///
    /// # Errors
    /// If the store fails.
    fn await_ask(&self, _id: &AskId, _until: Timestamp) -> Result<(), StoreError> {
        Ok(())
    }

    /// Takes a posted ask down, answered or not.
    ///
    /// # Errors
    /// If the store fails.
    fn withdraw_ask(&self, _id: &AskId) -> Result<(), StoreError> {
        Ok(())
    }

    /// A small JSON document, such as a session's list of todos.
    ///
    /// # Errors
    /// If the store fails.
    fn document(&self, scope: &Scope, name: &str) -> Result<Option<Value>, StoreError>;

    /// The names of the documents that begin with `prefix`, in alphabetical order, at most `limit`.
    ///
    /// # Errors
    /// If the store fails.
    fn document_names(
        &self,
        scope: &Scope,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, StoreError>;

    /// Replaces a document by what `change` makes of it, with no other change in between.
    ///
    /// `change` may be called more than once; only its last answer counts. If it fails, the
    /// document stays as it was.
    ///
    /// # Errors
    /// If the store fails, or `change` does.
    fn update_document(
        &self,
        scope: &Scope,
        name: &str,
        change: &mut dyn FnMut(Option<Value>) -> Result<Value, StoreError>,
    ) -> Result<(), StoreError>;

    /// Keeps a text that was too long to show, in a file only its owner can read.
    ///
    /// # Errors
    /// If the store fails.
    fn keep(
        &self,
        session: &SessionId,
        call: &CallId,
        text: &str,
    ) -> Result<KeptOutput, StoreError>;

    /// A place for an output that is too long to be held in memory. Whoever writes a file there has it
    /// kept by [`Store::adopt`], or removes it; what nobody writes to for an hour is removed. It is only
    /// named: nobody waits for a disk.
    ///
    /// # Errors
    /// If the store fails, or keeps no files.
    fn spill(&self) -> Result<Spill, StoreError> {
        Err(StoreError::failed("this store keeps no files"))
    }

    /// Keeps the file that was written to a place from [`Store::spill`].
    ///
    /// # Errors
    /// If the store fails; then the file is gone.
    fn adopt(
        &self,
        _session: &SessionId,
        _call: &CallId,
        _spill: &Path,
    ) -> Result<KeptOutput, StoreError> {
        Err(StoreError::failed("this store keeps no files"))
    }

    /// The kept output whose file this is, if it is one and still there.
    ///
    /// # Errors
    /// If the store fails.
    fn kept(&self, path: &Path) -> Result<Option<KeptOutput>, StoreError>;
}

/// How a store can fail. The operator reads it, and sometimes the model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no room left.
    #[error("the disk that holds {} is full; free some space and try again", .path.display())]
    Full {
        /// The file that could not grow.
        path: PathBuf,
    },
    /// Another process did not let go in time.
    #[error("another process has kept {} locked for {seconds} s; end it, or try again", .path.display())]
    Busy {
        /// The file that is locked.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// It was written by a later version.
    #[error("{} has format {found}, and this haft knows up to {known}; update haft", .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format we know.
        known: i64,
    },
    /// A call id was used twice in one session; an id is never run again.
    #[error(
        "call id `{call}` was already used in session `{session}`; make each call with a fresh id"
    )]
    RepeatedCall {
        /// The session.
        session: SessionId,
        /// The id.
        call: CallId,
    },
    /// An event of a call that is not there, or that has ended.
    #[error("call `{call}` of session `{session}` {why}")]
    OutOfTurn {
        /// The session.
        session: SessionId,
        /// The call.
        call: CallId,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Anything else.
    #[error("{message}")]
    Failed {
        /// What failed, on what, and why.
        message: String,
    },
}

impl StoreError {
    /// A failure in the store's own words.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into() }
    }

    /// A failure, and the error beneath it.
    pub fn caused(message: impl Display, cause: impl Display) -> Self {
        Self::Failed { message: format!("{message}: {cause}") }
    }
}
