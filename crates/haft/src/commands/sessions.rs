//! `haft sessions`: what was done, session by session.

mod answers;
mod copy;
mod export;
mod replay;
mod same;

use anyhow::bail;
use haft_runtime::{CallRecord, CallState, EventKind, Session, SessionId, Store, plain};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::args::SessionsCommand;
use crate::open::Haft;
use crate::print::{Printer, columns, counted};

/// Events that are looked at for the first words; calls may come before them.
const LOOKED_AT: usize = 50;

/// Most characters that are shown of them.
const OPENING: usize = 60;

pub(crate) async fn run(
    haft: &Haft,
    printer: Printer<'_>,
    command: Option<SessionsCommand>,
) -> anyhow::Result<u8> {
    match command.unwrap_or(SessionsCommand::List { all: false, limit: 20 }) {
        SessionsCommand::List { all, limit } => list(haft, printer, all, limit),
        SessionsCommand::Show { id, events: false, limit, .. } => show(haft, printer, &id, limit),
        SessionsCommand::Show { id, events: true, after, limit } => {
            let session = find(haft, &id)?;
            let events = haft.store.events(&id, after, limit)?;
            if haft.common.json {
                printer.json(&json!({ "session": session, "events": events }))?;
                return Ok(0);
            }
            for event in events {
                printer.json(&event)?;
            }
            Ok(0)
        }
        SessionsCommand::Export { id, output } => {
            export::run(haft, printer, &id, output.as_deref())
        }
        SessionsCommand::Replay(args) => replay::run(haft, printer, args).await,
        SessionsCommand::Forget { ids, older_than } => forget(haft, printer, ids, older_than),
    }
}

fn list(haft: &Haft, printer: Printer<'_>, all: bool, limit: usize) -> anyhow::Result<u8> {
    let sessions = haft.store.sessions((!all).then_some(haft.project.as_str()), limit)?;
    if haft.common.json {
        printer.json(&sessions)?;
        return Ok(0);
    }
    if sessions.is_empty() {
        printer.line("there are no sessions here yet");
    }
    let row = |session: &Session| {
        let mut row = vec![session.id.to_string(), counted(session.calls, "call", "calls")];
        row.push(session.updated.strftime("%Y-%m-%d %H:%M:%S").to_string());
        row.push(session.agent.to_string());
        row.push(session.parent.as_ref().map_or_else(String::new, |parent| format!("of {parent}")));
        if all {
            row.push(plain(&session.project));
        }
        row.extend(opening(haft, &session.id)?);
        anyhow::Ok(row)
    };
    let rows: Vec<Vec<String>> = sessions.iter().map(row).collect::<anyhow::Result<_>>()?;
    columns(&rows).into_iter().for_each(|line| printer.line(line));
    Ok(0)
}

/// How the conversation of a session begins, in a few words; none if it has none.
fn opening(haft: &Haft, id: &SessionId) -> anyhow::Result<Option<String>> {
    let events = haft.store.events(id, 0, LOOKED_AT)?;
    let said = events.iter().find_map(|event| match &*event.kind {
        EventKind::MessageAdded { body, .. } => body.pointer("/content/0/text")?.as_str(),
        _ => None,
    });
    Ok(said.map(|text| {
        let mut words = plain(&text.split_whitespace().collect::<Vec<_>>().join(" "));
        if let Some((end, _)) = words.char_indices().nth(OPENING) {
            words.truncate(end);
            words.push('…');
        }
        words
    }))
}

fn show(haft: &Haft, printer: Printer<'_>, id: &SessionId, limit: usize) -> anyhow::Result<u8> {
    let session = find(haft, id)?;
    let calls = haft.store.calls(id, limit)?;
    if haft.common.json {
        printer.json(&json!({ "session": session, "calls": calls }))?;
        return Ok(0);
    }
    let rows: Vec<Vec<String>> = calls.iter().map(call_row).collect();
    columns(&rows).into_iter().for_each(|line| printer.line(line));
    Ok(0)
}

fn forget(
    haft: &Haft,
    printer: Printer<'_>,
    mut ids: Vec<SessionId>,
    older_than: Option<u16>,
) -> anyhow::Result<u8> {
    if let Some(days) = older_than {
        let oldest = Timestamp::now() - SignedDuration::from_hours(24 * i64::from(days));
        let sessions = haft.store.sessions(Some(&haft.project), usize::MAX)?.into_iter();
        ids.extend(sessions.filter(|session| session.updated < oldest).map(|session| session.id));
    }
    let ids = with_children(haft, ids)?;
    let mut forgotten = Vec::new();
    let mut unknown = Vec::new();
    let journal = haft.journal();
    for id in ids {
        if let Some(journal) = &journal {
            journal.forget(id.as_str())?;
        }
        if haft.store.forget_session(&id)? { forgotten.push(id) } else { unknown.push(id) }
    }
    let code = u8::from(!unknown.is_empty());
    if haft.common.json {
        printer.json(&json!({ "forgotten": forgotten, "unknown": unknown }))?;
        return Ok(code);
    }
    unknown.iter().for_each(|id| printer.line(format!("{id}: there is no such session")));
    let count = counted(forgotten.len(), "session", "sessions");
    printer.line(format!("{count} forgotten"));
    Ok(code)
}

/// Sessions, and all that they have started.
fn with_children(haft: &Haft, mut ids: Vec<SessionId>) -> anyhow::Result<Vec<SessionId>> {
    let all = haft.store.sessions(None, usize::MAX)?;
    let mut next = 0;
    while let Some(id) = ids.get(next).cloned() {
        let children = all.iter().filter(|it| it.parent.as_ref() == Some(&id));
        let new: Vec<SessionId> =
            children.map(|it| it.id.clone()).filter(|it| !ids.contains(it)).collect();
        ids.extend(new);
        next += 1;
    }
    Ok(ids)
}

fn call_row(call: &CallRecord) -> Vec<String> {
    let state = match call.state {
        CallState::Pending => "pending",
        CallState::Running => "running",
        CallState::Completed => "completed",
        CallState::Error => "error",
    };
    let says = match (&call.output, &call.error) {
        (Some(output), _) => output.title.clone(),
        (_, Some(error)) => error.message.lines().next().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    let time = call.started.strftime("%H:%M:%S").to_string();
    let took = call.ended.map_or_else(String::new, |ended| {
        format!("{:.0} ms", ended.duration_since(call.started).as_secs_f64() * 1e3)
    });
    vec![time, state.to_owned(), plain(&call.tool), took, plain(&says)]
}

fn find(haft: &Haft, id: &SessionId) -> anyhow::Result<Session> {
    match haft.store.session(id)? {
        Some(session) => Ok(session),
        None => {
            bail!("there is no session `{id}`; `haft sessions list --all` shows those there are")
        }
    }
}
