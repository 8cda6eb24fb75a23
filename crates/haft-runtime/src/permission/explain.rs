//! What the rules say of a call, told to a person.

use serde::Serialize;

use super::effect::{Effect, EffectKind, Weight};
use super::policy::{Action, Decision, Lost, Policy, RuleRef};

/// How much of a value the sentence shows: enough to know it, on a line or two.
const SHOWN: usize = 120;

const TO_GRANT: &str = "the user has given a standing answer";
const TO_LATER: &str = "a later rule of the same layer matches too";

/// What the rules say of a call, effect by effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The answer to the whole: the strictest.
    pub decision: Action,
    /// The effects, as given.
    pub effects: Vec<Explained>,
    /// What decided, in a sentence.
    pub reason: String,
}

/// What the rules say of one effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// What kind of thing would be done.
    pub kind: EffectKind,
    /// What it would be done to.
    pub value: String,
    /// The answer.
    pub decision: Action,
    /// What decided.
    pub rule: Option<RuleRef>,
    /// Every other rule that matches, and why it did not decide.
    pub lost: Vec<Lost>,
}

impl Policy {
    /// Tells what holds for a call with these effects, and why; `granted` finds a standing answer.
    #[must_use]
    pub fn explain(
        &self,
        effects: &[Effect],
        granted: &dyn Fn(&Effect) -> Option<RuleRef>,
    ) -> Explanation {
        let explained: Vec<_> =
            effects.iter().map(|effect| self.explain_one(effect, granted)).collect();
        let decision = explained.iter().map(|one| one.decision).max().unwrap_or(Action::Allow);
        let deciding = effects.iter().zip(&explained).find(|(_, one)| one.decision == decision);
        let reason = match deciding {
            Some((effect, one)) => sentence(effect, one, effects.len() - 1),
            None => "nothing in this call needs permission".to_owned(),
        };
        Explanation { decision, effects: explained, reason }
    }

    fn explain_one(
        &self,
        effect: &Effect,
        granted: &dyn Fn(&Effect) -> Option<RuleRef>,
    ) -> Explained {
        let Decision { mut action, mut rule, mut lost } = self.decide(effect);
        if action == Action::Ask
            && let Some(grant) = granted(effect)
        {
            lost.extend(rule.replace(grant).map(|rule| Lost { rule, why: TO_GRANT }));
            action = Action::Allow;
        }
        lost.extend(self.overruled(effect));
        Explained { kind: effect.kind, value: effect.value.clone(), decision: action, rule, lost }
    }

    /// The rules that match, but not as the last of their layer.
    fn overruled(&self, effect: &Effect) -> Vec<Lost> {
        let mut lost = Vec::new();
        for layer in self.layers() {
            let matching = layer.rules.iter().rev().filter(|rule| rule.matches(effect));
            lost.extend(matching.skip(1).map(|rule| Lost::new(rule, TO_LATER)));
        }
        lost.extend(self.ceilings().flat_map(|ceiling| ceiling.overruled(effect)));
        lost
    }
}

fn sentence(effect: &Effect, explained: &Explained, others: usize) -> String {
    let outcome = match explained.decision {
        Action::Allow => "is allowed",
        Action::Ask => "asks",
        Action::Deny => "is denied",
    };
    let mut text = format!("{} `{}` {outcome}", effect.key, shown(&effect.value));
    match &explained.rule {
        Some(rule) => {
            text.push_str(&format!(" by the rule {rule}"));
            if let Some(reason) = &rule.reason {
                text.push_str(&format!(": {reason}"));
            }
        }
        None if effect.weight == Weight::Mentioned => {
            text.push_str(", because only a rule that denies it would count");
        }
        None => text.push_str(", because no rule speaks of it"),
    }
    if explained.decision == Action::Allow && others > 0 {
        text.push_str("; so is everything else that the call would do");
    }
    text
}

/// The beginning of `value`, with nothing in it that a terminal would act on.
fn shown(value: &str) -> String {
    let mut text: String = value.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if value.chars().nth(SHOWN).is_some() {
        text.push('…');
    }
    text
}
