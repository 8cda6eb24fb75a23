//! `haft run`: a model works on a task with the tools, while a person or a program looks on.

mod claim;
mod drive;
mod leader;
mod roster;
mod show;
mod steer;

use std::sync::Arc;

use anyhow::bail;
use haft_agent::message::Content;
use haft_agent::{Agent, AgentError, Crew, Ended, Roster, Session, Spent, Usage, Why, dollars};
use haft_runtime::{
    EventKind, Runtime, Said, SessionId, Store, ToolError, from_hook, plain, plain_lines,
};
use serde_json::{Value, json};

use super::arguments;
use crate::args::RunArgs;
use crate::open::Haft;
use crate::print::Printer;
use claim::Claim;
use drive::{Driven, drive};
use roster::Cast;

/// What the shell is told of a run that was cancelled.
const CANCELLED: u8 = 130;

/// Sessions that are looked at for the last one with a conversation; calls have sessions too.
const LOOKED_AT: usize = 200;

/// Events that are read at once.
const PAGE: usize = 200;

pub(crate) async fn run(haft: Haft, printer: Printer<'_>, args: RunArgs) -> anyhow::Result<u8> {
    let prompt = args.prompt.clone().map(arguments).transpose()?;
    if prompt.as_ref().is_some_and(|text| text.trim().is_empty()) {
        bail!("the prompt is empty; say what to do");
    }
    let id = session_id(&haft, &args)?;
    let haft = &Arc::new(leader::as_before(haft, &id)?);
    let cast = Arc::new(Cast::new(haft, &args)?);
    let _claim = Claim::on(&id, haft.environment.state_dir.as_deref())?;
    haft.recover(printer)?;
    let (terminal, questions) = steer::whom_to_ask(haft, &args)?;
    let runtime = haft.runtime(terminal.clone())?;
    // Listening before anything is said: the conversation's first words are events too.
    let events = runtime.events(None);
    haft.offer_early(&runtime).await;
    haft.open_session(&runtime, id.clone()).await?;
    leader::remember(haft, &id).await?;
    let attendance = if terminal.is_there() { Attendance::Someone } else { Attendance::Nobody };
    let (crew, agent) = gather(haft, &runtime, cast, &id, attendance).await?;
    let said = match haft.begin(&runtime, &id).await {
        Ok(said) => said,
        Err(error) => {
            let (outcome, spent) = (Err(AgentError::Hook(error)), Spent::default());
            return report(haft, printer, &id, outcome, spent, Vec::new());
        }
    };
    let company = crew.lead(&id, &agent).await?;
    let session = Session::open(agent, id.clone()).await?.accompanied(company);
    tell(haft, printer, &session, said)?;
    let takes_stdin = args.prompt.as_deref() == Some("-");
    let words = steer::words(haft, &terminal, questions, &runtime, takes_stdin);
    match drive(haft, printer, session, prompt, events, words, terminal).await? {
        (Driven::Abandoned, _) => Ok(CANCELLED),
        (Driven::Ended(outcome, spent), unread) => {
            crew.close().await;
            runtime.end_session(&id, "other").await;
            report(haft, printer, &id, outcome, spent, unread)
        }
    }
}

/// Whether anybody can be asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attendance {
    Someone,
    Nobody,
}

/// Puts the crew together: whoever works for the user, in the mode that the session was left in, and
/// the tools by which others are started and plans are made.
async fn gather(
    haft: &Haft,
    runtime: &Runtime,
    cast: Arc<Cast>,
    id: &SessionId,
    attendance: Attendance,
) -> anyhow::Result<(Crew, Agent)> {
    let limits = haft.crew_limits();
    let roster = Arc::clone(&cast) as Arc<dyn Roster>;
    let crew = Crew::new(runtime, &haft.project, roster, limits, haft.planning.clone());
    let mode = crew.take_up_mode(id, cast.wanted()).await?;
    if limits.depth > 0 && !cast.offered().is_empty() {
        crew.offer_tasks(runtime)?;
    }
    if attendance == Attendance::Someone {
        crew.offer_plans(runtime)?;
    }
    let agent = cast.lead(runtime, mode).await?;
    Ok((crew, agent))
}

/// Passes on what hooks say when the session begins: to the model, and to whoever looks on.
fn tell(haft: &Haft, printer: Printer<'_>, session: &Session, said: Said) -> anyhow::Result<()> {
    for text in said.context {
        session.steering().say(vec![Content::text(from_hook(&text))]);
    }
    for text in said.messages {
        if haft.common.jsonl {
            printer.json(&json!({ "type": "hook.message", "text": text }))?;
        } else {
            printer.note(plain_lines(&text));
        }
    }
    Ok(())
}

/// The session to work in: the named one, the last one of the project, or a new one.
fn session_id(haft: &Haft, args: &RunArgs) -> anyhow::Result<SessionId> {
    if args.prompt.is_none() && !args.go_on {
        bail!("say what to do: haft run \"PROMPT\", or `-` for standard input");
    }
    if !args.go_on {
        return Ok(haft.common.session.clone().unwrap_or_else(SessionId::fresh));
    }
    if let Some(id) = &haft.common.session {
        if haft.store.session(id)?.is_none() {
            bail!("there is no session {id}; `haft sessions` lists them");
        }
        if !has_conversation(&*haft.store, id)? {
            bail!("session {id} has no conversation yet; leave out --continue to begin one");
        }
        return Ok(id.clone());
    }
    for session in haft.store.sessions(Some(&haft.project), LOOKED_AT)? {
        let first = haft.store.events(&session.id, 0, 1)?;
        let is_conversation =
            first.iter().any(|event| matches!(*event.kind, EventKind::MessageAdded { .. }));
        if is_conversation && session.parent.is_none() {
            return Ok(session.id);
        }
    }
    let instead = match args.prompt {
        Some(_) => "leave out --continue to begin one",
        None => "give a prompt instead to begin one",
    };
    bail!("there is no session to continue in {}; {instead}", haft.project)
}

/// Whether anything was said in a session; calls of its own may come before.
fn has_conversation(store: &dyn Store, id: &SessionId) -> anyhow::Result<bool> {
    let mut after = 0;
    loop {
        let events = store.events(id, after, PAGE)?;
        if events.iter().any(|event| matches!(*event.kind, EventKind::MessageAdded { .. })) {
            return Ok(true);
        }
        let Some(last) = events.last() else { return Ok(false) };
        after = last.seq;
    }
}

/// Says how it ended, in the form asked for; the answer is the exit code.
fn report(
    haft: &Haft,
    printer: Printer<'_>,
    id: &SessionId,
    outcome: Result<Ended, AgentError>,
    spent: Spent,
    unread: Vec<String>,
) -> anyhow::Result<u8> {
    // Nothing costs nothing, also where no price is known.
    let cost = spent.cost.filter(|cost| *cost > 0.0).map(dollars);
    let spent = Spent { cost, ..spent };
    let mut result = match &outcome {
        Ok(ended) => serde_json::to_value(ended)?,
        Err(_) => serde_json::to_value(spent)?,
    };
    if let (Err(error), Some(result)) = (&outcome, result.as_object_mut()) {
        result.shift_insert(0, "why".to_owned(), Value::from("error"));
        result.shift_insert(1, "error".to_owned(), Value::from(error.to_string()));
    }
    if let Some(result) = result.as_object_mut() {
        result.insert("session".to_owned(), json!(id));
        if !unread.is_empty() {
            result.insert("unread".to_owned(), json!(unread));
        }
        if haft.common.jsonl {
            result.shift_insert(0, "type".to_owned(), Value::from("result"));
        }
    }
    if haft.common.json || haft.common.jsonl {
        printer.json(&result)?;
    } else {
        let too_late =
            |text: &String| format!("haft: said too late, and not read: {}", plain(text));
        unread.iter().map(too_late).for_each(|line| printer.note(line));
        say(haft, printer, id, &outcome, spent);
    }
    Ok(match outcome {
        Ok(Ended { why: Why::Done, .. }) => 0,
        Ok(Ended { why: Why::Cancelled, .. }) => CANCELLED,
        Ok(Ended { why: Why::Stopped, .. }) | Err(AgentError::Hook(ToolError::Stopped { .. })) => 4,
        Err(AgentError::NothingToDo) => 2,
        Ok(_) | Err(_) => 1,
    })
}

/// The last line: how it ended, and what it cost.
fn say(
    haft: &Haft,
    printer: Printer<'_>,
    id: &SessionId,
    outcome: &Result<Ended, AgentError>,
    spent: Spent,
) {
    let line = match outcome {
        Err(error @ AgentError::Provider(_)) => {
            let (error, costs) =
                (plain_lines(&error.to_string()), costs(spent.usage, spent.cost, id));
            format!("haft: {error}\nhaft run --continue goes on · {costs}")
        }
        Err(error) => plain_lines(&format!("haft: {error}")),
        Ok(ended) => {
            let how = match ended.why {
                Why::Done => "done",
                Why::Refusal => "the model does not want to answer",
                Why::Length => "the reply was cut at its longest; haft run --continue goes on",
                Why::Steps => "stopped after as many replies as --steps allows",
                Why::Stopped => "stopped by a hook",
                Why::Cancelled => "cancelled; haft run --continue goes on",
            };
            let reason = ended.reason.as_deref().map(|it| format!(": {}", plain(it)));
            let reason = reason.unwrap_or_default();
            format!("{how}{reason} · {}", costs(ended.usage, ended.cost, id))
        }
    };
    let colour = haft.environment.colour && haft.environment.stderr_is_terminal;
    let line = Printer { colour, ..printer }.dim(&line);
    printer.note(line);
}

/// What was read and written for how much, and where.
fn costs(usage: Usage, cost: Option<f64>, id: &SessionId) -> String {
    let read = usage.input + usage.cache_read + usage.cache_write;
    let cost = cost.map_or_else(String::new, |cost| format!(" · ${cost:.4}"));
    format!("{read} tokens read, {} written{cost} · {id}", usage.output)
}
