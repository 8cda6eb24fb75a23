//! What a policy decides: by example here, against a reference in `reference`.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::{Action, Decision, Policy};
use crate::permission::{Effect, EffectKind, Layer, LayerKind, Pattern, Protected, Rule};

mod reference;

use Action::{Allow, Ask, Deny};

fn layer(kind: LayerKind, rules: &[(&str, &str, Action)]) -> Layer {
    let empty = Layer::new(kind, format!("{kind:?}"));
    rules.iter().fold(empty, |layer, (key, pattern, action)| layer.rule(key, pattern, *action))
}

fn user(rules: &[(&str, &str, Action)]) -> Policy {
    Policy::new(vec![layer(LayerKind::User, rules)])
}

fn edit(path: &str) -> Effect {
    Effect::on_path(EffectKind::Write, &Path::new("/ws").join(path), Path::new("/ws"))
}

fn guarded(rules: &[(&str, &str, Action)]) -> Policy {
    let hooks = [".git/hooks/*", "/ws/.git/hooks/*", "*/.git/hooks/*"];
    user(rules).protect([Protected::new("edit", hooks)])
}

fn source(decision: &Decision) -> &str {
    decision.rule.as_ref().map_or("", |rule| &rule.source)
}

#[test]
fn the_last_matching_rule_of_a_layer_wins() {
    let policy = user(&[("bash", "git *", Allow), ("bash", "*", Ask), ("bash", "ls *", Allow)]);
    assert_eq!(policy.decide(&Effect::run("git status")).action, Ask);
    assert_eq!(policy.decide(&Effect::run("ls")).action, Allow);
}

#[test]
fn a_rule_is_for_the_keys_that_its_key_matches() {
    let policy = user(&[("*", "*", Deny), ("mcp_*", "*", Allow)]);
    assert_eq!(policy.decide(&Effect::using("mcp_x", "*")).action, Allow);
    assert_eq!(policy.decide(&Effect::using("mcp", "*")).action, Deny);
}

#[test]
fn a_path_may_be_named_relative_or_absolute() {
    let policy = user(&[("edit", "src/*", Allow), ("edit", "/ws/doc/*", Allow)]);
    assert_eq!(policy.decide(&edit("src/a")).action, Allow);
    assert_eq!(policy.decide(&edit("doc/a")).action, Allow);
    assert_eq!(policy.decide(&edit("a")).action, Ask);
}

#[test]
fn what_no_rule_speaks_of_asks() {
    let decision = user(&[("bash", "ls", Allow)]).decide(&Effect::run("rm x"));
    assert_eq!(decision, Decision { action: Ask, rule: None, lost: Vec::new() });
}

/// PE-10
#[test]
fn a_deny_of_any_layer_is_final() {
    let policy = Policy::new(vec![
        layer(LayerKind::CommandLine, &[("*", "*", Allow)]),
        layer(LayerKind::Project, &[("bash", "rm *", Allow), ("bash", "make *", Deny)]),
        layer(LayerKind::User, &[("bash", "rm *", Deny)]),
    ]);
    let decision = policy.decide(&Effect::run("rm -rf build"));
    assert_eq!((decision.action, source(&decision)), (Deny, "User"));
    let lost: Vec<_> = decision.lost.iter().map(|lost| lost.rule.source.as_str()).collect();
    assert_eq!(lost, ["Project", "CommandLine"]);
    assert_eq!(policy.decide(&Effect::run("make")).action, Deny, "a closer layer may restrict");
}

#[test]
fn between_allow_and_ask_the_most_specific_layer_decides() {
    use LayerKind::{Agent, BuiltIn, CommandLine, Managed, Project, User};
    let kinds = [CommandLine, Agent, Project, User, Managed, BuiltIn];
    for (place, expected) in kinds.into_iter().enumerate() {
        let layers = kinds
            .into_iter()
            .skip(place)
            .map(|kind| layer(kind, &[("bash", "*", if kind == expected { Allow } else { Ask })]));
        let decision = Policy::new(layers.collect()).decide(&Effect::run("x"));
        assert_eq!((decision.action, source(&decision)), (Allow, &*format!("{expected:?}")));
    }
}

#[test]
fn an_unproven_effect_needs_a_star_and_no_deny() {
    let effect = || Effect::run("git $x").unproven("`$x` is not known");
    assert_eq!(user(&[("bash", "*", Allow)]).decide(&effect()).action, Allow);
    assert_eq!(user(&[("*", "*", Allow)]).decide(&effect()).action, Allow);
    let narrow = user(&[("bash", "*", Allow), ("bash", "git *", Allow)]).decide(&effect());
    assert_eq!((narrow.action, source(&narrow)), (Ask, "unproven"));
    let reason = narrow.rule.unwrap().reason.unwrap();
    assert!(reason.contains("`$x` is not known") && reason.contains("git * = allow"), "{reason}");
    assert_eq!(user(&[("bash", "**", Allow)]).decide(&effect()).action, Ask);
}

#[test]
fn a_deny_of_the_same_permission_makes_an_unproven_effect_ask() {
    let effect = Effect::run("$x").unproven("`$x` is not known");
    let decide = |key, kind| {
        let deny = layer(kind, &[(key, "rm *", Deny)]);
        let allow = layer(LayerKind::CommandLine, &[("bash", "*", Allow)]);
        Policy::new(vec![deny, allow]).decide(&effect).action
    };
    assert_eq!(decide("bash", LayerKind::User), Ask);
    assert_eq!(decide("b*", LayerKind::CommandLine), Ask);
    assert_eq!(decide("edit", LayerKind::User), Allow);
}

#[test]
fn a_file_that_cannot_be_named_asks_where_a_rule_denies_one() {
    let decide = |rules: &[(&str, &str, Action)], effect: &Effect| {
        let mut all = vec![("bash", "*", Allow), ("read", "*", Allow), ("read", "*.env", Ask)];
        all.extend(rules);
        let policy = Policy::new(vec![layer(LayerKind::User, &all)]);
        let decision = policy.decide(effect);
        assert_eq!(policy.allows(effect), decision.action == Allow);
        assert!(!policy.grant_covers(&effect.key, "*", effect) || decision.action == Allow);
        let child = Policy::new(vec![layer(LayerKind::Agent, &[("*", "*", Allow)])]);
        let child = child.under(std::sync::Arc::new(policy));
        assert_eq!(child.decide(effect).action, decision.action);
        decision.action
    };
    let (read, write) = (Effect::anywhere(EffectKind::Read), Effect::anywhere(EffectKind::Write));
    let external = Effect::anywhere(EffectKind::External);
    for effect in [&read, &write, &external] {
        assert_eq!(decide(&[], effect), Allow);
        assert_eq!(decide(&[("edit", "*", Ask), ("external_directory", "*", Ask)], effect), Allow);
        assert_eq!(decide(&[("bash", "rm *", Deny)], effect), Allow);
        assert_eq!(effect.path(), None);
    }
    assert_eq!(decide(&[("read", "*.key", Deny)], &read), Ask);
    assert_eq!(decide(&[("read", "*.key", Deny)], &write), Allow);
    assert_eq!(decide(&[("edit", "*", Deny)], &write), Ask);
    assert_eq!(decide(&[("external_directory", "*", Deny)], &external), Ask);
}

#[test]
fn a_narrower_ask_makes_an_unproven_effect_ask_where_it_would_count() {
    let unknown = Effect::run("$x").unproven("`$x` is not known");
    let partly = Effect::run("git $x").certain_up_to("git");
    let user = || Layer::new(LayerKind::User, "user");
    let later = user().rule("bash", "*", Allow).rule("bash", "git push *", Ask);
    let earlier = user().rule("bash", "git push *", Ask).rule("bash", "*", Allow);
    let specific = Layer::new(LayerKind::Project, "project").rule("bash", "git push *", Ask);
    let built_in = Layer::new(LayerKind::BuiltIn, "built-in").rule("*", "*", Ask);
    let all = || user().rule("bash", "*", Allow);
    for (layers, expected) in [
        (vec![later], Ask),
        (vec![earlier], Allow),
        (vec![all(), specific.clone()], Ask),
        (vec![built_in, all()], Allow),
        (vec![all(), user().rule("bash", "*", Allow), specific], Ask),
        (vec![all(), user().rule("read", "*.env", Ask)], Allow),
    ] {
        let policy = Policy::new(layers);
        assert_eq!(policy.decide(&unknown).action, expected, "{policy:?}");
        assert_eq!(policy.decide(&partly).action, expected, "{policy:?}");
        assert_eq!(policy.allows(&unknown), expected == Allow);
        assert_eq!(policy.decide(&Effect::run("git log")).action, Allow);
    }
}

#[test]
fn an_effect_that_is_mentioned_meets_a_deny_and_an_ask_that_means_it() {
    let user = || Layer::new(LayerKind::User, "user").rule("bash", "*", Ask);
    let rm = Effect::run("rm x").mentioned();
    assert_eq!(Policy::new(vec![user()]).decide(&rm).action, Allow);
    for action in [Allow, Ask, Deny] {
        let policy = Policy::new(vec![user().rule("bash", "rm *", action)]);
        assert_eq!(policy.decide(&rm).action, action);
    }
}

#[test]
fn a_deny_matches_what_is_unproven_as_always() {
    let policy = user(&[("bash", "*", Allow), ("bash", "rm *", Deny)]);
    assert_eq!(policy.decide(&Effect::run("rm $x").unproven("`$x`")).action, Deny);
}

#[test]
fn what_is_protected_is_opened_by_name_only() {
    let hook = edit(".git/hooks/pre-commit");
    let decide = |pattern| guarded(&[("edit", pattern, Allow)]).decide(&hook);
    for pattern in ["*", ".git/*", "/ws/*", ".git/hook*", "*pre-commit", "?git/hooks/*"] {
        let decision = decide(pattern);
        assert_eq!((decision.action, source(&decision)), (Ask, "protected"), "{pattern}");
        assert!(decision.rule.unwrap().protected);
        assert_eq!(decision.lost.len(), 1);
    }
    for pattern in [".git/hooks/*", ".git/hooks*", ".git/hooks/pre-commit", "/ws/.git/hooks/*"] {
        assert_eq!(decide(pattern).action, Allow, "{pattern}");
    }
    assert_eq!(guarded(&[("edit", "*", Allow)]).decide(&edit("src/a")).action, Allow);
}

/// `*/.git/hooks/*` spells out nothing before its wildcard, which must not open it to all.
#[test]
fn a_protected_name_that_begins_with_a_wildcard_still_protects() {
    let hook = edit("vendor/x/.git/hooks/pre-commit");
    let decide = |pattern| guarded(&[("edit", pattern, Allow)]).decide(&hook).action;
    assert_eq!(decide("*"), Ask);
    assert_eq!(decide("vendor/*"), Ask);
    assert_eq!(decide("vendor/x/.git/hooks/*"), Allow);
}

#[test]
fn a_protection_is_what_is_shown_even_where_a_rule_asks() {
    let hook = edit(".git/hooks/pre-commit");
    for rules in [&[("edit", "*", Ask)][..], &[]] {
        assert_eq!(source(&guarded(rules).decide(&hook)), "protected");
    }
    assert_eq!(guarded(&[("edit", "*", Deny)]).decide(&hook).action, Deny);
}

#[test]
fn a_protection_is_for_its_key_only() {
    let read = Effect::on_path(EffectKind::Read, Path::new("/ws/.git/hooks/x"), Path::new("/ws"));
    assert_eq!(guarded(&[("read", "*", Allow)]).decide(&read).action, Allow);
}

/// PE-03
#[test]
fn a_grant_covers_what_it_matches_and_nothing_protected() {
    let policy = guarded(&[("edit", "secret", Deny)]);
    assert!(policy.grant_covers("edit", "src/*", &edit("src/a.rs")));
    assert!(policy.grant_covers("edit", "/ws/src/*", &edit("src/a.rs")));
    assert!(!policy.grant_covers("edit", "src/*", &edit("a.rs")));
    assert!(!policy.grant_covers("bash", "*", &edit("src/a.rs")));
    assert!(!policy.grant_covers("*", "*", &edit("src/a.rs")), "a grant's key is a name");
    assert!(!policy.grant_covers("edit", "*", &edit(".git/hooks/pre-commit")));
    assert!(policy.grant_covers("edit", ".git/hooks/pre-commit", &edit(".git/hooks/pre-commit")));
}

#[test]
fn a_grant_beats_no_deny_and_covers_nothing_unproven() {
    let policy = user(&[("bash", "rm *", Deny)]);
    assert!(!policy.grant_covers("bash", "*", &Effect::run("rm x")));
    assert!(policy.grant_covers("bash", "*", &Effect::run("ls x")));
    assert!(!policy.grant_covers("bash", "*", &Effect::run("ls $x").unproven("`$x`")));
}

/// PE-11
#[test]
fn no_decision_is_laxer_than_the_parents() {
    let plan = Arc::new(guarded(&[("*", "*", Allow), ("edit", "*", Deny), ("task", "*", Ask)]));
    let general = Arc::new(user(&[("*", "*", Allow)]).under(plan));
    let child = user(&[("*", "*", Allow), ("bash", "*", Deny)]).under(general);
    assert_eq!(child.decide(&edit("x")).action, Deny);
    assert_eq!(child.decide(&Effect::using("task", "*")).action, Ask);
    assert_eq!(child.decide(&Effect::run("x")).action, Deny);
    assert_eq!(child.decide(&Effect::using("todo", "*")).action, Allow);
    assert!(child.hides("edit").is_some() && child.hides("bash").is_some());
    assert!(!child.grant_covers("edit", "*", &edit("x")));
}

#[test]
fn two_parents_both_hold() {
    let no_edits = Arc::new(user(&[("*", "*", Allow), ("edit", "*", Deny)]));
    let no_shell = Arc::new(user(&[("*", "*", Allow), ("bash", "*", Deny)]));
    let child = user(&[("*", "*", Allow)]).under(no_edits).under(no_shell);
    assert_eq!(child.decide(&edit("x")).action, Deny);
    assert_eq!(child.decide(&Effect::run("x")).action, Deny);
}

#[test]
fn a_parents_protection_holds_for_grants_too() {
    let child = user(&[]).under(Arc::new(guarded(&[])));
    let hook = edit(".git/hooks/pre-commit");
    assert_eq!(source(&child.decide(&hook)), "protected");
    assert!(!child.grant_covers("edit", "*", &hook));
}

#[test]
fn a_tool_is_hidden_if_all_of_its_permission_is_denied() {
    let hides = |rules: &[_]| user(rules).hides("bash").is_some();
    assert!(hides(&[("bash", "*", Deny)]));
    assert!(hides(&[("*", "*", Deny)]));
    assert!(hides(&[("bash", "ls", Allow), ("bash", "*", Deny), ("bash", "rm *", Deny)]));
    assert!(hides(&[("bash", "*", Deny), ("edit", "*", Allow)]));
    assert!(!hides(&[("bash", "*", Deny), ("bash", "git *", Allow)]));
    assert!(!hides(&[("bash", "*", Deny), ("b*", "git *", Ask)]));
    assert!(!hides(&[("bash", "rm *", Deny)]));
    let opened = layer(LayerKind::CommandLine, &[("bash", "*", Allow)]);
    let denied = layer(LayerKind::User, &[("bash", "*", Deny)]);
    assert_eq!(source_of_hiding(vec![opened, denied]), Some("User".to_owned()));
}

fn source_of_hiding(layers: Vec<Layer>) -> Option<String> {
    Policy::new(layers).hides("bash").map(|rule| rule.source)
}

#[test]
fn an_explanation_names_the_deciding_rule_and_what_lost() {
    let rule = |pattern, action, line| {
        Rule::new("bash", Pattern::new(pattern), action, "haft.toml").on_line(line)
    };
    let project = Layer::new(LayerKind::Project, "haft.toml")
        .with(rule("*", Ask, 3))
        .with(rule("rm *", Deny, 4).because("use git clean"));
    let policy = Policy::new(vec![project, layer(LayerKind::User, &[("bash", "rm *", Allow)])]);
    let explanation = policy.explain(&[Effect::run("ls"), Effect::run("rm x")], &|_| None);
    let ask = json!({"key": "bash", "pattern": "*", "action": "ask", "source": "haft.toml:3"});
    let expected = json!({
        "decision": "deny",
        "effects": [
            {"kind": "run", "value": "ls", "decision": "ask", "rule": ask, "lost": []},
            {
                "kind": "run", "value": "rm x", "decision": "deny",
                "rule": {
                    "key": "bash", "pattern": "rm *", "action": "deny",
                    "source": "haft.toml:4", "reason": "use git clean",
                },
                "lost": [
                    {
                        "key": "bash", "pattern": "rm *", "action": "allow", "source": "User",
                        "why": "a deny in another layer is final",
                    },
                    {
                        "key": "bash", "pattern": "*", "action": "ask", "source": "haft.toml:3",
                        "why": "a later rule of the same layer matches too",
                    },
                ],
            },
        ],
        "reason": "bash `rm x` is denied by the rule `bash rm * = deny` (haft.toml:4): use git clean",
    });
    assert_eq!(serde_json::to_value(&explanation).unwrap(), expected);
}

#[test]
fn an_explanation_says_when_there_is_nothing_to_say() {
    let nothing = user(&[]).explain(&[], &|_| None);
    assert_eq!(
        serde_json::to_value(&nothing).unwrap(),
        json!({"decision": "allow", "effects": [], "reason": "nothing in this call needs permission"})
    );
    let silent = user(&[]).explain(&[Effect::run("a\u{1b}[2J")], &|_| None);
    assert_eq!(silent.reason, "bash `a\\u{1b}[2J` asks, because no rule speaks of it");
    assert_eq!(serde_json::to_value(&silent).unwrap()["effects"][0]["rule"], json!(null));
}

#[test]
fn rules_are_shown_with_the_line_of_their_file() {
    let rule = Rule::new("edit", Pattern::new("~/x"), Allow, "/etc/haft/managed.toml").on_line(7);
    assert_eq!(rule.to_ref().to_string(), "`edit ~/x = allow` (/etc/haft/managed.toml:7)");
}

#[test]
fn what_is_only_mentioned_needs_no_rule_and_heeds_those_that_ask_or_deny() {
    let policy = user(&[("bash", "cd *", Ask), ("bash", "export *", Deny)]);
    assert_eq!(policy.decide(&Effect::run("pushd x").mentioned()).action, Allow);
    assert_eq!(policy.decide(&Effect::run("cd x").mentioned()).action, Ask);
    assert_eq!(policy.decide(&Effect::run("export A=1").mentioned()).action, Deny);
}

#[test]
fn an_effect_with_an_unknown_end_asks_where_a_deny_may_mean_it() {
    let rules = [("bash", "*", Allow), ("bash", "git push *", Deny)];
    let policy = user(&rules);
    let partly = |text: &str, certain: &str| Effect::run(text).certain_up_to(certain);
    for effect in [
        partly("git $x", "git"),
        partly("git push $x", "git push"),
        partly("$x", ""),
        partly("git $x", "git").mentioned(),
    ] {
        let decision = policy.decide(&effect);
        assert_ne!(decision.action, Allow, "{effect:?}");
        assert!(!policy.grant_covers("bash", "git *", &effect));
    }
    assert_eq!(policy.decide(&partly("ls $x", "ls")).action, Allow);
    assert_eq!(policy.decide(&partly("git status $x", "git status")).action, Allow);
    let child = user(&[("bash", "*", Allow)]).under(Arc::new(policy));
    assert_eq!(child.decide(&partly("git $x", "git")).action, Ask);
    assert_eq!(user(&[("bash", "*", Allow)]).decide(&partly("git $x", "git")).action, Allow);
}
