//! How long `grep` and `glob` take through the pipeline, against the `rg` process doing the same full search.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_runtime::permission::rules_file::{self, Expand};
use haft_runtime::permission::{LayerKind, Policy};
use haft_runtime::{
    AgentId, Audience, Call, CancellationToken, Registry, Runtime, SessionId, Toolset,
};
use haft_workspace::Workspace;
use serde_json::{Value, json};

use crate::measure::{Row, medians};

/// Runs of each query; in turns with `rg`.
const RUNS: usize = 15;
/// Files of the generated tree.
const FILES: usize = 50_000;
/// What all searches together may take.
const MEMORY: u64 = 64 * 1024;

/// One query, and how `rg` is told the same.
struct Query {
    name: &'static str,
    tool: &'static str,
    args: Value,
    rg: &'static [&'static str],
    bound: f64,
}

pub(crate) fn rows() -> Vec<Row> {
    if Command::new("rg").arg("--version").output().is_err() {
        println!("SKIP search: there is no rg to compare with");
        return Vec::new();
    }
    let dir = tempfile::tempdir().expect("a temporary folder");
    generate(dir.path());
    reset_peak();
    let mut rows: Vec<Row> = generated().into_iter().map(|query| row(&query, dir.path())).collect();
    rows.push(cancelling(dir.path()));
    if let Some(sources) = real_sources() {
        rows.extend(real().into_iter().map(|query| row(&query, &sources)));
    }
    // The table knows times only, so a kibibyte is written as a microsecond.
    rows.push(Row {
        name: "peak memory of all these searches, µs for KiB, against 64 MiB",
        figure: Duration::from_micros(peak()),
        floor: Duration::from_micros(MEMORY),
        bound: 1.0,
    });
    rows
}

fn grep(name: &'static str, args: Value, rg: &'static [&'static str], bound: f64) -> Query {
    Query { name, tool: "grep", args, rg, bound }
}

/// On the generated tree. `common` is on some lines of every file, `rareword` in every thousandth file.
fn generated() -> Vec<Query> {
    vec![
        grep(
            "grep, 50,000 files: rare",
            json!({ "pattern": r"rareword\d+" }),
            &["-n", r"rareword\d+"],
            1.0,
        ),
        grep(
            "grep, 50,000 files: absent",
            json!({ "pattern": "absent[a-z]+word" }),
            &["-n", "absent[a-z]+word"],
            1.0,
        ),
        grep(
            "grep, 50,000 files: literal",
            json!({ "pattern": "rareword", "literal": true }),
            &["-nF", "rareword"],
            1.0,
        ),
        grep(
            "grep, 50,000 files: ignoring case",
            json!({ "pattern": "RAREword", "ignore_case": true }),
            &["-ni", "RAREword"],
            1.0,
        ),
        grep(
            "grep, 50,000 files: names of files",
            json!({ "pattern": "rareword", "output_mode": "files" }),
            &["-l", "rareword"],
            1.0,
        ),
        grep(
            "grep, 50,000 files: common, counted",
            json!({ "pattern": "common", "output_mode": "count" }),
            &["-c", "common"],
            1.0,
        ),
        grep(
            "grep, 50,000 files: common, the first 100",
            json!({ "pattern": "common" }),
            &["-n", "common"],
            0.7,
        ),
        Query {
            name: "glob, 50,000 files",
            tool: "glob",
            args: json!({ "pattern": "**/*.rs" }),
            rg: &["--files", "-g", "**/*.rs"],
            bound: 1.2,
        },
    ]
}

/// On the sources of this project's dependencies.
fn real() -> Vec<Query> {
    vec![
        grep(
            "grep, real sources: rare",
            json!({ "pattern": r"fn\s+poll_read_ready\b" }),
            &["-n", r"fn\s+poll_read_ready\b"],
            1.0,
        ),
        grep(
            "grep, real sources: absent",
            json!({ "pattern": "absent[a-z]+word" }),
            &["-n", "absent[a-z]+word"],
            1.0,
        ),
        grep(
            "grep, real sources: literal",
            json!({ "pattern": "poll_read_ready(", "literal": true }),
            &["-nF", "poll_read_ready("],
            1.0,
        ),
        grep(
            "grep, real sources: ignoring case",
            json!({ "pattern": "pollREADready", "ignore_case": true }),
            &["-ni", "pollREADready"],
            1.0,
        ),
        grep(
            "grep, real sources: names of files",
            json!({ "pattern": "poll_read_ready", "output_mode": "files" }),
            &["-l", "poll_read_ready"],
            1.0,
        ),
        grep(
            "grep, real sources: common, counted",
            json!({ "pattern": "impl", "output_mode": "count" }),
            &["-c", "impl"],
            1.0,
        ),
        grep(
            "grep, real sources: common, the first 100",
            json!({ "pattern": "impl" }),
            &["-n", "impl"],
            0.7,
        ),
        Query {
            name: "glob, real sources",
            tool: "glob",
            args: json!({ "pattern": "**/*.rs" }),
            rg: &["--files", "-g", "**/*.rs"],
            bound: 1.2,
        },
    ]
}

fn row(query: &Query, dir: &Path) -> Row {
    let threads =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("threads");
    let toolset = threads.block_on(toolset(dir));
    let ours = || {
        // A session of its own: the third equal call in a row would ask first.
        let call = Call::new(SessionId::fresh(), query.tool, query.args.clone());
        let settled = threads.block_on(toolset.execute(call, CancellationToken::new()));
        assert!(settled.result.is_ok());
    };
    let theirs = || {
        let rg = Command::new("rg")
            .args(["--no-config", "--hidden", "--glob", "!.git"])
            .args(query.rg)
            .arg(".")
            .current_dir(dir)
            // Cheaper than a pipe, and none of it is taken for memory of ours.
            .stdout(Stdio::null())
            .status();
        assert!(rg.expect("rg runs").code() != Some(2));
    };
    let (figure, floor) = medians(RUNS, ours, theirs);
    Row { name: query.name, figure, floor, bound: query.bound }
}

/// How long a search goes on after it was cancelled in the middle of its work.
fn cancelling(dir: &Path) -> Row {
    let threads =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("threads");
    let toolset = threads.block_on(toolset(dir));
    let mut taken: Vec<Duration> = (0..RUNS)
        .map(|run| {
            let cancel = CancellationToken::new();
            let args = json!({ "pattern": format!("absent{run}[a-z]+word") });
            let call = Call::new(SessionId::fresh(), "grep", args);
            let work = toolset.execute(call, cancel.clone());
            let stop = async {
                tokio::time::sleep(Duration::from_millis(15)).await;
                cancel.cancel();
                Instant::now()
            };
            let (_, cancelled) = threads.block_on(async { tokio::join!(work, stop) });
            cancelled.elapsed()
        })
        .collect();
    taken.sort();
    let figure = taken.last().copied().unwrap_or_default();
    let name = "grep, 50,000 files: after it was cancelled, the slowest of 15, against 100 ms";
    Row { name, figure, floor: Duration::from_millis(100), bound: 1.0 }
}

async fn toolset(dir: &Path) -> Toolset {
    let mut registry = Registry::new();
    haft_tools::register(&mut registry);
    let rules = haft_tools::DEFAULT_RULES;
    let rules = rules_file::parse(rules, LayerKind::BuiltIn, "built-in", &Expand::nothing());
    let runtime = Runtime::builder("/bench")
        .registry(registry)
        .policy(Policy::new(vec![rules.expect("rules")]))
        .share(Arc::new(Workspace::open(dir, None).expect("a workspace")))
        .build();
    runtime.toolset(&Audience::of(AgentId::parse("bench").expect("an id"))).await
}

/// 50,000 files of one to five kilobytes in 1,000 folders, some of them ignored.
fn generate(dir: &Path) {
    fs_err::create_dir(dir.join(".git")).expect("created");
    fs_err::write(dir.join(".gitignore"), "*.log\n/out/\nbuild/\n!keep.log\n").expect("written");
    for folder in 0..1_000 {
        let path = dir.join(format!("module{}/part{}", folder / 20, folder % 20));
        fs_err::create_dir_all(&path).expect("created");
        for file in 0..FILES / 1_000 {
            let number = folder * 50 + file;
            let ending = ["rs", "py", "md", "log", "rs"].get(file % 5).copied().unwrap_or("rs");
            let mut text = String::new();
            for line in 0..20 + number % 80 {
                text.push_str(&format!("    let value_{line} = compute({number}, {line});\n"));
                if line % 20 == 7 {
                    text.push_str("    // a common remark\n");
                }
            }
            if number % 1_000 == 0 {
                text.push_str(&format!("    rareword{number}();\n"));
            }
            fs_err::write(path.join(format!("file{file}.{ending}")), text).expect("written");
        }
    }
}

/// Where cargo keeps the sources of dependencies: on every machine that has built this.
fn real_sources() -> Option<PathBuf> {
    let sources = std::env::home_dir()?.join(".cargo/registry/src");
    let sources = fs_err::canonicalize(sources).ok()?;
    sources.is_dir().then_some(sources)
}

/// Forgets the peak so far; where that cannot be done, it counts as well.
fn reset_peak() {
    drop(fs_err::write("/proc/self/clear_refs", "5"));
}

/// The most memory since then, in KiB.
fn peak() -> u64 {
    let status = fs_err::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
