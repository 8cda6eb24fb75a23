//! ★ The loop: the model replies, its calls are made, it reads what came of them, until it is done.

mod beside;

use std::sync::Arc;

use haft_runtime::{
    Arguments, Call, CancellationToken, MessageId, Runtime, SessionId, ToolError, Toolset, lower,
};
use serde_json::Value;

use crate::company::{Company, Spent};
use crate::ended::{AgentError, Ended, Why};
use crate::log::{self, Conversation, Entry, Extent};
use crate::message::{Content, Message, ToolCall};
use crate::provider::{Piece, Prompt, Provider, ProviderError, Stop};
use crate::reply::Reply;
use crate::steering::Steering;
use crate::tell::Teller;
use crate::usage::{Price, Usage};
use crate::window::{self, Window};

/// What a model is told whose last reply was cut: no provider lets every model go on with its own words.
const GO_ON: &str = "Your last reply was cut short. Go on where it ends.";

/// Who works in a session, and with what.
#[derive(Clone)]
pub struct Agent {
    /// Whoever lets the model reply.
    pub provider: Arc<dyn Provider>,
    /// The model.
    pub model: ModelSettings,
    /// What it is told before the conversation.
    pub system: String,
    /// What it may call.
    pub toolset: Toolset,
    /// Most replies to one prompt.
    pub steps: u32,
}

impl Agent {
    /// The tools in the form of the model's provider.
    fn definitions(&self) -> Vec<Value> {
        let form = self.provider.form();
        self.toolset.advertised().map(|tool| lower(&tool.definition(), form, false)).collect()
    }
}

/// What has to be known about a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    /// Its name at its provider.
    pub id: String,
    /// Tokens that it can read and write in all.
    pub context: u64,
    /// Most tokens of one reply.
    pub max_tokens: u32,
    /// What its tokens cost, where that is known.
    pub price: Option<Price>,
}

/// A conversation that an agent works in. Everything said in it is in the session's log before it is
/// acted on, so that another process can go on with it, whenever this one ends.
pub struct Session {
    agent: Agent,
    id: SessionId,
    conversation: Conversation,
    tools: Vec<Value>,
    window: Window,
    steering: Steering,
    /// Who works beside it.
    company: Option<Arc<dyn Company>>,
    /// What it has cost since it was opened.
    spent: Spent,
}

impl Session {
    /// Opens a session, and reads what was said in it. Calls that a killed process left without an end
    /// are marked as interrupted; they are not run again.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub async fn open(agent: Agent, id: SessionId) -> Result<Self, AgentError> {
        let conversation = log::load(agent.toolset.runtime(), &id).await?;
        let tools = agent.definitions();
        let window = Window::new(agent.model.context, agent.model.max_tokens);
        let (steering, company, spent) = (Steering::default(), None, Spent::default());
        Ok(Self { agent, id, conversation, tools, window, steering, company, spent })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// What was said in it, as the model will read it.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.conversation.messages
    }

    /// What it has cost in all.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.conversation.usage
    }

    /// A way to say something while it works.
    #[must_use]
    pub fn steering(&self) -> Steering {
        self.steering.clone()
    }

    /// Works on what the user says until the model is done.
    ///
    /// # Errors
    /// If the model does not reply, or the log cannot be written.
    pub async fn prompt(
        &mut self,
        content: Vec<Content>,
        cancel: &CancellationToken,
    ) -> Result<Ended, AgentError> {
        self.hear_user(content).await?;
        self.go_on(cancel).await
    }

    /// Works on from where the session was left, also in the middle of a reply.
    ///
    /// # Errors
    /// As [`Session::prompt`], and if the model has had the last word.
    pub async fn go_on(&mut self, cancel: &CancellationToken) -> Result<Ended, AgentError> {
        self.begin(cancel).await?;
        match (self.messages().last(), self.conversation.extent) {
            (Some(Message::User { .. } | Message::Results { .. }), _) => {}
            (Some(Message::Assistant { .. }), Extent::Cut) => {
                self.hear_user(vec![Content::text(GO_ON)]).await?;
            }
            (Some(Message::Assistant { .. }), Extent::Whole) | (None, _) => {
                return Err(AgentError::NothingToDo);
            }
        }
        let before = self.spent();
        self.heed_steering().await?;
        let worked = self.work(cancel).await;
        self.settle().await;
        let (why, reason) = match worked? {
            End::Why(why) => (why, None),
            End::Stopped { reason } => (Why::Stopped, Some(reason)),
        };
        Ok(self.ended(why, reason, before))
    }

    /// One turn after the other.
    async fn work(&mut self, cancel: &CancellationToken) -> Result<End, AgentError> {
        for _ in 0..self.agent.steps {
            self.recast().await;
            self.renew_tools().await;
            self.make_room(cancel).await?;
            let Some(replied) = self.reply(cancel).await? else {
                return Ok(End::Why(Why::Cancelled));
            };
            let called = self.make_calls(&replied.message, cancel).await;
            if let Called::Stopped { reason } = called {
                return Ok(End::Stopped { reason });
            }
            if cancel.is_cancelled() {
                return Ok(End::Why(Why::Cancelled));
            }
            let was_steered = self.heed_steering().await?;
            if called == Called::Nothing && !was_steered && !self.hears_more(cancel).await? {
                let is_cancelled = cancel.is_cancelled();
                return Ok(End::Why(if is_cancelled {
                    Why::Cancelled
                } else {
                    replied.stop.into()
                }));
            }
        }
        Ok(End::Why(Why::Steps))
    }

    /// Offers the tools as they are by now: some may have come, gone or been found.
    async fn renew_tools(&mut self) {
        if let Some(toolset) = self.agent.toolset.renewed().await {
            self.agent.toolset = toolset;
            self.tools = self.agent.definitions();
        }
    }

    /// Lets the model reply, and writes the reply down; none if it was cancelled.
    async fn reply(&mut self, cancel: &CancellationToken) -> Result<Option<Replied>, AgentError> {
        let message = MessageId::fresh();
        let mut reply = Reply::default();
        let whole = {
            let teller = Teller::new(self.runtime(), &self.id, message.clone());
            let mut hear = |piece: Piece| {
                teller.hear(&piece);
                reply.hear(piece);
            };
            let replying = self.agent.provider.reply(self.ask(), &mut hear);
            let whole = tokio::select! {
                biased;
                () = cancel.cancelled() => Ok(false),
                whole = replying => whole.map(|()| true),
                never = teller.catch_up() => never,
            };
            teller.flush();
            whole
        };
        match whole {
            Ok(true) => {
                let (stop, usage) = (reply.stop(), reply.usage);
                let extent = if stop == Stop::Length { Extent::Cut } else { Extent::Whole };
                let content = reply.finish(|id| self.conversation.calls.contains(id));
                self.add(message.clone(), Entry::Assistant { content, usage, extent }).await?;
                self.window.counted(self.messages().len(), usage.total());
                Ok(Some(Replied { message, stop }))
            }
            Ok(false) => {
                let usage = reply.usage;
                let content = reply.interrupted();
                if !content.is_empty() {
                    let extent = Extent::Cut;
                    self.add(message, Entry::Assistant { content, usage, extent }).await?;
                }
                Ok(None)
            }
            Err(ProviderError::TooLong { message }) => self.too_long(message, cancel).await,
            Err(error) => Err(error.into()),
        }
    }

    /// What the model is asked.
    fn ask(&self) -> Prompt<'_> {
        Prompt {
            model: &self.agent.model.id,
            system: &self.agent.system,
            messages: self.messages(),
            tools: &self.tools,
            max_tokens: self.agent.model.max_tokens,
        }
    }

    /// Makes the calls of the last reply, and shows the model what came of them.
    async fn make_calls(&mut self, message: &MessageId, cancel: &CancellationToken) -> Called {
        let calls: Vec<ToolCall> =
            self.messages().last().into_iter().flat_map(Message::calls).cloned().collect();
        if calls.is_empty() {
            return Called::Nothing;
        }
        let call = |call: ToolCall| Call {
            id: call.id,
            message: Some(message.clone()),
            ..Call::new(self.id.clone(), call.tool, Arguments::Text(call.arguments))
        };
        let calls = calls.into_iter().map(call).collect();
        let settled = self.agent.toolset.execute_all(calls, cancel).await;
        // Whoever looks on hears of them before the model does.
        self.runtime().write_down().await;
        let results = settled.iter().map(log::result).collect();
        self.conversation.messages.push(Message::Results { results });
        let stopped = settled.into_iter().find_map(|settled| match settled.result {
            Err(ToolError::Stopped { reason }) => Some(reason),
            _ => None,
        });
        stopped.map_or(Called::Tools, |reason| Called::Stopped { reason })
    }

    /// Adds what the user said meanwhile, and what became of others.
    async fn heed_steering(&mut self) -> Result<bool, AgentError> {
        let mut was_steered = false;
        while let Some(content) = self.steering.take() {
            self.hear_user(content).await?;
            was_steered = true;
        }
        Ok(self.hear_news().await? || was_steered)
    }

    async fn hear_user(&mut self, content: Vec<Content>) -> Result<(), AgentError> {
        self.add(MessageId::fresh(), Entry::User { content }).await
    }

    /// Adds to the conversation what has been written down.
    async fn add(&mut self, message: MessageId, entry: Entry) -> Result<(), AgentError> {
        log::add(self.runtime(), &self.id, message, &entry).await?;
        self.spent = self.spent.and(Spent::new(entry.usage(), self.agent.model.price));
        self.conversation.take(entry);
        Ok(())
    }

    /// Keeps the conversation within the window.
    async fn make_room(&mut self, cancel: &CancellationToken) -> Result<(), AgentError> {
        if self.window.is_full(self.messages()) {
            self.window.prune(&mut self.conversation.messages);
        }
        if self.window.is_full(self.messages()) {
            self.summarise(cancel).await?;
        }
        Ok(())
    }

    /// The provider counts otherwise than we do: a summary is certain to be short enough.
    async fn too_long(
        &mut self,
        message: String,
        cancel: &CancellationToken,
    ) -> Result<Option<Replied>, AgentError> {
        if self.messages().len() < 2 {
            return Err(ProviderError::TooLong { message }.into());
        }
        self.summarise(cancel).await?;
        Box::pin(self.reply(cancel)).await
    }

    /// Lets a summary stand for the conversation; what the user said last stays as it is.
    async fn summarise(&mut self, cancel: &CancellationToken) -> Result<(), AgentError> {
        let transcript = [Message::user(self.window.transcript(self.messages()))];
        let prompt =
            Prompt { system: window::SUMMARISE, messages: &transcript, tools: &[], ..self.ask() };
        let mut reply = Reply::default();
        let mut hear = |piece: Piece| reply.hear(piece);
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(()),
            whole = self.agent.provider.reply(prompt, &mut hear) => whole?,
        }
        let usage = reply.usage;
        let summary = Message::Assistant { content: reply.finish(|_| false) }.words();
        let last = self.messages().last().cloned();
        let text = window::resumed(&summary);
        self.add(MessageId::fresh(), Entry::Summary { text, usage }).await?;
        self.window.changed();
        if let Some(Message::User { content }) = last {
            self.hear_user(content).await?;
        }
        Ok(())
    }

    fn ended(&self, why: Why, reason: Option<String>, before: Spent) -> Ended {
        let Spent { usage, cost } = self.spent().since(before);
        let cost = cost.filter(|cost| *cost > 0.0 || self.agent.model.price.is_some());
        let last = self.messages().iter().rev().find(|it| matches!(it, Message::Assistant { .. }));
        Ended { why, reason, text: last.map(Message::words).unwrap_or_default(), usage, cost }
    }

    fn runtime(&self) -> &Runtime {
        self.agent.toolset.runtime()
    }
}

/// How the loop ended.
enum End {
    Why(Why),
    /// A hook wants the work to end here.
    Stopped {
        reason: String,
    },
}

/// What came of the calls of a reply.
#[derive(PartialEq)]
enum Called {
    /// It made none.
    Nothing,
    /// All of them have ended, well or not.
    Tools,
    /// So they have, and a hook wants the work to end here.
    Stopped { reason: String },
}

/// A reply that was written down.
struct Replied {
    message: MessageId,
    stop: Stop,
}
