//! `haft approve`: asks that wait for an answer, from whichever process.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::bail;
use haft_runtime::permission::Reply;
use haft_runtime::{AskId, Host, PostedAsk, Store, plain};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::args::ApproveCommand;
use crate::open::Haft;
use crate::print::{Printer, columns};
use crate::terminal::{Terminal, describe};

/// How often `watch` looks for new asks.
const LOOK: Duration = Duration::from_millis(200);

pub(crate) async fn run(
    haft: &Haft,
    printer: Printer<'_>,
    command: Option<ApproveCommand>,
) -> anyhow::Result<u8> {
    match command.unwrap_or(ApproveCommand::List { all: false }) {
        ApproveCommand::List { all } => list(haft, printer, all),
        ApproveCommand::Show { id } => show(haft, printer, &id),
        ApproveCommand::Allow { ids, always: true } => answer(haft, printer, &ids, Reply::Always),
        ApproveCommand::Allow { ids, always: false } => answer(haft, printer, &ids, Reply::Once),
        ApproveCommand::Reject { ids, because } => {
            answer(haft, printer, &ids, Reply::Reject { feedback: because })
        }
        ApproveCommand::Watch { all } => watch(haft, printer, all).await,
    }
}

/// What waits now, in this project or in all.
fn waiting(haft: &Haft, all: bool) -> anyhow::Result<Vec<PostedAsk>> {
    Ok(haft.store.posted_asks((!all).then_some(haft.project.as_str()), Timestamp::now())?)
}

fn list(haft: &Haft, printer: Printer<'_>, all: bool) -> anyhow::Result<u8> {
    let asks = waiting(haft, all)?;
    if haft.common.json {
        printer.json(&asks)?;
        return Ok(0);
    }
    if asks.is_empty() {
        printer.line("nothing waits for an answer here");
        return Ok(0);
    }
    let row = |posted: &PostedAsk| {
        let ask = &posted.ask;
        let mut row = vec![ask.id.to_string(), plain(&ask.tool), plain(&ask.ask.title)];
        row.push(age(posted.created));
        if all {
            row.push(plain(&posted.project));
        }
        row
    };
    let rows: Vec<Vec<String>> = asks.iter().map(row).collect();
    columns(&rows).into_iter().for_each(|line| printer.line(line));
    printer.note(
        "answer with `haft approve allow ID` or `haft approve reject ID`; `show ID` says more",
    );
    Ok(0)
}

/// How long ago, in the largest unit that fits.
fn age(since: Timestamp) -> String {
    let seconds = Timestamp::now().duration_since(since).max(SignedDuration::ZERO).as_secs();
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        _ => format!("{} h ago", seconds / 3600),
    }
}

fn show(haft: &Haft, printer: Printer<'_>, id: &str) -> anyhow::Result<u8> {
    let posted = find(&waiting(haft, true)?, id)?;
    if haft.common.json {
        printer.json(&posted)?;
        return Ok(0);
    }
    printer.line(printer.dim(&format!("{}, {}", posted.ask.id, age(posted.created))));
    printer.line(printer.dim(&format!("in {}", plain(&posted.project))));
    printer.line(describe(&posted.ask, printer.colour).trim());
    Ok(0)
}

fn answer(haft: &Haft, printer: Printer<'_>, ids: &[String], reply: Reply) -> anyhow::Result<u8> {
    let asks = waiting(haft, true)?;
    // All are looked up before one is answered: a misspelt id answers nothing.
    let found: Vec<PostedAsk> = ids.iter().map(|id| find(&asks, id)).collect::<Result<_, _>>()?;
    if reply == Reply::Always
        && let Some(exact) = found.iter().find(|posted| posted.ask.ask.always.is_empty())
    {
        bail!("{} offers no \"always\"; allow it without --always", exact.ask.id);
    }
    let (mut answered, mut gone): (Vec<AskId>, Vec<AskId>) = (Vec::new(), Vec::new());
    for PostedAsk { ask, .. } in found {
        let heard = haft.store.answer_ask(&ask.id, &reply, Timestamp::now())?;
        if heard { answered.push(ask.id) } else { gone.push(ask.id) }
    }
    let code = u8::from(!gone.is_empty());
    if haft.common.json {
        printer.json(&json!({ "answered": answered, "gone": gone }))?;
        return Ok(code);
    }
    answered.iter().for_each(|id| printer.line(format!("{id}: {}", word(&reply))));
    gone.iter().for_each(|id| printer.line(format!("{id}: nobody waits for it any more")));
    Ok(code)
}

fn word(reply: &Reply) -> &'static str {
    match reply {
        Reply::Once => "allowed",
        Reply::Always => "allowed, from now on",
        Reply::Reject { .. } | Reply::Unattended | Reply::Unanswered { .. } => "rejected",
    }
}

/// The ask with this id, or the only one whose id ends like that.
fn find(asks: &[PostedAsk], id: &str) -> anyhow::Result<PostedAsk> {
    let exact = asks.iter().find(|posted| posted.ask.id.as_str() == id);
    let mut ending = asks.iter().filter(|posted| posted.ask.id.as_str().ends_with(id));
    match (exact, ending.next(), ending.next()) {
        (Some(posted), ..) | (None, Some(posted), None) => Ok(posted.clone()),
        (None, None, _) => {
            bail!("no ask `{}` waits for an answer; `haft approve` lists those that do", plain(id))
        }
        (None, Some(_), Some(_)) => {
            bail!("more than one ask ends with `{}`; give more of its id", plain(id))
        }
    }
}

async fn watch(haft: &Haft, printer: Printer<'_>, all: bool) -> anyhow::Result<u8> {
    let terminal = Terminal::find(&haft.environment);
    if !terminal.is_there() {
        bail!("`watch` asks at a terminal, and there is none; use `allow` and `reject`");
    }
    printer.note("waiting for asks; Ctrl-C ends this");
    let mut seen = HashSet::new();
    loop {
        for PostedAsk { ask, project, .. } in waiting(haft, all)? {
            if !seen.insert(ask.id.clone()) {
                continue;
            }
            if all {
                printer.note(printer.dim(&format!("in {}", plain(&project))));
            }
            let reply = terminal.approve(&ask).await;
            if !haft.store.answer_ask(&ask.id, &reply, Timestamp::now())? {
                printer.note("nobody waits for that any more");
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}
