//! Decisions of random policies, compared with the rules of deciding written out plainly.

use std::sync::Arc;

use crate::permission::pattern::tests::naive;
use crate::permission::{Action, Effect, Layer, LayerKind, Policy, Protected};

/// Rule sets tried; a few seconds without optimisation.
const CASES: u64 = 100_000;

const KEYS: [&str; 4] = ["a", "b", "*", "a*"];
const PATTERNS: [&str; 12] =
    ["*", "x", "x *", "x y", "x?y", "*y", "x/*", "x/y", "?", "/r/x/*", "**", "x/y*"];
const VALUES: [&str; 9] = ["x", "y", "x y", "x/y", "x/", "", "x/y/z", "xy", "x x"];
const PROTECTED: [&str; 5] = ["x/*", "x/y", "x*", "/r/x/*", "x/y/*"];
const KINDS: [LayerKind; 6] = [
    LayerKind::BuiltIn,
    LayerKind::Managed,
    LayerKind::User,
    LayerKind::Project,
    LayerKind::Agent,
    LayerKind::CommandLine,
];

#[test]
fn deciding_agrees_with_the_plain_reference() {
    for seed in 0..CASES {
        let mut random = Random(seed);
        let case = Case::random(&mut random, 0);
        let policy = case.policy();
        for _ in 0..4 {
            let effect = random_effect(&mut random);
            let decision = policy.decide(&effect);
            let protected = decision.rule.as_ref().is_some_and(|rule| rule.protected);
            let expected = case.decide(&effect);
            assert_eq!(
                (decision.action, protected),
                expected,
                "seed {seed}: {effect:?}\n{case:#?}\n{decision:#?}"
            );
            let allows = decision.action == Action::Allow;
            assert_eq!(policy.allows(&effect), allows, "seed {seed}: {effect:?}\n{case:#?}");
            if allows {
                assert!(decision.rule.is_some(), "seed {seed}: allowed by nothing");
            }
            let (key, pattern) = (random.one_of(&KEYS), random.one_of(&PATTERNS));
            assert_eq!(
                policy.grant_covers(key, pattern, &effect),
                case.grant_covers(key, pattern, &effect),
                "seed {seed}: grant {key} {pattern} for {effect:?}\n{case:#?}"
            );
        }
        for key in ["a", "b", "ab"] {
            assert_eq!(
                policy.hides(key).is_some(),
                case.hides(key),
                "seed {seed}: {key} {case:#?}"
            );
        }
    }
}

/// A policy as plain data.
#[derive(Debug)]
struct Case {
    layers: Vec<(LayerKind, Vec<Plain>)>,
    protected: Vec<(&'static str, &'static str)>,
    parent: Option<Box<Self>>,
}

type Plain = (&'static str, &'static str, Action);

impl Case {
    fn random(random: &mut Random, depth: usize) -> Self {
        // As they come: putting them in order is the policy's affair.
        let layers = (0..random.below(4))
            .map(|_| {
                let rules = (0..random.below(4)).map(|_| random_rule(random)).collect();
                (random.one_of(&KINDS), rules)
            })
            .collect();
        let protected = (0..random.below(3))
            .map(|_| (random.one_of(&KEYS), random.one_of(&PROTECTED)))
            .collect();
        let with_parent = depth < 2 && random.below(4) == 0;
        let parent = with_parent.then(|| Box::new(Self::random(random, depth + 1)));
        Self { layers, protected, parent }
    }

    fn policy(&self) -> Policy {
        let layers = self.layers.iter().map(|(kind, rules)| {
            let empty = Layer::new(*kind, "test");
            rules
                .iter()
                .fold(empty, |layer, (key, pattern, action)| layer.rule(key, pattern, *action))
        });
        let protected = self.protected.iter().map(|(key, name)| Protected::new(key, [*name]));
        let policy = Policy::new(layers.collect()).protect(protected);
        match &self.parent {
            Some(parent) => policy.under(Arc::new(parent.policy())),
            None => policy,
        }
    }

    /// The answer, and whether a protection gave it.
    fn decide(&self, effect: &Effect) -> (Action, bool) {
        let own = self.decide_alone(effect);
        match &self.parent {
            Some(parent) => own.max(parent.decide(effect)),
            None => own,
        }
    }

    fn decide_alone(&self, effect: &Effect) -> (Action, bool) {
        let mut words = Vec::new();
        // Of the rules that ask, those that a later `*` does not outweigh.
        let mut asks = 0;
        for kind in KINDS {
            for (_, rules) in self.layers.iter().filter(|(of, _)| *of == kind) {
                let mut word = None;
                for rule in rules {
                    if matches(rule.0, rule.1, effect) {
                        word = Some(*rule);
                    }
                }
                let last = rules.iter().rposition(|rule| matches(rule.0, rule.1, effect));
                for (at, rule) in rules.iter().enumerate() {
                    if rule.2 == Action::Ask && naive(rule.0, &effect.key) {
                        asks += 1;
                    }
                    if Some(at) == last && (rule.1, rule.2) == ("*", Action::Allow) {
                        asks = 0;
                    }
                }
                words.extend(word);
            }
        }
        if words.iter().any(|word| word.2 == Action::Deny) {
            return (Action::Deny, false);
        }
        let is_allowed = words.last().is_some_and(|word| word.2 == Action::Allow);
        let allows = |fits: &dyn Fn(&str) -> bool| {
            is_allowed && words.iter().any(|word| word.2 == Action::Allow && fits(word.1))
        };
        for (key, name) in &self.protected {
            if matches(key, name, effect) && !allows(&|pattern| names(pattern, name)) {
                return (Action::Ask, true);
            }
        }
        if !is_allowed {
            return (Action::Ask, false);
        }
        let mut rules = self.layers.iter().flat_map(|(_, rules)| rules);
        let any_deny = rules.any(|rule| rule.2 == Action::Deny && naive(rule.0, &effect.key));
        if effect.unproven.is_some() && (!allows(&|pattern| pattern == "*") || any_deny || asks > 0)
        {
            return (Action::Ask, false);
        }
        (Action::Allow, false)
    }

    fn grant_covers(&self, key: &str, pattern: &str, effect: &Effect) -> bool {
        let opened = |case: &Self| {
            let mut touched =
                case.protected.iter().filter(|(key, name)| matches(key, name, effect));
            touched.all(|(_, name)| names(pattern, name))
        };
        key == effect.key
            && fits(pattern, effect)
            && effect.unproven.is_none()
            && self.decide(effect).0 != Action::Deny
            && std::iter::successors(Some(self), |case| case.parent.as_deref()).all(opened)
    }

    fn hides(&self, key: &str) -> bool {
        let hidden = self.layers.iter().any(|(_, rules)| {
            let of_key: Vec<_> = rules.iter().filter(|rule| naive(rule.0, key)).collect();
            let all = of_key.iter().rposition(|rule| rule.1 == "*" && rule.2 == Action::Deny);
            all.is_some_and(|all| of_key[all..].iter().all(|rule| rule.2 == Action::Deny))
        });
        hidden || self.parent.as_ref().is_some_and(|parent| parent.hides(key))
    }
}

fn matches(key: &str, pattern: &str, effect: &Effect) -> bool {
    naive(key, &effect.key) && fits(pattern, effect)
}

fn fits(pattern: &str, effect: &Effect) -> bool {
    naive(pattern, &effect.value) || effect.also.as_ref().is_some_and(|also| naive(pattern, also))
}

fn names(pattern: &str, name: &str) -> bool {
    let before_wildcard = |text: &str| {
        let text = text.strip_suffix(" *").unwrap_or(text);
        text.chars().take_while(|character| !"*?".contains(*character)).collect::<String>()
    };
    let wanted = before_wildcard(name);
    before_wildcard(pattern).starts_with(wanted.trim_end_matches('/'))
}

fn random_rule(random: &mut Random) -> Plain {
    let action = random.one_of(&[Action::Allow, Action::Allow, Action::Ask, Action::Deny]);
    (random.one_of(&KEYS), random.one_of(&PATTERNS), action)
}

fn random_effect(random: &mut Random) -> Effect {
    let value = random.one_of(&VALUES);
    let mut effect = Effect::using(random.one_of(&["a", "b", "ab"]), value);
    if random.below(2) == 0 {
        effect.also = Some(format!("/r/{value}"));
    }
    if random.below(4) == 0 { effect.unproven("not known") } else { effect }
}

/// SplitMix64: a new stream of numbers for each seed, at next to no cost.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 8) as usize % bound
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}
