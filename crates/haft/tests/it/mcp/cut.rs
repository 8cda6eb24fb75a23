//! Many calls, with the line cut at any moment: what happened, happened once, and is on record.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Client, Era, Forms, processes};
use crate::world::World;

/// Calls for one server before it is cut off.
const EACH: usize = 20;

/// How the line is cut.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// The client closes its end.
    Input,
    /// The server is killed.
    Killed,
    /// The client is gone without a word: both ends at once.
    Both,
}

#[test]
fn every_effect_happens_once_or_is_told_not_to_have() {
    let total: usize = env("HAFT_CALLS").unwrap_or(1_000);
    let mut random = Random(env("HAFT_SEED").unwrap_or(0x5eed) as u64);
    let world = World::new();
    world.put("work/log", "");
    let mut told: HashMap<String, Value> = HashMap::new();
    for round in 0..total.div_ceil(EACH) {
        let era = if random.below(2) == 0 { Era::Old } else { Era::New };
        let session = format!("s{round}");
        let mut client = Client::start(&world, era, Forms::Unknown, &["--session", &session]);
        let names: Vec<String> = (0..EACH).map(|n| format!("{round}-{n}")).collect();
        let ids: HashMap<i64, &String> =
            names.iter().map(|name| (begin(&mut client, name, &mut random), name)).collect();
        let answers = random.below(EACH + 1);
        for _ in 0..answers {
            let Some(answer) = client.next() else { break };
            let name = answer["id"].as_i64().and_then(|id| ids.get(&id));
            told.insert(name.unwrap().to_string(), answer["result"].clone());
        }
        cut(&mut client, &mut random);
        // What was under way when the line was cut may still have been said.
        while let Some(answer) = client.next() {
            let name = answer["id"].as_i64().and_then(|id| ids.get(&id));
            told.insert(name.unwrap().to_string(), answer["result"].clone());
        }
        judge(&world, &session, &names, &told);
    }
    assert!(told.len() >= total / 5, "hardly anything was answered: {}", told.len());
    // A killed server's commands end when its socket does, a moment later.
    let patience = std::time::Instant::now() + super::PATIENCE;
    while !processes("sleep 0.0731").is_empty() {
        assert!(std::time::Instant::now() < patience, "{:?}", processes("sleep 0.0731"));
    }
}

/// A call that leaves a mark: a line in a log, or a file of its own.
fn begin(client: &mut Client, name: &str, random: &mut Random) -> i64 {
    match random.below(3) {
        0 => client.begin("write", &json!({ "file_path": format!("f-{name}"), "content": name })),
        1 => client.begin("bash", &json!({ "command": format!("echo {name} >> log") })),
        _ => {
            client.begin("bash", &json!({ "command": format!("echo {name} >> log; sleep 0.0731") }))
        }
    }
}

fn cut(client: &mut Client, random: &mut Random) {
    for _ in 0..random.below(200_000) {
        std::hint::spin_loop();
    }
    match [Cut::Input, Cut::Killed, Cut::Both][random.below(3)] {
        Cut::Input => {
            client.close();
        }
        Cut::Killed => {
            client.child.kill().unwrap();
            client.child.wait().unwrap();
        }
        Cut::Both => {
            let pid = rustix::process::Pid::from_child(&client.child);
            // Below a `nohup` the signal means nothing to a server that has just begun.
            rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
            client.stdin = None;
            client.child.wait().unwrap();
        }
    }
}

/// Holds what was told and what is on record against what is there.
fn judge(world: &World, session: &str, names: &[String], told: &HashMap<String, Value>) {
    let shown = world.haft(&["sessions", "show", session, "--json"]).run();
    let calls =
        if shown.code == 0 { shown.json()["calls"].as_array().unwrap().clone() } else { vec![] };
    let log = fs_err::read_to_string(world.path("work/log")).unwrap();
    for name in names {
        let lines = log.lines().filter(|line| line == name).count();
        let file = fs_err::read_to_string(world.path(&format!("work/f-{name}"))).ok();
        let effects = lines + usize::from(file.is_some());
        assert!(effects <= 1, "{name} happened {effects} times");
        assert!(file.is_none_or(|content| content == *name), "{name} is torn");
        let record = calls.iter().find(|call| {
            let args = &call["args"];
            let own = format!("f-{name}");
            let command = args["command"].as_str().unwrap_or_default();
            args["file_path"] == own || command.split([' ', ';']).any(|word| word == name)
        });
        let state = record.map_or("none", |call| call["state"].as_str().unwrap());
        assert!(effects == 0 || record.is_some(), "{name} happened, and nothing is on record");
        assert!(effects == 1 || state != "completed", "{name} did not happen: {record:?}");
        if let Some(result) = told.get(name) {
            let done = result["isError"] == false;
            assert_eq!(done, state == "completed", "{name}: told {result}, recorded {record:?}");
            assert!(effects == 1 || !done, "{name} did not happen: {result}");
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "how much is tried is said from outside")]
fn env(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

/// Repeatable chance.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % most.max(1)
    }
}
