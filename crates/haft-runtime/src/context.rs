//! All that a tool can see: while it is built, and while it runs.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::arguments::Arguments;
use crate::audience::Audience;
use crate::bound::Limits;
use crate::documents::{Documents, blocking, run_blocking};
use crate::error::ToolError;
use crate::event::EventKind;
use crate::execute::{Call, Prepared};
use crate::hook::Heard;
use crate::host::{Answer, Question};
use crate::ids::{AgentId, CallId, MessageId, SessionId};
use crate::life::Life;
use crate::output::{Metadata, Output};
use crate::permission::{Action, Ask, Clearance, Effect, Rules};
use crate::store::{KeptOutput, Spill};
use crate::toolset::Toolset;

/// What a tool can see while it is built for one agent.
pub struct InitContext<'a> {
    /// For whom it is built.
    pub audience: &'a Audience,
    /// What outlives a call; none if the runtime has no store.
    pub documents: Option<&'a Documents>,
    pub(crate) shared: &'a Shared,
}

impl InitContext<'_> {
    /// Something the host put at the tools' disposal, such as a workspace.
    #[must_use]
    pub fn shared<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.shared.get()
    }
}

/// What the host puts at the tools' disposal, by type: the runtime need not know what it is.
#[derive(Default)]
pub(crate) struct Shared(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Shared {
    pub(crate) fn put<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.0.insert(TypeId::of::<T>(), value);
    }

    fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.get(&TypeId::of::<T>())?.clone().downcast().ok()
    }
}

/// All that a running tool can see.
pub struct Context {
    /// The session the call was made in.
    pub session: SessionId,
    /// The model's message it belongs to.
    pub message: Option<MessageId>,
    /// The call.
    pub call: CallId,
    /// The call that this one is a part of.
    pub parent: Option<CallId>,
    /// The agent that made it.
    pub agent: AgentId,
    /// Fires when the call is to end. What has not ended half a second later is dropped.
    pub cancel: CancellationToken,
    pub(crate) limits: Limits,
    pub(crate) toolset: Toolset,
    pub(crate) life: Life,
    /// What makes this call the same as another; set once its arguments fit.
    pub(crate) fingerprint: OnceLock<u64>,
    /// What hooks have said of it.
    pub(crate) heard: Heard,
    /// When a cancelled call is dropped; set when the cancellation is first seen.
    pub(crate) grace_ends: OnceLock<Instant>,
}

impl Context {
    /// Opens the life of a call: it is pending from now on.
    pub(crate) fn open(toolset: &Toolset, call: &Call, cancel: CancellationToken) -> Self {
        let runtime = toolset.runtime();
        let agent = toolset.audience().agent.id.clone();
        let pending = EventKind::CallPending {
            call: call.id.clone(),
            parent: call.parent.clone(),
            message: call.message.clone(),
            agent: agent.clone(),
            tool: call.tool.clone(),
            args: call.args.to_value(),
        };
        let limits = runtime.limits().shared_by(call.parts);
        let (session, id) = (call.session.clone(), call.id.clone());
        let life = Life::begin(
            runtime.recorder().clone(),
            session,
            id,
            &call.tool,
            limits.metadata,
            pending,
        );
        Self::with_life(toolset, call, agent, cancel, limits, life)
    }

    /// A context in which nothing is recorded, for asking what a call would do.
    pub(crate) fn rehearsal(toolset: &Toolset, call: &Call) -> Self {
        let agent = toolset.audience().agent.id.clone();
        let limits = toolset.runtime().limits().clone();
        let life = Life::rehearsal(call.session.clone(), call.id.clone(), &call.tool);
        Self::with_life(toolset, call, agent, CancellationToken::new(), limits, life)
    }

    fn with_life(
        toolset: &Toolset,
        call: &Call,
        agent: AgentId,
        cancel: CancellationToken,
        limits: Limits,
        life: Life,
    ) -> Self {
        Self {
            session: call.session.clone(),
            message: call.message.clone(),
            call: call.id.clone(),
            agent,
            cancel,
            limits,
            toolset: toolset.clone(),
            life,
            parent: call.parent.clone(),
            fingerprint: OnceLock::new(),
            heard: Heard::default(),
            grace_ends: OnceLock::new(),
        }
    }

    /// Tells listeners how far the call is. Never fails, never blocks; what comes too fast is coalesced.
    pub fn metadata(&self, title: impl Into<String>, metadata: impl Serialize) {
        let metadata = match serde_json::to_value(metadata) {
            Ok(Value::Object(map)) => map,
            Ok(other) => Metadata::from_iter([("value".to_owned(), other)]),
            Err(_) => Metadata::new(),
        };
        self.life.progress(title.into(), metadata);
    }

    /// Asks for access; `?` ends the call if the answer is no.
    ///
    /// # Errors
    /// [`ToolError::Denied`] if a rule or the user says no, [`ToolError::Cancelled`] if the call ended first.
    pub async fn ask(&self, ask: Ask) -> Result<(), ToolError> {
        let runtime = self.toolset.runtime();
        runtime.gate().ask(self, self.toolset.policy(), ask).await
    }

    /// Says, of many things below what `allowed` covers, which need no answer of their own: for a tool
    /// that goes through a folder, after [`Context::ask`] let it.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn clearance(&self, allowed: &[Effect]) -> Result<Clearance, ToolError> {
        let (rules, allowed) = (self.rules(), allowed.to_vec());
        run_blocking(move || rules.clearance(&allowed)).await?
    }

    /// The rules, for a tool that looks on another thread whether it has to ask at all.
    #[must_use]
    pub fn rules(&self) -> Rules {
        // A hook may want the user asked, whatever they say.
        Rules::new(self.toolset.runtime(), self.toolset.policy(), self.heard.demands())
    }

    /// Puts questions to the user; `None` when there is nobody, or the user did not answer. Those of an
    /// agent that another started carry its name.
    pub async fn question(&self, questions: &[Question]) -> Option<Vec<Answer>> {
        let named = |question: &Question| {
            let Some(agent) = self.child_agent() else { return question.clone() };
            let header = format!("{agent}: {}", question.header);
            Question { header, ..question.clone() }
        };
        let questions: &[Question] = &questions.iter().map(named).collect::<Vec<_>>();
        tokio::select! {
            answers = self.toolset.runtime().host().question(questions) => answers,
            () = self.cancel.cancelled() => None,
        }
    }

    /// The kept output whose file this is, if it is one of ours and still there: reading it needs no ask.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn kept(&self, path: &Path) -> Result<Option<KeptOutput>, ToolError> {
        let Some(store) = self.toolset.runtime().store().cloned() else { return Ok(None) };
        let path = path.to_owned();
        blocking(move || store.kept(&path)).await
    }

    /// A place for an output that is too long to be held in memory; none if there is no store.
    ///
    /// # Errors
    /// If the store fails.
    pub fn spill(&self) -> Result<Option<Spill>, ToolError> {
        let Some(store) = self.toolset.runtime().store() else { return Ok(None) };
        let spill = store.spill();
        spill.map(Some).map_err(|error| ToolError::caused("the store failed", error))
    }

    /// Keeps the file that was written to a place from [`Context::spill`], as an output of this call.
    ///
    /// # Errors
    /// If the store fails; then the file is gone.
    pub async fn adopt(&self, spill: &Path) -> Result<KeptOutput, ToolError> {
        let store = self.toolset.runtime().store().cloned();
        let store = store.ok_or_else(|| ToolError::failed("there is no store"))?;
        let (session, call, spill) = (self.session.clone(), self.call.clone(), spill.to_owned());
        blocking(move || store.adopt(&session, &call, &spill)).await
    }

    /// The arguments of the call as they are by now, for hooks; null where there is none to see them.
    #[must_use]
    pub fn input(&self) -> Arc<Value> {
        self.heard.input()
    }

    /// What the rules alone say of an effect; grants and users are not asked.
    #[must_use]
    pub fn ruled(&self, effect: &Effect) -> Action {
        self.toolset.policy().decide(effect).action
    }

    /// Tells listeners of something that is not the call's own progress, such as `file.edited`.
    pub fn note(&self, name: impl Into<String>, data: impl Into<Value>) {
        let (call, name, data) = (self.call.clone(), name.into(), data.into());
        self.life.note(EventKind::Noted { call, name, data });
    }

    /// Checks a child call without running it: the tool exists, and the arguments fit.
    ///
    /// # Errors
    /// As the child itself would fail.
    pub fn check(&self, tool: &str, args: Value) -> Result<Prepared, ToolError> {
        self.toolset.check(&self.child(tool, args, 1))
    }

    /// Says what a child call would do.
    ///
    /// # Errors
    /// As the child itself would fail before its first effect.
    pub async fn effects(&self, prepared: &Prepared) -> Result<Vec<Effect>, ToolError> {
        prepared.effects(self).await
    }

    /// Runs a child call through the same pipeline, bounded to one of `parts` shares of the limits.
    ///
    /// # Errors
    /// As the child fails.
    pub async fn execute(
        &self,
        tool: &str,
        args: Value,
        parts: usize,
    ) -> Result<Output, ToolError> {
        let call = self.child(tool, args, parts);
        // Boxed, because a call may contain calls.
        Box::pin(self.toolset.execute(call, self.cancel.child_token())).await.result
    }

    /// How much of this call's answer the model reads.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The names this agent was shown.
    #[must_use]
    pub fn tools(&self) -> Vec<String> {
        self.toolset.names()
    }

    /// The agent of this call, if another one started it.
    pub(crate) fn child_agent(&self) -> Option<AgentId> {
        let is_child = self.toolset.audience().agent.ceiling.is_some();
        is_child.then(|| self.agent.clone())
    }

    fn child(&self, tool: &str, args: Value, parts: usize) -> Call {
        Call {
            id: CallId::fresh(),
            parent: Some(self.call.clone()),
            session: self.session.clone(),
            message: self.message.clone(),
            tool: tool.to_owned(),
            args: Arguments::Parsed(args),
            parts,
        }
    }
}
