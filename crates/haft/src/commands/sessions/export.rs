//! A session as a file: what was said and called in it, line by line, for other programs and for replay.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use fs_err::os::unix::fs::OpenOptionsExt;
use haft_runtime::{CallRecord, Event, EventKind, Session, SessionId, Store};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::open::Haft;
use crate::print::Printer;

/// What the first line says it is.
const KIND: &str = "haft.session";
/// The form of the lines; a reader refuses one it does not know.
const VERSION: u32 = 1;
/// Events that are read at once.
const PAGE: usize = 500;
/// Largest file that is read back.
const LARGEST: u64 = 1 << 30;

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    r#type: String,
    version: u32,
    session: Session,
}

/// A session as it can be run again.
pub(super) struct Recorded {
    pub(super) session: Session,
    /// In the order in which they were made.
    pub(super) calls: Vec<CallRecord>,
}

/// Writes a session to a new file, or to standard output.
pub(super) fn run(
    haft: &Haft,
    printer: Printer<'_>,
    id: &SessionId,
    output: Option<&Path>,
) -> anyhow::Result<u8> {
    let session = super::find(haft, id)?;
    let Some(path) = output.map(|path| haft.environment.current_dir.join(path)) else {
        lines(haft, session, |line| printer.json(line))?;
        return Ok(0);
    };
    // For its owner alone: it holds what files and commands said.
    let mut options = fs_err::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(&path)?;
    let mut file = BufWriter::new(file);
    lines(haft, session, |line| {
        serde_json::to_writer(&mut file, line)?;
        Ok(file.write_all(b"\n")?)
    })?;
    file.flush().with_context(|| path.display().to_string())?;
    Ok(0)
}

/// Every line, in the order in which things happened; a call stands where it was made, with its end.
fn lines(
    haft: &Haft,
    session: Session,
    mut write: impl FnMut(&Value) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let id = session.id.clone();
    write(&serde_json::to_value(Head { r#type: KIND.to_owned(), version: VERSION, session })?)?;
    let (mut messages, mut calls, mut usage) = (0_u64, 0_u64, BTreeMap::<String, u64>::new());
    for_each_event(haft, &id, |event| {
        match &*event.kind {
            EventKind::MessageAdded { message, body } => {
                messages += 1;
                let counts = body.get("usage").and_then(Value::as_object).into_iter().flatten();
                for (name, count) in counts {
                    *usage.entry(name.clone()).or_default() += count.as_u64().unwrap_or(0);
                }
                let (seq, at) = (event.seq, event.at);
                let line = json!({ "type": "message", "seq": seq, "at": at, "id": message });
                write(&joined(line, body.clone()))?;
            }
            EventKind::CallPending { call, .. } => {
                let Some(record) = haft.store.call(&id, call)? else { return Ok(()) };
                calls += 1;
                let line = json!({ "type": "call", "seq": event.seq });
                write(&joined(line, serde_json::to_value(record)?))?;
            }
            _ => {}
        }
        Ok(())
    })?;
    write(&json!({ "type": "end", "messages": messages, "calls": calls, "usage": usage }))
}

fn for_each_event(
    haft: &Haft,
    session: &SessionId,
    mut each: impl FnMut(&Event) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut after = 0;
    loop {
        let events = haft.store.events(session, after, PAGE)?;
        for event in &events {
            after = event.seq;
            each(event)?;
        }
        if events.len() < PAGE {
            return Ok(());
        }
    }
}

fn joined(mut line: Value, more: Value) -> Value {
    if let (Some(line), Value::Object(more)) = (line.as_object_mut(), more) {
        line.extend(more);
    }
    line
}

/// The calls of a session of the store.
pub(super) fn of_store(haft: &Haft, session: Session) -> anyhow::Result<Recorded> {
    let mut calls = Vec::new();
    for_each_event(haft, &session.id, |event| {
        if let EventKind::CallPending { call, .. } = &*event.kind {
            calls.extend(haft.store.call(&session.id, call)?);
        }
        Ok(())
    })?;
    Ok(Recorded { session, calls })
}

/// The calls of a session in a file.
pub(super) fn of_file(path: &Path) -> anyhow::Result<Recorded> {
    let name = path.display();
    ensure!(fs_err::metadata(path)?.len() <= LARGEST, "{name} is larger than 1 GiB");
    let text = fs_err::read_to_string(path)?;
    let mut lines = text.lines();
    let no_session =
        || format!("{name} holds no session; `haft sessions export ID` writes such a file");
    let head: Head =
        serde_json::from_str(lines.next().unwrap_or_default()).with_context(no_session)?;
    if head.r#type != KIND || head.version != VERSION {
        bail!("{}", no_session());
    }
    let mut calls = Vec::new();
    let mut is_whole = false;
    for (number, line) in lines.enumerate() {
        let bad = || format!("{name}:{}: this line cannot be read", number + 2);
        let line: Value = serde_json::from_str(line).with_context(bad)?;
        match line.get("type").and_then(Value::as_str) {
            Some("call") => calls.push(serde_json::from_value(line).with_context(bad)?),
            Some("end") => is_whole = true,
            _ => {}
        }
    }
    ensure!(is_whole, "{name} is cut off: its last line is missing");
    Ok(Recorded { session: head.session, calls })
}
