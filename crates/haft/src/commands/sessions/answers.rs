//! Whoever answers the asks of calls that are made again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_runtime::permission::{EffectKind, Escalation, PendingAsk, Reply};
use haft_runtime::{BoxFuture, CallRecord, CallState, Host};

/// Whose word a record is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Our own store's: what it says was allowed, the user allowed.
    Store,
    /// A file's, which anybody may have written.
    File,
}

/// Answers as the user did, where that can do no harm.
#[derive(Clone)]
pub(super) struct Answers(Arc<Inner>);

struct Inner {
    source: Source,
    is_confined: bool,
    now: Mutex<Now>,
}

/// The call that is being made.
#[derive(Default)]
struct Now {
    was_done: bool,
    /// The first thing it asked for and did not get.
    refused: Option<String>,
}

impl Answers {
    /// Commands are only run where they are confined.
    pub(super) fn new(source: Source, is_confined: bool) -> Self {
        Self(Arc::new(Inner { source, is_confined, now: Mutex::default() }))
    }

    /// From now on, this call is made again.
    pub(super) fn begin(&self, was: &CallRecord) {
        *self.now() = Now { was_done: was.state == CallState::Completed, refused: None };
    }

    /// What the call asked for and did not get.
    pub(super) fn refused(&self) -> Option<String> {
        self.now().refused.take()
    }

    /// Files of the copy may be changed by anybody; commands run only where the user has run them
    /// before, and only in the sandbox.
    fn is_harmless(&self, ask: &PendingAsk) -> bool {
        let is_plain = matches!(ask.escalation, None | Some(Escalation::Repetition));
        let is_own = self.0.source == Source::Store && self.0.is_confined;
        let may = |kind| match kind {
            EffectKind::Write | EffectKind::Delete => true,
            EffectKind::Run | EffectKind::Use => is_own,
            _ => false,
        };
        is_plain && ask.ask.effects.iter().all(|effect| may(effect.kind))
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.0.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host for Answers {
    fn approve<'a>(&'a self, ask: &'a PendingAsk) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            let mut now = self.now();
            if now.was_done && self.is_harmless(ask) {
                return Reply::Once;
            }
            now.refused.get_or_insert_with(|| ask.ask.title.clone());
            Reply::Unattended
        })
    }
}
