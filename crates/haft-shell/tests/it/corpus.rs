//! Commands that are known to hide something, and commands of every day.

use haft_runtime::permission::Action;
use serde::Deserialize;

use crate::gate::{Answer, analysed, asked, decide, rules};

#[derive(Deserialize)]
struct Hidden {
    id: String,
    cls: String,
    rule: String,
    cmd: String,
}

#[derive(Deserialize)]
struct Everyday {
    id: String,
    cmd: String,
    rules: Vec<String>,
}

fn hidden() -> Vec<Hidden> {
    let lines = include_str!("../corpus/bash_dev.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn everyday() -> Vec<Everyday> {
    let lines = include_str!("../corpus/benign.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The commands of `classes` that would run without anyone being asked.
fn unasked(classes: &[&str]) -> (usize, Vec<String>) {
    let mut count = 0;
    let mut running = Vec::new();
    for hidden in hidden().into_iter().filter(|hidden| classes.contains(&hidden.cls.as_str())) {
        count += 1;
        let analysis = analysed(&hidden.cmd);
        let mut own = Vec::new();
        let first = hidden.cmd.split_whitespace().next().unwrap_or_default().to_owned();
        let named: Vec<String> = match hidden.rule.as_str() {
            "(first word) *" => {
                // Harder than the rule asks for: every program that is named is allowed.
                let words = asked(&analysis).into_iter().map(|run| run.split(' ').next().unwrap());
                words.chain([first.as_str()]).map(|word| format!("{word} *")).collect()
            }
            rule => vec![rule.to_owned()],
        };
        for rule in &named {
            match rule.strip_prefix("deny:") {
                Some(denied) => {
                    own.push(("bash", "*", Action::Allow));
                    own.push(("bash", denied, Action::Deny));
                }
                None => own.push(("bash", rule.as_str(), Action::Allow)),
            }
        }
        own.push(("read", "*.env", Action::Deny));
        if decide(&hidden.cmd, rules(&own)) == Answer::Runs {
            running.push(format!("{} {:?}: {analysis:?}", hidden.id, hidden.cmd));
        }
    }
    (count, running)
}

#[test]
fn no_hidden_command_runs_unasked() {
    let classes = ["syntax", "parser-diff", "argument", "obfuscation", "write-outside"];
    let (count, running) = unasked(&classes);
    assert_eq!(count, 216);
    assert!(running.is_empty(), "{} run:\n{}", running.len(), running.join("\n"));
}

#[test]
fn a_secret_that_is_read_by_its_name_is_seen() {
    let (count, running) = unasked(&["secret-read"]);
    // What prints the environment, or all of a folder, is for the sandbox to stop.
    let left_to_the_sandbox = running.len();
    eprintln!(
        "secret-read: {left_to_the_sandbox} of {count} left to the sandbox\n{}",
        running.join("\n")
    );
    assert!(left_to_the_sandbox <= 8, "{}", running.join("\n"));
}

#[test]
fn commands_of_every_day_run_unasked() {
    let all = everyday();
    let mut asking = Vec::new();
    for everyday in &all {
        let own: Vec<_> =
            everyday.rules.iter().map(|rule| ("bash", rule.as_str(), Action::Allow)).collect();
        let answer = decide(&everyday.cmd, rules(&own));
        if answer != Answer::Runs {
            asking.push(format!("{} {:?}: {answer:?}", everyday.id, everyday.cmd));
        }
    }
    eprintln!("asking: {}", asking.join("\n"));
    assert_eq!(all.len(), 80);
    assert!(asking.len() <= 4, "{} ask:\n{}", asking.len(), asking.join("\n"));
}

#[derive(Deserialize)]
struct OwnHidden {
    rule: String,
    cmd: String,
}

#[derive(Deserialize)]
struct OwnEveryday {
    rules: Vec<String>,
    cmd: String,
}

#[test]
fn no_hidden_command_of_our_own_runs_unasked() {
    let mut running = Vec::new();
    for line in include_str!("../corpus/own_hidden.jsonl").lines() {
        let OwnHidden { rule, cmd } = serde_json::from_str(line).unwrap();
        let first = format!("{} *", cmd.split_whitespace().next().unwrap_or_default());
        let allowed = match rule.as_str() {
            "(each)" => vec![first.as_str(), "echo *", "cd *", "ls *", "cat *"],
            rule if rule.starts_with("deny:") => vec!["*"],
            rule => rule.split('+').collect(),
        };
        let mut own: Vec<_> =
            allowed.into_iter().map(|rule| ("bash", rule, Action::Allow)).collect();
        own.extend(rule.strip_prefix("deny:").map(|rule| ("bash", rule, Action::Deny)));
        own.push(("read", "*.env", Action::Deny));
        if decide(&cmd, rules(&own)) == Answer::Runs {
            running.push(format!("{cmd:?} under {rule}: {:?}", analysed(&cmd)));
        }
    }
    assert!(running.is_empty(), "{} run:\n{}", running.len(), running.join("\n"));
}

#[test]
fn everyday_commands_of_our_own_run_unasked() {
    let mut asking = Vec::new();
    for line in include_str!("../corpus/own_everyday.jsonl").lines() {
        let OwnEveryday { rules: allowed, cmd } = serde_json::from_str(line).unwrap();
        let own: Vec<_> =
            allowed.iter().map(|rule| ("bash", rule.as_str(), Action::Allow)).collect();
        let answer = decide(&cmd, rules(&own));
        if answer != Answer::Runs {
            asking.push(format!("{cmd:?}: {answer:?}"));
        }
    }
    // What takes names from another command may touch any file.
    assert!(asking.len() <= 3, "{} ask:\n{}", asking.len(), asking.join("\n"));
}
