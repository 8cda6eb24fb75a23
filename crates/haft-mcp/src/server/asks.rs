//! Who answers an ask: the host's own gate, the user through the client, the queue, or nobody.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use haft_runtime::permission::{Escalation, PendingAsk, Reply};
use haft_runtime::{Answer, AskQueue, BoxFuture, Host, Question};

use super::forms;
use super::line::here;

/// How asks are answered. Rules that deny hold in every mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AskMode {
    /// A plain ask counts as answered by the host's own gate. An escalation is put to the user, else
    /// waits in the queue, else is refused.
    #[default]
    Auto,
    /// A plain ask counts as answered by the host's own gate; an escalation is refused.
    Host,
    /// Every ask is put to the user through the client, or refused where it cannot be.
    Elicit,
    /// Every ask waits in the queue for `haft approve`.
    Queue,
    /// Every ask is refused.
    Deny,
    /// Every ask is allowed, but for what only a rule that names it can open.
    Allow,
}

impl AskMode {
    /// Every mode, in the order that help texts list them.
    pub const ALL: [Self; 6] =
        [Self::Auto, Self::Host, Self::Elicit, Self::Queue, Self::Deny, Self::Allow];

    /// The name used on command lines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Host => "host",
            Self::Elicit => "elicit",
            Self::Queue => "queue",
            Self::Deny => "deny",
            Self::Allow => "allow",
        }
    }
}

impl fmt::Display for AskMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no mode has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no mode `{0}`; choose one of {known}", known = AskMode::ALL.map(AskMode::name).join(", "))]
pub struct UnknownAskMode(String);

impl FromStr for AskMode {
    type Err = UnknownAskMode;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|mode| mode.name() == name);
        found.ok_or_else(|| UnknownAskMode(name.chars().take(40).collect()))
    }
}

/// The host of a runtime that is offered over MCP. Cheap to clone.
#[derive(Clone)]
pub struct Asks {
    mode: AskMode,
    queue: Option<(AskQueue, Duration)>,
}

impl Asks {
    /// Answers asks in this way.
    #[must_use]
    pub fn new(mode: AskMode) -> Self {
        Self { mode, queue: None }
    }

    /// Where asks wait that nobody here can answer, and for how long.
    #[must_use]
    pub fn queue(mut self, queue: AskQueue, patience: Duration) -> Self {
        self.queue = Some((queue, patience));
        self
    }

    async fn decide(&self, ask: &PendingAsk) -> Reply {
        match self.mode {
            AskMode::Allow if ask.escalation == Some(Escalation::Protected) => Reply::Unattended,
            AskMode::Allow => Reply::Once,
            AskMode::Deny => Reply::Unattended,
            AskMode::Auto | AskMode::Host if ask.escalation.is_none() => Reply::Once,
            AskMode::Host => Reply::Unattended,
            AskMode::Elicit => elicit(ask).await.unwrap_or(Reply::Unattended),
            AskMode::Queue => self.wait(ask).await,
            AskMode::Auto => match elicit(ask).await {
                Some(reply) => reply,
                None => self.wait(ask).await,
            },
        }
    }

    async fn wait(&self, ask: &PendingAsk) -> Reply {
        let Some((queue, patience)) = &self.queue else { return Reply::Unattended };
        if let Some(line) = here() {
            line.note_queued(&ask.id);
        }
        // A queue that does not work has nobody at its other end.
        queue.ask(ask, *patience).await.unwrap_or(Reply::Unattended)
    }
}

impl Host for Asks {
    fn approve<'a>(&'a self, ask: &'a PendingAsk) -> BoxFuture<'a, Reply> {
        Box::pin(self.decide(ask))
    }

    fn question<'a>(&'a self, questions: &'a [Question]) -> BoxFuture<'a, Option<Vec<Answer>>> {
        Box::pin(async move {
            let line = here()?;
            let result = line.elicit(None, forms::for_questions(questions)?).await?;
            forms::answers(questions, &result)
        })
    }
}

/// Puts an ask to the user through the client; `None` if that cannot be.
async fn elicit(ask: &PendingAsk) -> Option<Reply> {
    let line = here()?;
    let result = line.elicit(None, forms::for_ask(ask)?).await?;
    Some(forms::reply(ask, &result))
}
