//! What a command costs beside a bare one.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use haft_exec::Keeper;
use haft_runtime::permission::{Action, Layer, LayerKind, Policy};
use haft_runtime::{
    AgentId, Audience, Call, CancellationToken, Registry, Runtime, SessionId, Toolset,
};
use haft_store::{Options, SqliteStore};
use haft_tools::{CommandSettings, Commands, SandboxMode};
use haft_workspace::Workspace;
use serde_json::json;

use crate::measure::{Row, median};

pub(crate) fn rows() -> Vec<Row> {
    let shell = haft_exec::shell(None);
    let bare = median(21, 20, || {
        let done = Command::new(&shell).args(["-c", "true"]).output().expect("a shell");
        assert!(done.status.success());
    });
    let (open, confined) = (time(SandboxMode::Off), time(SandboxMode::WorkspaceWrite));
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
    ]
}

/// The median time of a call, one after another.
fn time(mode: SandboxMode) -> Duration {
    let threads =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("threads");
    let dir = tempfile::tempdir().expect("a temporary folder");
    let toolset = threads.block_on(toolset(dir.path(), mode));
    let session = SessionId::fresh();
    let mut count = 0;
    median(21, 20, || {
        count += 1;
        let args = json!({ "command": "true", "description": count.to_string() });
        let call = Call::new(session.clone(), "bash", args);
        let settled = threads.block_on(toolset.execute(call, CancellationToken::new()));
        assert!(settled.result.is_ok(), "{:?}", settled.result);
    })
}

async fn toolset(dir: &Path, mode: SandboxMode) -> Toolset {
    let mut registry = Registry::new();
    haft_tools::register(&mut registry);
    let root = dir.join("workspace");
    fs_err::create_dir(&root).expect("a workspace");
    let rules = Layer::new(LayerKind::User, "bench").rule("*", "*", Action::Allow);
    let mut settings = CommandSettings::new(haft_exec::shell(None));
    settings.sandbox = mode;
    settings.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let commands = Commands::new(Keeper::new(env!("CARGO_BIN_EXE_haft")), settings);
    let store = SqliteStore::open(&dir.join("state"), Options::default()).expect("a store");
    let runtime = Runtime::builder("/bench")
        .registry(registry)
        .share(Arc::new(Workspace::open(&root, None).expect("a workspace")))
        .share(Arc::new(commands))
        .policy(Policy::new(vec![rules]))
        .store(Arc::new(store))
        .build();
    runtime.toolset(&Audience::of(AgentId::parse("bench").expect("an id"))).await
}
