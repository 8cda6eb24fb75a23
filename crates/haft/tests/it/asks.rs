//! Permission asked for at the terminal, and what happens where there is none.

use serde_json::{Value, json};

use crate::seat::Seat;
use crate::world::{World, todos};

const ASK: &str = "[permission]\ntodowrite = \"ask\"\n";

/// A call that asks, at a terminal.
fn asking(world: &World) -> Seat {
    world.user_config(ASK);
    let list = todos(&["x"]).to_string();
    world.sit(&["call", "todowrite", &list, "--session", "s", "--json"]).sees("[n] ")
}

fn grants(world: &World) -> Vec<Value> {
    let list = world.haft(&["grants", "--json"]).run().done().json();
    list.as_array().unwrap().clone()
}

#[test]
fn without_a_terminal_an_ask_is_denied_and_names_rule_and_remedy() {
    let world = World::new();
    world.user_config(ASK);
    let ran = world.call("todowrite", &todos(&["x"]), &["--session", "s"]).coded(3);
    assert_eq!(ran.kind(), "denied");
    let message = ran.message();
    assert!(message.contains("config.toml:2"), "{message}");
    assert!(message.contains("[permission.todowrite] \"*\" = \"allow\""), "{message}");
    assert_eq!(world.todos("s"), Vec::<String>::new());
    // The remedy works as it is written.
    let remedy = world.policy("[permission.todowrite]\n\"*\" = \"allow\"\n");
    world.call("todowrite", &todos(&["x"]), &["--session", "s", "--policy", &remedy]).done();
    assert_eq!(world.todos("s"), ["x"]);
}

#[test]
fn yes_allows_once_and_shows_what_why_and_where() {
    let world = World::new();
    let ran = asking(&world).types("y").ends();
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!(ran.json()["state"], "completed");
    for part in ["todowrite wants to: write the todos", "config.toml:2", "always would allow"] {
        assert!(ran.stderr.contains(part), "{part} is not in:\n{}", ran.stderr);
    }
    assert_eq!(world.todos("s"), ["x"]);
    assert_eq!(grants(&world), Vec::<Value>::new());
    world.call("todowrite", &todos(&["y"]), &[]).coded(3);
}

#[test]
fn no_and_enter_and_the_end_of_input_all_mean_no() {
    for answer in ["n", "", "no", "\u{4}"] {
        let world = World::new();
        let ran = asking(&world).types(answer).ends();
        assert_eq!(ran.code, 3, "{answer:?}: {ran:#?}");
        assert_eq!(ran.json()["error"]["denial"]["by"], json!({ "user": {} }));
        assert_eq!(world.todos("s"), Vec::<String>::new());
    }
}

#[test]
fn an_answer_that_is_none_of_the_offered_is_asked_for_again() {
    let world = World::new();
    let seat = asking(&world).types("what").sees("what\r\ny once").types("y");
    assert_eq!(seat.ends().code, 0);
    assert_eq!(world.todos("s"), ["x"]);
}

#[test]
fn what_was_typed_before_the_question_is_no_answer_to_it() {
    let world = World::new();
    world.user_config(ASK);
    let list = todos(&["x"]).to_string();
    let seat = world.sit_having_typed("y\ny\n", &["call", "todowrite", &list, "--json"]);
    let ran = seat.sees("[n] ").types("n").ends();
    assert_eq!(ran.code, 3, "{ran:#?}");
}

#[test]
fn feedback_reaches_the_model() {
    let world = World::new();
    let seat = asking(&world).types("f").sees("Tell the model: ").types("use a file instead");
    let ran = seat.ends();
    assert_eq!(ran.code, 3, "{ran:#?}");
    assert!(ran.message().contains("use a file instead"), "{}", ran.message());
}

#[test]
fn always_is_a_grant_that_holds_in_the_next_process_until_it_is_revoked() {
    let world = World::new();
    assert_eq!(asking(&world).types("a").ends().code, 0);
    let given = grants(&world);
    assert_eq!(given.len(), 1);
    assert_eq!((&given[0]["key"], &given[0]["pattern"]), (&json!("todowrite"), &json!("*")));
    let id = given[0]["id"].as_str().unwrap();
    assert!(world.haft(&["grants"]).run().done().stdout.contains(id));

    world.call("todowrite", &todos(&["next"]), &["--session", "s"]).done();
    let explained = world.haft(&["policy", "explain", "todowrite", "{\"todos\":[]}", "--json"]);
    let explained = explained.run().done().json();
    assert_eq!(explained["decision"], "allow");
    assert_eq!(explained["effects"][0]["rule"]["source"], id);

    world.haft(&["grants", "revoke", id]).run().done();
    assert_eq!(grants(&world), Vec::<Value>::new());
    world.call("todowrite", &todos(&["later"]), &["--session", "s"]).coded(3);
    assert_eq!(world.todos("s"), ["next"]);
    world.haft(&["grants", "revoke", id]).run().coded(1);
}

#[test]
fn a_grant_holds_only_in_its_own_project() {
    let world = World::new();
    assert_eq!(asking(&world).types("a").ends().code, 0);
    let other = world.put("other/file", "");
    let dir = other.trim_end_matches("/file");
    world.call("todowrite", &todos(&["x"]), &["--dir", dir]).coded(3);
    let all = world.haft(&["grants", "list", "--all", "--json", "--dir", dir]).run().done().json();
    assert_eq!(all.as_array().unwrap().len(), 1);
}

#[test]
fn a_grant_never_beats_a_deny() {
    let world = World::new();
    assert_eq!(asking(&world).types("a").ends().code, 0);
    world.user_config("[permission.todowrite]\n\"?\" = \"deny\"\n");
    assert_eq!(world.call("todowrite", &todos(&["x"]), &[]).coded(3).kind(), "denied");
}

#[test]
fn a_denied_call_is_denied_without_a_question() {
    let world = World::new();
    world.user_config("[permission.todowrite]\n\"?\" = \"deny\"\n");
    let list = todos(&["x"]).to_string();
    let ran = world.sit(&["call", "todowrite", &list, "--json"]).ends();
    assert_eq!(ran.code, 3);
    assert!(!ran.stderr.contains("[n]"), "{}", ran.stderr);
}

#[test]
fn a_no_in_a_batch_drops_what_else_was_about_to_be_asked() {
    let world = World::new();
    world.user_config("[permission]\ntodoread = \"ask\"\n");
    let read = json!({ "tool": "todoread", "args": {} });
    let calls = json!({ "calls": [read, read, read] }).to_string();
    let seat = world.sit_and_look(&["call", "batch", &calls, "--jsonl"]);
    let ran = seat.sees_times(3, "\"ask.opened\"").sees("[n] ").types("n").ends();
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(ran.stderr.contains("3 calls, 3 failed"), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("wants to").count(), 1, "{}", ran.stderr);
}

#[test]
fn an_always_in_a_batch_covers_what_else_was_about_to_be_asked() {
    let world = World::new();
    world.user_config("[permission]\ntodoread = \"ask\"\n");
    let read = json!({ "tool": "todoread", "args": {} });
    let calls = json!({ "calls": [read, read, read] }).to_string();
    let seat = world.sit_and_look(&["call", "batch", &calls, "--jsonl"]);
    let ran = seat.sees_times(3, "\"ask.opened\"").sees("[n] ").types("a").ends();
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(ran.stderr.contains("\"title\":\"3 calls\""), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("wants to").count(), 1, "{}", ran.stderr);
    assert_eq!(grants(&world).len(), 1);
}

#[test]
fn each_ask_of_a_batch_has_an_answer_of_its_own() {
    let world = World::new();
    world.user_config(ASK);
    let write = |content: &str| json!({ "tool": "todowrite", "args": todos(&[content]) });
    let calls = json!({ "calls": [write("one"), write("two")] }).to_string();
    let seat = world.sit(&["call", "batch", &calls, "--json", "--session", "s"]);
    let ran = seat.sees("[n] ").types("y").sees("y\r\n\r\ntodowrite wants").types("n").ends();
    assert_eq!(ran.json()["title"], "2 calls, 1 failed", "{ran:#?}");
    assert_eq!(world.todos("s"), ["one"]);
}

#[test]
fn the_whole_ask_is_in_the_event_log() {
    let world = World::new();
    assert_eq!(asking(&world).types("f").sees("model: ").types("no").ends().code, 3);
    let events = world.events("s");
    let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["call.pending", "call.running", "ask.opened", "ask.closed", "call.error"]);
    assert_eq!(events[3]["how"]["answered"]["reject"]["feedback"], "no");
}
