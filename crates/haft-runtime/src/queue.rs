//! Asks that wait for an answer from elsewhere: another process, a person who was not there.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use crate::documents::blocking;
use crate::error::ToolError;
use crate::ids::AskId;
use crate::permission::{PendingAsk, Reply};
use crate::store::{PostedAsk, Store};

/// How often is looked for an answer. A person does not notice it, and a look is one read.
const LOOK: Duration = Duration::from_millis(100);

/// How long an ask stands without word from whoever waits. One whose process died is gone after this at the latest.
const LEASE: SignedDuration = SignedDuration::from_secs(15);

/// How many looks come between two such words.
const LOOKS_PER_WORD: u32 = 50;

/// Puts asks up in the store, where `haft approve` and other surfaces find and answer them.
///
/// It needs no connection between the two processes, and nothing is left behind: an ask is taken down
/// when it is answered, when its deadline passes, when its call ends, and, if its process was killed,
/// at once where the store knows of that, else when its lease runs out.
#[derive(Clone)]
pub struct AskQueue {
    project: String,
    store: Arc<dyn Store>,
}

impl AskQueue {
    /// A queue for the asks of one project, named by the path of its root.
    pub fn new(project: impl Into<String>, store: Arc<dyn Store>) -> Self {
        Self { project: project.into(), store }
    }

    /// Waits for somebody to answer, up to `patience` from now; [`Reply::Unanswered`] if nobody does.
    ///
    /// If the future is dropped, the ask is taken down.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn ask(&self, pending: &PendingAsk, patience: Duration) -> Result<Reply, ToolError> {
        let deadline = Instant::now().checked_add(patience);
        let _posted = self.post(pending).await?;
        let reply = self.answer(&pending.id);
        match deadline {
            // No clock reaches that far.
            None => reply.await,
            Some(deadline) => tokio::select! {
                reply = reply => reply,
                () = sleep_until(deadline) => Ok(Reply::Unanswered { seconds: patience.as_secs() }),
            },
        }
    }

    async fn post(&self, pending: &PendingAsk) -> Result<Posted, ToolError> {
        let now = Timestamp::now();
        let (project, ask) = (self.project.clone(), pending.clone());
        let posted = PostedAsk { project, created: now, until: lease(now), ask };
        // Before it is there: a future that is dropped in between must take it down too.
        let guard = Posted { store: Arc::clone(&self.store), id: pending.id.clone() };
        let store = Arc::clone(&self.store);
        blocking(move || store.post_ask(&posted)).await?;
        Ok(guard)
    }

    async fn answer(&self, id: &AskId) -> Result<Reply, ToolError> {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for look in 0_u32.. {
            looks.tick().await;
            let (store, id) = (Arc::clone(&self.store), id.clone());
            let says_so = look % LOOKS_PER_WORD == 0;
            let answer = blocking(move || {
                if says_so {
                    store.await_ask(&id, lease(Timestamp::now()))?;
                }
                store.ask_answer(&id)
            });
            if let Some(reply) = answer.await? {
                return Ok(reply);
            }
        }
        Ok(Reply::Unattended)
    }
}

fn lease(now: Timestamp) -> Timestamp {
    now.saturating_add(LEASE).unwrap_or(Timestamp::MAX)
}

/// An ask that is up; taken down when dropped.
struct Posted {
    store: Arc<dyn Store>,
    id: AskId,
}

impl Drop for Posted {
    fn drop(&mut self) {
        // At once, though it may block a little: the process may be about to end, and would leave
        // the ask behind. If it fails, the lease ends it.
        self.store.withdraw_ask(&self.id).unwrap_or_default();
    }
}
