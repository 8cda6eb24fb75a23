//! No agent may do more than the one that started it, whatever the rules, grants and modes are.

use std::path::Path;
use std::sync::Arc;

use haft_runtime::permission::{
    Action, Effect, EffectKind, Layer, LayerKind, Policy, Protected, Switch,
};
use haft_runtime::{Agent, AgentId, Audience, Registry, Runtime, Toolset};
use proptest::prelude::*;
use proptest::sample::select;

type Rules = Vec<(&'static str, &'static str, Action)>;

fn rules() -> impl Strategy<Value = Rules> {
    let keys = select(vec!["*", "read", "edit", "bash", "task", "tool", "sandbox", "webfetch"]);
    let patterns =
        select(vec!["*", "a*", "a.txt", ".env", "*.env", "git *", "rm *", "read", "write"]);
    let actions = select(vec![Action::Allow, Action::Ask, Action::Deny]);
    prop::collection::vec((keys, patterns, actions), 0..5)
}

fn layer(kind: LayerKind, rules: &Rules) -> Layer {
    let empty = Layer::new(kind, format!("{kind:?}"));
    rules.iter().fold(empty, |layer, (key, pattern, action)| layer.rule(key, pattern, *action))
}

fn effects() -> Vec<Effect> {
    let on = |kind, path: &str| Effect::on_path(kind, &Path::new("/w").join(path), Path::new("/w"));
    let mut all = vec![Effect::using("task", "explore"), Effect::using("sandbox", "write")];
    for path in ["a.txt", "b", ".env", "x/.env", ".git/hooks/x"] {
        all.extend(
            [EffectKind::Read, EffectKind::Write, EffectKind::Delete].map(|kind| on(kind, path)),
        );
    }
    all.extend(["git status", "rm a", "ls"].map(Effect::run));
    all.push(Effect::connect("https://example.org/x"));
    let mut unproven = Effect::run("x");
    unproven.unproven = Some("nobody knows".into());
    all.push(unproven);
    all
}

/// What is left to ask where grants have been given; the stricter is the greater.
fn decided(toolset: &Toolset, grants: &[(&str, &str)], effect: &Effect) -> Action {
    let policy = toolset.policy();
    let action = policy.decide(effect).action;
    let is_granted = grants.iter().any(|(key, pattern)| policy.grant_covers(key, pattern, effect));
    if action == Action::Ask && is_granted { Action::Allow } else { action }
}

/// The toolsets of a parent, its child and its grandchild.
async fn family(base: Policy, all: &[Rules; 3]) -> Vec<Toolset> {
    let mut registry = Registry::new();
    haft_tools::register(&mut registry);
    let runtime = Runtime::builder("/w").registry(registry).policy(base).build();
    let mut toolsets: Vec<Toolset> = Vec::new();
    for rules in all {
        let id = AgentId::parse("one").unwrap();
        let ceiling = toolsets.last().map(|above| Arc::clone(above.policy()));
        let agent = Agent { id: id.clone(), rules: vec![layer(LayerKind::Agent, rules)], ceiling };
        toolsets.push(runtime.toolset(&Audience { agent, ..Audience::of(id) }).await);
    }
    toolsets
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_child_never_may_what_its_parent_may_not(
        base in rules(),
        all in [rules(), rules(), rules()],
        mode in rules(),
        planning in any::<bool>(),
        grants in prop::collection::vec(
            (select(vec!["edit", "read", "bash"]), select(vec!["*", "a.txt", "b", ".env", "ls"])), 0..3),
    ) {
        let switch = Switch::default();
        let protected = Protected::new("edit", [".git/hooks/*", "/w/.git/hooks/*"]);
        let policy = Policy::new(vec![layer(LayerKind::User, &base)]).protect([protected]);
        let mode = Policy::new(vec![layer(LayerKind::BuiltIn, &mode)]);
        let policy = policy.under_while(&switch, Arc::new(mode.clone()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let lax = runtime.block_on(family(policy.clone(), &all));
        switch.set(planning);
        let family = runtime.block_on(family(policy, &all));
        for pair in family.windows(2) {
            let (parent, child) = (&pair[0], &pair[1]);
            for effect in effects() {
                let (above, below) = (decided(parent, &grants, &effect), decided(child, &grants, &effect));
                prop_assert!(below >= above, "{effect:?}: parent {above:?}, child {below:?}");
            }
            let shown = parent.names();
            prop_assert!(child.names().iter().all(|name| shown.contains(name)));
        }
        // The mode holds for all of them, also for toolsets that were made before it was on.
        for toolset in lax.iter().chain(&family) {
            for effect in effects().iter().filter(|_| planning) {
                prop_assert!(toolset.policy().decide(effect).action >= mode.decide(effect).action);
            }
        }
    }
}
