//! What it costs to read a file through the pipeline, and to replace one so that it is never torn.

use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use haft_runtime::permission::{Action, Layer, LayerKind, Policy};
use haft_runtime::{
    AgentId, Audience, Call, CancellationToken, Registry, Runtime, SessionId, Toolset,
};
use haft_store::SqliteStore;
use haft_workspace::Workspace;
use haft_workspace::journal::{self, Journal};
use haft_workspace::write::{Expected, Replace, replace};
use rustix::fs::{Mode, OFlags};
use serde_json::json;

use crate::measure::{Row, median};

pub(crate) fn rows() -> Vec<Row> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut rows = vec![reading(dir.path()), editing(dir.path())];
    rows.extend(writing(dir.path()));
    rows
}

/// 2,000 lines of a file of a megabyte, with the whole file counted, against reading and splitting it.
fn reading(dir: &Path) -> Row {
    let path = dir.join("lines.txt");
    let text: String =
        (0..20_000).map(|n| format!("line {n} with some words after it, as in code\n")).collect();
    fs_err::write(&path, &text).expect("written");
    let threads =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("threads");
    // What the store takes has rows of its own.
    let toolset = threads.block_on(toolset_on(dir, None));
    let session = SessionId::fresh();
    let mut offset = 0;
    let figure = median(41, 20, || {
        offset = offset % 9 + 1;
        let args = json!({ "file_path": "lines.txt", "offset": offset });
        let call = Call::new(session.clone(), "read", args);
        let settled = threads.block_on(toolset.execute(call, CancellationToken::new()));
        assert!(settled.result.is_ok());
    });
    let floor = median(41, 20, || {
        let text = fs_err::read_to_string(&path).expect("read");
        let lines: Vec<&str> = text.lines().collect();
        drop(black_box(lines));
    });
    Row { name: "read 2,000 lines of 1 MB through the pipeline", figure, floor, bound: 3.0 }
}

/// The tools in a folder, with everything allowed, a store and a journal.
pub(crate) async fn toolset(dir: &Path) -> Toolset {
    let state = dir.join("state");
    let store = SqliteStore::open(&state, haft_store::Options::default()).expect("a store");
    toolset_on(dir, Some(Arc::new(store))).await
}

async fn toolset_on(dir: &Path, store: Option<Arc<SqliteStore>>) -> Toolset {
    let mut registry = Registry::new();
    haft_tools::register(&mut registry);
    let rules = Layer::new(LayerKind::User, "bench").rule("*", "*", Action::Allow);
    let state = dir.join("state");
    let workspace = Workspace::open(dir, None).expect("a workspace");
    let journal = Journal::of(workspace.root(), &state, journal::Options::default());
    let mut runtime = Runtime::builder("/bench")
        .registry(registry)
        .policy(Policy::new(vec![rules]))
        .share(Arc::new(workspace))
        .share(Arc::new(journal));
    if let Some(store) = store {
        runtime = runtime.store(store);
    }
    let runtime = runtime.build();
    runtime.toolset(&Audience::of(AgentId::parse("bench").expect("an id"))).await
}

/// One exact edit in a file of 10,000 lines, asked, matched, journalled, written and recorded, against reading that file
/// and writing it by temp + fsync + rename + fsync.
fn editing(dir: &Path) -> Row {
    let text: String =
        (0..10_000).map(|n| format!("    let value_{n} = compute(input, {n});\n")).collect();
    let (ours, bare) = (dir.join("ours.rs"), dir.join("bare.rs"));
    fs_err::write(&ours, &text).expect("written");
    fs_err::write(&bare, &text).expect("written");
    let threads =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("threads");
    let toolset = threads.block_on(toolset(dir));
    let session = SessionId::fresh();
    let mut turn = 0;
    let figure = median(31, 5, || {
        let (old, new) = (format!("{turn}_of_value_5000"), format!("{}_of_value_5000", turn + 1));
        let old = if turn == 0 { "value_5000".to_owned() } else { old };
        turn += 1;
        let args = json!({ "file_path": "ours.rs", "old_string": old, "new_string": new });
        let call = Call::new(session.clone(), "edit", args);
        let settled = threads.block_on(toolset.execute(call, CancellationToken::new()));
        assert!(settled.result.is_ok(), "{}", settled.text());
    });
    let floor = median(31, 5, || {
        let text = fs_err::read_to_string(&bare).expect("read");
        let temporary = dir.join("bare.tmp");
        let mut file = fs_err::File::create(&temporary).expect("created");
        file.write_all(text.as_bytes()).expect("written");
        file.sync_all().expect("synced");
        fs_err::rename(&temporary, &bare).expect("renamed");
        fs_err::File::open(dir).and_then(|dir| dir.sync_all()).expect("synced");
    });
    let name = "exact edit of 10,000 lines through the pipeline";
    Row { name, figure, floor, bound: 2.0 }
}

/// Replacing 64 KiB, against the least that does the same.
fn writing(dir: &Path) -> Vec<Row> {
    let folder =
        rustix::fs::open(dir, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).expect("opened");
    let contents = [vec![b'a'; 64 * 1024], vec![b'b'; 64 * 1024]];
    fs_err::write(dir.join("ours"), &contents[0]).expect("written");
    let mut turn = 0;
    let mut ours = |durable| {
        median(31, 10, || {
            turn += 1;
            let what = Replace {
                dir: std::os::fd::AsFd::as_fd(&folder),
                name: "ours".as_ref(),
                expected: Expected::Anything,
                durable,
                mode: None,
                recovery: None,
            };
            let new = contents.get(turn % 2).cloned().unwrap_or_default();
            replace(&what, &mut |_| Ok(new.clone())).expect("replaced");
        })
    };
    let bare = |durable: bool| {
        median(31, 10, || {
            let (temporary, target) = (dir.join("bare.tmp"), dir.join("bare"));
            let mut file = fs_err::File::create(&temporary).expect("created");
            file.write_all(&contents[1]).expect("written");
            if durable {
                file.sync_all().expect("synced");
            }
            fs_err::rename(&temporary, &target).expect("renamed");
            if durable {
                fs_err::File::open(dir).and_then(|dir| dir.sync_all()).expect("synced");
            }
        })
    };
    let row = |name, figure, floor, bound| Row { name, figure, floor, bound };
    vec![
        row(
            "replace 64 KiB, durable, against temp + fsync + rename + fsync",
            ours(true),
            bare(true),
            1.5,
        ),
        row("replace 64 KiB, not durable, against temp + rename", ours(false), bare(false), 2.0),
    ]
}
