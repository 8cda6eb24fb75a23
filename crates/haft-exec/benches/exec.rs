//! What a command costs beside a bare one: every row is a figure, its floor from the same run, and the bound.
//!
//! `cargo bench -p haft-exec`; `-- --check` makes the exit code say whether every row keeps its bound.
#![cfg(target_os = "linux")]
#![expect(clippy::expect_used, reason = "a bench that cannot set itself up has nothing to say")]
#![expect(clippy::print_stdout, reason = "its table is what it is for")]
#![expect(clippy::disallowed_methods, reason = "a bench reads the environment and plain files")]

use std::future::pending;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_exec::capture::AtHand;
use haft_exec::{Capture, Command, Confinement, Host, Hosts, Keeper, Patience, Sandbox};

/// Rounds of each figure; floor and figure take turns, so that both meet the same machine.
const ROUNDS: usize = 300;
const OUTPUT: u64 = 512 << 20;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let rows = runtime.block_on(rows());
    let mut kept = true;
    for Row { name, figure, floor, bound } in rows {
        let holds = bound.holds(figure, floor);
        kept &= holds;
        let mark = if holds { "" } else { "  OVER" };
        println!("{name:<44} {figure:>12.2?} {floor:>12.2?}  {}{mark}", bound.shown(figure, floor));
    }
    if !kept && std::env::args().any(|arg| arg == "--check") {
        std::process::exit(1);
    }
}

/// Lets nobody through.
#[derive(Debug)]
struct Nobody;

impl Hosts for Nobody {
    fn allows(&self, _: &Host, _: u16) -> bool {
        false
    }

    fn allows_local(&self, _: &Host, _: IpAddr, _: u16) -> bool {
        false
    }

    fn hint(&self, _: &Host, _: u16) -> String {
        String::new()
    }
}

struct Row {
    name: &'static str,
    figure: Duration,
    floor: Duration,
    bound: Bound,
}

enum Bound {
    Times(f64),
    More(Duration),
}

impl Bound {
    fn holds(&self, figure: Duration, floor: Duration) -> bool {
        match self {
            Self::Times(times) => figure.as_secs_f64() <= times * floor.as_secs_f64(),
            Self::More(more) => figure <= floor + *more,
        }
    }

    fn shown(&self, figure: Duration, floor: Duration) -> String {
        match self {
            Self::Times(times) => {
                let ratio = figure.as_secs_f64() / floor.as_secs_f64();
                format!("{ratio:.2} times, at most {times:.2}")
            }
            Self::More(more) => {
                format!("{:.2?} more, at most {more:.2?}", figure.saturating_sub(floor))
            }
        }
    }
}

async fn rows() -> Vec<Row> {
    let keeper = Keeper::new(env!("CARGO_BIN_EXE_haft-exec-keeper"));
    let plain = script("true");
    let mut confined = script("true");
    let mut confinement = Confinement::workspace([std::env::temp_dir()]);
    confined.sandbox = Sandbox::Confined(confinement.clone());
    // As commands of a session are: in a network that is there already.
    let mut shared = confined.clone();
    confinement.peers = Some("a session".to_owned());
    shared.sandbox = Sandbox::Confined(confinement);
    let mut proxied = shared.clone();
    proxied.hosts = Some(Arc::new(Nobody));
    let (mut bare, mut ours, mut ours_confined) = (Vec::new(), Vec::new(), Vec::new());
    let (mut ours_shared, mut ours_proxied) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(timed(async { bare_true() }).await);
        ours.push(timed(run(&keeper, &plain)).await);
        ours_confined.push(timed(run(&keeper, &confined)).await);
        ours_shared.push(timed(run(&keeper, &shared)).await);
        ours_proxied.push(timed(run(&keeper, &proxied)).await);
    }
    let (bare, ours, ours_confined) = (median(bare), median(ours), median(ours_confined));
    let (ours_shared, ours_proxied) = (median(ours_shared), median(ours_proxied));
    let more = |name, figure| {
        let bound = Bound::More(Duration::from_millis(12));
        Row { name, figure, floor: ours, bound }
    };
    let (mut piped, mut captured) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        piped.push(timed(async { pipe_to_file() }).await);
        captured.push(timed(capture_to_file(&keeper)).await);
    }
    let (piped, captured) = (median(piped), median(captured));
    vec![
        Row { name: "bash true", figure: ours, floor: bare, bound: Bound::Times(1.5) },
        more("bash true, confined", ours_confined),
        more("bash true, confined, in a shared network", ours_shared),
        more("bash true, confined, with a proxy", ours_proxied),
        Row {
            name: "512 MiB of output",
            figure: captured,
            floor: piped,
            bound: Bound::Times(1.0 / 0.7),
        },
    ]
}

async fn timed<T>(work: impl Future<Output = T>) -> Duration {
    let begin = Instant::now();
    work.await;
    begin.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn script(text: &str) -> Command {
    let mut command = Command::new("/bin/bash", "/").args(["-c", text]);
    command.env = vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())];
    command
}

/// What any program would do: start it, take what it says, wait for it.
fn bare_true() {
    let mut command = std::process::Command::new("/bin/bash");
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.args(["-c", "true"]).env_clear().env("PATH", path).current_dir("/");
    command.stdin(std::process::Stdio::null()).output().expect("bash");
}

async fn run(keeper: &Keeper, command: &Command) {
    let mut process = keeper.spawn(command).await.expect("bash");
    let mut capture = Capture::new(AtHand { head: 32 << 10, tail: 32 << 10 });
    let take = |stream, bytes: &[u8]| capture.push(stream, bytes);
    process.run(take, Patience::default(), pending()).await.expect("an end");
}

/// The same bytes through a pipe to a file, by a program that does nothing else.
fn pipe_to_file() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let text = format!("head -c {OUTPUT} /dev/zero | cat > {}", file.path().display());
    let status = std::process::Command::new("/bin/bash").args(["-c", &text]).status();
    assert!(status.expect("bash").success());
    check(file.path());
}

async fn capture_to_file(keeper: &Keeper) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let command = script(&format!("head -c {OUTPUT} /dev/zero"));
    let mut process = keeper.spawn(&command).await.expect("bash");
    let mut capture = Capture::new(AtHand { head: 32 << 10, tail: 32 << 10 })
        .spilling(file.reopen().expect("a file"), u64::MAX);
    let take = |stream, bytes: &[u8]| capture.push(stream, bytes);
    process.run(take, Patience::default(), pending()).await.expect("an end");
    check(file.path());
}

fn check(file: &Path) {
    assert_eq!(fs_err::metadata(file).expect("a file").len(), OUTPUT);
}
