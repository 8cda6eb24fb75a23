//! What happens, as data: numbered within its session, delivered in order, never waited for.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::broadcast;

use crate::error::ErrorReport;
use crate::ids::{AgentId, AskId, CallId, MessageId, SessionId};
use crate::output::{Metadata, Output};
use crate::permission::{Closed, PendingAsk};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The session it belongs to; none where it concerns all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Its number in that session: rising, unique, also across processes; 0 if the store did not take it.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub kind: Arc<EventKind>,
}

/// An event that has no number yet.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The session it belongs to; none where it concerns all of them.
    pub session: Option<SessionId>,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub kind: Arc<EventKind>,
}

impl Draft {
    /// An event of this moment.
    #[must_use]
    pub fn now(session: Option<SessionId>, kind: EventKind) -> Self {
        Self { session, at: Timestamp::now(), kind: Arc::new(kind) }
    }

    /// Gives it its number.
    #[must_use]
    pub fn numbered(self, seq: u64) -> Event {
        Event { session: self.session, seq, at: self.at, kind: self.kind }
    }

    /// Whether the log keeps it. Progress is only for those who look on: its last state is in the result.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        let is_progress = matches!(
            *self.kind,
            EventKind::CallProgress { .. }
                | EventKind::MessageDelta { .. }
                | EventKind::TaskProgress { .. }
        );
        self.session.is_some() && !is_progress
    }
}

/// The kinds of events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum EventKind {
    /// A call arrived.
    #[serde(rename = "call.pending")]
    CallPending {
        /// Its id.
        call: CallId,
        /// The call that made it, for the children of a batch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<CallId>,
        /// The model's message it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<MessageId>,
        /// The agent that made it.
        agent: AgentId,
        /// The tool's name as the model wrote it.
        tool: String,
        /// The arguments as the model wrote them; text where they were not JSON.
        args: Value,
    },
    /// The arguments fit, and the tool starts.
    #[serde(rename = "call.running")]
    CallRunning {
        /// Its id.
        call: CallId,
        /// The tool that runs, which a repaired name may differ from.
        tool: String,
        /// The arguments after repairs and hooks.
        args: Value,
    },
    /// A running tool reported something. Not kept in the log.
    #[serde(rename = "call.progress")]
    CallProgress {
        /// Its id.
        call: CallId,
        /// A few words for a person.
        title: String,
        /// Facts so far.
        metadata: Metadata,
    },
    /// The call ended well.
    #[serde(rename = "call.completed")]
    CallCompleted {
        /// Its id.
        call: CallId,
        /// The tool that answered.
        tool: String,
        /// Its answer.
        output: Arc<Output>,
    },
    /// The call ended with an error.
    #[serde(rename = "call.error")]
    CallError {
        /// Its id.
        call: CallId,
        /// The tool that was to answer.
        tool: String,
        /// What went wrong.
        error: ErrorReport,
        /// Facts gathered before that.
        metadata: Metadata,
    },
    /// A call waits for an answer.
    #[serde(rename = "ask.opened")]
    AskOpened {
        /// The question.
        ask: PendingAsk,
    },
    /// A waiting call was answered, or gave up.
    #[serde(rename = "ask.closed")]
    AskClosed {
        /// The question's id.
        ask: AskId,
        /// How it ended.
        how: Closed,
    },
    /// A message was added to the session's conversation.
    #[serde(rename = "message.added")]
    MessageAdded {
        /// Its id; the calls in it carry it.
        message: MessageId,
        /// What it says, in the form of whoever leads the conversation.
        body: Value,
    },
    /// More of a message that is being written. Not kept in the log.
    #[serde(rename = "message.delta")]
    MessageDelta {
        /// The message that it will be part of.
        message: MessageId,
        /// What kind of text it is.
        kind: DeltaKind,
        /// The text.
        text: String,
    },
    /// An agent that this session started, or one below that, did something. Not kept in the log: its
    /// own session's is.
    #[serde(rename = "task.progress")]
    TaskProgress {
        /// Its session.
        task: SessionId,
        /// The agent.
        agent: AgentId,
        /// What it works on, in a few words.
        title: String,
        /// How it stands: `running`, `done`, `failed`, `cancelled`.
        state: String,
        /// What it does right now, or how it ended, in one line.
        line: String,
    },
    /// A tool came or went; toolsets made from now on differ.
    #[serde(rename = "tools.changed")]
    ToolsChanged {
        /// The tool's id.
        tool: String,
    },
    /// Something a tool has to tell, such as `file.edited`.
    #[serde(rename = "noted")]
    Noted {
        /// The call that tells it.
        call: CallId,
        /// What kind of thing it is.
        name: String,
        /// The facts.
        data: Value,
    },
}

impl EventKind {
    /// Whether it ends a call.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::CallCompleted { .. } | Self::CallError { .. })
    }
}

/// What more of a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeltaKind {
    /// Words for the user.
    Text,
    /// What the model thinks.
    Reasoning,
    /// The name of a tool that a call begins for.
    Call,
    /// The arguments of a call.
    Arguments,
    /// Everything heard of this message so far is void; the text says why.
    Void,
}

/// What a listener receives.
#[derive(Debug, Clone, PartialEq)]
pub enum Delivery {
    /// The next event.
    Event(Event),
    /// The listener was too slow, and this many events (of any session) are gone; the store has them.
    Missed(u64),
}

/// A listener's end of the event stream. Dropping it ends the subscription.
#[derive(Debug)]
pub struct Events {
    receiver: broadcast::Receiver<Event>,
    session: Option<SessionId>,
}

impl Events {
    pub(crate) fn new(receiver: broadcast::Receiver<Event>, session: Option<SessionId>) -> Self {
        Self { receiver, session }
    }

    /// Waits for the next event; `None` when the runtime is gone.
    pub async fn next(&mut self) -> Option<Delivery> {
        loop {
            match self.receiver.recv().await {
                Ok(event) if self.wants(&event) => return Some(Delivery::Event(event)),
                Ok(_) => {}
                Err(broadcast::error::RecvError::Lagged(count)) => {
                    return Some(Delivery::Missed(count));
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// Takes the next event if there is one already.
    pub fn try_next(&mut self) -> Option<Delivery> {
        loop {
            match self.receiver.try_recv() {
                Ok(event) if self.wants(&event) => return Some(Delivery::Event(event)),
                Ok(_) => {}
                Err(broadcast::error::TryRecvError::Lagged(count)) => {
                    return Some(Delivery::Missed(count));
                }
                Err(_) => return None,
            }
        }
    }

    fn wants(&self, event: &Event) -> bool {
        self.session.is_none() || event.session.is_none() || self.session == event.session
    }
}
