//! What the tests share: a keeper, commands for a shell, and a look at the processes of the machine.

use std::future::pending;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use haft_exec::capture::AtHand;
use haft_exec::{Capture, Command, Ended, Exit, Keeper, Patience, Process};

pub(crate) fn keeper() -> Keeper {
    Keeper::new(env!("CARGO_BIN_EXE_haft-exec-keeper"))
}

/// A command that runs `script` in a shell.
pub(crate) fn script(script: &str) -> Command {
    script_in(script, Path::new("/"))
}

pub(crate) fn script_in(script: &str, cwd: &Path) -> Command {
    let mut command = Command::new("/bin/bash", cwd).args(["-c", script]);
    let path = std::env::var_os("PATH").unwrap();
    command.env = vec![("PATH".into(), path), ("HOME".into(), "/".into())];
    command
}

pub(crate) fn capture() -> Capture {
    Capture::new(AtHand { head: 64 * 1024, tail: 64 * 1024 })
}

/// Where this program and the keeper were built: a checkout below /tmp would be out of sight inside.
pub(crate) fn built() -> std::path::PathBuf {
    let program = std::env::current_exe().unwrap();
    program.ancestors().nth(2).unwrap().to_owned()
}

/// How a command ended, and all it said.
pub(crate) struct Done {
    pub(crate) ended: Ended,
    pub(crate) said: String,
}

impl Done {
    pub(crate) fn exit(&self) -> Exit {
        self.ended.exited.unwrap().exit
    }
}

pub(crate) async fn run(keeper: &Keeper, command: &Command) -> Done {
    let mut process = keeper.spawn(command).await.unwrap();
    finish(&mut process, Patience::default()).await
}

/// Watches a process to its end.
pub(crate) async fn finish(process: &mut Process, patience: Patience) -> Done {
    let mut capture = capture();
    let take = |stream, bytes: &[u8]| capture.push(stream, bytes);
    let ended = process.run(take, patience, pending()).await.unwrap();
    let view = capture.view();
    Done { ended, said: view.head + &view.tail }
}

pub(crate) fn patience(timeout: Duration) -> Patience {
    Patience { timeout: Some(timeout), ..Patience::default() }
}

/// How often something is done: few times in CI, as often as `name` says for longer runs.
pub(crate) fn times(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// A folder of the machine's own temporary one, canonical.
pub(crate) fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = fs_err::canonicalize(folder.path()).unwrap();
    (folder, path)
}

/// Processes with `mark` among their arguments or in their environment.
pub(crate) fn marked(mark: &str) -> Vec<i32> {
    let all = fs_err::read_dir("/proc").unwrap().filter_map(|entry| {
        let name = entry.ok()?.file_name();
        name.to_str()?.parse::<i32>().ok()
    });
    let has_mark = |pid: &i32| {
        let read = |file| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let text = [read("cmdline"), read("environ")].concat();
        memchr_find(&text, mark.as_bytes()) && state(*pid) != Some('Z')
    };
    all.filter(has_mark).filter(|pid| *pid != std::process::id() as i32).collect()
}

fn memchr_find(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

/// The state of a process, `Z` for a zombie.
pub(crate) fn state(pid: i32) -> Option<char> {
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Waits until `done`, at most for `time`; says whether it came to be.
pub(crate) async fn within(time: Duration, mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + time;
    while !done() {
        if Instant::now() > deadline {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    true
}

/// A text that nothing else on the machine holds.
pub(crate) fn mark(name: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("haft-mark-{name}-{}-{next}", std::process::id())
}
