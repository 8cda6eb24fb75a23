//! Asks that wait in the queue, answered from another process.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::world::{Ran, World};

/// A call that waits in the queue. Killed with the test.
struct Waiting(Option<Child>);

impl Waiting {
    fn ends(mut self) -> Ran {
        Ran::from(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

/// Starts a call that asks, and waits until its ask is there.
fn write(world: &World, path: &str, content: &str) -> (Waiting, Value) {
    let before = asks(world).len();
    let args = json!({ "file_path": path, "content": content }).to_string();
    let mut run = world.haft(&["call", "write", &args, "--json", "--asks", "queue"]);
    run.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut waiting = Waiting(Some(run.command.spawn().unwrap()));
    loop {
        let mut asks = asks(world);
        if asks.len() > before {
            return (waiting, asks.pop().unwrap());
        }
        let child = waiting.0.as_mut().unwrap();
        assert!(child.try_wait().unwrap().is_none(), "{:?}", waiting.ends());
    }
}

fn asks(world: &World) -> Vec<Value> {
    let list = world.haft(&["approve", "--json"]).run().done().json();
    list.as_array().unwrap().clone()
}

fn id(posted: &Value) -> &str {
    posted["ask"]["id"].as_str().unwrap()
}

#[test]
fn an_ask_is_listed_shown_with_its_diff_and_allowed() {
    let world = World::new();
    let (waiting, posted) = write(&world, "a.txt", "hello\n");
    assert_eq!(posted["ask"]["tool"], "write");
    let list = world.haft(&["approve"]).run().done();
    assert!(list.stdout.contains(id(&posted)) && list.stdout.contains("a.txt"), "{list:?}");
    // The end of an id is enough.
    let (_, end) = id(&posted).split_at(id(&posted).len() - 12);
    let shown = world.haft(&["approve", "show", end]).run().done().stdout;
    for part in ["write wants to:", "edit a.txt", "+hello", "always would allow: edit a.txt"] {
        assert!(shown.contains(part), "{part} is not in:\n{shown}");
    }
    assert!(!world.path("work/a.txt").exists());
    world.haft(&["approve", "allow", end]).run().done();
    assert_eq!(waiting.ends().done().json()["state"], "completed");
    assert_eq!(fs_err::read_to_string(world.path("work/a.txt")).unwrap(), "hello\n");
    assert_eq!(asks(&world), Vec::<Value>::new());
}

#[test]
fn a_rejection_reaches_the_model_with_its_words() {
    let world = World::new();
    let (waiting, posted) = write(&world, "a.txt", "hello\n");
    let words = ["approve", "reject", id(&posted), "--because", "not this file"];
    world.haft(&words).run().done();
    let ran = waiting.ends().coded(3);
    assert!(ran.message().contains("not this file"), "{}", ran.message());
    assert!(!world.path("work/a.txt").exists());
}

#[test]
fn always_is_a_grant_for_what_was_shown() {
    let world = World::new();
    let (waiting, posted) = write(&world, "a.txt", "hello\n");
    world.haft(&["approve", "allow", "--always", id(&posted)]).run().done();
    waiting.ends().done();
    let args = json!({ "file_path": "a.txt", "content": "again\n" });
    let ran = world.call("write", &args, &[]);
    assert_ne!(ran.kind(), "denied", "{ran:?}");
    let other = json!({ "file_path": "b.txt", "content": "x" });
    assert_eq!(world.call("write", &other, &[]).kind(), "denied");
}

#[test]
fn one_unknown_id_answers_nothing() {
    let world = World::new();
    let (_waiting, posted) = write(&world, "a.txt", "hello\n");
    let ran = world.haft(&["approve", "allow", id(&posted), "ask_nowhere"]).run().coded(2);
    assert!(ran.stderr.contains("no ask `ask_nowhere` waits"), "{ran:?}");
    assert_eq!(asks(&world).len(), 1);
}

#[test]
fn an_ask_goes_when_its_call_is_cancelled() {
    let world = World::new();
    let (waiting, _) = write(&world, "a.txt", "hello\n");
    let child = waiting.0.as_ref().unwrap();
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    waiting.ends().coded(130);
    assert_eq!(asks(&world), Vec::<Value>::new());
}

#[test]
fn an_ask_whose_process_was_killed_is_gone_at_once() {
    let world = World::new();
    let (first, posted) = write(&world, "a.txt", "hello\n");
    let (_second, other) = write(&world, "b.txt", "hello\n");
    // Dropping it kills it.
    drop(first);
    let ran = world.haft(&["approve", "allow", id(&posted)]).run().coded(2);
    assert!(ran.stderr.contains("no ask"), "{ran:?}");
    // By id: how long it waits is renewed all the time.
    let left = asks(&world);
    assert_eq!(
        left.iter().map(id).collect::<Vec<_>>(),
        [id(&other)],
        "the other is still waited for"
    );
    let files = fs_err::read_dir(world.path("state/haft/asks")).unwrap();
    assert_eq!(files.count(), 1, "nothing is left of it");
}

#[test]
fn whoever_watches_is_asked_as_asks_come() {
    let world = World::new();
    let seat = world.sit(&["approve", "watch"]).sees("waiting for asks");
    let (waiting, _) = write(&world, "a.txt", "hello\n");
    let seat = seat.sees("write wants to").sees("[n] ").types("y");
    waiting.ends().done();
    drop(seat);
    world.haft(&["approve", "watch"]).run().coded(2);
}
