//! What a command costs beside a bare one.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_exec::Keeper;
use haft_runtime::permission::{Action, Layer, LayerKind, Policy};
use haft_runtime::{
    AgentId, Audience, Call, CancellationToken, Output, Registry, Runtime, SessionId, Toolset,
};
use haft_store::{Options, SqliteStore};
use haft_tools::{CommandSettings, Commands, SandboxMode};
use haft_workspace::Workspace;
use haft_workspace::journal::Journal;
use serde_json::json;

use crate::measure::{Row, medians};

/// Rounds of each figure; all take turns, so that what else the machine does meets every one.
const ROUNDS: usize = 400;

/// Bytes of a long output.
const FLOOD: u64 = 1_000_000_000;

pub(crate) fn rows() -> Vec<Row> {
    let shell = haft_exec::shell(None);
    let bare = || {
        let done = Command::new(&shell).args(["-c", "true"]).output().expect("a shell");
        assert!(done.status.success());
    };
    let mut open = Pipeline::new(SandboxMode::Off);
    let mut confined = Pipeline::new(SandboxMode::WorkspaceWrite);
    let mut taken: [Vec<Duration>; 3] = Default::default();
    for round in 0..=ROUNDS {
        let times = [timed(bare), timed(|| open.call()), timed(|| confined.call())];
        // The first of each starts what the others find running.
        if round > 0 {
            taken.iter_mut().zip(times).for_each(|(all, one)| all.push(one));
        }
    }
    let [bare, open, confined] = taken.map(|mut all| {
        all.sort();
        all.get(all.len() / 2).copied().unwrap_or_default()
    });
    vec![
        Row {
            name: "bash `true` through the pipeline, beside a bare spawn",
            figure: open,
            floor: bare,
            bound: 1.5,
        },
        Row {
            name: "what the sandbox adds to it",
            figure: confined.saturating_sub(open),
            floor: Duration::from_millis(12),
            bound: 1.0,
        },
        flood(),
    ]
}

/// A gigabyte of output: counted, its ends kept at hand, and all of it in a file of the store.
fn flood() -> Row {
    let pipeline = Pipeline::new(SandboxMode::Off);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("file");
    let said = format!("head -c {FLOOD} /dev/zero");
    let piped = format!("{said} | cat > {}", file.display());
    let (ours, bare) = medians(
        5,
        || {
            let output = pipeline.run(json!({ "command": &said, "timeout": 600_000 }));
            let kept = output.metadata["output_path"].as_str().expect("a kept output").to_owned();
            assert_eq!(fs_err::metadata(&kept).expect("a file").len(), FLOOD);
            fs_err::remove_file(kept).expect("removed");
        },
        || {
            let done = Command::new("bash").args(["-c", &piped]).status().expect("bash");
            assert!(done.success());
            fs_err::remove_file(&file).expect("removed");
        },
    );
    let name = "1 GB of output through the pipeline, beside a pipe to a file";
    Row { name, figure: ours, floor: bare, bound: 1.0 / 0.7 }
}

fn timed(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}

/// Calls one after another, with everything that a host has: rules, a store, a journal.
struct Pipeline {
    threads: tokio::runtime::Runtime,
    toolset: Toolset,
    session: SessionId,
    count: usize,
    _folder: tempfile::TempDir,
}

impl Pipeline {
    fn new(mode: SandboxMode) -> Self {
        let threads = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let threads = threads.expect("threads");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let toolset = threads.block_on(toolset(folder.path(), mode));
        Self { threads, toolset, session: SessionId::fresh(), count: 0, _folder: folder }
    }

    fn call(&mut self) {
        self.count += 1;
        self.run(json!({ "command": "true", "description": self.count.to_string() }));
    }

    fn run(&self, args: serde_json::Value) -> Output {
        let call = Call::new(self.session.clone(), "bash", args);
        let settled = self.threads.block_on(self.toolset.execute(call, CancellationToken::new()));
        settled.result.expect("a command that ends")
    }
}

async fn toolset(dir: &Path, mode: SandboxMode) -> Toolset {
    let mut registry = Registry::new();
    haft_tools::register(&mut registry);
    let root = dir.join("workspace");
    fs_err::create_dir(&root).expect("a workspace");
    for number in 0..200 {
        fs_err::write(root.join(format!("{number}.txt")), "text\n").expect("a file");
    }
    let rules = Layer::new(LayerKind::User, "bench").rule("*", "*", Action::Allow);
    let mut settings = CommandSettings::new(haft_exec::shell(None));
    settings.sandbox = mode;
    settings.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let commands = Commands::new(Keeper::new(env!("CARGO_BIN_EXE_haft")), settings);
    let options = Options { keep_bytes: 2 * FLOOD, ..Options::default() };
    let store = SqliteStore::open(&dir.join("state"), options).expect("a store");
    let runtime = Runtime::builder("/bench")
        .registry(registry)
        .share(Arc::new(Workspace::open(&root, None).expect("a workspace")))
        .share(Arc::new(Journal::of(&root, &dir.join("state"), Default::default())))
        .share(Arc::new(commands))
        .policy(Policy::new(vec![rules]))
        .store(Arc::new(store))
        .build();
    runtime.toolset(&Audience::of(AgentId::parse("bench").expect("an id"))).await
}
