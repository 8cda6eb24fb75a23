//! Agents that agents start, through the real binary and a scripted model.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use haft_scripted::{Fault, Model, Request, Turn};
use serde_json::{Value, json};

use crate::world::World;

mod bounds;
mod processes;

/// A world whose config names the scripted model, and says this beside.
pub(crate) fn world(model: &Model, more: &str) -> World {
    let world = World::new();
    let url = model.url();
    world.user_config(&format!(
        "model = \"test/scripted\"\n{more}\n[provider.test]\nkind = \"anthropic\"\nbase_url = \"{url}/v1\"\n\
         key = \"k\"\n[provider.test.models.scripted]\ncontext = 100000\n\
         price = {{ input = 10.0, output = 100.0 }}\n"
    ));
    world.put("work/a.txt", "alpha\n");
    world
}

/// A model that works for the user by `script`, and for others by what their first words name.
pub(crate) fn model(script: Vec<Turn>, parts: Vec<(&str, Vec<Turn>)>) -> Model {
    let parts = parts.into_iter().map(|(mark, script)| (mark.to_owned(), script)).collect();
    Model::with_parts(script, parts, |_| Fault::None).unwrap()
}

fn task(agent: &str, prompt: &str) -> Value {
    json!({ "description": format!("look at {prompt}"), "prompt": prompt, "subagent_type": agent })
}

fn background(agent: &str, prompt: &str) -> Value {
    let mut task = task(agent, prompt);
    task["background"] = json!(true);
    task
}

fn read() -> Turn {
    Turn::call("read", json!({ "file_path": "a.txt" }))
}

fn bash(command: &str) -> Turn {
    Turn::call("bash", json!({ "command": command, "description": "Work" }))
}

/// The requests of the conversation that opens with this.
fn requests(model: &Model, opening: &str) -> Vec<Request> {
    model.requests().into_iter().filter(|it| it.opening().contains(opening)).collect()
}

/// The results that the conversation with the user carries.
fn results(model: &Model, opening: &str) -> Vec<String> {
    let last = requests(model, opening).pop().unwrap();
    last.results().into_iter().map(|result| result.text).collect()
}

#[test]
fn an_agent_does_its_piece_and_its_answer_is_the_calls_result() {
    let parent = vec![Turn::call("task", task("explore", "part one")), Turn::say("It is alpha.")];
    let model = model(parent, vec![("part one", vec![read(), Turn::say("It says alpha.")])]);
    let world = world(&model, "");
    let ran = world.haft(&["run", "begin", "--jsonl", "--session", "s1"]).run().done();
    let answer = &results(&model, "begin")[0];
    assert!(answer.contains("state: done") && answer.ends_with("It says alpha."), "{answer}");
    // Four replies, two of each; the child's count for the parent.
    let result = ran.lines().pop().unwrap();
    assert_eq!((&result["usage"]["input"], &result["text"]), (&json!(400), &json!("It is alpha.")));
    assert!((result["cost"].as_f64().unwrap() - 4.0 * 0.002).abs() < 1e-9, "{result}");
    let lines = ran.lines();
    let progress: Vec<&Value> = lines.iter().filter(|it| it["type"] == "call.progress").collect();
    assert!(progress.iter().any(|it| it["metadata"]["agent"] == "explore"), "{progress:?}");
    let told = lines.iter().filter(|it| it["type"] == "task.progress");
    assert!(told.clone().any(|it| it["line"].as_str().unwrap().starts_with("read")), "{lines:?}");
    let child = requests(&model, "part one").remove(0);
    let system = child.body["system"].to_string();
    assert!(system.contains("change nothing") && system.contains("Another agent"), "{system}");
    for tool in ["write", "edit", "plan_enter", "plan_exit"] {
        assert!(!child.tools().contains(&tool.to_owned()), "{tool}");
    }
    assert!(child.tools().contains(&"task".to_owned()), "two may be nested");
    let about = requests(&model, "begin")[0].body["tools"].to_string();
    assert!(about.contains("- explore: ") && about.contains("- general: "), "{about}");
    assert!(!about.contains("- plan: "), "{about}");
    let sessions = world.haft(&["sessions", "--json"]).run().done().json();
    let of_child = sessions.as_array().unwrap().iter().find(|it| it["agent"] == "explore").unwrap();
    assert_eq!((&of_child["parent"], &of_child["calls"]), (&json!("s1"), &json!(1)));
    assert!(world.haft(&["sessions"]).run().done().stdout.contains("of s1"));
    world.haft(&["sessions", "forget", "s1"]).run().done();
    assert_eq!(world.sessions(), 0, "those it started are forgotten with it");
}

#[test]
fn a_model_is_told_when_those_in_the_background_end() {
    let both = Turn::call("task", background("explore", "part one"))
        .and("task", background("general", "part two"));
    let collect = Turn::call("task", json!({ "action": "wait" }));
    // It says its word before they end, is woken, and collects what they found.
    let model = model(
        vec![both, bash("touch go"), Turn::say("Waiting.")],
        vec![
            ("part one", vec![read(), Turn::say("One.")]),
            ("part two", vec![bash("until [ -e go ]; do sleep 0.02; done"), Turn::say("Two.")]),
        ],
    );
    let first = world(&model, "");
    let ran = first.haft(&["run", "begin", "--allow-all"]).run().done();
    let last = requests(&model, "begin").pop().unwrap().body["messages"].to_string();
    assert!(last.contains("Told by haft, not by the user"), "{last}");
    assert!(last.contains("(explore: look at part one): done"), "{last}");
    assert!(last.contains("(general: look at part two): done"), "{last}");
    assert!(!last.contains("Two."), "an answer is a tool's result, never the user's word: {last}");
    assert!(ran.stderr.contains("✓ general look at part two"), "{}", ran.stderr);
    // The same with a wait instead of a word.
    let both = Turn::call("task", background("general", "part one"))
        .and("task", background("general", "part two"));
    let model = model_of_two(vec![both, collect.clone(), collect, Turn::say("All.")]);
    let second = world(&model, "");
    std::thread::scope(|scope| {
        let run = scope.spawn(|| second.haft(&["run", "begin", "--allow-all"]).run().done());
        // Two of the one that begins, and one of each of the others, which do not end before.
        assert!(model.hears(4, Duration::from_secs(60)), "{}", model.requests().len());
        second.put("work/go", "");
        run.join().unwrap();
    });
    let results = results(&model, "begin");
    assert!(results[0].contains("You are told when it ends"), "{results:?}");
    assert!(results[2].contains("One.") && results[2].contains("Two."), "{results:?}");
    assert!(results[3].contains("all answers were read"), "{results:?}");
    let last = requests(&model, "begin").pop().unwrap().body["messages"].to_string();
    assert!(!last.contains("Told by haft"), "what was read is no news: {last}");
}

fn model_of_two(script: Vec<Turn>) -> Model {
    let wait = || bash("until [ -e go ]; do sleep 0.02; done");
    let part = |answer: &str| vec![wait(), Turn::say(answer)];
    model(script, vec![("part one", part("One.")), ("part two", part("Two."))])
}

#[test]
fn an_agent_at_work_is_listed_spoken_to_waited_for_ended_and_continued() {
    let id = || json!("{{0:task_id:}}");
    let call = |args: Value| Turn::call("task", args);
    let script = vec![
        call(background("general", "part one")),
        call(json!({ "action": "list" })),
        call(json!({ "action": "message", "task_id": id(), "prompt": "hurry up" })),
        call(json!({ "action": "wait", "task_ids": [id()], "timeout": 50 })),
        bash("touch go"),
        call(json!({ "action": "wait", "task_id": id(), "until": "any" })),
        call(json!({ "task_id": id(), "prompt": "and what else", "description": "more" })),
        call(json!({ "action": "message", "task_id": id(), "prompt": "go on alone" })),
        call(json!({ "action": "cancel", "task_id": id() })),
        call(json!({ "action": "cancel", "task_id": "ses_of_nobody" })),
        Turn::say("Done."),
    ];
    let child = vec![bash("until [ -e go ]; do sleep 0.02; done"), Turn::say("Heard.")];
    let model = model(script, vec![("part one", child)]);
    let world = world(&model, "");
    world.haft(&["run", "begin", "--allow-all", "--session", "s1"]).run().done();
    let results = results(&model, "begin");
    assert!(results[1].contains("(general: look at part one): running"), "{}", results[1]);
    assert!(results[2].contains("reads it before its next reply"), "{}", results[2]);
    assert!(results[3].contains("running"), "a timeout is no error: {}", results[3]);
    assert!(results[5].contains("done") && results[5].contains("Heard."), "{}", results[5]);
    assert!(results[6].contains("state: done") && results[6].contains("Heard."), "{}", results[6]);
    assert!(results[7].contains("had ended, and goes on"), "{}", results[7]);
    assert!(results[8].contains("cancelled") || results[8].contains("done"), "{}", results[8]);
    assert!(results[9].contains("has no task `ses_of_nobody`"), "{}", results[9]);
    let last = requests(&model, "part one").pop().unwrap().body["messages"].to_string();
    let places = ["part one", "hurry up", "and what else"].map(|text| last.find(text).unwrap());
    assert!(places.is_sorted(), "{last}");
}

#[test]
fn a_message_can_stop_what_an_agent_does() {
    let id = || json!("{{0:task_id:}}");
    let script = vec![
        Turn::call("task", background("general", "part one")),
        // The agent is at its command once it has said so.
        bash("until [ -e began ]; do sleep 0.02; done"),
        Turn::call(
            "task",
            json!({ "action": "message", "task_id": id(), "prompt": "stop that", "interrupt": true }),
        ),
        Turn::call("task", json!({ "action": "wait" })),
        Turn::say("Done."),
    ];
    let child = vec![bash("touch began; sleep 60"), Turn::say("Stopped.")];
    let model = model(script, vec![("part one", child)]);
    let world = world(&model, "");
    let begin = Instant::now();
    world.haft(&["run", "begin", "--allow-all"]).run().done();
    assert!(begin.elapsed() < Duration::from_secs(30));
    let results = results(&model, "begin");
    assert!(results[2].contains("stops what it does"), "{results:?}");
    assert!(results[3].contains("done") && results[3].contains("Stopped."), "{results:?}");
    let last = requests(&model, "part one").pop().unwrap();
    assert!(last.results()[0].text.contains("cancelled"), "{:?}", last.results());
    assert!(last.body["messages"].to_string().contains("stop that"));
}

#[test]
fn an_agent_can_be_given_the_conversation_and_another_model() {
    let mut order = task("general", "part one");
    (order["fork"], order["model"]) = (json!(true), json!("test/other"));
    let model = model(
        vec![read(), Turn::call("task", order), Turn::say("Done.")],
        vec![("part one", vec![Turn::say("Known.")])],
    );
    let world = world(&model, "");
    world.haft(&["run", "begin"]).run().done();
    let child = requests(&model, "part one").pop().unwrap();
    assert!(child.opening().contains("USER: begin") && child.opening().contains("alpha"));
    assert_eq!(child.body["model"], "other");
}

#[test]
fn to_cancel_one_is_to_cancel_all_below_it() {
    let script = vec![
        Turn::call("task", background("general", "part one")),
        bash("until [ -e began ]; do sleep 0.02; done"),
        Turn::call("task", json!({ "action": "cancel", "task_id": "{{0:task_id:}}" })),
        Turn::say("Done."),
    ];
    let one = vec![Turn::call("task", background("general", "part two")), Turn::say("Waits.")];
    let two = vec![bash("touch began; sleep 60"), Turn::say("Never.")];
    let model = model(script, vec![("part one", one), ("part two", two)]);
    let world = world(&model, "");
    world.haft(&["run", "begin", "--allow-all", "--session", "s1"]).run().done();
    assert!(results(&model, "begin")[2].contains("cancelled"), "{:?}", results(&model, "begin"));
    let sessions = world.haft(&["sessions", "--json"]).run().done().json();
    let sessions = sessions.as_array().unwrap();
    assert_eq!(sessions.len(), 3);
    // The one below was at its command, and that was ended with it.
    let is_below = |it: &&Value| it["parent"].is_string() && it["parent"] != "s1";
    let below = sessions.iter().find(is_below).unwrap()["id"].as_str().unwrap();
    let calls = world.calls(below);
    assert_eq!(calls[0]["error"]["kind"], "cancelled", "{calls:#?}");
}

#[test]
fn a_user_is_heard_while_the_model_waits_for_others() {
    let script = vec![Turn::call("task", background("general", "part one")), Turn::say("Waiting.")];
    let one = vec![bash("until [ -e go ]; do sleep 0.02; done"), Turn::say("One.")];
    let model = model(script, vec![("part one", one)]);
    let world = world(&model, "");
    let mut run = world.haft(&["run", "begin", "--allow-all", "--jsonl"]);
    let mut child = run.command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // The model has had its word, and its agent is at its command.
    assert!(model.hears(3, Duration::from_secs(60)), "{}", model.requests().len());
    let words = b"{\"type\":\"user\",\"text\":\"still there\"}\n";
    child.stdin.as_mut().unwrap().write_all(words).unwrap();
    assert!(model.hears(4, Duration::from_secs(60)), "{}", model.requests().len());
    let heard = requests(&model, "begin").pop().unwrap().body["messages"].to_string();
    assert!(heard.contains("still there") && !heard.contains("Told by haft"), "{heard}");
    world.put("work/go", "");
    assert!(child.wait().unwrap().success());
    let last = requests(&model, "begin").pop().unwrap().body["messages"].to_string();
    assert!(last.contains("Told by haft"), "{last}");
}
