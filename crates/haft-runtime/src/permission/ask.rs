//! A request for access, what is answered to it, and what the model is told when the answer is no.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::effect::{Effect, EffectKind};
use super::policy::RuleRef;
use crate::bound;
use crate::ids::{AgentId, AskId, CallId, SessionId};
use crate::output::Metadata;
use crate::repetition;
use crate::visible::plain;

/// Most effects that a message names.
const NAMED: usize = 8;

/// Where the word stands that a hook has for an effect.
pub(super) const HOOK: &str = "a hook";

/// What a tool asks before its first side effect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// A few words for a person.
    pub title: String,
    /// Everything the call would do.
    pub effects: Vec<Effect>,
    /// What *always* would allow from then on: narrow, and shown before it is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always: Vec<Suggestion>,
    /// What helps to decide, such as a diff.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

impl Ask {
    /// Asks for `effects`; *always* would cover exactly these.
    pub fn new(title: impl Into<String>, effects: Vec<Effect>) -> Self {
        let always = effects.iter().filter_map(Suggestion::exactly).collect();
        Self { title: title.into(), effects, always, metadata: Metadata::new() }
    }
}

/// A pattern that *always* would allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// The permission.
    pub key: String,
    /// What it covers.
    pub pattern: String,
}

impl Suggestion {
    /// Covers this effect and no other; `None` where the value would be a pattern for more.
    #[must_use]
    pub fn exactly(effect: &Effect) -> Option<Self> {
        let is_pattern = effect.value.contains(['*', '?']);
        let means_all = effect.kind == EffectKind::Use && effect.value == "*";
        let suggestion =
            Self { key: effect.key.clone().into_owned(), pattern: effect.value.clone() };
        (!is_pattern || means_all).then_some(suggestion)
    }
}

/// An ask that waits for an answer, as the host shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingAsk {
    /// Its id, for [`crate::Runtime::reply`].
    pub id: AskId,
    /// The session of the call.
    pub session: SessionId,
    /// The call that waits.
    pub call: CallId,
    /// The agent that made it, where another agent started that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The tool that was called.
    pub tool: String,
    /// What is asked. Its effects are those that no rule or grant allows.
    #[serde(flatten)]
    pub ask: Ask,
    /// The rule that says *ask*, for the first of the effects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// Why it is more than plain work in the workspace; none if it is just that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
}

/// Why an ask is about more than plain work in the workspace: what a host that let the call itself
/// through has not thereby agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Escalation {
    /// Something that only a rule which names it can open.
    Protected,
    /// Something outside the workspace.
    Outside,
    /// A file that is not read without asking, such as a key.
    Secret,
    /// A host on the network: what is asked of one can carry anything to it.
    Network,
    /// The same call again and again.
    Repetition,
    /// A hook wants the user asked.
    Hook,
}

impl Escalation {
    /// The gravest reason among the effects that are asked for, each with the rule that says *ask*.
    pub(super) fn of(undecided: &[(Effect, Option<RuleRef>)]) -> Option<Self> {
        let reason = |(effect, rule): &(Effect, Option<RuleRef>)| match effect.kind {
            _ if rule.as_ref().is_some_and(|rule| rule.protected) => Some(Self::Protected),
            EffectKind::External => Some(Self::Outside),
            EffectKind::Read => Some(Self::Secret),
            EffectKind::Connect => Some(Self::Network),
            EffectKind::Use if effect.key == repetition::KEY => Some(Self::Repetition),
            _ => None,
        };
        undecided.iter().filter_map(reason).min_by_key(|reason| *reason as u8)
    }
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Yes, this time.
    Once,
    /// Yes, and the suggested patterns from now on, in this project.
    Always,
    /// No; with words for the model, perhaps.
    Reject {
        /// What the user wants instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
    },
    /// There is nobody to ask.
    Unattended,
    /// It waited for an answer from elsewhere, and none came in time.
    Unanswered {
        /// How long it waited.
        seconds: u64,
    },
}

/// How an ask ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closed {
    /// It was answered.
    Answered(Reply),
    /// Another ask's *always* came to cover it.
    Covered,
    /// Another ask of the session was rejected, and this one with it.
    Dropped,
    /// The call ended before an answer came.
    Abandoned,
}

/// Why a call was stopped, for the model and for every surface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// What was not allowed.
    pub effect: Effect,
    /// What else of the same call was not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<Effect>,
    /// The one rule that stopped it; none where nothing decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// Who said no.
    pub by: DeniedBy,
}

/// Who said no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeniedBy {
    /// A rule says *deny*.
    Rule,
    /// The user, with words perhaps.
    User {
        /// What the user wants instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<String>,
    },
    /// A rule says *ask*, and there is nobody to ask.
    Unattended,
    /// A rule says *ask*, and nobody answered in time.
    Unanswered {
        /// How long it waited.
        seconds: u64,
    },
    /// The user rejected another call of the session that was waiting at the same time.
    Dropped,
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |Effect { key, value, .. }: &Effect| format!("{key} `{}`", plain(value));
        let what = self.listed(name);
        match &self.by {
            DeniedBy::Rule => {
                write!(f, "not allowed: {what}")?;
                if let Some(rule) = &self.rule {
                    write!(f, ", by the rule {rule}")?;
                    if let Some(reason) = &rule.reason {
                        write!(f, " ({reason})")?;
                    }
                }
                f.write_str("; do not retry it, find a way that needs no such access")
            }
            DeniedBy::User { feedback: Some(words) } => {
                write!(f, "the user rejected {what} and said: {words}")
            }
            DeniedBy::User { feedback: None } => {
                write!(f, "the user rejected {what}; do not retry it, ask what to do instead")
            }
            DeniedBy::Unattended | DeniedBy::Unanswered { .. } => {
                let s = if self.is_one() { "s" } else { "" };
                write!(f, "{what} need{s} permission, and ")?;
                match self.by {
                    DeniedBy::Unanswered { seconds } => {
                        write!(f, "no answer came by `haft approve` in the {seconds} s it waited")?;
                    }
                    _ => f.write_str("nobody is there to give it")?,
                }
                if let Some(rule) = &self.rule {
                    write!(f, " (asked by the rule {rule})")?;
                }
                write!(f, "; it would be allowed by {}", self.would_allow())
            }
            DeniedBy::Dropped => {
                let was = if self.is_one() { "was" } else { "were" };
                write!(f, "{what} {was} dropped, because the user rejected another call beside it")
            }
        }
    }
}

impl std::error::Error for Denial {}

impl Denial {
    /// Cuts what it quotes to `bytes`, and what else there is to what is named.
    pub(crate) fn shorten(&mut self, bytes: usize) {
        self.more.truncate(NAMED);
        let bytes = bytes / (1 + self.more.len());
        for effect in std::iter::once(&mut self.effect).chain(&mut self.more) {
            let Effect { value, also, unproven, certain, .. } = effect;
            let rest = [also, unproven, certain].map(Option::as_mut);
            for text in std::iter::once(value).chain(rest.into_iter().flatten()) {
                *text = bound::sentence(std::mem::take(text), bytes);
            }
        }
    }

    /// All that was not allowed, each thing once.
    fn effects(&self) -> impl Iterator<Item = &Effect> {
        let mut seen = HashSet::new();
        let all = std::iter::once(&self.effect).chain(&self.more);
        all.filter(move |effect| seen.insert((&effect.key, &effect.value)))
    }

    fn is_one(&self) -> bool {
        self.effects().nth(1).is_none()
    }

    /// The same in words, as far as anybody reads on.
    fn listed(&self, name: impl Fn(&Effect) -> String) -> String {
        let mut names: Vec<String> = self.effects().take(NAMED).map(name).collect();
        let more = self.effects().count() - names.len();
        let last = if more > 0 { Some(format!("{more} more")) } else { names.pop() };
        match (names.is_empty(), last.unwrap_or_default()) {
            (true, last) => last,
            (false, last) => format!("{} and {last}", names.join(", ")),
        }
    }

    /// The smallest rules or flag that would have let it through.
    fn would_allow(&self) -> String {
        if self.rule.as_ref().is_some_and(|rule| rule.source == HOOK) {
            return "no rule: a hook wants the user asked".to_owned();
        }
        let rule = |Effect { key, value, .. }: &Effect| {
            format!("`[permission.{key}] {value:?} = \"allow\"`")
        };
        let rules = if self.is_one() {
            format!("the rule {}", rule(&self.effect))
        } else {
            format!("the rules {} together", self.listed(rule))
        };
        let is_protected = self.rule.as_ref().is_some_and(|rule| rule.protected);
        if !is_protected && self.effects().all(|effect| effect.key == "edit") {
            format!("--allow-edits, or {rules}")
        } else {
            rules
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::policy::Action;
    use super::*;

    fn rule(protected: bool) -> Option<RuleRef> {
        Some(RuleRef {
            key: "edit".into(),
            pattern: "*".into(),
            action: Action::Ask,
            source: "built-in".into(),
            reason: None,
            protected,
        })
    }

    fn on(kind: EffectKind) -> Effect {
        Effect::on_path(kind, Path::new("/w/a"), Path::new("/w"))
    }

    #[test]
    fn plain_work_in_the_workspace_is_no_escalation() {
        for effect in [on(EffectKind::Write), on(EffectKind::Delete), Effect::run("make")] {
            assert_eq!(Escalation::of(&[(effect, rule(false))]), None);
        }
    }

    #[test]
    fn what_reaches_further_is_one_and_the_gravest_is_named() {
        let connect = || (Effect::connect("https://example.org"), None);
        let again = || (Effect::using("doom_loop", "read"), None);
        let outside = || (on(EffectKind::External), None);
        let cases = [
            (vec![connect()], Escalation::Network),
            (vec![again()], Escalation::Repetition),
            (vec![(on(EffectKind::Read), None)], Escalation::Secret),
            (vec![again(), connect(), outside()], Escalation::Outside),
            (vec![outside(), (on(EffectKind::Write), rule(true))], Escalation::Protected),
        ];
        for (undecided, gravest) in cases {
            assert_eq!(Escalation::of(&undecided), Some(gravest), "{undecided:?}");
        }
    }
}
