//! What is said to a session while it works.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::message::Content;

/// A way to say something to a session while it works. The model reads it before its next reply.
#[derive(Debug, Clone, Default)]
pub struct Steering(Arc<Words>);

#[derive(Debug, Default)]
struct Words {
    unread: Mutex<VecDeque<Vec<Content>>>,
    /// Wakes a session that waits for others.
    said: Notify,
}

impl Steering {
    /// Says something.
    pub fn say(&self, content: Vec<Content>) {
        self.lock().push_back(content);
        self.0.said.notify_one();
    }

    /// Takes back what was said first and has not been read yet.
    pub fn take(&self) -> Option<Vec<Content>> {
        self.lock().pop_front()
    }

    /// Waits until something was said that has not been read.
    pub(crate) async fn said(&self) {
        while self.lock().is_empty() {
            self.0.said.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Vec<Content>>> {
        self.0.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
