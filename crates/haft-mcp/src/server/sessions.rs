//! The sessions of a server's calls: begun by their first call, and ended when the server closes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_runtime::{AgentId, Beginning, NewSession, Runtime, SessionId, ToolError};
use tokio::sync::OnceCell;

use super::Place;

/// Sessions that are remembered at once; over HTTP there may be any number.
const MOST: usize = 4_096;

/// The sessions that have begun.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<SessionId, Arc<Begun>>>);

/// One that begins with the first call that needs it; the others wait for that.
#[derive(Default)]
struct Begun {
    runtime: OnceCell<Runtime>,
    /// What hooks said for the model, until it is told.
    context: Mutex<Vec<String>>,
}

impl Sessions {
    /// Sees to it that a session is in the store and that hooks know of it. Gives what they say for
    /// the model, once.
    pub(super) async fn begin(
        &self,
        place: &Place,
        session: &SessionId,
        agent: &AgentId,
    ) -> Result<Vec<String>, ToolError> {
        self.forget_some().await;
        let begun = Arc::clone(self.lock().entry(session.clone()).or_default());
        let begin = || async {
            let (id, project) = (session.clone(), place.project.clone());
            let new = NewSession { id, project, parent: None, agent: agent.clone() };
            let opened = place.runtime.open_session(new).await?;
            let is_known = opened.is_some_and(|session| session.calls > 0);
            let how = if is_known { Beginning::Resume } else { Beginning::Startup };
            let said = place.runtime.begin_session(session, how).await?;
            *begun.context() = said.context;
            Ok::<_, ToolError>(place.runtime.clone())
        };
        begun.runtime.get_or_try_init(begin).await?;
        Ok(std::mem::take(&mut *begun.context()))
    }

    /// Tells the hooks of every session that it is over.
    pub(super) async fn end(&self) {
        let all = std::mem::take(&mut *self.lock());
        for (session, begun) in all {
            if let Some(runtime) = begun.runtime.get() {
                runtime.end_session(&session, "other").await;
            }
        }
    }

    /// One that is forgotten begins again with its next call.
    async fn forget_some(&self) {
        if self.lock().len() >= MOST {
            self.end().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Begun>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Begun {
    fn context(&self) -> MutexGuard<'_, Vec<String>> {
        self.context.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
