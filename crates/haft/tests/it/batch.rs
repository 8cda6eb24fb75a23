//! Repairs of what models often get a little wrong, and several calls in one.

use serde_json::{Value, json};

use crate::world::{World, todos};

fn repaired(answer: &Value) -> String {
    let repairs = answer["metadata"]["repaired"].as_array().expect("repairs");
    repairs.iter().map(|one| one.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn other_names_and_spellings_are_taken_and_every_repair_is_listed() {
    let world = World::new();
    let args = json!({ "items": [{ "text": "a", "state": "done", "priority": null }] });
    let answer = world.call("todowrite", &args, &[]).done().json();
    let repairs = repaired(&answer);
    for part in ["`items` taken as `todos`", "`text`", "`content`", "`state`", "\"done\"", "null"] {
        assert!(repairs.contains(part.trim_matches('`')), "{part} is not in:\n{repairs}");
    }
    assert_eq!(answer["metadata"]["todos"][0]["status"], "completed");
}

#[test]
fn text_that_holds_json_is_unpacked_only_where_the_schema_wants_no_text() {
    let world = World::new();
    let args = json!({ "todos": "[{\"content\":\"[1,2]\",\"status\":\"pending\"}]" });
    let answer = world.call("todowrite", &args, &["--session", "s"]).done().json();
    assert!(repaired(&answer).contains("todos"));
    assert_eq!(world.todos("s"), ["[1,2]"]);
}

#[test]
fn a_name_in_another_case_or_of_another_house_finds_the_tool() {
    let world = World::new();
    for name in ["TodoWrite", "todo_write", "write_todos", "update_plan"] {
        let answer = world.call(name, &todos(&["a"]), &[]).done().json();
        assert_eq!(answer["tool"], "todowrite", "{name}");
        assert!(repaired(&answer).contains(name), "{name}");
    }
}

#[test]
fn a_call_that_needs_no_repair_lists_none() {
    let answer = World::new().call("todowrite", &todos(&["a"]), &[]).done().json();
    assert_eq!(answer["metadata"].get("repaired"), None);
}

#[test]
fn the_results_of_a_batch_come_in_the_order_of_its_calls() {
    let world = World::new();
    let calls = json!({ "calls": [
        { "tool": "todoread", "args": {} },
        { "tool": "todowrite", "args": todos(&["one"]) },
        { "tool": "todoread", "args": {} },
        { "tool": "todowrite", "args": todos(&["one", "two"]) },
        { "tool": "todoread", "args": {} },
    ] });
    let answer = world.call("batch", &calls, &["--session", "s"]).done().json();
    assert_eq!(answer["title"], "5 calls");
    let entries = answer["metadata"]["calls"].as_array().unwrap();
    let titles: Vec<_> = entries.iter().map(|one| one["title"].as_str().unwrap()).collect();
    assert_eq!(
        titles,
        ["0 of 0 open", "1 of 1 open", "1 of 1 open", "2 of 2 open", "2 of 2 open"],
        "a read sees the writes before it and none after"
    );
    let output = answer["output"].as_str().unwrap();
    let places: Vec<_> = (1..=5).map(|n| output.find(&format!("## {n}. ")).unwrap()).collect();
    assert!(places.is_sorted(), "{output}");
    assert_eq!(world.calls("s").len(), 6, "the batch and its five children");
}

#[test]
fn a_batch_within_a_batch_is_refused() {
    let world = World::new();
    let inner = json!({ "calls": [{ "tool": "todoread", "args": {} }] });
    let calls = json!({ "calls": [
        { "tool": "todowrite", "args": todos(&["ran"]) },
        { "tool": "batch", "args": inner },
    ] });
    let ran = world.call("batch", &calls, &["--session", "s"]).coded(1);
    assert_eq!(ran.kind(), "invalid_params");
    assert!(
        ran.message().contains("calls[1]: a batch cannot contain a batch"),
        "{}",
        ran.message()
    );
    assert_eq!(world.todos("s"), Vec::<String>::new());
}

#[test]
fn one_wrong_call_in_a_batch_and_none_runs() {
    let world = World::new();
    world.call("todowrite", &todos(&["before"]), &["--session", "s"]).done();
    for wrong in [
        json!({ "tool": "todowrite", "args": { "todos": 3 } }),
        json!({ "tool": "frobnicate", "args": {} }),
        json!({ "tool": "invalid", "args": { "tool": "todoread" } }),
    ] {
        let good = json!({ "tool": "todowrite", "args": todos(&["after"]) });
        let calls = json!({ "calls": [good, wrong] });
        let ran = world.call("batch", &calls, &["--session", "s"]).coded(1);
        assert_eq!(ran.kind(), "invalid_params");
        assert!(ran.message().contains("calls[1]"), "{}", ran.message());
    }
    assert_eq!(world.todos("s"), ["before"]);
}

#[test]
fn a_fault_in_a_batch_is_told_once() {
    let calls = json!({ "calls": [{ "tool": "todowrite", "args": { "todos": 3 } }] });
    let message = World::new().call("batch", &calls, &[]).coded(1).message();
    assert_eq!(message.matches("Rewrite the call").count(), 1, "{message}");
    assert!(message.contains("calls[0]"), "{message}");
    assert!(message.contains("todos: expected an array, got 3"), "{message}");
}

#[test]
fn a_denied_call_in_a_batch_does_not_stop_the_rest() {
    let world = World::new();
    let policy = world.policy("[permission.todoread]\n\"?\" = \"deny\"\n");
    let calls = json!({ "calls": [
        { "tool": "todoread", "args": {} },
        { "tool": "todowrite", "args": todos(&["ran"]) },
    ] });
    let flags = ["--session", "s", "--policy", &policy];
    let answer = world.call("batch", &calls, &flags).done().json();
    assert_eq!(answer["title"], "2 calls, 1 failed");
    assert_eq!(answer["metadata"]["calls"][0]["kind"], "denied");
    assert_eq!(answer["metadata"]["calls"][1]["state"], "completed");
    assert_eq!(world.todos("s"), ["ran"]);
}

#[test]
fn a_batch_has_one_to_twenty_five_calls() {
    let world = World::new();
    let read = json!({ "tool": "todoread", "args": {} });
    for (count, code) in [(0, 1), (1, 0), (25, 0), (26, 1)] {
        let calls = json!({ "calls": vec![read.clone(); count] });
        world.call("batch", &calls, &[]).coded(code);
    }
}
