//! This test binary as its own child: the parts that other processes play.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use haft_runtime::{Scope, Store, StoreError};
use haft_store::{Options, SqliteStore};
use serde_json::json;

use crate::samples::{call, draft, noted, open, session};

const PART: &str = "HAFT_STORE_TEST_PART";
const DIR: &str = "HAFT_STORE_TEST_DIR";

/// How this binary is started to play a part.
pub(crate) const ARGS: [&str; 4] =
    ["--exact", "children::plays_the_part_it_was_given", "--nocapture", "--test-threads=1"];

/// Another process, waiting for its sign to begin.
pub(crate) struct Actor {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Actor {
    pub(crate) fn new(part: &str, dir: &Path) -> Self {
        let mut child = command(std::env::current_exe().unwrap(), part, dir)
            .args(ARGS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut actor = Self { child, lines };
        assert_eq!(actor.told().as_deref(), Some("ready"));
        actor
    }

    pub(crate) fn begin(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"begin\n").unwrap();
    }

    /// The next thing it tells; none when it has ended.
    pub(crate) fn told(&mut self) -> Option<String> {
        self.lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("tell ").map(str::to_owned))
    }

    /// The numbers it still tells until it ends.
    pub(crate) fn numbers(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.told()).map(|line| line.parse().unwrap()).collect()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    pub(crate) fn end(mut self) -> ExitStatus {
        while self.told().is_some() {}
        self.child.wait().unwrap()
    }
}

/// A test that fails leaves nobody behind.
impl Drop for Actor {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A command that finds its part in its environment.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>, part: &str, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.env(PART, part).env(DIR, dir);
    command
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a child learns its part from its environment")]
fn plays_the_part_it_was_given() {
    let Some(part) = std::env::var_os(PART) else {
        return;
    };
    let dir = PathBuf::from(std::env::var_os(DIR).unwrap());
    // The harness has begun a line of its own.
    println!();
    match part.to_str().unwrap() {
        "append 250" => after_sign(|| append(&dir, 250)),
        "append until killed" => after_sign(|| append(&dir, usize::MAX)),
        "count 250" => after_sign(|| count(&dir, 250)),
        #[cfg(unix)]
        "live publicly" => live_publicly(&dir),
        "fill the disk" => fill_the_disk(&dir),
        "make" => append(&dir, 1),
        "be refused" => be_refused(&dir),
        other => panic!("no such part: {other}"),
    }
}

fn after_sign(act: impl FnOnce()) {
    println!("tell ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    act();
}

fn append(dir: &Path, times: usize) {
    let store = open(dir);
    for n in 0..times {
        let seqs = store.append(&[draft("ses_shared", noted(json!(n)))]).unwrap();
        println!("tell {}", seqs[0]);
    }
}

fn count(dir: &Path, times: usize) {
    let store = open(dir);
    let scope = Scope::Project("/p".into());
    for _ in 0..times {
        store
            .update_document(&scope, "count", &mut |before| {
                Ok(json!(before.and_then(|n| n.as_u64()).unwrap_or(0) + 1))
            })
            .unwrap();
    }
}

/// With a umask that takes nothing away; it belongs to the whole process, hence a child.
#[cfg(unix)]
fn live_publicly(dir: &Path) {
    rustix::process::umask(rustix::fs::Mode::empty());
    let store = open(&dir.join("parent/state"));
    store.append(&[draft("ses_a", noted(json!(1)))]).unwrap();
    store.keep(&session("ses_a"), &call("call_1"), "secret").unwrap();
    // The files beside the database are there only as long as it is open.
    crate::privacy::assert_private(&dir.join("parent"));
}

fn fill_the_disk(dir: &Path) {
    let state = dir.join("state");
    let ballast = dir.join("ballast");
    fs_err::write(&ballast, vec![1; 100_000]).unwrap();
    let store = open(&state);
    let mut logged = 0;
    let refused = loop {
        match store.append(&[draft("ses_a", noted(json!("x".repeat(2000))))]) {
            Ok(_) => logged += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, StoreError::Full { .. }), "{refused:?}");
    assert!(logged > 10, "{logged}");
    assert_eq!(crate::samples::numbers(&store, "ses_a").len(), logged);

    let refused = store.keep(&session("ses_a"), &call("call_1"), &"x".repeat(500_000));
    assert!(matches!(refused, Err(StoreError::Full { .. })), "{refused:?}");
    assert_eq!(fs_err::read_dir(state.join("outputs")).unwrap().count(), 0);

    drop(store);
    fs_err::remove_file(&ballast).unwrap();
    let store = open(&state);
    assert_eq!(crate::samples::numbers(&store, "ses_a").len(), logged);
    let next = store.append(&[draft("ses_a", noted(json!(1)))]).unwrap();
    assert_eq!(next, [logged as u64 + 1]);
}

fn be_refused(dir: &Path) {
    let refused = SqliteStore::open(dir, Options::default())
        .and_then(|store| store.append(&[draft("ses_a", noted(json!(1)))]))
        .unwrap_err();
    assert!(matches!(refused, StoreError::Failed { .. }), "{refused:?}");
    println!("tell {refused}");
}
