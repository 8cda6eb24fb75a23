//! Questions at the terminal, and what a terminal must never be made to do.

use serde_json::{Value, json};

use crate::world::{World, todos};

fn question(multiple: bool) -> Value {
    json!({ "questions": [{ "question": "Which colour?", "header": "Colour", "multiple": multiple,
        "options": [{ "label": "red", "description": "like fire" }, { "label": "blue" }] }] })
}

/// Asks the question at a terminal, types `reply`, and returns what was chosen.
fn chosen(multiple: bool, reply: &str) -> Value {
    let world = World::new();
    let ask = question(multiple).to_string();
    let seat = world.sit(&["call", "question", &ask, "--json"]);
    let ran = seat.sees("like fire").sees("of your own: ").types(reply).ends();
    assert_eq!(ran.code, 0, "{ran:#?}");
    ran.json()["metadata"]["answers"][0]["chosen"].clone()
}

#[test]
fn a_question_is_answered_by_number() {
    assert_eq!(chosen(false, "2"), json!(["blue"]));
    assert_eq!(chosen(true, "1, 2"), json!(["red", "blue"]));
}

#[test]
fn a_question_is_answered_in_own_words() {
    assert_eq!(chosen(false, "none of them, 3"), json!(["none of them, 3"]));
    assert_eq!(chosen(false, "3"), json!(["3"]));
}

#[test]
fn several_questions_are_put_one_after_the_other() {
    let world = World::new();
    let mut ask = question(false);
    let mut second = ask["questions"][0].clone();
    second["question"] = json!("And for the door?");
    ask["questions"].as_array_mut().unwrap().push(second);
    let seat = world.sit(&["call", "question", &ask.to_string(), "--json"]);
    let seat = seat.sees("of your own: ").types("1").sees("And for the door?").types("2");
    let answers = seat.ends().json()["metadata"]["answers"].clone();
    assert_eq!(answers, json!([{ "chosen": ["red"] }, { "chosen": ["blue"] }]));
}

#[test]
fn an_empty_reply_is_no_answer() {
    let world = World::new();
    let ask = question(false).to_string();
    let ran =
        world.sit(&["call", "question", &ask, "--json"]).sees("of your own: ").types("").ends();
    assert_eq!(ran.code, 1, "{ran:#?}");
    assert!(ran.message().contains("gave no answer"), "{}", ran.message());
}

#[test]
fn without_a_terminal_a_question_fails_and_says_how_to_go_on() {
    let ran = World::new().call("question", &question(false), &[]).coded(1);
    assert!(ran.message().contains("most sensible choice"), "{}", ran.message());
}

#[test]
fn escape_sequences_in_a_question_are_shown_not_obeyed() {
    let world = World::new();
    let nasty = "sure?\u{1b}[2K\r\u{7}\u{202e}";
    let ask = json!({ "questions": [{ "question": nasty, "header": nasty,
        "options": [{ "label": nasty, "description": nasty }, { "label": "b" }] }] });
    let seat = world.sit(&["call", "question", &ask.to_string(), "--json"]);
    let ran = seat.sees("of your own: ").types("2").ends();
    assert!(ran.stderr.contains("sure?\\u{1b}[2K\\r\\u{7}\\u{202e}"), "{:?}", ran.stderr);
    assert!(!ran.stderr.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{:?}", ran.stderr);
}

#[test]
fn what_a_tool_answers_cannot_steer_the_terminal() {
    let world = World::new();
    let list = todos(&["a\u{1b}]0;title\u{7}b"]).to_string();
    let ran = world.sit_and_look(&["call", "todowrite", &list]).ends();
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("a\\u{1b}]0;title\\u{7}b"), "{:?}", ran.stderr);
    assert!(!ran.stderr.contains(['\u{1b}', '\u{7}']), "{:?}", ran.stderr);
    assert!(ran.stderr.contains("✓ todowrite 1 of 1 open\r\n"), "{:?}", ran.stderr);
}

#[test]
fn an_error_cannot_steer_the_terminal() {
    let ran = World::new().sit_and_look(&["call", "no\u{1b}[31mpe"]).ends();
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("no\\u{1b}[31mpe"), "{:?}", ran.stderr);
    assert!(!ran.stderr.contains('\u{1b}'), "{:?}", ran.stderr);
}

#[test]
fn a_pipe_gets_what_the_tool_answers_byte_by_byte() {
    let world = World::new();
    let list = todos(&["a\u{1b}[1mb"]).to_string();
    let ran = world.haft(&["call", "todowrite", &list]).run().done();
    assert_eq!(ran.stdout, "[ ] 1. a\u{1b}[1mb\n1 of 1 open\n");
}
