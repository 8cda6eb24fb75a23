//! `haft run` beside other agents: the same small calls on the same scripted model, in the same run.

mod peers;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use haft_scripted::{Fault, Model, Request, Turn};
use serde_json::{Value, json};

use crate::measure::Row;
use crate::memory::Peak;
use peers::{codex, codex_calls, install, opencode, opencodes_calls, pi, pis_calls};

/// Calls of one run; the five kinds in turn.
const CALLS: usize = 200;
/// Starts that a median is taken of.
const STARTS: usize = 5;
/// How long one run may take; who takes longer has no figure.
const PATIENCE: Duration = Duration::from_secs(150);

/// The whole work of one agent, as its model saw it.
#[derive(Clone, Copy)]
struct Seen {
    /// From its start to its first request.
    start: Duration,
    /// The median time from an answer of the model to the next request.
    call: Duration,
    /// What it and its children used of the processor.
    cpu: Duration,
    /// The most that it and its children had in memory, in bytes.
    memory: u64,
}

pub(crate) fn rows() -> Vec<Row> {
    let ours = runs(haft, our_calls);
    let mut rows = vec![
        Row {
            name: "agent: a small call, from answer to request, against a fixed 2 ms",
            figure: ours.call,
            floor: Duration::from_millis(2),
            bound: 1.0,
        },
        Row {
            name: "agent: from start to the first request, against a fixed 30 ms",
            figure: ours.start,
            floor: Duration::from_millis(30),
            bound: 1.0,
        },
    ];
    let peers = install();
    for (program, command, calls, names) in PEER_RUNS {
        let Some(folder) = &peers else { break };
        let theirs = run(|home, url| command(&folder.join(program), home, url), calls(CALLS));
        let Some(theirs) = theirs else { continue };
        let figures = [
            (ours.call, theirs.call, 0.2),
            (ours.start, theirs.start, 1.0),
            (ours.cpu, theirs.cpu, 0.2),
        ];
        for (name, (figure, floor, bound)) in names.into_iter().zip(figures) {
            rows.push(Row { name, figure, floor, bound });
        }
    }
    *SEEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(ours);
    rows
}

/// What was seen of us, so that memory is not measured by another run.
static SEEN: Mutex<Option<Seen>> = Mutex::new(None);

/// What `haft run` holds at most in these calls.
pub(crate) fn sizes() -> Vec<Peak> {
    let seen = *SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let seen = seen.or_else(|| run(haft, our_calls(CALLS)));
    let name = "agent: memory at most, at any of 200 requests to the model";
    seen.map(|seen| Peak::new(name, seen.memory, 40_000_000)).into_iter().collect()
}

type PeerRun =
    (&'static str, fn(&Path, &Path, &str) -> Command, fn(usize) -> Vec<Turn>, [&'static str; 3]);

const PEER_RUNS: [PeerRun; 3] = [
    (
        "pi",
        pi,
        pis_calls,
        [
            "agent: a small call, against pi",
            "agent: start, against pi",
            "agent: processor, against pi",
        ],
    ),
    (
        "codex",
        codex,
        codex_calls,
        [
            "agent: a small call, against codex",
            "agent: start, against codex",
            "agent: processor, against codex",
        ],
    ),
    (
        "opencode",
        opencode,
        opencodes_calls,
        [
            "agent: a small call, against opencode",
            "agent: start, against opencode",
            "agent: processor, against opencode",
        ],
    ),
];

/// One whole run, with the start's median over several short ones.
fn runs(command: fn(&Path, &str) -> Command, calls: fn(usize) -> Vec<Turn>) -> Seen {
    let short = |_| run(command, calls(0)).map(|seen| seen.start);
    let mut starts: Vec<Duration> = (0..STARTS).filter_map(short).collect();
    starts.sort();
    let start = starts.get(STARTS / 2).copied().expect("we end in time");
    Seen { start, ..run(command, calls(CALLS)).expect("we end in time") }
}

/// Lets an agent work through the script in a folder of its own; none if it does not get to its end.
fn run(command: impl Fn(&Path, &str) -> Command, script: Vec<Turn>) -> Option<Seen> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (home, work) = (dir.path().join("home"), dir.path().join("work"));
    fs_err::create_dir_all(&home).expect("a home");
    fs_err::create_dir_all(&work).expect("a workspace");
    fs_err::write(work.join("a.txt"), "alpha\nround 0\ngamma\n").expect("written");
    let (pid, memory) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU64::new(0)));
    let (of, most) = (Arc::clone(&pid), Arc::clone(&memory));
    let wanted = script.len().saturating_sub(1);
    let model = Model::unreliable(script, move |_| {
        most.fetch_max(held(of.load(Ordering::Relaxed)), Ordering::Relaxed);
        Fault::None
    });
    let model = model.expect("a port of loopback");
    let mut command = command(&home, model.url());
    // One of them believes the shell rather than the system about where it is.
    command
        .current_dir(&work)
        .env("PWD", &work)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let (before, begin) = (children_cpu(), Instant::now());
    let mut child = command.spawn().expect("the agent starts");
    pid.store(child.id(), Ordering::Relaxed);
    let (ended, heard) = mpsc::channel::<()>();
    let id = child.id().to_string();
    let watch = std::thread::spawn(move || {
        if heard.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            Command::new("kill").args(["-KILL", &id]).status().expect("kill starts");
        }
    });
    child.wait().expect("it ends");
    drop(ended);
    watch.join().expect("the watch ends");
    let (cpu, requests) = (children_cpu() - before, model.requests());
    let answered = model.results().len();
    if answered < wanted {
        let program = command.get_program().to_string_lossy();
        println!("{program} made {answered} of {wanted} calls; it has no figure");
        return None;
    }
    let start = requests.first()?.received.duration_since(begin);
    let memory = memory.load(Ordering::Relaxed);
    Some(Seen { start, call: between(&requests), cpu, memory })
}

/// The median time from an answer to the request that follows it in the conversation.
fn between(requests: &[Request]) -> Duration {
    let mut taken: Vec<Duration> = requests
        .windows(2)
        .filter_map(|pair| {
            let [answered, next] = pair else { return None };
            let goes_on = next.results().len() > answered.results().len();
            goes_on
                .then(|| next.received.duration_since(answered.answered.unwrap_or(next.received)))
        })
        .collect();
    taken.sort();
    taken.get(taken.len() / 2).copied().unwrap_or_default()
}

/// What a process and its descendants hold in memory now, in bytes.
fn held(root: u32) -> u64 {
    let processes = fs_err::read_dir("/proc").expect("processes").flatten();
    let all: Vec<(u32, u32)> = processes
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let parent = u32::try_from(field(&entry.path().join("status"), "PPid:")?).ok()?;
            Some((pid, parent))
        })
        .collect();
    let (mut family, mut grown) = (vec![root], 0);
    while let Some(&parent) = family.get(grown) {
        family.extend(all.iter().filter(|it| it.1 == parent).map(|it| it.0));
        grown += 1;
    }
    // What several of them map is shared out among them, so that it is counted once.
    let share = |pid: &u32| field(&PathBuf::from(format!("/proc/{pid}/smaps_rollup")), "Pss:");
    family.iter().filter_map(share).sum::<u64>() * 1024
}

/// A number in one of the system's files about a process.
fn field(path: &Path, name: &str) -> Option<u64> {
    let text = fs_err::read_to_string(path).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.trim().trim_end_matches(" kB").parse().ok()
}

/// What children that have ended used of the processor so far.
fn children_cpu() -> Duration {
    let stat = fs_err::read_to_string("/proc/self/stat").expect("our own state");
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    // Behind the name stand a blank and the third field of proc(5); these are the 16th and the 17th.
    let fields = after_name.split(' ').skip(14).take(2);
    let ticks: u64 = fields.map(|it| it.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(ticks * 10)
}

/// One kind of call: the tool and its arguments in this round.
type Kind = fn(usize) -> (&'static str, Value);

/// The calls of a script, by what each agent has for reading, listing, editing, searching
/// and running.
fn script(count: usize, kinds: [Kind; 5]) -> Vec<Turn> {
    let turn = |number: usize| {
        let kind = kinds.get(number % kinds.len()).expect("one of them");
        let (tool, args) = kind(number / kinds.len());
        Turn::call(tool, args)
    };
    (0..count).map(turn).chain([Turn::say("Done.")]).collect()
}

fn rounds(round: usize) -> (String, String) {
    (format!("round {round}"), format!("round {}", round + 1))
}

fn our_calls(count: usize) -> Vec<Turn> {
    script(
        count,
        [
            |_| ("read", json!({ "file_path": "a.txt" })),
            |_| ("list", json!({ "path": "." })),
            |round| {
                let (old, new) = rounds(round);
                ("edit", json!({ "file_path": "a.txt", "old_string": old, "new_string": new }))
            },
            |round| ("grep", json!({ "pattern": rounds(round).1 })),
            |round| ("bash", json!({ "command": format!("echo {round}"), "description": "Say" })),
        ],
    )
}

fn put(path: PathBuf, text: &str) {
    fs_err::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs_err::write(path, text).expect("written");
}

fn haft(home: &Path, url: &str) -> Command {
    let config = format!(
        "model = \"scripted/m\"\n[provider.scripted]\nkind = \"openai-chat\"\nbase_url = \"{url}/v1\"\n\
         key_env = \"SCRIPTED_KEY\"\n[provider.scripted.models.m]\ncontext = 200000\n"
    );
    put(home.join(".config/haft/config.toml"), &config);
    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    command.args(["run", "go", "--allow-all"]);
    at_home(&mut command, home);
    command
}

/// Nothing of the one who runs the bench is seen or touched.
fn at_home(command: &mut Command, home: &Path) {
    command.env("HOME", home).env("SCRIPTED_KEY", "none");
    for variable in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
        command.env_remove(variable);
    }
}
