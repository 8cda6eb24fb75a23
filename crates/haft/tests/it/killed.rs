//! Sessions whose process is killed at any moment: they go on, nothing is torn, and nothing is done twice.

use std::collections::HashMap;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use haft_scripted::{Model, Turn};
use serde_json::{Value, json};

use crate::run;
use crate::world::World;

/// How often a process is killed; `HAFT_KILLED` makes it more.
fn kills() -> usize {
    #[expect(clippy::disallowed_methods, reason = "a test is told by its environment")]
    let told = std::env::var("HAFT_KILLED").ok();
    told.and_then(|text| text.parse().ok()).unwrap_or(16)
}

/// Rounds of the script.
const ROUNDS: usize = 4;

fn content(round: usize) -> String {
    format!("line of file {round}\n").repeat(3_000)
}

/// Each round appends by a command, adds a line by an edit, and writes a file; the last two side by side.
fn script() -> Vec<Turn> {
    let mut script = vec![Turn::call("read", json!({ "file_path": "list.txt" }))];
    for round in 0..ROUNDS {
        let command = format!("echo {round} >> log.txt");
        script.push(Turn::call("bash", json!({ "command": command, "description": "Count" })));
        let new = format!("item {round}\nEND");
        let edit = json!({ "file_path": "list.txt", "old_string": "END", "new_string": new });
        let file = format!("file-{round}.txt");
        let write = json!({ "file_path": file, "content": content(round) });
        script.push(Turn::call("edit", edit).and("write", write));
    }
    script.push(Turn::say("Counted."));
    script
}

/// A random number below `most`.
fn below(most: u64, chance: &mut u64) -> u64 {
    *chance ^= *chance << 13;
    *chance ^= *chance >> 7;
    *chance ^= *chance << 17;
    *chance % most.max(1)
}

/// How long a session takes that nobody kills: no moment of it is spared.
fn undisturbed() -> Duration {
    let model = Model::start(script()).unwrap();
    let world = run::world(&model, "anthropic");
    world.put("work/list.txt", "BEGIN\nEND\n");
    let begun = Instant::now();
    world.haft(&["run", "go", "--allow-all"]).env("TEST_KEY", "k").run().done();
    begun.elapsed()
}

/// Told when a process has said its last word.
fn end_of(mut from: impl Read + Send + 'static) -> Receiver<()> {
    let (said, ended) = channel();
    std::thread::spawn(move || {
        let mut all = Vec::new();
        drop(from.read_to_end(&mut all));
        said.send(()).unwrap_or_default();
    });
    ended
}

/// What has become of the work: how often each effect is there, and nothing that is half there.
fn effects(world: &World) -> HashMap<String, usize> {
    let mut effects = HashMap::new();
    let mut count = |key: String| *effects.entry(key).or_default() += 1;
    let log = fs_err::read_to_string(world.path("work/log.txt")).unwrap_or_default();
    log.lines().for_each(|line| count(format!("bash {line}")));
    let list = fs_err::read_to_string(world.path("work/list.txt")).unwrap();
    let items = list.strip_prefix("BEGIN\n").and_then(|rest| rest.strip_suffix("END\n")).unwrap();
    items.lines().for_each(|line| count(format!("edit {}", line.strip_prefix("item ").unwrap())));
    for path in world.tree("work").into_keys() {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if ["log.txt", "list.txt", "a.txt"].contains(&name.as_str()) {
            continue;
        }
        let round = name.strip_prefix("file-").and_then(|rest| rest.strip_suffix(".txt"));
        let round = round.unwrap_or_else(|| panic!("{name} was left behind"));
        let whole = fs_err::read_to_string(&path).unwrap() == content(round.parse().unwrap());
        assert!(whole, "{name} is torn");
        count(format!("write {round}"));
    }
    effects
}

/// The effect that a call should have.
fn effect_of(call: &Value) -> Option<String> {
    let (tool, args) = (call["tool"].as_str()?, &call["args"]);
    let text = match tool {
        "bash" => args["command"].as_str()?.strip_prefix("echo ")?.split(' ').next()?,
        "edit" => args["new_string"].as_str()?.strip_prefix("item ")?.lines().next()?,
        "write" => args["file_path"].as_str()?.strip_prefix("file-")?.strip_suffix(".txt")?,
        _ => return None,
    };
    Some(format!("{tool} {text}"))
}

#[test]
fn a_killed_session_goes_on_and_no_effect_is_doubled() {
    let (mut killed, mut sessions, mut interrupted, mut done) = (0, 0, 0, 0);
    let mut chance = 0x2545_f491_4f6c_dd1d_u64;
    let long = undisturbed();
    while killed < kills() {
        sessions += 1;
        let model = Model::start(script()).unwrap();
        let world = run::world(&model, ["anthropic", "openai", "openai-chat"][sessions % 3]);
        world.put("work/list.txt", "BEGIN\nEND\n");
        loop {
            let what = if model.requests().is_empty() { "go" } else { "--continue" };
            let args = ["run", what, "--session", "s1", "--jsonl", "--allow-all"];
            let mut run = world.haft(&args).env("TEST_KEY", "k");
            run.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = run.command.spawn().unwrap();
            let ended = end_of(child.stdout.take().unwrap());
            let most = u64::try_from(long.as_micros()).unwrap();
            let moment = Duration::from_micros(below(most, &mut chance));
            if ended.recv_timeout(moment) != Err(RecvTimeoutError::Timeout) {
                // Done, or nothing was left to do because the one before was killed after its last word.
                let code = child.wait().unwrap().code();
                assert!(matches!(code, Some(0 | 2)), "{code:?}");
                break;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            killed += 1;
        }
        let effects = effects(&world);
        let calls = world.calls("s1");
        for call in &calls {
            let Some(effect) = effect_of(call) else { continue };
            let times = effects.get(&effect).copied().unwrap_or(0);
            let kind = call["error"]["kind"].as_str();
            match (call["state"].as_str(), kind) {
                (Some("completed"), _) => {
                    assert_eq!(times, 1, "{effect}: {call:#}");
                    done += 1;
                }
                // What it did by then is not known, but it did not do it twice.
                (Some("error"), Some("interrupted")) => {
                    assert!(times <= 1, "{effect} {times} times");
                    interrupted += 1;
                }
                _ => panic!("neither done nor interrupted: {call:#}"),
            }
        }
        // Nothing is there that no call answers for.
        let made: Vec<String> = calls.iter().filter_map(effect_of).collect();
        assert!(effects.keys().all(|effect| made.contains(effect)), "{effects:?} {made:?}");
        assert_eq!(model.results().len(), 1 + 3 * ROUNDS, "every call was answered, once");
        let check = world.path("state/haft");
        assert!(whole_store(&check), "the store is torn");
    }
    eprintln!(
        "killed {killed} times in {sessions} sessions: {done} effects once, {interrupted} calls \
         interrupted, 0 doubled, 0 torn"
    );
}

/// Whether the store can be read from beginning to end.
fn whole_store(state: &std::path::Path) -> bool {
    let files = fs_err::read_dir(state).unwrap().flatten().map(|entry| entry.path());
    let mut databases = files.filter(|path| path.extension().is_some_and(|it| it == "db"));
    let database = databases.next().unwrap();
    let check = "import sqlite3,sys; print(sqlite3.connect(sys.argv[1]).execute('pragma integrity_check').fetchone()[0])";
    let said = Command::new("python3").arg("-c").arg(check).arg(database).output().unwrap();
    String::from_utf8_lossy(&said.stdout).trim() == "ok"
}
