//! Errors, cut by who acts next. `Display` is the sentence the model reads.

use std::fmt::Display;
use std::time::Duration;

use serde::Serialize;

use crate::permission::Denial;
use crate::visible::plain;

/// How much of a name that means nothing is quoted.
const QUOTED: usize = 100;

/// How a call can fail.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// No such tool was shown: the model chooses another.
    #[error("there is no tool `{tool}`; {}", choices(.available))]
    Unknown {
        /// The name that was called.
        tool: String,
        /// The names that were shown.
        available: Vec<String>,
    },

    /// The arguments end in the middle: the model sends them again, whole.
    #[error(
        "the arguments for {tool} were cut off after {received} bytes, before the JSON was complete; \
         send the whole call again, or split it into smaller ones"
    )]
    CutOff {
        /// The tool that was called.
        tool: String,
        /// How many bytes arrived.
        received: usize,
    },

    /// The arguments do not fit the schema: the model rewrites them.
    #[error(
        "{tool} was called with arguments that do not fit:\n{detail}\nRewrite the call so that it fits the schema; nothing has run."
    )]
    InvalidParams {
        /// The tool that was called.
        tool: String,
        /// One line per fault: where, what was expected, what came.
        detail: String,
    },

    /// A rule or the user said no: the model does something else.
    #[error(transparent)]
    Denied(#[from] Box<Denial>),

    /// A hook refused, or failed: it counts as a refusal.
    #[error("blocked by a hook: {reason}")]
    Blocked {
        /// The hook's own words.
        reason: String,
    },

    /// A hook refused, and wants the agent to end its work as well.
    #[error("a hook stopped the work: {reason}; end here, and tell the user")]
    Stopped {
        /// The hook's own words.
        reason: String,
    },

    /// The call was cancelled; what had been gathered is kept.
    #[error("cancelled{}", so_far(.partial))]
    Cancelled {
        /// The output up to that moment.
        partial: String,
    },

    /// The call ran out of time; what had been gathered is kept.
    #[error("timed out after {:.1} s{}", .after.as_secs_f64(), so_far(.partial))]
    TimedOut {
        /// How long it was allowed to run.
        after: Duration,
        /// The output up to that moment.
        partial: String,
    },

    /// The process that ran the call ended before the call did.
    #[error(
        "interrupted: the process ended before the call did, so what it did by then is not known; \
         look before you do it again"
    )]
    Interrupted,

    /// A defect of ours. The payload goes to the log, never to the model.
    #[error("{tool} failed because of a defect in it; try another way")]
    Panicked {
        /// The tool that was called.
        tool: String,
    },

    /// The tool's own words.
    #[error("{message}")]
    Failed {
        /// What failed, on what, and what to do instead.
        message: String,
    },
}

impl ToolError {
    /// A failure in the tool's own words: what failed, on what, what to do instead.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into() }
    }

    /// A failure, and the error beneath it; the message does not repeat that error's text.
    pub fn caused(message: impl Display, cause: impl Display) -> Self {
        Self::Failed { message: format!("{message}: {cause}") }
    }

    /// No such tool. A name of any length is quoted in a few words.
    #[must_use]
    pub fn unknown(tool: &str, available: Vec<String>) -> Self {
        let mut name = plain(&tool.chars().take(QUOTED).collect::<String>());
        if tool.chars().nth(QUOTED).is_some() {
            name.push('…');
        }
        Self::Unknown { tool: name, available }
    }

    /// Cancelled with nothing to show.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::Cancelled { partial: String::new() }
    }

    /// The variant's name as every surface writes it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown",
            Self::CutOff { .. } => "cut_off",
            Self::InvalidParams { .. } => "invalid_params",
            Self::Denied(_) => "denied",
            Self::Blocked { .. } => "blocked",
            Self::Stopped { .. } => "stopped",
            Self::Cancelled { .. } => "cancelled",
            Self::TimedOut { .. } => "timed_out",
            Self::Interrupted => "interrupted",
            Self::Panicked { .. } => "panicked",
            Self::Failed { .. } => "failed",
        }
    }
}

/// An error as it is stored and sent: its kind and the sentence the model reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct ErrorReport {
    /// The variant's name, from [`ToolError::kind`].
    pub kind: String,
    /// The sentence the model reads.
    pub message: String,
    /// What stopped the call, when the kind is `denied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial: Option<Denial>,
}

impl From<&ToolError> for ErrorReport {
    fn from(error: &ToolError) -> Self {
        let denial = match error {
            ToolError::Denied(denial) => Some(denial.as_ref().clone()),
            _ => None,
        };
        Self { kind: error.kind().to_owned(), message: error.to_string(), denial }
    }
}

/// Why a tool could not be built for an agent. The operator reads it.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct InitError {
    reason: String,
}

impl InitError {
    /// Says what is missing and how to supply it. It holds until a tool comes or goes: nobody asks before.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

fn choices(available: &[String]) -> String {
    if available.is_empty() {
        "no tools are available".to_owned()
    } else {
        format!("available: {}", available.join(", "))
    }
}

fn so_far(partial: &str) -> String {
    if partial.is_empty() { String::new() } else { format!("; so far:\n{partial}") }
}
