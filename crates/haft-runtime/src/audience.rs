//! For whom tools are chosen: agent, model, client, features.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use crate::ids::AgentId;
use crate::permission::{Layer, Policy};

/// For whom tools are chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Audience {
    /// The agent that will call them.
    pub agent: Agent,
    /// The model behind it, if known.
    pub model: Option<Model>,
    /// The program around it.
    pub client: Client,
    /// What the user switched on.
    pub features: BTreeSet<String>,
}

impl Audience {
    /// The audience of an agent without rules of its own, at a command line.
    #[must_use]
    pub fn of(agent: AgentId) -> Self {
        let agent = Agent { id: agent, rules: Vec::new(), ceiling: None };
        Self { agent, model: None, client: Client::Cli, features: BTreeSet::new() }
    }
}

/// Who makes the calls.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its name.
    pub id: AgentId,
    /// Its own rules, on top of the user's; of two layers of one kind the later is the more specific.
    pub rules: Vec<Layer>,
    /// What the agent that started it may do; it can never do more.
    pub ceiling: Option<Arc<Policy>>,
}

impl PartialEq for Agent {
    /// Ceilings are the same only if they are one and the same.
    fn eq(&self, other: &Self) -> bool {
        let ceiling = |agent: &Self| agent.ceiling.as_ref().map(Arc::as_ptr);
        self.id == other.id && self.rules == other.rules && ceiling(self) == ceiling(other)
    }
}

/// A language model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Who serves it: `anthropic`, `openai` …
    pub provider: String,
    /// Its name there.
    pub id: String,
}

/// The kind of program around us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Client {
    /// A person at a terminal, or a script.
    Cli,
    /// An agent that speaks MCP, with tools of its own beside ours.
    Mcp,
    /// A program that speaks HTTP.
    Http,
    /// Our own agent loop.
    Agent,
}
