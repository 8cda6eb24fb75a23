//! A conversation in the session's log: what is written down, and the way back from there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use haft_runtime::{
    Attachment, CallId, Event, EventKind, MessageId, Output, Runtime, SessionId, Settled, Store,
    StoreError, ToolError,
};
use serde::{Deserialize, Serialize};

use crate::message::{Content, Message, Outcome, Said, ToolCall, ToolResult};
use crate::usage::Usage;

/// Events that are read at once.
const PAGE: usize = 500;

/// What the model reads of a call that a killed process never came to.
const NOT_RUN: &str = "not run: the session was interrupted before this call began";

/// What is written down. The tools' answers are not: the log of the calls has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub(crate) enum Entry {
    /// The user's words.
    User { content: Vec<Content> },
    /// The model's reply, what it cost, and whether it is whole.
    Assistant {
        content: Vec<Said>,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Extent::is_whole")]
        extent: Extent,
    },
    /// What stands for everything before it.
    Summary { text: String, usage: Usage },
}

/// How much there is of a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Extent {
    /// All of it.
    #[default]
    Whole,
    /// It reached its longest, or was cancelled: the model has more to say.
    Cut,
}

impl Extent {
    fn is_whole(&self) -> bool {
        *self == Self::Whole
    }
}

impl Entry {
    /// What it has cost.
    pub(crate) fn usage(&self) -> Usage {
        match self {
            Self::User { .. } => Usage::default(),
            Self::Assistant { usage, .. } | Self::Summary { usage, .. } => *usage,
        }
    }
}

/// Writes an entry down; it is kept when this returns.
pub(crate) async fn add(
    runtime: &Runtime,
    session: &SessionId,
    message: MessageId,
    entry: &Entry,
) -> Result<(), ToolError> {
    let body = serde_json::to_value(entry)
        .map_err(|error| ToolError::caused("a message cannot be written down", error))?;
    runtime.record(session, EventKind::MessageAdded { message, body }).await
}

/// A conversation as the log has it.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) messages: Vec<Message>,
    /// How much there is of the last reply.
    pub(crate) extent: Extent,
    /// What all of it has cost, what is no longer in it included.
    pub(crate) usage: Usage,
    /// Every id that a call has had.
    pub(crate) calls: HashSet<CallId>,
}

impl Conversation {
    /// Adds what was written down.
    pub(crate) fn take(&mut self, entry: Entry) {
        match entry {
            Entry::User { content } => self.messages.push(Message::User { content }),
            Entry::Assistant { content, usage, extent } => {
                self.usage += usage;
                self.extent = extent;
                let message = Message::Assistant { content };
                self.calls.extend(message.calls().map(|call| call.id.clone()));
                self.messages.push(message);
            }
            Entry::Summary { text, usage } => {
                self.usage += usage;
                self.messages = vec![Message::user(text)];
            }
        }
    }
}

/// Reads a conversation. Calls that a killed process left without an end are ended as interrupted.
pub(crate) async fn load(
    runtime: &Runtime,
    session: &SessionId,
) -> Result<Conversation, ToolError> {
    let mut log = find(runtime, session).await?;
    for (call, tool) in std::mem::take(&mut log.open) {
        let report = runtime.end_interrupted(session, call.clone(), tool).await?;
        log.ended.insert(call, Ended::Failed(report.message));
    }
    Ok(log.replay())
}

/// The conversation of a session that goes on, as it is by now: calls that run have no answer yet.
pub(crate) async fn glance(
    runtime: &Runtime,
    session: &SessionId,
) -> Result<Vec<Message>, ToolError> {
    Ok(find(runtime, session).await?.replay().messages)
}

/// The last words of the model in a session.
pub(crate) async fn last_words(
    runtime: &Runtime,
    session: &SessionId,
) -> Result<String, ToolError> {
    let messages = glance(runtime, session).await?;
    let last = messages.iter().rev().find(|it| matches!(it, Message::Assistant { .. }));
    Ok(last.map(Message::words).unwrap_or_default())
}

async fn find(runtime: &Runtime, session: &SessionId) -> Result<Log, ToolError> {
    let Some(store) = runtime.store().cloned() else { return Ok(Log::default()) };
    runtime.write_down().await;
    let id = session.clone();
    blocking(move || read(&store, &id)).await
}

/// Asks the store for something, on a thread that may wait.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|error| ToolError::caused("the store did not answer", error))?;
    done.map_err(|error| ToolError::caused("the store failed", error))
}

/// What the events of a session amount to.
#[derive(Default)]
struct Log {
    entries: Vec<Entry>,
    /// Calls that have begun and not ended, with their tools.
    open: HashMap<CallId, String>,
    ended: HashMap<CallId, Ended>,
}

enum Ended {
    Done(Arc<Output>),
    /// What the model reads of it.
    Failed(String),
}

fn read(store: &Arc<dyn Store>, session: &SessionId) -> Result<Log, StoreError> {
    let (mut log, mut after) = (Log::default(), 0);
    loop {
        let events = store.events(session, after, PAGE)?;
        let is_last = events.len() < PAGE;
        for event in events {
            after = event.seq;
            log.heed(&event)?;
        }
        if is_last {
            return Ok(log);
        }
    }
}

impl Log {
    fn heed(&mut self, event: &Event) -> Result<(), StoreError> {
        match &*event.kind {
            EventKind::MessageAdded { body, .. } => {
                let entry = serde_json::from_value(body.clone());
                self.entries.push(entry.map_err(|error| {
                    StoreError::caused("a message of another version cannot be read", error)
                })?);
            }
            EventKind::CallPending { call, tool, .. }
            | EventKind::CallRunning { call, tool, .. } => {
                self.open.insert(call.clone(), tool.clone());
            }
            EventKind::CallCompleted { call, output, .. } => {
                self.open.remove(call);
                self.ended.insert(call.clone(), Ended::Done(Arc::clone(output)));
            }
            EventKind::CallError { call, error, .. } => {
                self.open.remove(call);
                self.ended.insert(call.clone(), Ended::Failed(error.message.clone()));
            }
            _ => {}
        }
        Ok(())
    }

    /// The conversation: every reply that calls is followed by an answer to each of its calls.
    fn replay(self) -> Conversation {
        let mut conversation = Conversation::default();
        for entry in self.entries {
            conversation.take(entry);
            let answer = |call: &ToolCall| answer(&call.id, self.ended.get(&call.id));
            let last = conversation.messages.last().into_iter();
            let results: Vec<ToolResult> = last.flat_map(Message::calls).map(answer).collect();
            if !results.is_empty() {
                conversation.messages.push(Message::Results { results });
            }
        }
        conversation
    }
}

fn answer(call: &CallId, ended: Option<&Ended>) -> ToolResult {
    match ended {
        Some(Ended::Done(output)) => done(call.clone(), output),
        Some(Ended::Failed(message)) => failed(call.clone(), message.clone()),
        None => failed(call.clone(), NOT_RUN.to_owned()),
    }
}

/// What the model is shown of a call that just ended.
pub(crate) fn result(settled: &Settled) -> ToolResult {
    match &settled.result {
        Ok(output) => done(settled.call.clone(), output),
        Err(_) => failed(settled.call.clone(), settled.text()),
    }
}

fn failed(call: CallId, text: String) -> ToolResult {
    ToolResult { call, text, images: Vec::new(), outcome: Outcome::Failed }
}

/// Pictures are shown; of other files the model is told that they are there.
fn done(call: CallId, output: &Output) -> ToolResult {
    let mut text = output.output.clone();
    let mut images = Vec::new();
    for Attachment { mime, name, data } in &output.attachments {
        if mime.starts_with("image/") {
            images.push(Content::Image { mime: mime.clone(), data: data.clone() });
        } else {
            let name = name.as_deref().unwrap_or("a file");
            text.push_str(&format!("\n[{name}, {mime}, cannot be shown to this model]"));
        }
    }
    ToolResult { call, text, images, outcome: Outcome::Done }
}
