//! A gate like that of the `bash` tool: effects of a script, decided by the policy engine.

use std::path::{Component, Path, PathBuf};

use haft_runtime::permission::{Action, Effect, EffectKind, Layer, LayerKind, Pattern, Policy};
use haft_shell::{Action as Shell, Analysis, Extent, Place, Run, Setting, Standing, analyse};

pub(crate) const ROOT: &str = "/project";

/// What becomes of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Runs,
    Asks(String),
    Refuses(String),
}

pub(crate) fn analysed(script: &str) -> Analysis {
    let setting = Setting { home: Some(Path::new("/home/user")), ..Setting::new(Path::new(ROOT)) };
    analyse(script, &setting)
}

/// The texts of the commands that are asked for.
pub(crate) fn asked(analysis: &Analysis) -> Vec<&str> {
    let asked = analysis.runs().filter(|run| run.standing == Standing::Asked);
    asked.map(|run| run.text.as_str()).collect()
}

/// Rules in the way of opencode: the last that matches decides.
pub(crate) fn rules(rules: &[(&str, &str, Action)]) -> Layer {
    let own = Layer::new(LayerKind::User, "test");
    rules.iter().fold(own, |layer, (key, pattern, action)| layer.rule(key, pattern, *action))
}

/// The rules that hold beside those for commands: everything inside the workspace is free.
fn policy(own: Layer) -> Policy {
    let base = rules(&[
        ("read", "*", Action::Allow),
        ("edit", "*", Action::Allow),
        ("webfetch", "*", Action::Ask),
        ("external_directory", "*", Action::Ask),
    ]);
    Policy::new(vec![Layer { kind: LayerKind::BuiltIn, ..base }, own])
}

pub(crate) fn decide(script: &str, own: Layer) -> Answer {
    decide_analysis(&analysed(script), own)
}

pub(crate) fn decide_analysis(analysis: &Analysis, own: Layer) -> Answer {
    let denied: Vec<String> = own
        .rules
        .iter()
        .filter(|rule| rule.action() == Action::Deny && rule.is_for("bash"))
        .map(|rule| rule.pattern().literal_prefix().to_owned())
        .collect();
    let policy = policy(own);
    let mut asks = None;
    for effect in &analysis.effects {
        let decided: Vec<(Action, String)> = match &effect.action {
            Shell::Run(run) => vec![(run_action(&policy, run, &denied), run.text.clone())],
            Shell::Read(place) => on_place(&policy, EffectKind::Read, place),
            Shell::Write(place) => on_place(&policy, EffectKind::Write, place),
            Shell::Delete(place) => on_place(&policy, EffectKind::Delete, place),
            Shell::Connect(host) => {
                vec![(policy.decide(&Effect::connect(host.clone())).action, host.clone())]
            }
        };
        for (action, value) in decided {
            match action {
                Action::Allow => {}
                Action::Ask => asks = asks.or(Some(format!("{effect}"))),
                Action::Deny => return Answer::Refuses(value),
            }
        }
    }
    for doubt in &analysis.doubts {
        let effect = Effect::run(doubt.excerpt.clone()).unproven(doubt.reason.clone());
        if policy.decide(&effect).action != Action::Allow {
            asks = asks.or(Some(doubt.to_string()));
        }
    }
    match asks {
        Some(why) => Answer::Asks(why),
        None => Answer::Runs,
    }
}

fn run_action(policy: &Policy, run: &Run, denied: &[String]) -> Action {
    let action = policy.decide(&Effect::run(run.text.clone())).action;
    // What is not known of the arguments may be just what is denied.
    let known = run.words.get(..run.known).unwrap_or_default().join(" ");
    let perhaps_denied = !run.is_known()
        && denied
            .iter()
            .any(|prefix| prefix.starts_with(&known) || known.starts_with(prefix.as_str()));
    match (run.standing, action) {
        (_, Action::Deny) => Action::Deny,
        _ if perhaps_denied => Action::Ask,
        (Standing::Mentioned, _) => Action::Allow,
        (Standing::Asked, action) => action,
    }
}

/// Decides about a place, and about being outside.
fn on_place(policy: &Policy, kind: EffectKind, place: &Place) -> Vec<(Action, String)> {
    let root = Path::new(ROOT);
    let path = canonical(&place.path);
    let mut paths = vec![path.clone()];
    if let Extent::Matching(pattern) = &place.extent {
        // The files that are there, in place of a real folder.
        let pattern = Pattern::new(pattern);
        let files = ["/project/.env", "/project/f.txt", "/project/envlink"];
        let found = files.into_iter().filter(|file| pattern.matches(file));
        paths.extend(found.map(|file| canonical(Path::new(file))));
    }
    let through = matches!(place.extent, Extent::Followed | Extent::Entered);
    if through && Path::new("/project/out_dir").starts_with(&path) {
        paths.push(PathBuf::from("/outside"));
    }
    let mut decided = Vec::new();
    for path in paths {
        if !path.starts_with(root) {
            let effect = Effect::on_path(EffectKind::External, &path, root);
            decided.push((policy.decide(&effect).action, effect.value));
        }
        let effect = Effect::on_path(kind, &path, root);
        decided.push((policy.decide(&effect).action, effect.value));
    }
    decided
}

/// What the tool asks the file system for: here there are two links, and no others.
fn canonical(path: &Path) -> PathBuf {
    let mut place = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                place.pop();
            }
            other => place.push(other),
        }
        match place.to_str() {
            Some("/project/out_dir") => place = PathBuf::from("/outside"),
            Some("/project/envlink") => place = PathBuf::from("/project/.env"),
            _ => {}
        }
    }
    place
}
