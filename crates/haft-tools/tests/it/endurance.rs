//! Many commands and much output: nothing is left of them, and little of it is in memory.
//!
//! What is counted is counted in a process of its own: this test binary again, told by a variable.

use std::process::Stdio;
use std::time::{Duration, Instant};

use haft_runtime::CancellationToken;
use haft_tools::SandboxMode;
use serde_json::{Value, json};

use crate::world::World;

const ALLOW: &str = "[permission]\n\"*\" = \"allow\"\n";

const PART: &str = "HAFT_TOOLS_PART";

#[test]
fn of_many_mixed_calls_nothing_is_left() {
    through("calls");
}

#[test]
fn of_much_output_little_is_in_memory_and_nothing_is_lost() {
    through("flood");
}

/// Does nothing in an ordinary run.
#[test]
fn a_process_of_its_own() {
    // Threads that wait for the disk do not outlive their work, so that they can be counted.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().thread_keep_alive(Duration::from_millis(1)).build().unwrap();
    match variable(PART).as_deref() {
        Some("calls") => runtime.block_on(make_many_calls()),
        Some("flood") => runtime.block_on(be_flooded()),
        _ => {}
    }
}

/// Runs this binary again for one part; what it says is shown if it fails.
fn through(part: &str) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "endurance::a_process_of_its_own", "--nocapture", "--test-threads=1"])
        .env(PART, part)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
}

fn variable(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "how much is tried is said from outside")]
    std::env::var(name).ok()
}

fn number(name: &str, otherwise: u64) -> u64 {
    variable(name).and_then(|count| count.parse().ok()).unwrap_or(otherwise)
}

/// Files, threads, zombies, and memory of this process and of those that keep its commands.
#[derive(Debug)]
struct Usage {
    files: usize,
    threads: usize,
    zombies: usize,
    below: usize,
    memory_kib: u64,
}

impl Usage {
    fn now() -> Self {
        let me = std::process::id();
        let mut all = vec![me];
        let mut next = 0;
        while let Some(pid) = all.get(next) {
            // Whoever is gone meanwhile has none.
            let tasks =
                fs_err::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            let lists =
                tasks.filter_map(|task| fs_err::read_to_string(task.path().join("children")).ok());
            let lists: String = lists.collect::<Vec<_>>().join(" ");
            all.extend(lists.split_ascii_whitespace().map(|pid| pid.parse::<u32>().unwrap()));
            next += 1;
        }
        let count = |pid: u32, what: &str| {
            fs_err::read_dir(format!("/proc/{pid}/{what}")).map_or(0, Iterator::count)
        };
        let status =
            |pid: &u32| fs_err::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let memory = |text: String| -> u64 {
            let line = text.lines().find(|line| line.starts_with("VmRSS"));
            line.map_or(0, |line| line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap())
        };
        Self {
            files: all.iter().take(2).map(|pid| count(*pid, "fd")).sum(),
            threads: count(me, "task"),
            zombies: all.iter().filter(|pid| status(pid).contains("State:\tZ")).count(),
            below: all.len(),
            memory_kib: all.iter().take(2).map(|pid| memory(status(pid))).sum(),
        }
    }
}

/// Calls of every kind, and nothing left of them.
async fn make_many_calls() {
    let world = World::running(ALLOW, |_| ()).await;
    mixed(&world, 0, 400).await;
    let before = settled(&world).await;
    mixed(&world, 400, number("HAFT_CALLS", 2_000)).await;
    let after = settled(&world).await;
    eprintln!("{before:?}\n{after:?}");
    let counts = |usage: &Usage| (usage.files, usage.threads, usage.zombies, usage.below);
    assert_eq!(counts(&after), counts(&before), "{before:?} {after:?}");
    assert_eq!(after.zombies, 0);
    assert!(after.memory_kib < before.memory_kib + 2048, "{before:?} {after:?}");
}

/// What is in use once everything is gone that is on its way out.
async fn settled(world: &World) -> Usage {
    world.text("bash", json!({ "command": "true" })).await;
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        tokio::task::yield_now().await;
        let usage = Usage::now();
        // This process, the keeper, and the warden that waits for the next command. The threads of this
        // test, of those that run tests, and of the store.
        let is_over = usage.below <= 3 && usage.zombies == 0 && usage.threads <= 3;
        if is_over || Instant::now() > deadline {
            return usage;
        }
    }
}

async fn mixed(world: &World, from: u64, count: u64) {
    for index in from..from + count {
        match index % 20 {
            0 => one(world, json!({ "command": "true" })).await,
            1 => one(world, json!({ "command": format!("echo {index}; exit 3") })).await,
            2 => one(world, json!({ "command": "seq 20000" })).await,
            3 => one(world, json!({ "command": "echo a; sleep 100", "timeout": 5 })).await,
            4 => cancelled(world).await,
            5 => one(world, json!({ "command": "sh -c 'echo x > made; rm made'" })).await,
            6 => one(world, json!({ "command": "cat >&2", "stdin": "x".repeat(10_000) })).await,
            7 => one(world, json!({ "command": "tty; echo hi", "pty": true })).await,
            8 => job(world, json!({ "command": "sleep 100 & echo left" }), "kill").await,
            9 => job(world, json!({ "command": "seq 3", "background": true }), "wait").await,
            even if even % 2 == 0 => {
                one(world, json!({ "command": format!("ls # {index}") })).await;
            }
            _ => one(world, json!({ "command": format!("echo {index} | tee file") })).await,
        }
    }
}

async fn one(world: &World, args: Value) {
    let answer = world.call("bash", args).await;
    let ended = answer["state"] == "completed" || answer["error"]["kind"] == "timed_out";
    assert!(ended, "{answer}");
}

async fn job(world: &World, args: Value, action: &str) {
    let answer = world.call("bash", args).await;
    let id = &answer["metadata"]["job"];
    world.text("job", json!({ "action": action, "id": id, "timeout": 20000 })).await;
}

async fn cancelled(world: &World) {
    let cancel = CancellationToken::new();
    let mut events = world.events();
    let call = world.prepare("bash", json!({ "command": "echo begun; sleep 100" }));
    let stop = cancel.clone();
    let watch = async {
        while let Some(delivery) = events.next().await {
            if format!("{delivery:?}").contains("CallProgress") {
                return stop.cancel();
            }
        }
    };
    let (settled, ()) = tokio::join!(world.toolset.execute(call, cancel), watch);
    assert_eq!(settled.to_json()["error"]["kind"], "cancelled");
}

/// A flood of output: counted exactly, the ends exact, kept as far as the store keeps files.
async fn be_flooded() {
    let room = haft_store::Options::default().keep_bytes;
    let world = World::running(ALLOW, |settings| settings.sandbox = SandboxMode::Off).await;
    world.text("bash", json!({ "command": "seq 20000" })).await;
    let before = Usage::now();
    let lines = number("HAFT_FLOOD", 600_000_000) / 100;
    // A hundred bytes a line, each line another, so that a lost or doubled one shows.
    let args = json!({ "command": format!("seq -f '%099.0f' {lines}"), "timeout": 600_000 });
    let watched = async {
        let mut peak = 0;
        let mut events = world.events();
        while let Some(delivery) = events.next().await {
            peak = peak.max(Usage::now().memory_kib);
            if format!("{delivery:?}").contains("CallCompleted") {
                break;
            }
        }
        peak
    };
    let (answer, peak) = tokio::join!(world.call("bash", args), watched);
    eprintln!("{} KiB, then {peak} KiB", before.memory_kib);
    assert!(peak < before.memory_kib + 16 * 1024, "{before:?}, then {peak} KiB");
    let text = answer["output"].as_str().unwrap();
    let line = |number: u64| format!("{number:099}\n");
    let head: String = (1..=200).map(line).collect();
    assert!(text.starts_with(&head), "the head is exact");
    let tail: String = (lines - 200..=lines).map(line).collect();
    assert!(text.contains(&tail), "the tail is exact");
    // As many lines as are shown and left out.
    let shown = text.lines().filter(|line| line.len() == 99).count() as u64;
    let said = format!("{} lines", lines - shown);
    assert!(text.contains(&said), "{said} of {lines} are left out: {}", text.replace('0', ""));
    let kept = answer["metadata"]["output_path"].as_str().unwrap();
    assert_eq!(fs_err::metadata(kept).unwrap().len(), room.min(lines * 100));
    if room < lines * 100 {
        assert!(text.contains(&format!("the first {room} bytes are kept at {kept}")), "{kept}");
    }
    let mut reference = std::process::Command::new("cmp")
        .arg("-n")
        .arg(room.min(lines * 100).to_string())
        .args([kept, "-"])
        .stdin(seq(lines))
        .spawn()
        .unwrap();
    assert!(reference.wait().unwrap().success(), "what is kept is exact");
}

fn seq(lines: u64) -> Stdio {
    let mut seq = std::process::Command::new("seq");
    seq.args(["-f", "%099.0f", &lines.to_string()]).stdout(Stdio::piped());
    seq.spawn().unwrap().stdout.unwrap().into()
}
