//! What a store keeps, record by record.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ErrorReport;
use crate::ids::{AgentId, CallId, GrantId, MessageId, SessionId};
use crate::output::{Metadata, Output};
use crate::permission::PendingAsk;

/// Whose document it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// A session's.
    Session(SessionId),
    /// A project's, by the path of its root.
    Project(String),
}

/// A session that is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// The root of the project it works in.
    pub project: String,
    /// The session that started it, for sub-agents.
    pub parent: Option<SessionId>,
    /// The agent that works in it.
    pub agent: AgentId,
}

/// One conversation, or one child of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The root of the project it works in; empty if it was never told.
    pub project: String,
    /// The session that started it, for sub-agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The agent that works in it.
    pub agent: AgentId,
    /// When it began.
    pub created: Timestamp,
    /// When something last happened in it.
    pub updated: Timestamp,
    /// How many calls it has made.
    pub calls: u64,
}

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// It arrived.
    Pending,
    /// Its arguments fit, and the tool was started.
    Running,
    /// It ended well.
    Completed,
    /// It ended with an error.
    Error,
}

impl CallState {
    /// Whether nothing can follow.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Error)
    }
}

/// A call as it is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The session it was made in.
    pub session: SessionId,
    /// Its id.
    pub id: CallId,
    /// The call that made it, for the children of a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CallId>,
    /// The model's message it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The agent that made it.
    pub agent: AgentId,
    /// The tool; until it runs, as the model wrote it.
    pub tool: String,
    /// The arguments; until it runs, as the model wrote them.
    pub args: Value,
    /// Where it stands.
    pub state: CallState,
    /// Its answer, once it ended well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// What went wrong, once it ended with an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
    /// Facts gathered before an error.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// When it arrived.
    pub started: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
}

/// A standing answer that the user gave: it turns *ask* into *allow*, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// The project it holds in, by the path of its root.
    pub project: String,
    /// The permission it is for: `edit`, `bash` …
    pub key: String,
    /// What it covers, as a rule's pattern.
    pub pattern: String,
    /// When it was given.
    pub created: Timestamp,
    /// The session it was given in.
    pub session: SessionId,
}

/// A text that was too long to show, kept whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptOutput {
    /// The file that holds it.
    pub path: PathBuf,
    /// The session it came from.
    pub session: SessionId,
    /// The call it came from.
    pub call: CallId,
    /// Its size.
    pub bytes: u64,
    /// When it was kept.
    pub created: Timestamp,
}

/// A place for an output that is too long to be held in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spill {
    /// Where the file is to be; nothing is there yet.
    pub path: PathBuf,
    /// How many bytes it may have.
    pub room: u64,
}

/// An ask that was put up for others to answer: another process, a person elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PostedAsk {
    /// The project it is about, by the path of its root.
    pub project: String,
    /// When it was put up.
    pub created: Timestamp,
    /// Until when somebody waits for the answer, unless it says again that it does.
    pub until: Timestamp,
    /// What is asked.
    pub ask: PendingAsk,
}
