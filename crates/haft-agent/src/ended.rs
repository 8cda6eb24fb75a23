//! How the work on a prompt ends, well or not.

use haft_runtime::ToolError;
use serde::{Serialize, Serializer};

use crate::provider::{ProviderError, Stop};
use crate::usage::{Usage, dollars};

/// How a prompt was dealt with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ended {
    /// Why the work ended.
    pub why: Why,
    /// What the hook said that stopped the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The model's last words.
    pub text: String,
    /// What this prompt cost.
    pub usage: Usage,
    /// The same in dollars, where the price is known.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "told")]
    pub cost: Option<f64>,
}

fn told<S: Serializer>(cost: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    cost.map(dollars).serialize(to)
}

/// Why the work on a prompt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The model has nothing more to do.
    Done,
    /// The model, or its provider, does not want to answer.
    Refusal,
    /// A reply reached its longest, and was cut there.
    Length,
    /// It took as many replies as are allowed.
    Steps,
    /// A hook wants it to end here.
    Stopped,
    /// It was cancelled.
    Cancelled,
}

/// Why the work on a prompt could not go on. The session can, once the cause is gone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The model does not reply.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The session's log cannot be read or written.
    #[error(transparent)]
    Log(#[from] ToolError),
    /// A hook does not want the session to begin.
    #[error("the session does not begin: {0}")]
    Hook(#[source] ToolError),
    /// There is nothing to reply to.
    #[error("there is nothing to go on with: the model has had the last word; say what to do next")]
    NothingToDo,
}

impl From<Stop> for Why {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Done | Stop::Calls => Self::Done,
            Stop::Length => Self::Length,
            Stop::Refusal => Self::Refusal,
        }
    }
}
