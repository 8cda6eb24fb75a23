//! Notices a model that goes in circles: the same call, with the same result, again and again.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::context::Context;
use crate::error::ToolError;
use crate::ids::SessionId;
use crate::output::Output;
use crate::permission::{Ask, Effect};
use crate::toolset::{Shown, Toolset};

/// The permission that a third equal call asks for.
pub(crate) const KEY: &str = "doom_loop";
/// So many equal calls are let pass before the next one is asked about.
const TOLERATED: u32 = 2;
/// Sessions remembered at once. Forgetting one only means that its next circle is noticed later.
const SESSIONS: usize = 4_096;

/// The last call of each session, and how often in a row it came to the same.
#[derive(Default)]
pub(crate) struct Repetitions(Mutex<HashMap<SessionId, Streak>>);

#[derive(Clone, Copy)]
struct Streak {
    call: u64,
    result: u64,
    times: u32,
}

impl Toolset {
    /// Asks before the third of three equal calls runs.
    pub(crate) async fn heed_repetition(
        &self,
        shown: &Shown,
        args: &Value,
        cx: &Context,
    ) -> Result<(), ToolError> {
        // The children of a batch are part of one call, and judged with it.
        if cx.parent.is_some() {
            return Ok(());
        }
        let repetitions = self.runtime().repetitions();
        let fingerprint = *cx.fingerprint.get_or_init(|| hash(&(shown.id(), args.to_string())));
        if repetitions.times(&cx.session, fingerprint) < TOLERATED {
            return Ok(());
        }
        let title = format!("{} was called {TOLERATED} times with the same result", shown.id());
        cx.ask(Ask::new(title, vec![Effect::using(KEY, shown.id().to_owned())])).await?;
        repetitions.forget(&cx.session);
        Ok(())
    }

    /// Remembers what a call came to.
    pub(crate) fn remember(&self, output: &Output, cx: &Context) {
        self.count(hash(&output.output), cx);
    }

    /// Remembers that a call failed, unless it did not run: then the circle is where it was.
    pub(crate) fn remember_failure(&self, error: &ToolError, cx: &Context) {
        match error {
            ToolError::Denied(denial) if denial.effect.key == KEY => {}
            _ => self.count(hash(&error.to_string()), cx),
        }
    }

    fn count(&self, result: u64, cx: &Context) {
        // Calls that did not get as far as arguments that fit are not counted.
        if let Some(fingerprint) = cx.fingerprint.get() {
            self.runtime().repetitions().add(&cx.session, *fingerprint, result);
        }
    }
}

impl Repetitions {
    fn times(&self, session: &SessionId, call: u64) -> u32 {
        let streaks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        streaks.get(session).filter(|streak| streak.call == call).map_or(0, |streak| streak.times)
    }

    fn add(&self, session: &SessionId, call: u64, result: u64) {
        let mut streaks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if streaks.len() >= SESSIONS && !streaks.contains_key(session) {
            streaks.clear();
        }
        let streak = streaks.entry(session.clone()).or_insert(Streak { call, result, times: 0 });
        if (streak.call, streak.result) == (call, result) {
            streak.times += 1;
        } else {
            *streak = Streak { call, result, times: 1 };
        }
    }

    /// Starts counting anew, once the user has said that it is fine.
    fn forget(&self, session: &SessionId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
