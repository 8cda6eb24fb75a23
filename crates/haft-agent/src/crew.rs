//! Agents that agents start: which there are, how each stands, and what they may be told.

mod child;
mod glimpse;
mod keep;
mod post;
mod runner;
mod view;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use haft_runtime::permission::{Action, Layer, LayerKind, Policy, Switch};
use haft_runtime::{AgentId, BoxFuture, CancellationToken, Model, Runtime, SessionId, ToolError};
use tokio::sync::watch;

use crate::company::{Company, Spent};
use crate::message::Content;
use crate::session::Agent;
use child::Child;
use post::Post;
pub(crate) use runner::{Heard, Urgency};
pub(crate) use view::{Until, View};

/// Longest that a cancelled child is waited for; each of its calls has half a second.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);

/// Says which agents there are, and makes them ready to work.
pub trait Roster: Send + Sync + 'static {
    /// Those that another agent may start, and what each is for.
    fn offered(&self) -> Vec<(AgentId, String)>;

    /// Makes one ready that another starts.
    fn child<'a>(
        &'a self,
        runtime: &'a Runtime,
        part: Part,
    ) -> BoxFuture<'a, Result<Agent, ToolError>>;

    /// Makes the one ready that works for the user.
    fn lead<'a>(
        &'a self,
        runtime: &'a Runtime,
        mode: Mode,
    ) -> BoxFuture<'a, Result<Agent, ToolError>>;
}

/// What an agent that another starts is to be.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its name.
    pub agent: AgentId,
    /// The model it is to work with, if not its own.
    pub model: Option<Model>,
    /// What the agent that starts it may do; it can never do more.
    pub ceiling: Arc<Policy>,
    /// Rules that it gets on top of its own, because it is a child.
    pub rules: Layer,
}

/// What the agent that works for the user may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// What its rules say.
    Work,
    /// Only look, until the user agrees to a plan.
    Plan,
}

/// How many agents there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrewLimits {
    /// How deep they may be nested; 1 means that a child starts no other.
    pub depth: usize,
    /// How many may work at once.
    pub running: usize,
    /// How many one session may start in all.
    pub total: usize,
}

impl Default for CrewLimits {
    fn default() -> Self {
        Self { depth: 2, running: 10, total: 200 }
    }
}

/// Every agent that works in one process, below those that work for the user. Cheap to clone.
///
/// It holds the runtime, and the tools that it is given to are held by the runtime: whoever makes
/// one has to [close](Crew::close) it.
#[derive(Clone)]
pub struct Crew {
    inner: Arc<Inner>,
}

struct Inner {
    runtime: Mutex<Option<Runtime>>,
    project: String,
    roster: Arc<dyn Roster>,
    limits: CrewLimits,
    /// On while only plans are made.
    planning: Switch,
    state: Mutex<State>,
    /// Changes with everything that somebody may wait for.
    tick: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    /// The sessions that can start others.
    members: BTreeMap<SessionId, Member>,
    /// Those that were started, in this process or before.
    children: BTreeMap<SessionId, Child>,
    /// How often the mode has changed.
    modes: u64,
}

/// A session that can start others.
struct Member {
    depth: usize,
    /// What it may do, which nobody it starts exceeds.
    policy: Arc<Policy>,
    /// Ends whoever it has started.
    cancel: CancellationToken,
    /// What those have cost.
    spent: Spent,
}

/// What a child is to do.
pub(crate) struct Order {
    pub(crate) agent: AgentId,
    pub(crate) model: Option<Model>,
    pub(crate) description: String,
    pub(crate) content: Vec<Content>,
    pub(crate) attended: Attended,
}

/// Whether somebody waits for a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attended {
    /// The call that started it.
    Foreground,
    /// Nobody: the model is told when it ends.
    Background,
}

impl Crew {
    /// A crew that works with the tools of `runtime` on the project at `project`. While `planning` is
    /// on, only plans are made; the runtime's policy has to heed it.
    #[must_use]
    pub fn new(
        runtime: &Runtime,
        project: impl Into<String>,
        roster: Arc<dyn Roster>,
        limits: CrewLimits,
        planning: Switch,
    ) -> Self {
        let inner = Arc::new(Inner {
            runtime: Mutex::new(Some(runtime.clone())),
            project: project.into(),
            roster,
            limits,
            planning,
            state: Mutex::default(),
            tick: watch::Sender::new(0),
        });
        glimpse::watch(Arc::downgrade(&inner), runtime.events(None));
        Self { inner }
    }

    /// Lets a session that works for the user start others. Those that a killed process left at work
    /// are marked as interrupted, and the model is told.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn lead(
        &self,
        session: &SessionId,
        agent: &Agent,
    ) -> Result<Arc<dyn Company>, ToolError> {
        self.restore(session, 0).await?;
        Ok(self.join(session, 0, agent))
    }

    /// Ends everybody, and lets go of the runtime. Nothing can be started any more.
    pub async fn close(&self) {
        let all: Vec<SessionId> = self.lock().members.keys().cloned().collect();
        for session in all {
            self.settle(&session).await;
        }
        drop(self.inner.runtime.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// The agents that can be started, and what each is for.
    pub(crate) fn offered(&self) -> Vec<(AgentId, String)> {
        self.inner.roster.offered()
    }

    pub(crate) fn limits(&self) -> CrewLimits {
        self.inner.limits
    }

    pub(crate) fn planning(&self) -> &Switch {
        &self.inner.planning
    }

    pub(crate) fn roster(&self) -> &dyn Roster {
        self.inner.roster.as_ref()
    }

    pub(crate) fn project(&self) -> &str {
        &self.inner.project
    }

    /// The runtime, until the crew is closed.
    pub(crate) fn runtime(&self) -> Result<Runtime, ToolError> {
        let runtime = self.inner.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        runtime.clone().ok_or_else(|| ToolError::failed("the session is over; nothing starts now"))
    }

    /// Everybody who waits for something looks again.
    pub(crate) fn stir(&self) {
        self.inner.tick.send_modify(|tick| *tick = tick.wrapping_add(1));
    }

    /// Tells of the next thing that somebody may wait for.
    pub(crate) fn ticks(&self) -> watch::Receiver<u64> {
        self.inner.tick.subscribe()
    }

    /// Counts a change of the mode: every session renews its tools.
    pub(crate) fn mode_changed(&self) {
        self.lock().modes += 1;
    }

    /// Makes a session one that can start others.
    fn join(&self, session: &SessionId, depth: usize, agent: &Agent) -> Arc<dyn Company> {
        let mut state = self.lock();
        let policy = Arc::clone(agent.toolset.policy());
        let (cancel, spent) = (CancellationToken::new(), Spent::default());
        state.members.insert(session.clone(), Member { depth, policy, cancel, spent });
        Arc::new(Post::new(self.clone(), session.clone(), depth, state.modes))
    }

    /// The rules of a child at this depth, because it is one.
    fn rules_of_child(&self, depth: usize) -> Layer {
        let mut layer = Layer::new(LayerKind::Agent, "sub-agent");
        for mode in ["plan_enter", "plan_exit"] {
            layer = layer.rule("tool", mode, Action::Deny);
        }
        if depth >= self.inner.limits.depth {
            layer = layer.rule("tool", "task", Action::Deny);
        }
        layer
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(inner: &Weak<Inner>) -> Option<Self> {
        inner.upgrade().map(|inner| Self { inner })
    }
}

impl State {
    /// How many work right now.
    fn running(&self) -> usize {
        self.children.values().filter(|child| child.is_running()).count()
    }

    /// Those that a session has started itself.
    fn children_of<'a>(
        &'a self,
        parent: &'a SessionId,
    ) -> impl Iterator<Item = (&'a SessionId, &'a Child)> {
        self.children.iter().filter(move |(_, child)| child.parent == *parent)
    }

    /// Whether `above` has started `session`, or one that has.
    fn is_below(&self, session: &SessionId, above: &SessionId) -> bool {
        let mut at = session;
        while let Some(child) = self.children.get(at) {
            if child.parent == *above {
                return true;
            }
            at = &child.parent;
        }
        false
    }

    /// The session that works for the user, at the top of all.
    fn top(&self, session: &SessionId) -> SessionId {
        let mut at = session;
        while let Some(child) = self.children.get(at) {
            at = &child.parent;
        }
        at.clone()
    }
}
