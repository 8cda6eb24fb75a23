//! `haft call --json`: exactly one object, exact keys, exact exit codes.

use serde_json::{Value, json};

use crate::world::{Ran, World, keys, todos};

const ERROR: [&str; 4] = ["state", "tool", "error", "metadata"];

/// Holds an answer to the form of an error.
#[track_caller]
fn is_error(ran: &Ran, code: i32, kind: &str) -> Value {
    assert_eq!(ran.code, code, "{ran:#?}");
    let answer = ran.json();
    assert_eq!(keys(&answer), ERROR);
    assert_eq!(answer["state"], "error");
    assert_eq!(answer["error"]["kind"], kind);
    let expected: &[&str] =
        if kind == "denied" { &["kind", "message", "denial"] } else { &["kind", "message"] };
    assert_eq!(keys(&answer["error"]), expected);
    answer
}

#[test]
fn a_call_that_is_done_prints_one_object_with_the_agreed_keys() {
    let world = World::new();
    let ran = world.call("todowrite", &todos(&["sweep"]), &[]).done();
    let answer = ran.json();
    assert_eq!(keys(&answer), ["state", "tool", "title", "output", "metadata", "attachments"]);
    assert_eq!(answer["state"], "completed");
    assert_eq!(answer["tool"], "todowrite");
    assert_eq!(answer["title"], "1 of 1 open");
    assert_eq!(answer["output"], "[ ] 1. sweep\n1 of 1 open");
    assert_eq!(answer["attachments"], json!([]));
    assert_eq!(ran.stderr, "");
}

#[test]
fn an_unknown_tool_names_those_that_exist() {
    let ran = World::new().call("frobnicate", &json!({}), &[]);
    let answer = is_error(&ran, 1, "unknown");
    assert_eq!(answer["tool"], "frobnicate");
    let message = ran.message();
    for name in ["frobnicate", "todowrite", "todoread", "question", "batch"] {
        assert!(message.contains(name), "{message}");
    }
}

#[test]
fn wrong_arguments_are_told_with_their_path_and_nothing_runs() {
    let world = World::new();
    world.call("todowrite", &todos(&["kept"]), &["--session", "s"]).done();
    let wrong = json!({ "todos": [{ "content": "a", "status": "pending" }, { "content": 7 }] });
    let ran = world.call("todowrite", &wrong, &["--session", "s"]);
    is_error(&ran, 1, "invalid_params");
    let message = ran.message();
    assert!(message.contains("todowrite"), "{message}");
    assert!(message.contains("todos[1]"), "{message}");
    assert_eq!(world.todos("s"), ["kept"]);
}

#[test]
fn arguments_of_every_wrong_type_are_refused_without_a_panic() {
    let world = World::new();
    for args in ["null", "[]", "7", "true", "\"text\"", "{\"todos\":null}", "{\"todos\":{}}"] {
        let ran = world.haft(&["call", "todowrite", args, "--json"]).run();
        is_error(&ran, 1, "invalid_params");
    }
}

#[test]
fn arguments_that_end_in_the_middle_are_told_apart_from_wrong_ones() {
    let world = World::new();
    let ran = world.haft(&["call", "todowrite", "{\"todos\":[{\"con", "--json"]).run();
    is_error(&ran, 1, "cut_off");
    assert!(ran.message().contains("15 bytes"), "{}", ran.message());
}

#[test]
fn a_denied_call_says_which_rule_denied_it() {
    let world = World::new();
    let policy = world.policy("[permission.todowrite]\n\"?\" = \"deny\"\n");
    let ran = world.call("todowrite", &todos(&["x"]), &["--policy", &policy, "--session", "s"]);
    let answer = is_error(&ran, 3, "denied");
    assert_eq!(answer["error"]["denial"]["by"], "rule");
    assert_eq!(answer["error"]["denial"]["rule"]["source"], format!("{policy}:2"));
    assert_eq!(world.todos("s"), Vec::<String>::new());
}

#[test]
fn a_failed_tool_is_an_error_of_its_own_kind() {
    let ask = json!({ "questions": [{ "question": "Which?", "header": "H",
        "options": [{ "label": "a" }, { "label": "b" }] }] });
    let ran = World::new().call("question", &ask, &[]);
    is_error(&ran, 1, "failed");
}

#[test]
fn usage_errors_print_nothing_on_standard_output() {
    let world = World::new();
    let wrong: [&[&str]; 7] = [
        &[],
        &["call"],
        &["frobnicate"],
        &["call", "todoread", "{}", "extra"],
        &["call", "todoread", "--json", "--jsonl"],
        &["call", "todoread", "--policy", "missing.toml", "--json"],
        &["call", "todoread", "--jsno"],
    ];
    for args in wrong {
        let ran = world.haft(args).run().coded(2);
        assert_eq!(ran.stdout, "", "{args:?}");
        assert!(!ran.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn arguments_come_from_standard_input_when_a_dash_stands_for_them() {
    let world = World::new();
    let given = todos(&["quote \" and 'quote'", "日本"]).to_string();
    world.haft(&["call", "todowrite", "-", "--session", "s"]).stdin(given).run().done();
    assert_eq!(world.todos("s"), ["quote \" and 'quote'", "日本"]);
}

#[test]
fn empty_input_means_no_arguments() {
    let world = World::new();
    let read = world.haft(&["call", "todoread", "-", "--json"]).stdin("").run().done();
    assert_eq!(read.json()["output"], "The list is empty.");
    let write = world.haft(&["call", "todowrite", "-", "--json"]).stdin("").run();
    is_error(&write, 1, "invalid_params");
}

#[test]
fn ten_megabytes_of_arguments_are_refused_in_a_few_words() {
    let world = World::new();
    let long = "x".repeat(10 * 1024 * 1024);
    for args in [todos(&[&long]), json!({ "todos": long }), json!({ long.as_str(): 1 })] {
        let run = world.haft(&["call", "todowrite", "-", "--json"]).stdin(args.to_string());
        let ran = run.run();
        is_error(&ran, 1, "invalid_params");
        assert!(ran.stdout.len() < 16 * 1024, "{} bytes", ran.stdout.len());
    }
}

#[test]
fn input_that_is_not_utf8_is_a_clear_error_and_leaves_no_session() {
    let world = World::new();
    for json in [&["--json"][..], &[]] {
        let mut args = vec!["call", "todowrite", "-"];
        args.extend(json);
        let ran = world.haft(&args).stdin(*b"{\"todos\":\"\xff\xfe\"}").run().coded(2);
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains("standard input"), "{}", ran.stderr);
        assert!(ran.stderr.contains("UTF-8"), "{}", ran.stderr);
    }
    assert_eq!(world.sessions(), 0);
}

#[test]
fn without_json_a_pipe_gets_the_text_alone() {
    let world = World::new();
    let args = todos(&["sweep"]).to_string();
    let ran = world.haft(&["call", "todowrite", &args]).run().done();
    assert_eq!(ran.stdout, "[ ] 1. sweep\n1 of 1 open\n");
    assert_eq!(ran.stderr, "");
    let ran = world.haft(&["call", "frobnicate"]).run().coded(1);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("there is no tool `frobnicate`"), "{}", ran.stderr);
}

#[test]
fn jsonl_prints_the_events_in_order_and_the_result_last() {
    let world = World::new();
    let args = todos(&["sweep"]).to_string();
    let run = world.haft(&["call", "todowrite", &args, "--jsonl", "--session", "s"]);
    let lines = run.run().done().lines();
    let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["call.pending", "call.running", "noted", "call.completed", "result"]);
    let (result, events) = lines.split_last().unwrap();
    let numbers: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(events, world.events("s"));
    let expected = ["type", "state", "tool", "title", "output", "metadata", "attachments"];
    assert_eq!(keys(result), expected);
    let again = world.haft(&["call", "nope", "--jsonl", "--session", "s"]).run().coded(1);
    assert_eq!(again.lines().last().unwrap()["error"]["kind"], "unknown");
    assert_eq!(again.lines()[0]["seq"], 5);
}
