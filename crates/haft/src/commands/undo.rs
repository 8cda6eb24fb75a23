//! `haft undo` and `haft redo`: what calls changed in files, taken back or done again.

use anyhow::Context as _;
use haft_workspace::journal::{ChangeError, Changed, Journal, Label, Reversal, State, Way, Which};
use haft_workspace::{Workspace, read_small};
use serde_json::{Value, json};

use crate::args::UndoArgs;
use crate::diff;
use crate::journal::recover;
use crate::open::Haft;
use crate::print::Printer;

/// Largest file whose changes are shown.
pub(super) const MOST_SHOWN: u64 = 64 * 1024 * 1024;

pub(super) const NO_JOURNAL: &str = "there is no journal, because there is no place for it; set HOME or XDG_STATE_HOME to an absolute path";

pub(crate) fn run(
    haft: &Haft,
    printer: Printer<'_>,
    way: Way,
    args: UndoArgs,
) -> anyhow::Result<u8> {
    let journal = haft.journal().context(NO_JOURNAL)?;
    let workspace = haft.workspace()?;
    recover(&journal, &workspace, printer);
    let session = haft.common.session.as_ref().map(ToString::to_string);
    let which = Which { call: args.call, session, all: args.all };
    let reversal = match journal.reversal(&workspace, way, &which) {
        Ok(reversal) => reversal,
        Err(error) => return refused(haft, printer, error),
    };
    if !haft.common.json {
        show(&journal, &workspace, &reversal, printer);
    }
    if !args.dry_run {
        let label = label(haft, way, &reversal);
        if let Err(error) = journal.reverse(&workspace, label, &reversal) {
            return refused(haft, printer, error);
        }
    }
    if haft.common.json {
        printer.json(&described(&reversal, args.dry_run))?;
    } else {
        let done = match (way, args.dry_run) {
            (Way::Undo, false) => "undone",
            (Way::Redo, false) => "done again",
            (Way::Undo, true) => "would be undone",
            (Way::Redo, true) => "would be done again",
        };
        for entry in &reversal.entries {
            printer.note(format!("{done}: {}", haft_runtime::plain(&entry.label.title)));
        }
    }
    Ok(0)
}

fn label(haft: &Haft, way: Way, reversal: &Reversal) -> Label {
    let last = reversal.entries.last().map(|entry| entry.label.clone()).unwrap_or_default();
    let (verb, tool) = match way {
        Way::Undo => ("undo: ", "undo"),
        Way::Redo => ("", "redo"),
    };
    let title = last.title.trim_start_matches("undo: ");
    let session = haft.common.session.as_ref().map_or(last.session, ToString::to_string);
    let call = haft_runtime::CallId::fresh().to_string();
    Label { session, call, parent: None, tool: tool.into(), title: format!("{verb}{title}") }
}

/// Nothing was changed, and why.
fn refused(haft: &Haft, printer: Printer<'_>, error: ChangeError) -> anyhow::Result<u8> {
    if haft.common.json {
        let conflicts = match &error {
            ChangeError::Conflicts(conflicts) | ChangeError::Stuck { conflicts, .. } => conflicts
                .iter()
                .map(|it| json!({ "path": it.path.display().to_string(), "why": it.why }))
                .collect(),
            _ => Vec::new(),
        };
        printer.json(&json!({ "error": error.to_string(), "conflicts": conflicts }))?;
        return Ok(1);
    }
    match error {
        ChangeError::Conflicts(conflicts) => {
            printer.note("nothing was changed, because somebody has worked on this since:");
            for conflict in conflicts {
                printer.note(format!("  {}", haft_runtime::plain(&conflict.to_string())));
            }
        }
        other => printer.note(haft_runtime::plain_lines(&other.to_string())),
    }
    Ok(1)
}

fn described(reversal: &Reversal, dry_run: bool) -> Value {
    let changes: Vec<Value> = reversal
        .changes
        .iter()
        .map(|it| json!({ "path": it.path.display().to_string(), "kind": word(it) }))
        .collect();
    let calls: Vec<&str> = reversal.entries.iter().map(|it| it.label.call.as_str()).collect();
    json!({ "calls": calls, "changes": changes, "kept": reversal.kept, "dry_run": dry_run })
}

fn show(journal: &Journal, workspace: &Workspace, reversal: &Reversal, printer: Printer<'_>) {
    for change in &reversal.changes {
        let path = workspace.place(change.path.clone(), true).shown();
        let new = change.after.content().map(|hash| journal.content(hash).ok().flatten());
        let old = change.before.content().map(|_| read_small(&change.path, MOST_SHOWN).ok());
        match (old, new) {
            (Some(Some(old)), Some(Some(new))) => diff::show(printer, &path, &old, &new),
            _ => printer.line(format!("{} {}", word(change), haft_runtime::plain(&path))),
        }
    }
    for path in &reversal.kept {
        let path = workspace.place(path.clone(), true).shown();
        printer.line(format!("kept {}: something else is in it", haft_runtime::plain(&path)));
    }
}

/// What becomes of a path, in one word.
pub(crate) fn word(change: &Changed) -> &'static str {
    match (&change.before, &change.after) {
        (State::Absent, _) => "created",
        (_, State::Absent) => "deleted",
        _ => "changed",
    }
}
