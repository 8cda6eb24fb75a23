//! `haft policy`: explains without doing, finds dead rules, judges old calls anew.

use serde_json::json;

use crate::world::{World, keys, todos};

const WRITE: &str = "{\"todos\":[{\"content\":\"a\",\"status\":\"pending\"}]}";

#[test]
fn an_explanation_has_the_agreed_form_and_runs_nothing() {
    let world = World::new();
    let policy = world.policy("[permission.todowrite]\n\"*\" = \"ask\"\n\"?\" = \"deny\"\n");
    let args =
        ["policy", "explain", "--json", "todowrite", WRITE, "--policy", &policy, "--session", "s"];
    let explained = world.haft(&args).run().done().json();
    assert_eq!(keys(&explained), ["decision", "effects", "reason"]);
    assert_eq!(explained["decision"], "deny");
    let effect = &explained["effects"][0];
    assert_eq!(keys(effect), ["kind", "value", "decision", "rule", "lost"]);
    assert_eq!(effect["kind"], "use");
    assert_eq!(effect["value"], "*");
    assert_eq!(effect["decision"], "deny");
    let rule = json!({ "key": "todowrite", "pattern": "?", "action": "deny",
        "source": format!("{policy}:3") });
    assert_eq!(effect["rule"], rule);
    let lost = effect["lost"].as_array().unwrap();
    assert!(lost.iter().any(|one| one["source"] == format!("{policy}:2")), "{lost:?}");
    assert!(lost.iter().all(|one| one["why"].as_str().is_some_and(|why| !why.is_empty())));
    assert!(explained["reason"].as_str().unwrap().contains("is denied"));

    assert_eq!(world.sessions(), 0);
    assert_eq!(world.todos("s"), Vec::<String>::new());
}

#[test]
fn every_decision_is_explained_also_for_arguments_from_input() {
    let world = World::new();
    for (action, pattern) in [("allow", "*"), ("ask", "*"), ("deny", "?")] {
        let rules = format!("[permission.todowrite]\n\"{pattern}\" = \"{action}\"\n");
        let policy = world.policy(&rules);
        let args = ["policy", "explain", "--json", "todowrite", "-", "--policy", &policy];
        let explained = world.haft(&args).stdin(WRITE).run().done().json();
        assert_eq!(explained["decision"], action);
        let text = world.haft(&["policy", "explain", "todowrite", WRITE, "--policy", &policy]);
        let text = text.run().done().stdout;
        assert!(text.starts_with(&format!("{action}: ")), "{text}");
        assert!(text.contains(&format!("{policy}:2")), "{text}");
    }
}

#[test]
fn a_batch_is_explained_with_the_effects_of_its_calls() {
    let world = World::new();
    let policy = world.policy("[permission]\ntodowrite = \"ask\"\n");
    let calls = json!({ "calls": [{ "tool": "todoread", "args": {} },
        { "tool": "todowrite", "args": todos(&["x"]) }] });
    let args = ["policy", "explain", "--json", "batch", &calls.to_string(), "--policy", &policy];
    let explained = world.haft(&args).run().done().json();
    assert_eq!(explained["decision"], "ask");
    let decisions: Vec<_> =
        explained["effects"].as_array().unwrap().iter().map(|one| &one["decision"]).collect();
    assert_eq!(decisions, ["allow", "allow", "ask"]);
}

#[test]
fn a_tool_that_is_hidden_or_does_not_exist_is_never_explained_as_allowed() {
    let world = World::new();
    let policy = world.policy("[permission]\ntodowrite = \"deny\"\n");
    let args = ["policy", "explain", "--json", "todowrite", WRITE, "--policy", &policy];
    let explained = world.haft(&args).run().done().json();
    assert_eq!(explained["decision"], "deny");
    assert_eq!(explained["effects"][0]["rule"]["source"], format!("{policy}:2"));
    let reason = explained["reason"].as_str().unwrap();
    assert!(reason.contains(&format!("{policy}:2")), "{reason}");
    let args = ["policy", "explain", "--json", "TodoWrite", WRITE, "--policy", &policy];
    assert_eq!(world.haft(&args).run().done().json()["decision"], "deny");
    let explained = world.haft(&["policy", "explain", "--json", "frobnicate"]).run().coded(1);
    assert_eq!(explained.json()["decision"], "deny");
    assert!(explained.stdout.contains("there is no tool `frobnicate`"), "{}", explained.stdout);
    let wrong = world.haft(&["policy", "explain", "--json", "todowrite", "{}"]).run().coded(1);
    assert_eq!(wrong.json()["decision"], "deny");
}

#[test]
fn check_finds_rules_that_never_decide() {
    let world = World::new();
    let policy = world.policy(
        "[permission.bash]\n\"git *\" = \"allow\"\n\"*\" = \"ask\"\n[permission]\nedit = \"ask\"\n",
    );
    let ran = world.haft(&["policy", "check", "--policy", &policy]).run().coded(1);
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains(&format!("{policy}:2")), "{}", ran.stdout);
    let found = world.haft(&["policy", "check", "--json", "--policy", &policy]).run().coded(1);
    assert_eq!(found.json()[0]["kind"], "shadowed");
    assert_eq!(found.json()[0]["by"]["source"], format!("{policy}:3"));

    world.user_config("[permission]\nbash = \"deny\"\n");
    let policy = world.policy("[permission.bash]\n\"git *\" = \"allow\"\n");
    let found = world.haft(&["policy", "check", "--json", "--policy", &policy]).run().coded(1);
    assert_eq!(found.json()[0]["kind"], "unreachable");
}

#[test]
fn check_is_content_with_rules_that_all_decide_something() {
    let world = World::new();
    world.haft(&["policy", "check"]).run().done();
    let policy = world.policy("[permission.bash]\n\"*\" = \"ask\"\n\"git *\" = \"allow\"\n");
    let ran = world.haft(&["policy", "check", "--json", "--policy", &policy]).run().done();
    assert_eq!(ran.json(), json!([]));
}

#[test]
fn simulate_reports_what_todays_rules_would_decide_otherwise() {
    let world = World::new();
    world.call("todowrite", &todos(&["x"]), &["--session", "s"]).done();
    world.call("todoread", &json!({}), &["--session", "s"]).done();
    let calm = world.haft(&["policy", "simulate", "--json"]).run().done().json();
    assert_eq!(calm, json!({ "calls": 2, "flips": [] }));

    for rules in ["[permission]\ntodowrite = \"ask\"\n", "[permission]\ntodowrite = \"deny\"\n"] {
        let policy = world.policy(rules);
        let args = ["policy", "simulate", "--json", "--policy", &policy];
        let flips = world.haft(&args).run().done().json();
        assert_eq!(flips["calls"], 2, "{rules}");
        assert_eq!(flips["flips"].as_array().unwrap().len(), 1, "{rules}: {flips}");
        assert_eq!(flips["flips"][0]["tool"], "todowrite");
        assert_eq!(flips["flips"][0]["was"], "ran");
        assert_ne!(flips["flips"][0]["now"], "allow", "{rules}");
        let text = world.haft(&["policy", "simulate", "--policy", &policy]).run().done().stdout;
        assert!(text.ends_with("1 of 2 calls would be decided otherwise\n"), "{text}");
    }
    assert_eq!(world.calls("s").len(), 2, "nothing was run again");
}

#[test]
fn simulate_reads_calls_from_a_file_and_names_a_bad_line() {
    let world = World::new();
    let good = "{\"tool\":\"todoread\",\"args\":{},\"allowed\":false}\n\n\
                {\"tool\":\"todoread\",\"args\":{},\"allowed\":true}\n";
    world.put("work/log.jsonl", good);
    let run = world.haft(&["policy", "simulate", "--json", "--replay", "log.jsonl"]);
    let flips = run.run().done().json();
    assert_eq!(flips["calls"], 2);
    assert_eq!(flips["flips"][0]["was"], "denied");
    assert_eq!(flips["flips"][0]["now"], "allow");

    world.put("work/log.jsonl", format!("{good}oops\n"));
    let ran = world.haft(&["policy", "simulate", "--replay", "log.jsonl"]).run().coded(2);
    assert!(ran.stderr.contains("log.jsonl:4: "), "{}", ran.stderr);
    world.haft(&["policy", "simulate", "--session", "nosuch"]).run().coded(2);
}
