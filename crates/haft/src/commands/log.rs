//! `haft log`: what calls changed in files, the last first.

use anyhow::Context as _;
use haft_runtime::plain;
use haft_workspace::journal::{Changed, Entry, Journal};
use haft_workspace::write::{Hash, hash};
use haft_workspace::{Workspace, read_small};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::undo::{MOST_SHOWN, NO_JOURNAL, word};
use crate::args::LogArgs;
use crate::diff;
use crate::journal::recover;
use crate::open::Haft;
use crate::print::Printer;

pub(crate) fn run(haft: &Haft, printer: Printer<'_>, args: LogArgs) -> anyhow::Result<u8> {
    let journal = haft.journal().context(NO_JOURNAL)?;
    let workspace = haft.workspace()?;
    recover(&journal, &workspace, printer);
    let (all, holding) = (journal.entries()?, journal.in_force()?);
    let session = haft.common.session.as_ref().map(ToString::to_string);
    let wanted = |entry: &&Entry| {
        let of_session = session.as_ref().is_none_or(|wanted| entry.label.session == *wanted);
        let of_call = args.call.as_ref().is_none_or(|wanted| entry.label.call == *wanted);
        of_session && of_call
    };
    let entries: Vec<&Entry> = all.iter().rev().filter(wanted).take(args.limit).collect();
    if haft.common.json {
        let described: Vec<Value> =
            entries.iter().map(|entry| described(entry, holding.contains(&entry.id))).collect();
        printer.json(&described)?;
        return Ok(0);
    }
    if entries.is_empty() {
        printer.note("nothing in the journal");
    }
    for entry in entries {
        printer.line(line(entry, holding.contains(&entry.id), printer));
        for change in &entry.changes {
            let path = workspace.place(change.path.clone(), true).shown();
            if !args.diff || !show(&journal, &workspace, change, printer) {
                printer.line(format!("  {} {}", word(change), plain(&path)));
            }
        }
    }
    Ok(0)
}

fn line(entry: &Entry, holds: bool, printer: Printer<'_>) -> String {
    let time = Timestamp::try_from(entry.id.at()).unwrap_or_default();
    let time = time.strftime("%Y-%m-%d %H:%M:%S").to_string();
    let undone = if holds { String::new() } else { printer.dim(" (undone)") };
    let title = printer.bold(&plain(&entry.label.title));
    format!("{} {title}{undone} {}", printer.dim(&time), printer.dim(&plain(&entry.label.call)))
}

fn described(entry: &Entry, holds: bool) -> Value {
    let changes: Vec<Value> = entry
        .changes
        .iter()
        .map(|it| json!({ "path": it.path.display().to_string(), "kind": word(it) }))
        .collect();
    let at = Timestamp::try_from(entry.id.at()).unwrap_or_default();
    json!({
        "call": entry.label.call, "session": entry.label.session, "tool": entry.label.tool,
        "title": entry.label.title, "at": at.to_string(), "undone": !holds, "changes": changes,
    })
}

/// Prints the diff of one file, if both of its contents are still known.
fn show(journal: &Journal, workspace: &Workspace, change: &Changed, printer: Printer<'_>) -> bool {
    let (Some(old), Some(new)) = (change.before.content(), change.after.content()) else {
        return false;
    };
    // What a change left is kept once a later one overwrites it; until then it is the file itself.
    let find = |wanted: Hash| {
        let kept = journal.content(wanted).ok().flatten();
        kept.or_else(|| read_small(&change.path, MOST_SHOWN).ok().filter(|it| hash(it) == wanted))
    };
    let (Some(old), Some(new)) = (find(old), find(new)) else { return false };
    let path = workspace.place(change.path.clone(), true).shown();
    diff::show(printer, &path, &old, &new);
    true
}
