//! What exists: every tool that can be built, and how it is built for an audience.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use indexmap::IndexMap;

use crate::audience::Audience;
use crate::context::InitContext;
use crate::deferral::{Deferral, leave_out_finders};
use crate::error::InitError;
use crate::names;
use crate::permission::{Denial, DeniedBy, Effect, Policy};
use crate::tool::{BoxFuture, DynTool, Tool};
use crate::toolset::{Built, LeftOut, Shown};
use crate::visible::plain;

/// A tool that takes longer than this to get ready is left out.
const PATIENCE: Duration = Duration::from_secs(10);

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

    /// The names of the tools that exist, in the order in which they are shown.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.id.as_str())
    }

    /// Keeps only the tools that are wanted.
    pub fn retain(&mut self, wanted: impl Fn(&str) -> bool) -> &mut Self {
        self.entries.retain(|entry| wanted(&entry.id));
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
            return Err(InitError::new(format!("`{}` is not a tool's name: {rule}", plain(&id))));
        }
        // A name that differs in case or punctuation would take calls that mean the other.
        let clashes =
            |entry: &Entry| entry.id == id || entry.is_typed() && names::are_same(&entry.id, &id);
        if self.entries.iter().chain(&self.fallback).any(clashes) {
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

    /// Why the tool is not for this audience.
    fn refused(&self, audience: &Audience, policy: &Policy) -> Option<LeftOut> {
        let id = self.id.clone();
        if let Some(rule) = policy.hides_tool(&self.id).or_else(|| policy.hides(&self.permission)) {
            let reason = format!("denied by the rule {rule}");
            let effect = Effect::using(self.permission.clone(), "*");
            let (more, by) = (Vec::new(), DeniedBy::Rule);
            let denied = Some(Denial { effect, more, rule: Some(rule), by });
            return Some(LeftOut { id, reason, denied });
        }
        let reason = (self.offered)(audience).err()?;
        Some(LeftOut { id, reason, denied: None })
    }

    /// Builds the tool. Whatever goes wrong in it is its own affair.
    async fn build(&self, cx: &InitContext<'_>) -> Result<Arc<Shown>, Unbuilt> {
        let build = async {
            let tool = match &self.make {
                Make::Ready(tool) => Arc::clone(tool),
                Make::Typed(init) => init(cx).await.map_err(|error| error.to_string())?,
            };
            let schema = tool.schema()?;
            Ok(Arc::new(Shown { tool, schema }))
        };
        match tokio::time::timeout(PATIENCE, AssertUnwindSafe(build).catch_unwind()).await {
            Ok(Ok(built)) => built.map_err(Unbuilt::ForGood),
            Ok(Err(_)) => Err(Unbuilt::ThisTime("it panicked while it was built")),
            Err(_) => Err(Unbuilt::ThisTime("it was not ready within 10 s")),
        }
    }
}

/// Why a tool could not be built.
enum Unbuilt {
    /// It says itself what it lacks, and will lack it when it is asked again.
    ForGood(String),
    /// Another time it may be built.
    ThisTime(&'static str),
}

/// A snapshot of the registry, so that building tools holds no lock.
pub(crate) struct Plan {
    entries: Vec<Entry>,
    fallback: Option<Entry>,
}

impl Plan {
    /// Builds all tools beside each other; their order is the registry's.
    pub(crate) async fn build(
        &self,
        generation: u64,
        policy: Policy,
        deferral: &Deferral,
        cx: &InitContext<'_>,
    ) -> Built {
        let build = |entry: &Entry| {
            let (entry, refused) = (entry.clone(), entry.refused(cx.audience, &policy));
            async move {
                match refused {
                    Some(left_out) => Err((left_out, false)),
                    None => entry.build(cx).await.map_err(|unbuilt| {
                        let (reason, may_come) = match unbuilt {
                            Unbuilt::ForGood(reason) => (reason, false),
                            Unbuilt::ThisTime(reason) => (reason.to_owned(), true),
                        };
                        (LeftOut { id: entry.id, reason, denied: None }, may_come)
                    }),
                }
            }
        };
        let (mut shown, mut left_out, mut failed) = (IndexMap::new(), Vec::new(), false);
        for built in join_all(self.entries.iter().map(build)).await {
            match built {
                Ok(tool) => drop(shown.insert(tool.id().to_owned(), tool)),
                Err((tool, may_come)) => {
                    failed |= may_come;
                    left_out.push(tool);
                }
            }
        }
        let fallback = match &self.fallback {
            Some(entry) => entry.build(cx).await.ok(),
            None => None,
        };
        let deferred = deferral.deferred(&shown);
        if deferred.is_empty() {
            leave_out_finders(&mut shown, &mut left_out);
        }
        let audience = cx.audience.clone();
        let policy = Arc::new(policy);
        Built { generation, deferred, audience, policy, shown, left_out, fallback, failed }
    }
}
