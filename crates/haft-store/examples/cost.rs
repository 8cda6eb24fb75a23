//! Measures what the store costs: opening it, and logging one call. Needs the path of an empty folder.
#![allow(clippy::print_stdout, reason = "its figures are what it is for")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_runtime::{AgentId, CallId, Draft, EventKind, Output, SessionId, Store};
use haft_store::{Options, SqliteStore};
use serde_json::json;

const CALLS: usize = 20_000;
const OPENINGS: usize = 500;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: cost <empty folder>")?;
    let store = SqliteStore::open(&dir, Options::default())?;
    log_calls(&store, &"x".repeat(300))?;
    log_calls(&store, &"x".repeat(30_000))?;
    drop(store);
    open_again(&dir)
}

fn log_calls(store: &dyn Store, text: &str) -> Result<(), Box<dyn Error>> {
    let session = SessionId::fresh();
    let agent = AgentId::parse("build")?;
    let (mut begin, mut end) = (Vec::new(), Vec::new());
    for _ in 0..CALLS {
        let call = CallId::fresh();
        let args = json!({ "path": "src/main.rs", "offset": 1, "limit": 200 });
        let tool = "read".to_owned();
        let draft = |kind| Draft::now(Some(session.clone()), kind);
        let pending = draft(EventKind::CallPending {
            call: call.clone(),
            parent: None,
            message: None,
            agent: agent.clone(),
            tool: tool.clone(),
            args: args.clone(),
        });
        let running =
            draft(EventKind::CallRunning { call: call.clone(), tool: tool.clone(), args });
        let output = Arc::new(Output::new("src/main.rs", text));
        let completed = draft(EventKind::CallCompleted { call, tool, output });
        begin.push(timed(|| store.append(&[pending, running]))?);
        end.push(timed(|| store.append(&[completed]))?);
    }
    println!("output of {} bytes", text.len());
    report("  append [pending, running]", begin);
    report("  append [completed]", end);
    Ok(())
}

fn open_again(dir: &Path) -> Result<(), Box<dyn Error>> {
    let (mut open, mut use_and_close) = (Vec::new(), Vec::new());
    for _ in 0..OPENINGS {
        let began = Instant::now();
        let store = SqliteStore::open(dir, Options::default())?;
        open.push(began.elapsed());
        let noted =
            EventKind::Noted { call: CallId::fresh(), name: "ping".into(), data: json!({}) };
        let began = Instant::now();
        store.append(&[Draft::now(Some(SessionId::parse("ses_pings")?), noted)])?;
        drop(store);
        use_and_close.push(began.elapsed());
    }
    println!("an existing store");
    report("  open", open);
    report("  append once and close", use_and_close);
    Ok(())
}

fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<Duration, E> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed())
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| {
        let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
        times.get(index).copied().unwrap_or_default()
    };
    let mean = times.iter().sum::<Duration>() / u32::try_from(times.len()).unwrap_or(1).max(1);
    println!(
        "{what}: median {:?}, mean {mean:?}, 99 % below {:?}, worst {:?}",
        at(50),
        at(99),
        at(100)
    );
}
