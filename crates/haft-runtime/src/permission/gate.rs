//! Where an ask is answered: by the rules, by a grant, or by whoever is there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use jiff::Timestamp;
use tokio::sync::oneshot;

use super::ask::{Ask, Closed, Denial, DeniedBy, Escalation, HOOK, PendingAsk, Reply, Suggestion};
use super::effect::Effect;
use super::explain::Explanation;
use super::policy::{Action, Policy, RuleRef};
use crate::context::Context;
use crate::documents::blocking;
use crate::error::ToolError;
use crate::event::EventKind;
use crate::hook;
use crate::host::Host;
use crate::ids::{AskId, GrantId, SessionId};
use crate::repetition;
use crate::store::{Grant, Store, StoreError};

/// Decides every ask of a runtime, and holds the ones that wait.
pub(crate) struct Gate {
    project: String,
    host: Arc<dyn Host>,
    store: Option<Arc<dyn Store>>,
    waiting: Mutex<IndexMap<AskId, Waiting>>,
    /// Grants of a runtime without a store; they end with it.
    grants: Mutex<Vec<Grant>>,
}

struct Waiting {
    pending: PendingAsk,
    policy: Arc<Policy>,
    standing: Standing,
    answer: oneshot::Sender<Closed>,
}

/// Whether a grant can answer an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The rules ask: a grant can.
    Ruled,
    /// A hook wants the user asked: only the user can.
    Demanded,
}

impl Gate {
    pub(crate) fn new(project: String, host: Arc<dyn Host>, store: Option<Arc<dyn Store>>) -> Self {
        Self { project, host, store, waiting: Mutex::default(), grants: Mutex::default() }
    }

    /// Answers an ask; `Ok` means that all of it is allowed.
    pub(crate) async fn ask(
        &self,
        cx: &Context,
        policy: &Arc<Policy>,
        mut ask: Ask,
    ) -> Result<(), ToolError> {
        let mut undecided = self.undecided(policy, &ask.effects).await?;
        if cx.heard.allows() {
            undecided.retain(|(effect, _)| !hook_may_allow(policy, effect));
        }
        let mut escalation = Escalation::of(&undecided);
        // No grant is offered for what needs none, or for what none would cover.
        ask.always.retain(|Suggestion { key, pattern }| {
            undecided.iter().any(|(effect, _)| policy.grant_covers(key, pattern, effect))
        });
        let standing = self.demanded(cx, &ask.effects, &mut undecided);
        if standing == Standing::Demanded {
            escalation = escalation.or(Some(Escalation::Hook));
        }
        // The first is what a refusal names: what is hardest to open.
        undecided.sort_by_key(|(_, rule)| !rule.as_ref().is_some_and(|rule| rule.protected));
        let Some((_, rule)) = undecided.first().cloned() else { return Ok(()) };
        ask.effects = undecided.into_iter().map(|(effect, _)| effect).collect();
        let pending = PendingAsk {
            id: AskId::fresh(),
            session: cx.session.clone(),
            call: cx.call.clone(),
            agent: cx.child_agent(),
            tool: cx.life.tool(),
            ask,
            rule,
            escalation,
        };
        let allowed = hook::asked(cx.toolset.hooks(), &pending, cx).await?.is_some();
        let mut effects = pending.ask.effects.iter();
        if allowed
            && standing == Standing::Ruled
            && effects.all(|effect| hook_may_allow(policy, effect))
        {
            return Ok(());
        }
        self.wait(cx, Arc::clone(policy), pending, standing).await
    }

    /// Adds what the rules allow, if a hook wants the user asked about the call.
    fn demanded(
        &self,
        cx: &Context,
        effects: &[Effect],
        undecided: &mut Vec<(Effect, Option<RuleRef>)>,
    ) -> Standing {
        // A call that goes in circles is asked about for that first; the demand is for the call.
        if effects.iter().any(|effect| effect.key == repetition::KEY) {
            return Standing::Ruled;
        }
        let Some(reason) = cx.heard.take_demand() else { return Standing::Ruled };
        for effect in effects {
            if !undecided.iter().any(|(other, _)| other == effect) {
                let rule = hook_asks(effect, &reason);
                undecided.push((effect.clone(), Some(rule)));
            }
        }
        Standing::Demanded
    }

    /// What the rules and grants make of these effects.
    pub(crate) async fn explain(
        &self,
        policy: &Policy,
        effects: &[Effect],
    ) -> Result<Explanation, ToolError> {
        let grants = self.grants().await?;
        Ok(policy.explain(effects, &|effect| granted(policy, &grants, effect)))
    }

    /// The asks that wait, oldest first.
    pub(crate) fn waiting(&self) -> Vec<PendingAsk> {
        self.lock().values().map(|waiting| waiting.pending.clone()).collect()
    }

    /// Answers a waiting ask from outside; `false` if it waits no longer.
    pub(crate) fn reply(&self, id: &AskId, reply: Reply) -> bool {
        // Under the lock, so that whoever finds the ask gone also finds its answer.
        let mut waiting = self.lock();
        let ask = waiting.shift_remove(id);
        ask.is_some_and(|ask| ask.answer.send(Closed::Answered(reply)).is_ok())
    }

    /// The effects that no rule and no grant allows; an error if a rule denies one.
    async fn undecided(
        &self,
        policy: &Policy,
        effects: &[Effect],
    ) -> Result<Vec<(Effect, Option<RuleRef>)>, ToolError> {
        let mut undecided = Vec::new();
        for effect in effects {
            let decision = policy.decide(effect);
            match decision.action {
                Action::Allow => {}
                Action::Ask => undecided.push((effect.clone(), decision.rule)),
                Action::Deny => {
                    let by = DeniedBy::Rule;
                    return Err(Box::new(Denial {
                        effect: effect.clone(),
                        more: Vec::new(),
                        rule: decision.rule,
                        by,
                    })
                    .into());
                }
            }
        }
        if !undecided.is_empty() {
            let grants = self.grants().await?;
            undecided.retain(|(effect, _)| granted(policy, &grants, effect).is_none());
        }
        Ok(undecided)
    }

    /// Puts the ask to the host, and waits for an answer from there, from [`Gate::reply`], or from another ask's.
    async fn wait(
        &self,
        cx: &Context,
        policy: Arc<Policy>,
        pending: PendingAsk,
        standing: Standing,
    ) -> Result<(), ToolError> {
        let (answer, mut answered) = oneshot::channel();
        let waiting =
            Waiting { pending: pending.clone(), policy: Arc::clone(&policy), standing, answer };
        self.lock().insert(pending.id.clone(), waiting);
        let mut open = OpenAsk { gate: self, cx, id: pending.id.clone(), how: Closed::Abandoned };
        cx.life.note(EventKind::AskOpened { ask: pending.clone() });
        // A grant may have come between the look at the grants and our place among those who wait.
        let still_asks = standing == Standing::Demanded
            || !self.undecided(&policy, &pending.ask.effects).await?.is_empty();
        open.how = tokio::select! {
            biased;
            closed = &mut answered => closed.unwrap_or(Closed::Abandoned),
            () = cx.cancel.cancelled() => Closed::Abandoned,
            () = std::future::ready(()), if !still_asks => Closed::Covered,
            reply = self.host.approve(&pending) => match self.lock().shift_remove(&pending.id) {
                Some(_) => Closed::Answered(reply),
                // Somebody else was first, and has said so.
                None => answered.try_recv().unwrap_or(Closed::Abandoned),
            },
        };
        self.conclude(cx, &pending, &open.how).await
    }

    async fn conclude(
        &self,
        cx: &Context,
        pending: &PendingAsk,
        how: &Closed,
    ) -> Result<(), ToolError> {
        let by = match how {
            Closed::Covered | Closed::Answered(Reply::Once) => return Ok(()),
            Closed::Answered(Reply::Always) => {
                // At once: nobody is to be asked meanwhile what this very answer covers.
                self.release_covered_by(pending);
                self.grant(pending).await?;
                self.release(&pending.session).await;
                return Ok(());
            }
            Closed::Answered(Reply::Reject { feedback }) => {
                self.drop_others(&pending.session);
                DeniedBy::User { feedback: feedback.clone() }
            }
            Closed::Answered(Reply::Unattended) => DeniedBy::Unattended,
            Closed::Answered(Reply::Unanswered { seconds }) => {
                DeniedBy::Unanswered { seconds: *seconds }
            }
            Closed::Dropped => DeniedBy::Dropped,
            Closed::Abandoned => return Err(abandoned(cx)),
        };
        let Some((effect, more)) = pending.ask.effects.split_first() else { return Ok(()) };
        let (effect, more) = (effect.clone(), more.to_vec());
        Err(Box::new(Denial { effect, more, rule: pending.rule.clone(), by }).into())
    }

    /// Keeps what *always* allows from now on.
    async fn grant(&self, pending: &PendingAsk) -> Result<(), ToolError> {
        let grants: Vec<Grant> = pending
            .ask
            .always
            .iter()
            .map(|suggestion| Grant {
                id: GrantId::fresh(),
                project: self.project.clone(),
                key: suggestion.key.clone(),
                pattern: suggestion.pattern.clone(),
                created: Timestamp::now(),
                session: pending.session.clone(),
            })
            .collect();
        match self.store.clone() {
            Some(store) => {
                blocking(move || grants.iter().try_for_each(|grant| store.add_grant(grant))).await
            }
            None => {
                self.grants.lock().unwrap_or_else(PoisonError::into_inner).extend(grants);
                Ok(())
            }
        }
    }

    /// Lets go the waiting asks of a session that the *always* given to one of them covers.
    fn release_covered_by(&self, answered: &PendingAsk) {
        self.close(Closed::Covered, |waiting| {
            let covered = |effect| {
                let mut always = answered.ask.always.iter();
                always.any(|one| waiting.policy.grant_covers(&one.key, &one.pattern, effect))
            };
            let mut effects = waiting.pending.ask.effects.iter();
            waiting.standing == Standing::Ruled
                && waiting.pending.session == answered.session
                && effects.all(covered)
        });
    }

    /// Lets go the waiting asks of a session that all grants together cover by now.
    async fn release(&self, session: &SessionId) {
        // If the grants cannot be read, the others go on waiting for an answer of their own.
        let Ok(grants) = self.grants().await else { return };
        self.close(Closed::Covered, |waiting| {
            let covered = |effect| granted(&waiting.policy, &grants, effect).is_some();
            waiting.standing == Standing::Ruled
                && waiting.pending.session == *session
                && waiting.pending.ask.effects.iter().all(covered)
        });
    }

    /// A rejection is about more than one call: whatever else the session was about to do is dropped.
    fn drop_others(&self, session: &SessionId) {
        self.close(Closed::Dropped, |waiting| waiting.pending.session == *session);
    }

    fn close(&self, how: Closed, which: impl Fn(&Waiting) -> bool) {
        let mut waiting = self.lock();
        let ids: Vec<AskId> =
            waiting.iter().filter(|(_, ask)| which(ask)).map(|(id, _)| id.clone()).collect();
        for id in ids {
            if let Some(ask) = waiting.shift_remove(&id) {
                // Its call may have ended in this very moment; then nobody needs the answer.
                drop(ask.answer.send(how.clone()));
            }
        }
    }

    /// Read anew for every ask: another process may have given or revoked one.
    async fn grants(&self) -> Result<Vec<Grant>, ToolError> {
        match self.store.clone() {
            Some(store) => {
                let project = self.project.clone();
                blocking(move || store.grants(Some(&project))).await
            }
            None => Ok(self.own_grants()),
        }
    }

    /// The same on this thread, which may have to wait.
    pub(super) fn grants_here(&self) -> Result<Vec<Grant>, StoreError> {
        match &self.store {
            Some(store) => store.grants(Some(&self.project)),
            None => Ok(self.own_grants()),
        }
    }

    fn own_grants(&self) -> Vec<Grant> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock(&self) -> MutexGuard<'_, IndexMap<AskId, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The grant that turns this effect's *ask* into *allow*, as the rule it amounts to.
pub(super) fn granted(policy: &Policy, grants: &[Grant], effect: &Effect) -> Option<RuleRef> {
    let grant =
        grants.iter().find(|grant| policy.grant_covers(&grant.key, &grant.pattern, effect))?;
    Some(RuleRef {
        key: grant.key.clone(),
        pattern: grant.pattern.clone(),
        action: Action::Allow,
        source: grant.id.to_string(),
        reason: None,
        protected: false,
    })
}

/// Whether a hook's *allow* counts for an effect: as far as a rule for everything would, but a call
/// that goes in circles is the user's to judge.
fn hook_may_allow(policy: &Policy, effect: &Effect) -> bool {
    effect.key != repetition::KEY && policy.would_allow(effect)
}

/// What is shown for a hook that wants the user asked.
fn hook_asks(effect: &Effect, reason: &str) -> RuleRef {
    RuleRef {
        key: effect.key.clone().into_owned(),
        pattern: "*".to_owned(),
        action: Action::Ask,
        source: HOOK.to_owned(),
        reason: Some(reason.to_owned()),
        protected: false,
    }
}

fn abandoned(cx: &Context) -> ToolError {
    if cx.cancel.is_cancelled() {
        ToolError::cancelled()
    } else {
        ToolError::failed("the request for permission was withdrawn; make the call again")
    }
}

/// An ask that is open; however its call ends, it is closed and told of.
struct OpenAsk<'a> {
    gate: &'a Gate,
    cx: &'a Context,
    id: AskId,
    how: Closed,
}

impl Drop for OpenAsk<'_> {
    fn drop(&mut self) {
        self.gate.lock().shift_remove(&self.id);
        let (ask, how) = (self.id.clone(), self.how.clone());
        self.cx.life.note(EventKind::AskClosed { ask, how });
    }
}
