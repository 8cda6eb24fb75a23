//! The application around us: whoever can answer a question.

use serde::{Deserialize, Serialize};

use crate::permission::{PendingAsk, Reply};
use crate::tool::BoxFuture;

/// The person, or the program that speaks for one.
///
/// Events are not pushed at the host: it subscribes to them with [`crate::Runtime::events`], so that
/// a slow one never holds up a call.
pub trait Host: Send + Sync + 'static {
    /// Answers an ask. The future is dropped if the call ends first, or if the ask is answered
    /// through [`crate::Runtime::reply`]; a host that answers that way returns one that never ends.
    fn approve<'a>(&'a self, _ask: &'a PendingAsk) -> BoxFuture<'a, Reply> {
        Box::pin(async { Reply::Unattended })
    }

    /// Puts questions to the user; `None` when there is nobody, or the user did not answer.
    fn question<'a>(&'a self, _questions: &'a [Question]) -> BoxFuture<'a, Option<Vec<Answer>>> {
        Box::pin(async { None })
    }
}

/// A host with nobody there: every ask is a no.
#[derive(Debug, Clone, Copy, Default)]
pub struct Headless;

impl Host for Headless {}

/// A question for the user, with answers to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The whole question.
    pub question: String,
    /// A word or two for a tab or heading.
    pub header: String,
    /// What can be chosen.
    pub options: Vec<Choice>,
    /// Whether more than one may be chosen.
    pub multiple: bool,
}

/// One answer that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What is shown and returned.
    pub label: String,
    /// What it means.
    pub description: String,
}

/// The user's answer to one question: the labels chosen, or words of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What was chosen or written.
    pub chosen: Vec<String>,
}
