//! What exists (the registry), and what one agent was shown (a toolset): the only thing that executes.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

use crate::arguments::{self, Arguments};
use crate::context::InitContext;
use crate::error::{InitError, ToolError};
use crate::hook::Hooks;
use crate::ids::AgentId;
use crate::life::Life;
use crate::lower::Definition;
use crate::names;
use crate::permission::{Layer, Policy};
use crate::runtime::Runtime;
use crate::schema::Schema;
use crate::tool::{BoxFuture, DynTool, Tool, Traits};

/// A tool that takes longer than this to get ready is left out; the others do not wait for it.
const PATIENCE: Duration = Duration::from_secs(10);

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
        let agent = Agent { id: agent, rules: None, ceiling: None };
        Self { agent, model: None, client: Client::Cli, features: BTreeSet::new() }
    }
}

/// Who makes the calls.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its name.
    pub id: AgentId,
    /// Its own rules, on top of the user's.
    pub rules: Option<Layer>,
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

/// What exists: every tool that can be built, in the order in which it is shown.
#[derive(Default)]
pub struct Registry {
    entries: Vec<Entry>,
    fallback: Option<Entry>,
}

#[derive(Clone)]
struct Entry {
    id: String,
    permission: String,
    offered: fn(&Audience) -> Result<(), String>,
    make: Make,
}

/// Builds a tool whose type is no longer known.
type Init = for<'a> fn(&'a InitContext<'a>) -> BoxFuture<'a, Result<Arc<dyn DynTool>, InitError>>;

#[derive(Clone)]
enum Make {
    Typed(Init),
    Ready(Arc<dyn DynTool>),
}

impl Registry {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool. One that has the same id already is replaced.
    pub fn tool<T: Tool>(&mut self) -> &mut Self {
        self.entries.retain(|entry| entry.id != T::ID);
        self.entries.push(Entry::typed::<T>());
        self
    }

    /// Names the tool that answers calls to tools that do not exist; its arguments are `tool` and `error`.
    pub fn fallback<T: Tool>(&mut self) -> &mut Self {
        self.fallback = Some(Entry::typed::<T>());
        self
    }

    /// Adds a tool that is data. It is shown after those that are not.
    ///
    /// # Errors
    /// If its id is taken, or not one that every model's provider accepts.
    pub(crate) fn dynamic(&mut self, tool: Arc<dyn DynTool>) -> Result<(), InitError> {
        let id = tool.id().to_owned();
        if !names::is_valid(&id) {
            let rule = "1 to 64 letters, digits, `_` or `-`";
            return Err(InitError::new(format!(
                "`{}` is not a tool's name: {rule}",
                id.escape_debug()
            )));
        }
        if self.entries.iter().chain(&self.fallback).any(|entry| entry.id == id) {
            return Err(InitError::new(format!("there is a tool `{id}` already")));
        }
        let permission = tool.permission().to_owned();
        let offered = |_: &Audience| Ok(());
        self.entries.push(Entry { id, permission, offered, make: Make::Ready(tool) });
        // Dynamic tools arrive in any order, and are shown in one.
        let built_in = self.entries.iter().filter(|entry| entry.is_typed()).count();
        if let Some(dynamic) = self.entries.get_mut(built_in..) {
            dynamic.sort_by(|a, b| a.id.cmp(&b.id));
        }
        Ok(())
    }

    /// Removes a tool; `false` if there was none.
    pub(crate) fn remove(&mut self, id: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.id != id);
        self.entries.len() != before
    }

    /// Chooses and builds what one audience is shown.
    pub(crate) fn plan(&self) -> Plan {
        Plan { entries: self.entries.clone(), fallback: self.fallback.clone() }
    }
}

impl Entry {
    fn typed<T: Tool>() -> Self {
        Self {
            id: T::ID.to_owned(),
            permission: T::PERMISSION.to_owned(),
            offered: T::offered,
            make: Make::Typed(|cx| {
                Box::pin(async move { Ok(Arc::new(T::init(cx).await?) as Arc<dyn DynTool>) })
            }),
        }
    }

    fn is_typed(&self) -> bool {
        matches!(self.make, Make::Typed(_))
    }

    async fn build(&self, cx: &InitContext<'_>) -> Result<Arc<Shown>, String> {
        let tool = match &self.make {
            Make::Ready(tool) => Arc::clone(tool),
            Make::Typed(init) => {
                let built =
                    tokio::time::timeout(PATIENCE, AssertUnwindSafe(init(cx)).catch_unwind());
                match built.await {
                    Ok(Ok(built)) => built.map_err(|error| error.to_string())?,
                    Ok(Err(_)) => return Err("it panicked while it was built".to_owned()),
                    Err(_) => return Err("it was not ready within 10 s".to_owned()),
                }
            }
        };
        let schema = tool.schema()?;
        Ok(Arc::new(Shown { tool, schema }))
    }
}

/// A snapshot of the registry, so that building tools holds no lock.
pub(crate) struct Plan {
    entries: Vec<Entry>,
    fallback: Option<Entry>,
}

impl Plan {
    pub(crate) async fn build(&self, policy: Policy, cx: &InitContext<'_>) -> Built {
        let audience = cx.audience.clone();
        let mut shown = IndexMap::new();
        let mut left_out = Vec::new();
        for entry in &self.entries {
            let built = match entry.refused(&audience, &policy) {
                Some(reason) => Err(reason),
                None => entry.build(cx).await,
            };
            match built {
                Ok(tool) => drop(shown.insert(entry.id.clone(), tool)),
                Err(reason) => left_out.push(LeftOut { id: entry.id.clone(), reason }),
            }
        }
        let fallback = match &self.fallback {
            Some(entry) => entry.build(cx).await.ok(),
            None => None,
        };
        Built { audience, policy: Arc::new(policy), shown, left_out, fallback }
    }
}

impl Entry {
    fn refused(&self, audience: &Audience, policy: &Policy) -> Option<String> {
        if let Some(rule) = policy.hides(&self.permission) {
            return Some(format!("denied by the rule {rule}"));
        }
        (self.offered)(audience).err()
    }
}

/// What one agent was shown. Cheap to clone; it never changes.
#[derive(Clone)]
pub struct Toolset {
    runtime: Runtime,
    inner: Arc<Built>,
}

/// A toolset without its runtime, so that the runtime can remember it without holding itself alive.
pub(crate) struct Built {
    pub(crate) audience: Audience,
    policy: Arc<Policy>,
    shown: IndexMap<String, Arc<Shown>>,
    left_out: Vec<LeftOut>,
    fallback: Option<Arc<Shown>>,
}

/// A tool that was not shown, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its id.
    pub id: String,
    /// For the operator.
    pub reason: String,
}

/// A tool that was shown, with its schema.
pub(crate) struct Shown {
    pub(crate) tool: Arc<dyn DynTool>,
    schema: Schema,
}

impl Shown {
    pub(crate) fn id(&self) -> &str {
        self.tool.id()
    }

    /// Whether a call may leave anything otherwise than it was.
    pub(crate) fn changes(&self) -> bool {
        !self.tool.traits().read_only
    }

    /// Reads arguments that came as text.
    pub(crate) fn parse(&self, args: Arguments, life: &Life) -> Result<Value, ToolError> {
        let parsed = args.parse(self.id())?;
        life.repaired(parsed.repaired);
        Ok(parsed.value)
    }

    /// Repairs and validates arguments.
    pub(crate) fn fit(&self, args: Value, life: &Life) -> Result<Value, ToolError> {
        let fitted = arguments::fit(self.id(), &self.schema, args)?;
        life.repaired(fitted.repaired);
        Ok(fitted.value)
    }
}

/// A tool as a host advertises it.
pub struct Advertised<'a> {
    shown: &'a Shown,
}

impl Advertised<'_> {
    /// The name the model calls.
    #[must_use]
    pub fn id(&self) -> &str {
        self.shown.id()
    }

    /// What hosts may know without running it.
    #[must_use]
    pub fn traits(&self) -> Traits {
        self.shown.tool.traits()
    }

    /// Everything that is said to a model about it.
    #[must_use]
    pub fn definition(&self) -> Definition<'_> {
        let traits = self.traits();
        Definition {
            name: self.id().to_owned(),
            title: names::title(self.id()),
            description: self.shown.tool.description().into_owned(),
            schema: &self.shown.schema,
            read_only: traits.read_only,
            destructive: traits.destructive,
            idempotent: traits.idempotent,
            open_world: traits.open_world,
        }
    }
}

impl Toolset {
    pub(crate) fn new(runtime: Runtime, built: Arc<Built>) -> Self {
        Self { runtime, inner: built }
    }

    /// The tools that are advertised, in order.
    pub fn advertised(&self) -> impl Iterator<Item = Advertised<'_>> {
        let listed = self.inner.shown.values().filter(|shown| !shown.tool.traits().unlisted);
        listed.map(|shown| Advertised { shown })
    }

    /// The names that are advertised, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.advertised().map(|tool| tool.id().to_owned()).collect()
    }

    /// What was left out, and why.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.inner.left_out
    }

    /// For whom these were chosen.
    #[must_use]
    pub fn audience(&self) -> &Audience {
        &self.inner.audience
    }

    /// What the rules are for this agent.
    #[must_use]
    pub fn policy(&self) -> &Arc<Policy> {
        &self.inner.policy
    }

    /// The runtime it belongs to.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        self.runtime.hooks()
    }

    /// Finds the tool that was meant. A near name is taken for it; anything else goes to the fallback.
    pub(crate) fn find(
        &self,
        name: String,
        args: Arguments,
        life: &Life,
    ) -> Result<(Arc<Shown>, Arguments), ToolError> {
        if let Some(shown) = self.inner.shown.get(&name) {
            return Ok((Arc::clone(shown), args));
        }
        if let Some(shown) = self.meant_by(&name) {
            life.repaired([format!("tool `{}` taken as `{}`", name.escape_debug(), shown.id())]);
            life.meant(shown.id());
            return Ok((Arc::clone(shown), args));
        }
        let unknown = ToolError::Unknown { tool: name.clone(), available: self.names() };
        match &self.inner.fallback {
            None => Err(unknown),
            Some(fallback) if fallback.id() == name => Ok((Arc::clone(fallback), args)),
            Some(fallback) => {
                let args = serde_json::json!({ "tool": name, "error": unknown.to_string() });
                Ok((Arc::clone(fallback), Arguments::Parsed(args)))
            }
        }
    }

    /// The one shown tool that a name must mean, unless it is the name of one that was left out.
    fn meant_by(&self, name: &str) -> Option<&Arc<Shown>> {
        let left_out = self.inner.left_out.iter().map(|tool| tool.id.as_str());
        let known = self.inner.shown.values().map(|shown| (shown.id(), shown.tool.aliases()));
        let meant = names::meant(name, known, left_out)?;
        self.inner.shown.get(meant)
    }
}
