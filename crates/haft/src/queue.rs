//! A host for a call whose asks are answered elsewhere, with `haft approve`.

use std::sync::Arc;
use std::time::Duration;

use haft_runtime::permission::{PendingAsk, Reply};
use haft_runtime::{AskQueue, BoxFuture, Host, Store};

use crate::open::Haft;

/// Puts every ask into the queue, and waits as long as the call does.
pub(crate) struct Queue(AskQueue);

impl Queue {
    pub(crate) fn of(haft: &Haft) -> Self {
        Self(AskQueue::new(&haft.project, Arc::clone(&haft.store) as Arc<dyn Store>))
    }
}

impl Host for Queue {
    fn approve<'a>(&'a self, ask: &'a PendingAsk) -> BoxFuture<'a, Reply> {
        Box::pin(async {
            let reply = self.0.ask(ask, Duration::MAX).await;
            // A queue that does not work has nobody at its other end.
            reply.unwrap_or(Reply::Unattended)
        })
    }
}
