//! A run is spoken to while it works: at a terminal, or by a program.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use haft_scripted::{Fault, Model, Turn};
use serde_json::{Value, json};

use crate::run;
use crate::world::World;

/// Runs until the file `go` is there.
fn wait() -> Turn {
    let command = "echo waiting; until [ -e go ]; do sleep 0.02; done; echo seen";
    Turn::call("bash", json!({ "command": command, "description": "Wait" }))
}

/// A world of a scripted model that needs no variable for its key.
fn world(model: &Model) -> World {
    let world = run::world(model, "anthropic");
    let config = fs_err::read_to_string(world.path("config/haft/config.toml")).unwrap();
    let config = config.replace("key_env = \"TEST_KEY\"", "key = \"k\"");
    world.user_config(&format!("{config}[permission]\nbash = \"allow\"\n"));
    world
}

#[test]
fn at_a_terminal_lines_are_messages_and_questions_are_answered() {
    let edit = json!({ "file_path": "a.txt", "old_string": "alpha", "new_string": "beta" });
    let read = Turn::call("read", json!({ "file_path": "a.txt" }));
    let script = vec![read, wait(), Turn::call("edit", edit), Turn::say("It says beta now.")];
    let model = Model::start(script).unwrap();
    let world = world(&model);
    let seat = world.sit_and_look(&["run", "make it beta"]);
    // One line for a call that has ended, and what a running one says while it does.
    let seat = seat.sees("✓ read a.txt").sees("waiting");
    let seat = seat.types("only if it is safe").sees("reads it before its next reply");
    world.put("work/go", "");
    let seat = seat.sees("seen").sees("edit wants to:").sees("+beta").sees("y once");
    let ran = seat.types("y").sees("✓ edit a.txt").ends();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let shown = ran.stderr;
    assert_eq!(shown.matches("✓ bash").count(), 1, "{shown}");
    assert!(shown.contains("It says beta now.") && shown.contains("$0."), "{shown}");
    assert_eq!(fs_err::read_to_string(world.path("work/a.txt")).unwrap(), "beta\n");
    let asked = model.requests();
    assert!(asked[2].body.to_string().contains("only if it is safe"));
    // The answer to the question is nothing that was said to the model.
    let last = asked[3].body["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(!last.contains("\"y\""), "{last}");
}

#[test]
fn what_was_typed_before_a_question_is_no_answer_to_it() {
    let write = |name: &str| Turn::call("write", json!({ "file_path": name, "content": "x" }));
    let model = Model::start(vec![wait(), write("b.txt"), Turn::say("So be it.")]).unwrap();
    let world = world(&model);
    let seat = world.sit_and_look(&["run", "go"]).sees("waiting").types("y");
    let seat = seat.sees("reads it before its next reply");
    world.put("work/go", "");
    let ran = seat.sees("write wants to:").sees("y once").types("").sees("✗ write").ends();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!world.path("work/b.txt").exists());
}

#[test]
fn ctrl_c_cancels_and_the_session_can_go_on() {
    let model = Model::start(vec![wait(), Turn::say("Seen.")]).unwrap();
    let world = world(&model);
    let ran = world.sit_and_look(&["run", "go"]).sees("waiting").types("\u{3}").ends();
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(ran.stderr.contains("cancelling") && ran.stderr.contains("✗ bash"), "{}", ran.stderr);
    let ran = world.sit_and_look(&["run", "-c"]).ends();
    assert!(ran.code == 0 && ran.stderr.contains("Seen."), "{}", ran.stderr);
}

#[test]
fn ctrl_c_twice_ends_at_once() {
    // A hook that is told of the cancelled call takes its time, within the half second it has.
    let model = Model::start(vec![wait(), Turn::say("Seen.")]).unwrap();
    let world = world(&model);
    let config = fs_err::read_to_string(world.path("config/haft/config.toml")).unwrap();
    let hook = "[[hooks.PostToolUseFailure]]\ncommand = \"sleep 60\"\n";
    world.user_config(&format!("{config}{hook}"));
    let seat = world.sit_and_look(&["run", "go", "--session", "s1"]).sees("waiting");
    let ran = seat.types("\u{3}").sees("once more ends at once").types("\u{3}").ends();
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(!ran.stderr.contains("haft run --continue goes on"), "{}", ran.stderr);
    let calls = world.calls("s1");
    assert!(calls.iter().all(|call| call["state"] != "completed"), "{calls:#?}");
}

/// A run that a program drives.
struct Driven {
    child: Child,
    lines: Box<dyn Iterator<Item = Value>>,
}

impl Driven {
    fn start(world: &World, more: &[&str]) -> Self {
        let mut run = world.haft(&[&["run", "go", "--jsonl"], more].concat());
        run.command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = run.command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let lines = stdout.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        Self { child, lines: Box::new(lines) }
    }

    fn sends(mut self, line: &str) -> Self {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
        self
    }

    /// Waits for a line of this type.
    fn hears(&mut self, kind: &str) -> Value {
        let heard = self.lines.find(|line| line["type"] == kind);
        heard.unwrap_or_else(|| panic!("no {kind}"))
    }

    fn code(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

#[test]
fn a_program_speaks_in_lines_of_json_and_is_told_which_are_none() {
    let model = Model::start(vec![wait(), Turn::say("Seen.")]).unwrap();
    let world = world(&model);
    let mut run = Driven::start(&world, &[]);
    run.hears("call.running");
    let mut run = run.sends("what?").sends(r#"{"type":"user","text":"mind the gap"}"#);
    let error = run.hears("input.error");
    assert_eq!(error["line"], 1);
    assert!(error["message"].as_str().unwrap().contains(r#"{"type":"user""#), "{error}");
    // What stands after it was taken when the next one that is wrong is answered.
    let mut run = run.sends(r#"{"type":"user"}"#);
    assert_eq!(run.hears("input.error")["line"], 3);
    world.put("work/go", "");
    assert_eq!(run.hears("result")["why"], "done");
    assert_eq!(run.code(), Some(0));
    assert!(model.requests()[1].body.to_string().contains("mind the gap"));
}

#[test]
fn a_program_cancels() {
    let model = Model::start(vec![wait(), Turn::say("Seen.")]).unwrap();
    let world = world(&model);
    let mut run = Driven::start(&world, &[]);
    run.hears("call.running");
    let mut run = run.sends("{\"type\":\"cancel\"}\n{\"type\":\"user\",\"text\":\"too late\"}");
    assert_eq!(run.hears("call.error")["error"]["kind"], "cancelled");
    let result = run.hears("result");
    assert_eq!((&result["why"], &result["unread"]), (&json!("cancelled"), &json!(["too late"])));
    assert_eq!(run.code(), Some(130));
}

#[test]
fn a_reply_that_was_cancelled_half_way_goes_on() {
    let tale = "Once upon a time ".repeat(200);
    let fault = |number| if number == 0 { Fault::Hang(2000) } else { Fault::None };
    let model = Model::unreliable(vec![Turn::say(tale)], fault).unwrap();
    let world = world(&model);
    let mut run = Driven::start(&world, &[]);
    run.hears("message.delta");
    // What came right after the first piece is told too, though no more comes.
    run.hears("message.delta");
    let mut run = run.sends("{\"type\":\"cancel\"}");
    assert_eq!(run.hears("result")["why"], "cancelled");
    world.haft(&["run", "--continue"]).run().done();
    let asked = model.requests().pop().unwrap().body["messages"].to_string();
    let (before, after) = asked.split_once("cut short. Go on").unwrap();
    assert!(before.contains("Once upon") && !after.contains("Once upon"), "{asked}");
}

#[test]
fn a_program_answers_what_is_asked_and_none_of_it_waits_for_one_that_has_gone() {
    let write = |name: &str| json!({ "file_path": name, "content": "x" });
    let script = vec![
        Turn::call("write", write("yes.txt")),
        Turn::call("write", write("no.txt")),
        Turn::call("write", write("gone.txt")),
        Turn::say("So be it."),
    ];
    let model = Model::start(script).unwrap();
    let world = world(&model);
    let mut run = Driven::start(&world, &["--asks", "program"]);
    let answer = |ask: &Value, reply: &str| {
        let mut line = json!({ "type": "answer", "ask": ask["ask"]["id"], "reply": reply });
        if reply == "reject" {
            line["feedback"] = json!("not there");
        }
        line.to_string()
    };
    let first = run.hears("ask.opened");
    let mut run = run.sends(&answer(&first, "once"));
    let second = run.hears("ask.opened");
    let mut run = run.sends(&answer(&first, "once")).sends(&answer(&second, "reject"));
    assert!(run.hears("input.error")["message"].as_str().unwrap().contains("no ask"));
    run.hears("ask.opened");
    drop(run.child.stdin.take());
    assert_eq!(run.hears("result")["why"], "done");
    assert_eq!(run.code(), Some(0));
    let results = model.results();
    assert!(results[1].text.contains("not there") && results[2].text.contains("nobody is there"));
    assert_eq!(
        ["yes.txt", "no.txt", "gone.txt"].map(|name| world.path(&format!("work/{name}")).exists()),
        [true, false, false]
    );
    let ran = world.haft(&["run", "go", "--asks", "program"]).run().coded(2);
    assert!(ran.stderr.contains("--jsonl"), "{}", ran.stderr);
}

#[test]
fn a_program_answers_the_models_questions_and_is_told_what_is_wrong_with_an_answer() {
    let option = |label: &str| json!({ "label": label });
    let question = |header: &str, multiple: bool| {
        let options = [option("red"), option("blue")];
        json!({ "question": "Which?", "header": header, "options": options, "multiple": multiple })
    };
    let both = json!({ "questions": [question("One", false), question("More", true)] });
    let script = vec![
        Turn::call("question", both.clone()),
        Turn::call("question", both.clone()),
        Turn::call("question", both),
        Turn::say("So be it."),
    ];
    let model = Model::start(script).unwrap();
    let world = world(&model);
    let mut run = Driven::start(&world, &["--asks", "program"]);
    let choose = |id: &Value, chosen: Value| {
        json!({ "type": "choose", "question": id, "chosen": chosen }).to_string()
    };
    let first = run.hears("question.opened");
    assert_eq!(first["questions"][1]["options"][0]["label"], "red");
    for (id, chosen, wrong) in [
        (json!("q9"), json!([]), "no question"),
        (first["id"].clone(), json!([["red"]]), "2 lists"),
        (first["id"].clone(), json!([["red", "blue"], []]), "\"One\" one answer"),
    ] {
        run = run.sends(&choose(&id, chosen));
        let message = run.hears("input.error")["message"].as_str().unwrap().to_owned();
        assert!(message.contains(wrong), "{message}");
    }
    let mut run = run.sends(&choose(&first["id"], json!([["blue"], ["red", "of my own"]])));
    let second = run.hears("question.opened");
    assert_ne!(first["id"], second["id"]);
    let mut run = run.sends(&choose(&second["id"], json!([])));
    run.hears("question.opened");
    drop(run.child.stdin.take());
    assert_eq!(run.hears("result")["why"], "done");
    let results = model.results();
    assert_eq!(results[0].text, "One: blue\nMore: red, of my own");
    assert!(results[1..].iter().all(|it| it.text.contains("gave no answer")), "{results:?}");
}
