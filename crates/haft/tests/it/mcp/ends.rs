//! Calls that are cancelled, and clients that go away.

use serde_json::json;

use super::{Client, ERAS, Era, Forms, processes, text};
use crate::world::World;

#[test]
fn a_cancelled_call_ends_its_command() {
    for era in ERAS {
        let world = World::new();
        let mut client = Client::start(&world, era, Forms::Unknown, &["--session", "s"]);
        let id = client.begin("bash", &json!({ "command": "touch began; sleep 71.5" }));
        Client::wait_for(&world, "work/began");
        client.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" }));
        let next = client.call("bash", &json!({ "command": "echo on" }));
        assert!(text(&next).starts_with("on\n"), "{next}");
        assert_eq!(client.close(), 0);
        let calls = world.calls("s");
        assert_eq!(calls[0]["error"]["kind"], "cancelled", "{calls:?}");
        assert_eq!(processes("sleep 71.5"), Vec::<String>::new());
        assert!(client.aside().is_empty(), "a cancelled call is not answered");
    }
}

#[test]
fn a_cancel_for_what_has_ended_or_never_was_is_ignored() {
    for era in ERAS {
        let world = World::new();
        let mut client = Client::start(&world, era, Forms::Unknown, &[]);
        let id = client.begin("glob", &json!({ "pattern": "*" }));
        client.answer(id);
        for gone in [json!(id), json!(12345), json!("nothing")] {
            client.notify("notifications/cancelled", json!({ "requestId": gone }));
        }
        assert_eq!(client.call("glob", &json!({ "pattern": "*" }))["isError"], false);
    }
}

#[test]
fn cancels_that_race_with_the_ends_of_calls_leave_nothing_behind() {
    for era in ERAS {
        let world = World::new();
        let mut client = Client::start(&world, era, Forms::Unknown, &["--session", "s"]);
        for round in 0..40 {
            let script = format!("echo {round} >> log; sleep 0.00{}", round % 10);
            let id = client.begin("bash", &json!({ "command": script }));
            for _ in 0..round * 400 {
                std::hint::spin_loop();
            }
            client.notify("notifications/cancelled", json!({ "requestId": id }));
        }
        let last = client.call("bash", &json!({ "command": "echo last" }));
        assert_eq!(last["isError"], false, "{last}");
        assert_eq!(client.close(), 0);
        let calls = world.calls("s");
        assert_eq!(calls.len(), 41);
        for call in &calls {
            let ended = ["completed", "error"].iter().any(|state| call["state"] == *state);
            assert!(ended, "{call}");
        }
        let log = fs_err::read_to_string(world.path("work/log")).unwrap_or_default();
        let mut lines: Vec<&str> = log.lines().collect();
        let count = lines.len();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), count, "nothing happened twice");
    }
}

#[test]
fn a_client_that_goes_away_takes_every_command_with_it() {
    for era in ERAS {
        let world = World::new();
        let mut client = Client::start(&world, era, Forms::Unknown, &["--session", "s"]);
        client.begin(
            "bash",
            &json!({ "command": "(setsid sleep 72.25 &) ; sleep 72.25 & touch began; sleep 72.25" }),
        );
        let job = json!({ "command": "touch job; sleep 72.25", "background": true });
        let job = client.call("bash", &job);
        assert_eq!(job["isError"], false, "{job}");
        Client::wait_for(&world, "work/began");
        Client::wait_for(&world, "work/job");
        // One that is just becoming another program has no name for a moment.
        while processes("sleep 72.25").len() < 4 {
            std::thread::yield_now();
        }
        assert_eq!(client.close(), 0);
        assert_eq!(processes("sleep 72.25"), Vec::<String>::new(), "gone with the server");
        let calls = world.calls("s");
        assert!(calls.iter().all(|call| call["state"] != "running"), "{calls:?}");
    }
}

#[test]
fn a_client_that_no_longer_listens_is_gone() {
    let world = World::new();
    let mut command = world.haft(&["mcp"]).command;
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    drop(child.stdout.take());
    let line = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    std::io::Write::write_all(&mut stdin, format!("{line}\n").as_bytes()).unwrap();
    let patience = std::time::Instant::now() + super::PATIENCE;
    while child.try_wait().unwrap().is_none() {
        assert!(std::time::Instant::now() < patience, "it talks to nobody for ever");
        std::thread::yield_now();
    }
    drop(stdin);
}

#[test]
fn a_server_that_is_told_to_end_ends_its_commands() {
    let world = World::new();
    let mut client = Client::start(&world, Era::Old, Forms::Unknown, &[]);
    client.begin("bash", &json!({ "command": "touch began; sleep 73.5" }));
    Client::wait_for(&world, "work/began");
    let pid = rustix::process::Pid::from_child(&client.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    while client.next().is_some() {}
    client.child.wait().unwrap();
    assert_eq!(processes("sleep 73.5"), Vec::<String>::new());
}

#[test]
fn what_was_asked_before_the_end_of_input_is_still_answered() {
    let world = World::new();
    world.put("work/a.txt", "one\n");
    // The store is there, so that nothing has to be made first.
    world.call("todoread", &json!({}), &[]).done();
    let mut client = Client::start(&world, Era::Old, Forms::Unknown, &[]);
    let id = client.ask("tools/list", json!({}));
    let code = client.close();
    assert_eq!(code, 0);
    assert!(client.answer(id)["result"]["tools"].is_array());
}
