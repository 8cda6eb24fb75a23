//! Rules in layers, and what they decide.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ceiling::Ceiling;
use super::effect::{Effect, Weight};
use super::pattern::Pattern;
use super::rule::{Layer, LayerKind, Protected, Rule, pattern_matches};
use crate::audience::Agent;

/// What a rule says. The stricter is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Go ahead.
    Allow,
    /// Ask the user.
    Ask,
    /// No.
    Deny,
}

impl Action {
    /// The word that rules are written with.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A rule as it is shown: what it says, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRef {
    /// The permission it is for.
    pub key: String,
    /// What it covers, as written.
    pub pattern: String,
    /// What it says.
    pub action: Action,
    /// Where it stands: a file with its line, `built-in`, a flag, or a grant's id.
    pub source: String,
    /// Why, in the words of whoever wrote the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it guards something that only a rule which names it can open.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protected: bool,
}

impl fmt::Display for RuleRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = self.action.as_str();
        write!(f, "`{} {} = {action}` ({})", self.key, self.pattern.escape_debug(), self.source)
    }
}

/// All the rules that hold for an agent.
///
/// In one layer the last rule that matches is the layer's word. If the word of any layer is *deny*,
/// that is the answer; otherwise it is the word of the most specific layer that has one; otherwise
/// *ask*. Two things turn *allow* into *ask*: an effect that touches something [`Protected`], which
/// the rule has to name, and one that is unproven, for which only `*` speaks, and only where no rule
/// denies anything of the permission, nor asks about a part of it that the `*` leaves to it: what
/// cannot be worked out might be just that. An effect of which only the beginning is certain asks
/// where such a rule is about something that begins like that. One that is only [mentioned](super::Weight::Mentioned) needs no rule to allow it: only a deny counts,
/// and an ask that is about something narrower than all. One that is done to a file which cannot be named
/// asks where a rule denies anything of its permission, and else needs none.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    layers: Vec<Layer>,
    protected: Vec<Protected>,
    pub(super) ceilings: Vec<Ceiling>,
}

/// What the rules say of one effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The answer.
    pub action: Action,
    /// What decided; none where no rule speaks of the effect.
    pub rule: Option<RuleRef>,
    /// The words of other layers, and why they did not count.
    pub lost: Vec<Lost>,
}

/// A rule that matched and did not decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// The rule.
    #[serde(flatten)]
    pub rule: RuleRef,
    /// Why it did not decide.
    pub why: &'static str,
}

impl Policy {
    /// Puts layers together. They are ordered by kind; of two of one kind the later is the more
    /// specific.
    #[must_use]
    pub fn new(mut layers: Vec<Layer>) -> Self {
        layers.sort_by_key(|layer| layer.kind);
        Self { layers, ..Self::default() }
    }

    /// Adds to what only a rule by name can open.
    #[must_use]
    pub fn protect(mut self, things: impl IntoIterator<Item = Protected>) -> Self {
        self.protected.extend(things);
        self
    }

    /// The policy of one agent: its own rules on top, and its parent's above.
    #[must_use]
    pub(crate) fn for_agent(mut self, agent: &Agent) -> Self {
        self.layers.extend(agent.rules.clone());
        self.layers.sort_by_key(|layer| layer.kind);
        match &agent.ceiling {
            Some(parent) => self.under(Arc::clone(parent)),
            None => self,
        }
    }

    /// Whether a rule `* = allow` on top of the others would allow `effect`.
    pub(super) fn would_allow(&self, effect: &Effect) -> bool {
        let mut lax = self.clone();
        let layer = Layer::new(LayerKind::CommandLine, "").rule("*", "*", Action::Allow);
        lax.layers.push(layer);
        lax.decide(effect).action == Action::Allow
    }

    /// Its layers, from the least specific to the most specific.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// What holds for `effect`.
    #[must_use]
    pub fn decide(&self, effect: &Effect) -> Decision {
        let own = self.decide_alone(effect);
        self.ceilings().fold(own, |own, ceiling| own.at_most(ceiling.decide(effect)))
    }

    /// Whether the rules alone allow `effect`: as [`Policy::decide`] says, but at no cost for words.
    #[must_use]
    pub fn allows(&self, effect: &Effect) -> bool {
        if effect.is_anywhere() {
            return self.perhaps_denied(effect).is_none();
        }
        let words: Vec<_> = self.layers.iter().filter_map(|layer| layer.winner(effect)).collect();
        words.last().is_some_and(|word| word.action() == Action::Allow)
            && words.iter().all(|word| word.action() != Action::Deny)
            && self.objection(&words, words.last().copied(), effect).is_none()
            && self.ceilings().all(|ceiling| ceiling.allows(effect))
    }

    /// Every pattern that can make a difference to effects of these permissions, here and above.
    pub(super) fn patterns(&self, keys: &[&str]) -> Vec<Pattern> {
        let rules = self.layers.iter().flat_map(|layer| &layer.rules);
        let rules = rules.filter(|rule| keys.iter().any(|key| rule.is_for(key)));
        let protected = self.protected.iter().filter(|thing| thing.is_against(keys));
        let own = rules.flat_map(Rule::patterns).chain(protected.flat_map(Protected::names));
        own.cloned().chain(self.ceilings().flat_map(|ceiling| ceiling.patterns(keys))).collect()
    }

    /// Whether an *always* for `key` and `pattern`, given earlier, turns the *ask* for `effect` into
    /// *allow*. It beats no deny, means nothing protected that it does not name, and says nothing of
    /// what is unproven.
    #[must_use]
    pub fn grant_covers(&self, key: &str, pattern: &str, effect: &Effect) -> bool {
        let unknown = effect.unproven.is_some() || self.perhaps_denied(effect).is_some();
        if unknown || effect.key != key {
            return false;
        }
        let pattern = Pattern::new(pattern);
        pattern_matches(&pattern, effect)
            && self.is_opened_by(&pattern, effect)
            && self.decide(effect).action != Action::Deny
    }

    /// The rule that denies all of the permission `key`: a tool that needs it is not shown at all.
    #[must_use]
    pub fn hides(&self, key: &str) -> Option<RuleRef> {
        let own = self.layers.iter().find_map(|layer| layer.hides(key)).map(Rule::to_ref);
        own.or_else(|| self.ceilings().find_map(|ceiling| ceiling.hides(key)))
    }

    /// The rule `tool NAME = deny` that keeps a tool from being shown, whatever its permission.
    #[must_use]
    pub fn hides_tool(&self, name: &str) -> Option<RuleRef> {
        let own = self.layers.iter().find_map(|layer| layer.hides_tool(name)).map(Rule::to_ref);
        own.or_else(|| self.ceilings().find_map(|ceiling| ceiling.hides_tool(name)))
    }

    fn decide_alone(&self, effect: &Effect) -> Decision {
        if effect.is_anywhere() {
            let rule = self.perhaps_denied(effect).map(|rule| perhaps(rule, effect));
            let action = if rule.is_some() { Action::Ask } else { Action::Allow };
            return Decision { action, rule, lost: Vec::new() };
        }
        let words: Vec<_> = self.layers.iter().filter_map(|layer| layer.winner(effect)).collect();
        let deny = words.iter().find(|rule| rule.action() == Action::Deny);
        let word = deny.or(words.last()).copied();
        let lost_to_word = words
            .iter()
            .filter(|rule| word.is_none_or(|word| !std::ptr::eq(word, **rule)))
            .map(|rule| Lost::new(rule, if deny.is_some() { TO_DENY } else { TO_SPECIFIC }));
        let mut lost: Vec<_> = lost_to_word.collect();
        let Some((objection, why)) = self.objection(&words, word, effect) else {
            let action = word.map_or(Action::Ask, Rule::action);
            if effect.weight == Weight::Mentioned && !word.is_some_and(means_it) {
                lost.extend(word.map(|word| Lost::new(word, TO_MENTION)));
                return Decision { action: Action::Allow, rule: None, lost };
            }
            return Decision { action, rule: word.map(Rule::to_ref), lost };
        };
        lost.extend(word.map(|word| Lost::new(word, why)));
        Decision { action: Action::Ask, rule: Some(objection), lost }
    }

    /// What makes the answer *ask*, whether or not `word` allows the effect.
    ///
    /// Where the answer would be *allow*, any layer's word may be the one that names what is
    /// protected, or allows all that is unproven: a wider allow on top takes nothing back.
    fn objection(
        &self,
        words: &[&Rule],
        word: Option<&Rule>,
        effect: &Effect,
    ) -> Option<(RuleRef, &'static str)> {
        if word.is_some_and(|rule| rule.action() == Action::Deny) {
            return None;
        }
        let allow = word.filter(|rule| rule.action() == Action::Allow);
        let allows = || words.iter().filter(|rule| rule.action() == Action::Allow);
        let closed = self.protected.iter().find_map(|thing| {
            let name = thing.touched_by(effect)?;
            let opened = allow.is_some() && allows().any(|rule| thing.is_named_by(rule.patterns()));
            (!opened).then(|| thing.to_ref(name))
        });
        if let Some(closed) = closed {
            return Some((closed, TO_PROTECTION));
        }
        if let Some(rule) =
            self.perhaps_denied(effect).or_else(|| self.perhaps_asked(allow?, effect))
        {
            return Some((perhaps(rule, effect), TO_PERHAPS));
        }
        let (allow, why) = (allow?, effect.unproven.as_deref()?);
        let all = allows().rfind(|rule| rule.pattern().is_everything());
        let is_all = |all: &Rule| self.asks_after(all, &effect.key).next().is_none();
        if all.is_some_and(|all| is_all(all)) && !self.denies_part_of(&effect.key) {
            return None;
        }
        Some((unproven(allow, effect, why), TO_DOUBT))
    }

    /// The rules that ask about a part of `key` where `allow` alone would allow it: those after it.
    fn asks_after<'a>(&'a self, allow: &'a Rule, key: &'a str) -> impl Iterator<Item = &'a Rule> {
        let rules = self.layers.iter().flat_map(|layer| &layer.rules);
        let later = rules.skip_while(move |rule| !std::ptr::eq(*rule, allow));
        later.filter(move |rule| rule.action() == Action::Ask && rule.is_for(key))
    }

    /// The rule that asks about something which begins as `effect` does, where the rest is not certain.
    fn perhaps_asked<'a>(&'a self, allow: &'a Rule, effect: &'a Effect) -> Option<&'a Rule> {
        let certain = effect.certain.as_deref()?;
        self.asks_after(allow, &effect.key).find(|rule| may_mean(rule, certain))
    }

    /// Whether any rule denies anything of `key`.
    fn denies_part_of(&self, key: &str) -> bool {
        let mut rules = self.layers.iter().flat_map(|layer| &layer.rules);
        rules.any(|rule| rule.action() == Action::Deny && rule.is_for(key))
    }

    /// The rule that denies something which begins as `effect` does, where the rest is not certain.
    fn perhaps_denied(&self, effect: &Effect) -> Option<&Rule> {
        let certain = effect.certain.as_deref()?;
        let rules = self.layers.iter().flat_map(|layer| &layer.rules);
        let mut denies =
            rules.filter(|rule| rule.action() == Action::Deny && rule.is_for(&effect.key));
        let own = denies.find(|rule| may_mean(rule, certain));
        own.or_else(|| self.ceilings().find_map(|ceiling| ceiling.perhaps_denied(effect)))
    }

    /// Whether `pattern` names all that is protected of what `effect` touches, here and above.
    fn is_opened_by(&self, pattern: &Pattern, effect: &Effect) -> bool {
        let mut touched = self.protected.iter().filter(|thing| thing.touched_by(effect).is_some());
        touched.all(|thing| thing.is_named_by(std::iter::once(pattern)))
            && self.ceilings().all(|ceiling| ceiling.is_opened_by(pattern, effect))
    }
}

const TO_DENY: &str = "a deny in another layer is final";
const TO_SPECIFIC: &str = "a more specific layer decides";
const TO_PROTECTION: &str = "what it covers here is protected, and it does not allow that by name";
const TO_DOUBT: &str = "the effect is unproven: only `*` allows that, where no rule is stricter";
const TO_MENTION: &str = "the effect is only mentioned: only a deny or a narrower ask counts";
const TO_PERHAPS: &str =
    "not all of the effect is known, and the rest may be what a stricter rule means";
const TO_PARENT: &str = "the parent's rules are stricter";
const TO_OWN: &str = "the agent's own rules are no laxer than its parent's";

impl Decision {
    /// The stricter of both, with the words of the other among what lost.
    fn at_most(self, ceiling: Self) -> Self {
        let (mut stricter, other, why) = if ceiling.rank() > self.rank() {
            (ceiling, self, TO_PARENT)
        } else {
            (self, ceiling, TO_OWN)
        };
        stricter.lost.extend(other.rule.map(|rule| Lost { rule, why }));
        stricter.lost.extend(other.lost);
        stricter
    }

    /// Stricter first; among equals, what is harder to open, then what can be named.
    fn rank(&self) -> (Action, bool, bool) {
        let protected = self.rule.as_ref().is_some_and(|rule| rule.protected);
        (self.action, protected, self.rule.is_some())
    }
}

impl Lost {
    pub(super) fn new(rule: &Rule, why: &'static str) -> Self {
        Self { rule: rule.to_ref(), why }
    }
}

/// What is shown for an allow that does not count, because nobody knows what it would allow.
fn unproven(allow: &Rule, effect: &Effect, why: &str) -> RuleRef {
    let allow = allow.to_ref();
    RuleRef {
        key: effect.key.clone().into_owned(),
        pattern: "*".to_owned(),
        action: Action::Ask,
        source: "unproven".to_owned(),
        reason: Some(format!("{why}; so the rule {allow} cannot be relied on")),
        protected: false,
    }
}

/// Whether a rule stands against an effect that is only mentioned.
fn means_it(rule: &Rule) -> bool {
    match rule.action() {
        Action::Allow => false,
        Action::Ask => !rule.pattern().is_everything(),
        Action::Deny => true,
    }
}

/// Whether a rule may mean something that begins with `certain`.
fn may_mean(rule: &Rule, certain: &str) -> bool {
    rule.patterns().any(|pattern| {
        let prefix = pattern.literal_prefix();
        prefix.starts_with(certain) || certain.starts_with(prefix)
    })
}

/// What is shown for a rule that may mean what is not known of an effect.
fn perhaps(rule: &Rule, effect: &Effect) -> RuleRef {
    let certain = match effect.certain.as_deref().unwrap_or_default() {
        "" => "nothing".to_owned(),
        certain => format!("only `{certain}`"),
    };
    let why = format!("{certain} of it is certain, and the rule {} may mean it", rule.to_ref());
    RuleRef {
        key: effect.key.clone().into_owned(),
        pattern: "*".to_owned(),
        action: Action::Ask,
        source: "unproven".to_owned(),
        reason: Some(why),
        protected: false,
    }
}

#[cfg(test)]
mod tests;
