//! Agents that agents start, seen from outside the process: asks, kills, memory.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use haft_scripted::Turn;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{background, bash, model, requests, task, world};
use crate::world::World;

#[test]
fn a_child_asks_the_same_person_and_says_who_it_is() {
    let options = json!([{ "label": "red" }, { "label": "blue" }]);
    let question = json!({ "question": "Which?", "header": "Colour", "options": options });
    let model = model(
        vec![Turn::call("task", task("general", "part one")), Turn::say("Done.")],
        vec![(
            "part one",
            vec![
                Turn::call("write", json!({ "file_path": "b.txt", "content": "x" })),
                Turn::call("question", json!({ "questions": [question] })),
                Turn::say("Written."),
            ],
        )],
    );
    let world = world(&model, "");
    let seat = world.sit(&["run", "begin"]).sees("general: write wants to").sees("[n] ").types("y");
    let ran = seat.sees("general: Colour: Which?").sees("of your own: ").types("2").ends();
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!(fs_err::read_to_string(world.path("work/b.txt")).unwrap(), "x");
    let answers = requests(&model, "part one").pop().unwrap().results();
    assert_eq!(answers[1].text, "Colour: blue");
}

#[test]
fn a_program_is_asked_for_a_child_and_answers() {
    let model = model(
        vec![Turn::call("task", task("general", "part one")), Turn::say("Done.")],
        vec![(
            "part one",
            vec![
                Turn::call("write", json!({ "file_path": "b.txt", "content": "x" })),
                Turn::say("Written."),
            ],
        )],
    );
    let world = world(&model, "");
    let mut run = world.haft(&["run", "begin", "--jsonl", "--asks", "program"]);
    let mut child = run.command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut events = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let asked = events.find(|it| it["type"] == "ask.opened").unwrap()["ask"].clone();
    assert_eq!((&asked["agent"], &asked["tool"]), (&json!("general"), &json!("write")));
    let answer = json!({ "type": "answer", "ask": asked["id"], "reply": "once" });
    writeln!(child.stdin.as_mut().unwrap(), "{answer}").unwrap();
    assert_eq!(events.last().unwrap()["why"], "done");
    assert!(child.wait().unwrap().success());
    assert!(world.path("work/b.txt").exists());
    let offered = requests(&model, "begin")[0].tools();
    assert!(offered.contains(&"plan_enter".to_owned()), "a program can agree to a plan");
}

/// A process whose events are read as they come.
struct Running {
    child: Child,
    lines: Box<dyn Iterator<Item = Value> + Send>,
}

impl Running {
    fn start(world: &World, args: &[&str]) -> Self {
        let mut run = world.haft(args);
        let mut child = run.command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let lines = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        Self { child, lines: Box::new(lines) }
    }

    /// Reads on until an event is as wanted.
    fn until(&mut self, wanted: impl Fn(&Value) -> bool) {
        assert!(self.lines.any(|event| wanted(&event)), "it ended before that");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn after_a_kill_interrupted_agents_are_told_of_and_continued() {
    let script = vec![
        Turn::call("task", background("general", "part one")),
        bash("until [ -e began ]; do sleep 0.02; done"),
        Turn::call("task", task("general", "part two")),
        Turn::call("task", json!({ "task_id": "{{0:task_id:}}", "prompt": "go on" })),
        Turn::say("Done."),
    ];
    let one = vec![bash("touch began; sleep 60"), Turn::say("Went on.")];
    let two = vec![bash("touch two; sleep 60"), Turn::say("Never.")];
    let model = model(script, vec![("part one", one), ("part two", two)]);
    let world = world(&model, "");
    let args = ["run", "begin", "--allow-all", "--jsonl", "--session", "s1"];
    let mut running = Running::start(&world, &args);
    running.until(|it| it["type"] == "task.progress" && it["title"] == "look at part two");
    drop(running);
    world.haft(&["run", "--continue", "--allow-all"]).run().done();
    let last = requests(&model, "begin").pop().unwrap();
    let messages = last.body["messages"].to_string();
    assert!(messages.contains("(general: look at part one): interrupted"), "{messages}");
    assert!(messages.contains("(general: look at part two): interrupted"), "{messages}");
    let results = last.results();
    assert!(results[2].text.contains("interrupted"), "{results:?}");
    assert!(results[3].text.contains("Went on."), "{results:?}");
    let child = requests(&model, "part one").pop().unwrap();
    assert!(child.results()[0].text.contains("interrupted"), "{:?}", child.results());
}

/// What a process has had in memory at most, in KiB.
fn peak(child: &Child) -> u64 {
    let status = fs_err::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn fifty_agents_at_once_take_little_memory_and_end_together() {
    let all = (0..50).fold(Turn::say(""), |turn, n| {
        turn.and("task", task(if n % 2 == 0 { "general" } else { "explore" }, "part one"))
    });
    // Every one reads a file of a megabyte, and then its model says nothing more.
    let reader = vec![Turn::call("read", json!({ "file_path": "big.txt" })), Turn::silence()];
    let model = model(vec![all], vec![("part one", reader)]);
    let world = world(&model, "[tasks]\nrunning = 50\n");
    world.put("work/big.txt", "0123456789abcdef\n".repeat(60_000));
    let mut running = Running::start(&world, &["run", "begin", "--jsonl", "--session", "s1"]);
    let lines = std::mem::replace(&mut running.lines, Box::new(std::iter::empty()));
    let told = std::thread::spawn(move || lines.collect::<Vec<Value>>());
    // One for all calls, and two of each agent, the second without an answer.
    assert!(model.hears(101, Duration::from_secs(120)), "only {}", model.requests().len());
    let memory = peak(&running.child);
    let begin = Instant::now();
    kill_process(Pid::from_child(&running.child), Signal::INT).unwrap();
    let code = running.child.wait().unwrap().code();
    let took = begin.elapsed();
    eprintln!("50 agents: {memory} KiB at most, ended after {} ms", took.as_millis());
    assert_eq!(code, Some(130));
    let told = told.join().unwrap();
    let has_read = |it: &&Value| it["line"].as_str().is_some_and(|it| it.starts_with("read big"));
    let readers: BTreeSet<&str> =
        told.iter().filter(has_read).map(|it| it["task"].as_str().unwrap()).collect();
    assert_eq!(readers.len(), 50, "every one is seen at work");
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(memory < 100 * 1024, "{memory} KiB");
    let sessions =
        world.haft(&["sessions", "list", "--json", "--limit", "100"]).run().done().json();
    assert_eq!(sessions.as_array().unwrap().len(), 51);
    let call = |it: &Value| it["tool"] == "task" && it["state"] == "error";
    assert_eq!(world.calls("s1").iter().filter(|it| call(it)).count(), 50);
}
