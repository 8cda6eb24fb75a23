//! One agent that another has started: how it stands, now or since an earlier process.

use std::collections::VecDeque;

use haft_runtime::{AgentId, CancellationToken, SessionId};
use serde::{Deserialize, Serialize};

use super::Attended;
use crate::company::Spent;
use crate::message::Content;
use crate::steering::Steering;

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskState {
    /// An agent works on it.
    Running,
    /// It was done.
    Done,
    /// It could not be done.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// The process that worked on it was ended.
    Interrupted,
}

impl TaskState {
    /// The word for it, as every surface writes it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A task as it is kept with the session that started it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The agent.
    pub(crate) agent: AgentId,
    /// What it works on, in a few words.
    pub(crate) description: String,
    /// The model that was chosen for it, if it is not the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// How it stands.
    pub(crate) state: TaskState,
    /// Why it did not go well; empty if it did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    /// What it has cost, with all that it started.
    #[serde(default)]
    pub(crate) spent: Spent,
    /// Whether the model that started it has yet to be told how it ended.
    #[serde(default)]
    pub(crate) unread: bool,
}

/// A task, and the agent that works on it where one does.
pub(super) struct Child {
    pub(super) task: Task,
    pub(super) parent: SessionId,
    pub(super) depth: usize,
    pub(super) attended: Attended,
    /// Its last words; none where only its log has them.
    pub(super) answer: Option<String>,
    /// What it does right now.
    pub(super) line: String,
    /// Ends it.
    pub(super) cancel: CancellationToken,
    /// The ways to it, while it works.
    pub(super) live: Option<Live>,
}

/// The ways to an agent that works.
pub(super) struct Live {
    pub(super) steering: Steering,
    /// Ends what it does right now.
    pub(super) turn: CancellationToken,
    /// What it is to do instead.
    pub(super) urgent: VecDeque<Vec<Content>>,
}

impl Child {
    pub(super) fn is_running(&self) -> bool {
        self.task.state == TaskState::Running
    }

    /// Whether it has ended and the model has not been told.
    pub(super) fn is_news(&self) -> bool {
        !self.is_running() && self.task.unread
    }

    /// In a few words, for the model.
    pub(super) fn named(&self, id: &SessionId) -> String {
        format!("{id} ({}: {})", self.task.agent, self.task.description)
    }
}
