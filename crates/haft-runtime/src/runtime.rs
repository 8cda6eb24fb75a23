//! A runtime: tools, rules, hooks, host and store, put together once.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::watch;

use crate::audience::Audience;
use crate::bound::Limits;
use crate::context::{InitContext, Shared};
use crate::deferral::Deferral;
use crate::documents::{Documents, blocking};
use crate::error::{ErrorReport, InitError, ToolError};
use crate::event::{Draft, EventKind, Events};
use crate::hook::{Beginning, Hook, Hooks, Said};
use crate::host::{Headless, Host};
use crate::ids::{AskId, CallId, SessionId};
use crate::output::Metadata;
use crate::permission::{Gate, PendingAsk, Policy, Reply};
use crate::record::Recorder;
use crate::registry::Registry;
use crate::repetition::Repetitions;
use crate::store::{NewSession, Session, Store};
use crate::tool::DynTool;
use crate::toolset::{Built, Toolset};

/// Toolsets remembered at once; a server has a few agents, each with a few models.
const TOOLSETS: usize = 64;

/// Everything that calls are executed with. Cheap to clone.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

struct Inner {
    registry: RwLock<Registry>,
    toolsets: Mutex<Toolsets>,
    policy: Policy,
    gate: Gate,
    hooks: Hooks,
    host: Arc<dyn Host>,
    store: Option<Arc<dyn Store>>,
    documents: Option<Documents>,
    recorder: Recorder,
    /// How often tools came or went.
    changes: watch::Sender<u64>,
    repetitions: Repetitions,
    deferral: Deferral,
    limits: Limits,
    shared: Shared,
}

/// What was built, as long as the registry is what it was built from.
#[derive(Default)]
struct Toolsets {
    /// Whether anybody was shown tools yet.
    wanted: bool,
    generation: u64,
    built: Vec<Arc<Built>>,
}

/// Puts a [`Runtime`] together.
pub struct Builder {
    project: String,
    registry: Registry,
    policy: Policy,
    hooks: Vec<Arc<dyn Hook>>,
    host: Arc<dyn Host>,
    store: Option<Arc<dyn Store>>,
    limits: Limits,
    tool_room: usize,
    shared: Shared,
}

impl Builder {
    /// The tools that exist.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// The rules. Without any, everything asks.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Adds a hook; hooks run in the order they were added.
    #[must_use]
    pub fn hook(mut self, hook: impl Hook) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Whoever answers asks and questions. Without one, every ask is a no.
    #[must_use]
    pub fn host(mut self, host: impl Host) -> Self {
        self.host = Arc::new(host);
        self
    }

    /// What outlives the process. Without it, nothing does, and tools that need it are left out.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// How much the model reads of one answer.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How many bytes of definitions of tools that are data are shown from the start; those beyond
    /// are deferred. Without it, all are shown.
    #[must_use]
    pub fn tool_room(mut self, bytes: usize) -> Self {
        self.tool_room = bytes;
        self
    }

    /// Puts something at the tools' disposal; they find it by its type while they are built.
    #[must_use]
    pub fn share<T: Send + Sync + 'static>(mut self, value: Arc<T>) -> Self {
        self.shared.put(value);
        self
    }

    /// Puts it together.
    #[must_use]
    pub fn build(self) -> Runtime {
        let recorder = Recorder::new(self.store.clone());
        let gate = Gate::new(self.project, Arc::clone(&self.host), self.store.clone());
        let inner = Inner {
            registry: RwLock::new(self.registry),
            toolsets: Mutex::default(),
            policy: self.policy,
            gate,
            hooks: self.hooks.into(),
            host: self.host,
            documents: self.store.clone().map(Documents::new),
            store: self.store,
            recorder,
            changes: watch::Sender::default(),
            repetitions: Repetitions::default(),
            deferral: Deferral::new(self.tool_room),
            limits: self.limits,
            shared: self.shared,
        };
        Runtime { inner: Arc::new(inner) }
    }
}

impl Runtime {
    /// Starts one for the project at `project`, the path of its root: what grants are scoped to.
    #[must_use]
    pub fn builder(project: impl Into<String>) -> Builder {
        Builder {
            project: project.into(),
            registry: Registry::new(),
            policy: Policy::default(),
            hooks: Vec::new(),
            host: Arc::new(Headless),
            store: None,
            limits: Limits::default(),
            tool_room: usize::MAX,
            shared: Shared::default(),
        }
    }

    /// Builds what one audience is shown. Asked again, it answers from memory until a tool comes or goes.
    pub async fn toolset(&self, audience: &Audience) -> Toolset {
        let (remembered, generation) = self.remembered(audience);
        let built = match remembered {
            Some(built) => built,
            None => self.remember(self.build(audience, generation).await),
        };
        Toolset::new(self.clone(), built)
    }

    /// Adds a tool while running. Toolsets made before do not have it.
    ///
    /// # Errors
    /// If its id is taken, or not one that every model's provider accepts.
    pub fn add_tool(&self, tool: Arc<dyn DynTool>) -> Result<(), InitError> {
        let id = tool.id().to_owned();
        self.inner.registry.write().unwrap_or_else(PoisonError::into_inner).dynamic(tool)?;
        self.tools_changed(id);
        Ok(())
    }

    /// Takes a tool away while running; `false` if there was none. Toolsets made before still have it.
    pub fn remove_tool(&self, id: &str) -> bool {
        let removed =
            self.inner.registry.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        if removed {
            self.tools_changed(id.to_owned());
        }
        removed
    }

    /// Shows deferred tools from now on.
    pub(crate) fn load_tools(&self, names: &[String]) {
        if self.inner.deferral.load(names) {
            self.tools_changed(names.first().cloned().unwrap_or_default());
        }
    }

    /// Opens a session, or finds the one that has this id.
    ///
    /// # Errors
    /// If the store fails. Without a store there is nothing to open, and the answer is `None`.
    pub async fn open_session(&self, new: NewSession) -> Result<Option<Session>, ToolError> {
        let Some(store) = self.inner.store.clone() else { return Ok(None) };
        blocking(move || store.open_session(&new)).await.map(Some)
    }

    /// Tells the hooks that work in a session begins; gives what they say.
    ///
    /// # Errors
    /// If one refuses, or fails.
    pub async fn begin_session(
        &self,
        session: &SessionId,
        how: Beginning,
    ) -> Result<Said, ToolError> {
        let mut all = Said::default();
        for hook in self.inner.hooks.iter() {
            let said = hook.session_started(session, how).await?;
            all.context.extend(said.context);
            all.messages.extend(said.messages);
        }
        Ok(all)
    }

    /// Tells the hooks that work in a session is over, and why.
    pub async fn end_session(&self, session: &SessionId, why: &str) {
        for hook in self.inner.hooks.iter() {
            hook.session_ended(session, why).await;
        }
    }

    /// Records something that happened in a session beside its calls; it is kept when this returns.
    ///
    /// # Errors
    /// If the store fails; listeners are told all the same.
    pub async fn record(&self, session: &SessionId, kind: EventKind) -> Result<(), ToolError> {
        let ticket = self.inner.recorder.record(Draft::now(Some(session.clone()), kind), 0);
        let kept = ticket.kept().await;
        kept.map_err(|error| ToolError::caused("what happened could not be recorded", error))
    }

    /// Tells listeners of something in a session; nothing waits for it.
    pub fn tell(&self, session: &SessionId, kind: EventKind) {
        drop(self.inner.recorder.record(Draft::now(Some(session.clone()), kind), 0));
    }

    /// Ends a call in the log that a killed process left without an end. It is never run again.
    ///
    /// # Errors
    /// If the store fails, or the call has ended.
    pub async fn end_interrupted(
        &self,
        session: &SessionId,
        call: CallId,
        tool: String,
    ) -> Result<ErrorReport, ToolError> {
        let error = ErrorReport::from(&ToolError::Interrupted);
        let (report, metadata) = (error.clone(), Metadata::new());
        self.record(session, EventKind::CallError { call, tool, error, metadata }).await?;
        Ok(report)
    }

    /// Listens to the events of one session, or of all, from now on.
    #[must_use]
    pub fn events(&self, session: Option<SessionId>) -> Events {
        self.inner.recorder.events(session)
    }

    /// The asks that wait for an answer, oldest first.
    #[must_use]
    pub fn asks(&self) -> Vec<PendingAsk> {
        self.inner.gate.waiting()
    }

    /// Answers a waiting ask; `false` if it waits no longer.
    pub fn reply(&self, ask: &AskId, reply: Reply) -> bool {
        self.inner.gate.reply(ask, reply)
    }

    /// Tells when tools come or go, to whoever wants to hear of nothing else.
    #[must_use]
    pub fn tool_changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// What outlives the process. What only reads is in it after [`Runtime::write_down`], or a moment later.
    #[must_use]
    pub fn store(&self) -> Option<&Arc<dyn Store>> {
        self.inner.store.as_ref()
    }

    /// Sees to it that all that has happened is in the store, as far as that takes it, and told to listeners.
    pub async fn write_down(&self) {
        self.inner.recorder.write_down().await;
    }

    /// How much the model reads of one answer.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    pub(crate) fn host(&self) -> &dyn Host {
        self.inner.host.as_ref()
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.inner.hooks
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.inner.gate
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        &self.inner.recorder
    }

    pub(crate) fn repetitions(&self) -> &Repetitions {
        &self.inner.repetitions
    }

    /// How often tools have come or gone.
    pub(crate) fn tool_generation(&self) -> u64 {
        self.inner.toolsets.lock().unwrap_or_else(PoisonError::into_inner).generation
    }

    async fn build(&self, audience: &Audience, generation: u64) -> Built {
        let plan = self.inner.registry.read().unwrap_or_else(PoisonError::into_inner).plan();
        let policy = self.inner.policy.clone().for_agent(&audience.agent);
        let documents = self.inner.documents.as_ref();
        let cx = InitContext { audience, documents, shared: &self.inner.shared };
        plan.build(generation, policy, &self.inner.deferral, &cx).await
    }

    fn remembered(&self, audience: &Audience) -> (Option<Arc<Built>>, u64) {
        let mut toolsets = self.inner.toolsets.lock().unwrap_or_else(PoisonError::into_inner);
        toolsets.wanted = true;
        let built = toolsets.built.iter().find(|built| built.audience == *audience);
        (built.cloned(), toolsets.generation)
    }

    /// Remembers what was built, unless tools came or went meanwhile, or one may be there next time.
    fn remember(&self, built: Built) -> Arc<Built> {
        let built = Arc::new(built);
        let mut toolsets = self.inner.toolsets.lock().unwrap_or_else(PoisonError::into_inner);
        if toolsets.generation == built.generation && !built.failed {
            if toolsets.built.len() >= TOOLSETS {
                toolsets.built.clear();
            }
            toolsets.built.push(Arc::clone(&built));
        }
        built
    }

    fn tools_changed(&self, tool: String) {
        let mut toolsets = self.inner.toolsets.lock().unwrap_or_else(PoisonError::into_inner);
        toolsets.generation += 1;
        toolsets.built.clear();
        // To whoever was shown nothing yet, nothing has changed.
        if !toolsets.wanted {
            return;
        }
        drop(toolsets);
        self.inner.changes.send_modify(|changes| *changes += 1);
        let draft = Draft::now(None, EventKind::ToolsChanged { tool });
        drop(self.inner.recorder.record(draft, 0));
    }
}
