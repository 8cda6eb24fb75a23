//! What one agent was shown: the only thing that executes.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

use crate::arguments::{self, Arguments};
use crate::audience::Audience;
use crate::deferral::Found;
use crate::error::ToolError;
use crate::hook::Hooks;
use crate::life::Life;
use crate::lower::Definition;
use crate::names;
use crate::permission::{Denial, Policy};
use crate::runtime::Runtime;
use crate::schema::Schema;
use crate::tool::{DynTool, Traits};
use crate::visible::plain;

/// What one agent was shown. Cheap to clone; it never changes.
#[derive(Clone)]
pub struct Toolset {
    runtime: Runtime,
    inner: Arc<Built>,
}

/// A toolset without its runtime, so that the runtime can remember it without holding itself alive.
pub(crate) struct Built {
    pub(crate) audience: Audience,
    pub(crate) policy: Arc<Policy>,
    pub(crate) shown: IndexMap<String, Arc<Shown>>,
    pub(crate) left_out: Vec<LeftOut>,
    /// Tools that answer, and are not advertised until they were found.
    pub(crate) deferred: BTreeSet<String>,
    pub(crate) fallback: Option<Arc<Shown>>,
    /// A tool was not built that may be another time.
    pub(crate) failed: bool,
    /// How often tools had come or gone when this was built.
    pub(crate) generation: u64,
}

/// A tool that was not shown, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Its id.
    pub id: String,
    /// For the operator.
    pub reason: String,
    /// The rule that denies all of its permission, if that is why.
    #[serde(skip)]
    pub denied: Option<Denial>,
}

/// A tool that was shown, with its schema.
pub(crate) struct Shown {
    pub(crate) tool: Arc<dyn DynTool>,
    pub(crate) schema: Schema,
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

    /// Whether arguments can be repaired so that they are valid.
    pub(crate) fn fits(&self, args: Value) -> bool {
        arguments::fit(self.id(), &self.schema, args).is_ok()
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

    /// What the same audience is shown by now; none if no tool came, went or was loaded since.
    pub async fn renewed(&self) -> Option<Self> {
        if self.inner.generation == self.runtime.tool_generation() {
            return None;
        }
        Some(self.runtime.toolset(&self.inner.audience).await)
    }

    /// The tools that are advertised, in order.
    pub fn advertised(&self) -> impl Iterator<Item = Advertised<'_>> {
        let deferred = &self.inner.deferred;
        let listed = self.inner.shown.values().filter(|shown| !shown.tool.traits().unlisted);
        let listed = listed.filter(|shown| !deferred.contains(shown.id()));
        listed.map(|shown| Advertised { shown })
    }

    /// The tools that can be called, but are advertised only once they were found.
    #[must_use]
    pub fn deferred(&self) -> Vec<Found> {
        let shown = self.inner.deferred.iter().filter_map(|name| self.inner.shown.get(name));
        let found = |shown: &Arc<Shown>| Found {
            name: shown.id().to_owned(),
            description: shown.tool.description().into_owned(),
            schema: shown.schema.as_value().clone(),
        };
        shown.map(found).collect()
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

    /// Finds the tool that answers: the one that was meant, or the fallback.
    pub(crate) fn find(
        &self,
        name: &str,
        args: Arguments,
        life: &Life,
    ) -> Result<(Arc<Shown>, Arguments), ToolError> {
        match (self.resolve(name, life), &self.inner.fallback) {
            (Ok(shown), _) => Ok((shown, args)),
            (Err(denied @ ToolError::Denied(_)), _) => Err(denied),
            (Err(unknown), None) => Err(unknown),
            (Err(_), Some(fallback)) if fallback.id() == name => Ok((Arc::clone(fallback), args)),
            (Err(unknown), Some(fallback)) => {
                let args = serde_json::json!({ "tool": name, "error": unknown.to_string() });
                Ok((Arc::clone(fallback), Arguments::Parsed(args)))
            }
        }
    }

    /// Finds the tool that was meant; a near name is taken for it.
    pub(crate) fn resolve(&self, name: &str, life: &Life) -> Result<Arc<Shown>, ToolError> {
        if let Some(shown) = self.inner.shown.get(name) {
            return Ok(Arc::clone(shown));
        }
        let hidden = self.inner.left_out.iter().find(|tool| names::are_same(&tool.id, name));
        if let Some(denial) = hidden.and_then(|tool| tool.denied.clone()) {
            return Err(Box::new(denial).into());
        }
        let Some(shown) = self.meant_by(name) else {
            return Err(ToolError::unknown(name, self.names()));
        };
        life.repaired([format!("tool `{}` taken as `{}`", plain(name), shown.id())]);
        life.meant(shown.id());
        Ok(Arc::clone(shown))
    }

    /// The one shown tool that a name must mean, unless it is the name of one that was left out.
    fn meant_by(&self, name: &str) -> Option<&Arc<Shown>> {
        let left_out = self.inner.left_out.iter().map(|tool| tool.id.as_str());
        let known = self.inner.shown.values().map(|shown| (shown.id(), shown.tool.aliases()));
        let meant = names::meant(name, known, left_out)?;
        self.inner.shown.get(meant)
    }
}
