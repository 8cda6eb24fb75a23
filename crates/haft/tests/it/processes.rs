//! Many processes, some of them killed: what was told is kept, and everything goes on.

use std::io::Read;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::world::{World, todos};

#[test]
fn a_list_written_by_one_process_is_read_by_another() {
    let world = World::new();
    world.call("todowrite", &todos(&["one", "two"]), &["--session", "s"]).done();
    let read = world.call("todoread", &json!({}), &["--session", "s"]).done().json();
    assert_eq!(read["output"], "[ ] 1. one\n[ ] 2. two");
    let other = world.call("todoread", &json!({}), &["--session", "t"]).done().json();
    assert_eq!(other["output"], "The list is empty.");
}

#[test]
fn two_processes_at_one_session_lose_nothing() {
    const EACH: usize = 50;
    let world = World::new();
    let hammer = |name: &str| {
        for n in 0..EACH {
            let list = todos(&[&format!("{name} {n}")]);
            world.call("todowrite", &list, &["--session", "s"]).done();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| hammer("left"));
        scope.spawn(|| hammer("right"));
    });

    let calls = world.calls("s");
    assert_eq!(calls.len(), 2 * EACH);
    assert!(calls.iter().all(|call| call["state"] == "completed"));
    let mut written: Vec<String> =
        calls.iter().map(|call| call["args"]["todos"][0]["content"].to_string()).collect();
    written.sort();
    written.dedup();
    assert_eq!(written.len(), 2 * EACH, "every call is recorded once");
    let events = world.events("s");
    let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!(numbers.len(), 2 * EACH * 4, "pending, running, noted, completed");
    let last = world.todos("s");
    assert!(["left 49", "right 49"].contains(&last[0].as_str()), "{last:?}");
}

#[test]
fn the_events_of_each_call_keep_their_order_among_those_of_others() {
    let world = World::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| world.call("todowrite", &todos(&["x"]), &["--session", "s"]).done());
        }
    });
    let events = world.events("s");
    for call in world.calls("s") {
        let own = events.iter().filter(|event| event["call"] == call["id"]);
        let types: Vec<_> = own.map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["call.pending", "call.running", "noted", "call.completed"]);
    }
}

/// The processes are killed at thirty moments spread over the life of such a call.
#[test]
fn a_store_whose_process_was_killed_opens_again_with_all_that_was_acknowledged() {
    const ROUNDS: u32 = 30;
    let world = World::new();
    let start = Instant::now();
    world.call("todowrite", &todos(&["first"]), &["--session", "s"]).done();
    let life = start.elapsed();
    for round in 0..ROUNDS {
        let acknowledged = kill_after(&world, life * round / ROUNDS, round);
        let last = world.todos("s");
        if acknowledged {
            assert_eq!(last, [format!("round {round}")]);
        }
    }
    let events = world.events("s");
    let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    for call in world.calls("s") {
        let own = events.iter().filter(|event| event["call"] == call["id"]).cloned();
        assert!(terminal_states(&own.collect::<Vec<_>>()).len() <= 1, "{call}");
    }
    let list = world.haft(&["sessions", "list", "--json"]).run().done().json();
    assert_eq!(list[0]["id"], "s");
    world.haft(&["doctor"]).run().done();
}

/// Kills a call after a time, if it has not ended by then; tells whether it had told its result.
fn kill_after(world: &World, time: Duration, round: u32) -> bool {
    let list = todos(&[&format!("round {round}")]).to_string();
    let mut run = world.haft(&["call", "todowrite", &list, "--session", "s", "--json"]);
    run.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = run.command.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let (sender, ended) = channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        drop(sender.send(text));
    });
    let early = ended.recv_timeout(time).ok();
    child.kill().unwrap();
    child.wait().unwrap();
    let text = early.unwrap_or_else(|| ended.recv().unwrap());
    text.contains("\"completed\"")
}

fn terminal_states(events: &[Value]) -> Vec<&str> {
    let types = events.iter().map(|event| event["type"].as_str().unwrap());
    types.filter(|kind| ["call.completed", "call.error"].contains(kind)).collect()
}

#[test]
fn a_signal_cancels_a_call_that_waits_for_permission() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let world = World::new();
        let policy = world.policy("[permission]\ntodowrite = \"ask\"\n");
        let list = todos(&["x"]).to_string();
        let args = ["call", "todowrite", &list, "--policy", &policy, "--session", "s", "--json"];
        let ran = world.sit(&args).sees("[n] ").signals(signal).ends();
        assert_eq!(ran.code, 130, "{ran:#?}");
        assert_eq!(ran.kind(), "cancelled");
        let events = world.events("s");
        assert_eq!(terminal_states(&events), ["call.error"]);
        let closed = events.iter().find(|event| event["type"] == "ask.closed").unwrap();
        assert_eq!(closed["how"], "abandoned");
        assert_eq!(world.calls("s")[0]["state"], "error");
        assert_eq!(world.todos("s"), Vec::<String>::new());
    }
}

#[test]
fn a_signal_cancels_a_question_that_nobody_answers() {
    let world = World::new();
    let ask = json!({ "questions": [{ "question": "Which?", "header": "H",
        "options": [{ "label": "a" }, { "label": "b" }] }] });
    let args = ["call", "question", &ask.to_string(), "--session", "s", "--json"];
    let ran = world.sit(&args).sees("of your own: ").signals(Signal::INT).ends();
    assert_eq!(ran.code, 130, "{ran:#?}");
    assert_eq!(ran.kind(), "cancelled");
    assert_eq!(terminal_states(&world.events("s")), ["call.error"]);
}
