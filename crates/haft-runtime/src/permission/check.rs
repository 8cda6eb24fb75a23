//! Finds rules that can never decide anything.

use std::fmt;

use serde::Serialize;

use super::policy::{Action, Policy, RuleRef};
use super::rule::{Layer, LayerKind, Rule};

/// A rule that can go, or that does not do what whoever wrote it thinks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What is the matter.
    pub kind: FindingKind,
    /// The rule that never decides.
    pub rule: RuleRef,
    /// The rule that is the cause.
    pub by: RuleRef,
    /// Both, in a sentence.
    pub message: String,
}

/// What is the matter with a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The same is said again, later or closer.
    Duplicate,
    /// A later rule of its layer matches whatever it matches.
    Shadowed,
    /// Another layer answers whatever it could allow or ask.
    Unreachable,
}

/// Looks at each rule of the policy's own layers, in their order; at most one finding for each.
///
/// Built-in rules are not looked at: they are there to be overruled.
#[must_use]
pub fn check(policy: &Policy) -> Vec<Finding> {
    let layers = policy.layers();
    let mut findings = Vec::new();
    for (place, layer) in layers.iter().enumerate() {
        if layer.kind == LayerKind::BuiltIn {
            continue;
        }
        for (index, rule) in layer.rules.iter().enumerate() {
            let finding = within(layer, index, rule)
                .or_else(|| same_elsewhere(layers, place, rule))
                .or_else(|| denied_elsewhere(layers, place, rule))
                .or_else(|| answered_closer(layers, place, rule));
            findings.extend(finding);
        }
    }
    findings
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Finding {
    fn new(kind: FindingKind, rule: &Rule, by: &Rule, why: &str) -> Self {
        let (rule, by) = (rule.to_ref(), by.to_ref());
        let message = format!("the rule {rule} never decides: {why} {by}");
        Self { kind, rule, by, message }
    }
}

/// A later rule of the same layer always wins over this one.
fn within(layer: &Layer, index: usize, rule: &Rule) -> Option<Finding> {
    let by = layer.rules.iter().skip(index + 1).find(|later| later.covers(rule))?;
    Some(if is_same(by, rule) {
        Finding::new(FindingKind::Duplicate, rule, by, "the same is said again by")
    } else {
        let why = "whatever it matches, so does the later rule";
        Finding::new(FindingKind::Shadowed, rule, by, why)
    })
}

/// Another layer says the same with at least the same weight: a deny above, or any rule closer.
fn same_elsewhere(layers: &[Layer], place: usize, rule: &Rule) -> Option<Finding> {
    let outweighs = |other: usize| match rule.action() {
        Action::Deny => other < place,
        Action::Allow | Action::Ask => other > place,
    };
    others(layers, place)
        .filter(|(other, _)| outweighs(*other))
        .flat_map(|(_, layer)| layer.rules.iter().enumerate().map(move |found| (layer, found)))
        .find(|(layer, (index, by))| is_same(by, rule) && stands(layer, *index, rule))
        .map(|(_, (_, by))| {
            Finding::new(FindingKind::Duplicate, rule, by, "another layer says the same by")
        })
}

/// A deny of another layer holds for whatever this rule would allow or ask.
fn denied_elsewhere(layers: &[Layer], place: usize, rule: &Rule) -> Option<Finding> {
    if rule.action() == Action::Deny {
        return None;
    }
    others(layers, place)
        .flat_map(|(_, layer)| layer.rules.iter().enumerate().map(move |found| (layer, found)))
        .filter(|(_, (_, by))| by.action() == Action::Deny && by.covers(rule))
        .find(|(layer, (index, _))| stands(layer, *index, rule))
        .map(|(_, (_, by))| {
            let why = "all that it matches is denied by";
            Finding::new(FindingKind::Unreachable, rule, by, why)
        })
}

/// A more specific layer has an answer to whatever this rule would allow or ask.
fn answered_closer(layers: &[Layer], place: usize, rule: &Rule) -> Option<Finding> {
    if rule.action() == Action::Deny {
        return None;
    }
    let closer = layers.iter().skip(place + 1).flat_map(|layer| &layer.rules);
    let by = closer.into_iter().find(|by| by.covers(rule))?;
    let why = "whatever it matches, a more specific layer answers by";
    Some(Finding::new(FindingKind::Unreachable, rule, by, why))
}

fn others(layers: &[Layer], place: usize) -> impl Iterator<Item = (usize, &Layer)> {
    layers.iter().enumerate().filter(move |(other, _)| *other != place)
}

/// Whether the rule at `index` is its layer's word on all that `rule` matches: nothing that says
/// otherwise comes after it and takes a part away.
fn stands(layer: &Layer, index: usize, rule: &Rule) -> bool {
    let Some(word) = layer.rules.get(index) else {
        return false;
    };
    let mut later = layer.rules.iter().skip(index + 1);
    later.all(|later| later.action() == word.action() || !later.overlaps(rule))
}

fn is_same(one: &Rule, other: &Rule) -> bool {
    one.action() == other.action()
        && one.key() == other.key()
        && one.patterns().eq(other.patterns())
}

#[cfg(test)]
mod tests;
