//! What is said to a session while it works.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::message::Content;

/// A way to say something to a session while it works. The model reads it before its next reply.
#[derive(Debug, Clone, Default)]
pub struct Steering(Arc<Mutex<VecDeque<Vec<Content>>>>);

impl Steering {
    /// Says something.
    pub fn say(&self, content: Vec<Content>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(content);
    }

    /// Takes back what was said first and has not been read yet.
    pub fn take(&self) -> Option<Vec<Content>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}
