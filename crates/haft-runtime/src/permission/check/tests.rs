//! Which rules are found to be of no use.

use super::{Finding, FindingKind, check};
use crate::permission::{Action, Effect, Layer, LayerKind, Policy};

use Action::{Allow, Ask, Deny};
use FindingKind::{Duplicate, Shadowed, Unreachable};

fn layer(kind: LayerKind, rules: &[(&str, &str, Action)]) -> Layer {
    let empty = Layer::new(kind, format!("{kind:?}"));
    rules.iter().fold(empty, |layer, (key, pattern, action)| layer.rule(key, pattern, *action))
}

/// What is found, as kind, pattern and the pattern that is the cause.
fn found(layers: &[Layer]) -> Vec<(FindingKind, String, String)> {
    let short = |finding: Finding| (finding.kind, finding.rule.pattern, finding.by.pattern);
    check(&Policy::new(layers.to_vec())).into_iter().map(short).collect()
}

fn finding(kind: FindingKind, rule: &str, by: &str) -> (FindingKind, String, String) {
    (kind, rule.to_owned(), by.to_owned())
}

#[test]
fn a_later_rule_that_covers_an_earlier_one_shadows_it() {
    let rules = [("bash", "git *", Allow), ("bash", "ls *", Allow), ("*", "git*", Ask)];
    let user = layer(LayerKind::User, &rules);
    assert_eq!(found(&[user]), [finding(Shadowed, "git *", "git*")]);
}

#[test]
fn a_narrower_or_differently_keyed_rule_shadows_nothing() {
    let rules = [("bash", "*", Ask), ("bash", "git *", Allow), ("edit", "*", Allow)];
    assert_eq!(found(&[layer(LayerKind::User, &rules)]), []);
}

#[test]
fn a_rule_said_twice_is_a_duplicate() {
    let twice = [("bash", "ls", Allow), ("bash", "ls", Allow)];
    assert_eq!(found(&[layer(LayerKind::User, &twice)]), [finding(Duplicate, "ls", "ls")]);
    let deny = |kind| layer(kind, &[("bash", "rm *", Deny)]);
    let both = [deny(LayerKind::User), deny(LayerKind::Project)];
    assert_eq!(found(&both), [finding(Duplicate, "rm *", "rm *")]);
    assert_eq!(check(&Policy::new(both.to_vec()))[0].rule.source, "Project");
}

#[test]
fn a_deny_elsewhere_makes_an_allow_unreachable() {
    for kind in [LayerKind::BuiltIn, LayerKind::User, LayerKind::CommandLine] {
        let deny = layer(kind, &[("bash", "rm *", Deny)]);
        let allow = layer(LayerKind::Project, &[("bash", "rm x", Allow), ("bash", "ls", Ask)]);
        assert_eq!(found(&[deny, allow]), [finding(Unreachable, "rm x", "rm *")], "{kind:?}");
    }
}

#[test]
fn a_deny_that_is_partly_taken_back_leaves_an_allow_reachable() {
    let deny = layer(LayerKind::User, &[("bash", "*", Deny), ("bash", "rm x*", Ask)]);
    let allow = layer(LayerKind::Project, &[("bash", "rm *", Allow), ("bash", "ls *", Allow)]);
    // The exception is itself unreachable: the closer layer answers it.
    let expected = [finding(Unreachable, "rm x*", "rm *"), finding(Unreachable, "ls *", "*")];
    assert_eq!(found(&[deny, allow]), expected);
}

#[test]
fn a_more_specific_layer_that_answers_makes_a_rule_unreachable() {
    let user = layer(LayerKind::User, &[("bash", "git *", Allow), ("bash", "rm *", Deny)]);
    let project = layer(LayerKind::Project, &[("bash", "*", Ask)]);
    assert_eq!(found(&[project, user]), [finding(Unreachable, "git *", "*")]);
}

#[test]
fn built_in_rules_are_there_to_be_overruled() {
    let built_in = layer(LayerKind::BuiltIn, &[("bash", "*", Ask)]);
    assert_eq!(found(&[built_in, layer(LayerKind::User, &[("bash", "*", Allow)])]), []);
}

#[test]
fn a_finding_is_a_sentence_with_both_rules() {
    let user = layer(LayerKind::User, &[("bash", "git *", Allow), ("bash", "*", Ask)]);
    assert_eq!(
        check(&Policy::new(vec![user]))[0].to_string(),
        "the rule `bash git * = allow` (User) never decides: whatever it matches, so does the \
         later rule `bash * = ask` (User)"
    );
}

/// The promise behind every finding, tried on all small layers.
#[test]
fn a_rule_that_is_found_never_decides() {
    let patterns = ["*", "a", "a *", "a?", "?", "*b"];
    let actions = [Allow, Ask, Deny];
    let texts = ["a", "b", "ab", "a b", "", "bb", "a x"];
    let choices: Vec<_> =
        patterns.iter().flat_map(|pattern| actions.map(|action| (*pattern, action))).collect();
    for first in &choices {
        for second in &choices {
            for third in &choices {
                let rules = [("k", first.0, first.1), ("k", second.0, second.1)];
                let mut layers = vec![layer(LayerKind::User, &rules)];
                layers.push(layer(LayerKind::Project, &[("k", third.0, third.1)]));
                let policy = Policy::new(layers);
                for finding in check(&policy) {
                    for text in texts {
                        let decided = policy.decide(&Effect::using("k", text)).rule;
                        // Rules of one layer that read the same cannot be told apart from here.
                        let same = first == second && finding.kind == Duplicate;
                        assert!(
                            same || decided.as_ref() != Some(&finding.rule),
                            "{finding} {text}"
                        );
                    }
                }
            }
        }
    }
}
