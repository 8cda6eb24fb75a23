//! What to do about a change that was interrupted: complete it if it is complete, else take it back.

use std::collections::HashSet;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;

use super::entry::{Changed, Entry, State};
use super::error::{ChangeError, Conflict};
use super::look::{Look, look};
use super::open_entry::{self, OpenEntry};
use super::step::{Planned, describe};
use super::{Journal, OPEN_FOLDERS};
use crate::Workspace;
use crate::write::{Recovery, sweep};

/// An interrupted change, and what became of it.
#[derive(Debug)]
pub struct Recovered {
    /// What was being done.
    pub entry: Entry,
    /// What was done about it.
    pub verdict: Verdict,
}

/// What became of an interrupted change.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Everything had been done; the entry is complete now.
    Completed,
    /// Everything is as it was before.
    TakenBack,
    /// Somebody has worked on a part of it since; those paths were left alone.
    Stuck(Vec<Conflict>),
}

impl Journal {
    /// Looks after what killed processes left: interrupted changes, and files rewritten in place.
    ///
    /// To be called at the start, before the first change. The changes of live processes, of this
    /// one too, are passed over.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn recover(&self, workspace: &Workspace) -> io::Result<(Vec<Recovered>, Vec<Recovery>)> {
        let rewritten = match fs_err::exists(&self.recovery)? {
            true => crate::write::recover(&self.recovery)?,
            false => Vec::new(),
        };
        let mut recovered = Vec::new();
        let names = open_entry::names(&self.folder)?;
        for name in &names {
            let Some((open, entry)) = OpenEntry::adopt(&self.folder, name)? else { continue };
            // An entry has its name only once all of it is written; one that cannot be read is
            // nothing we made.
            let Some(entry) = entry else {
                open.set_aside()?;
                continue;
            };
            // First, because a folder with something left behind in it cannot be taken back.
            sweep_around(workspace, &entry);
            let verdict = self.judge(workspace, &entry);
            match &verdict {
                Verdict::Completed => open.finish(),
                Verdict::TakenBack => open.discard(),
                Verdict::Stuck(_) => open.set_aside()?,
            }
            recovered.push(Recovered { entry, verdict });
        }
        for folder in OPEN_FOLDERS {
            sweep_folder(&self.folder.join(folder));
        }
        self.prune_by_age();
        Ok((recovered, rewritten))
    }

    fn judge(&self, workspace: &Workspace, entry: &Entry) -> Verdict {
        let done = |change: &Changed| matches!(look(workspace, &change.path), Ok(Look::State(now)) if now.agrees_with(&change.after));
        if entry.changes.iter().all(done) {
            return Verdict::Completed;
        }
        match take_back(workspace, self, &entry.changes) {
            conflicts if conflicts.is_empty() => Verdict::TakenBack,
            conflicts => Verdict::Stuck(conflicts),
        }
    }
}

/// Puts back what was there before, and returns where that was not possible.
pub(super) fn take_back(
    workspace: &Workspace,
    journal: &Journal,
    changes: &[Changed],
) -> Vec<Conflict> {
    let mut reversed: Vec<Changed> = changes.iter().map(Changed::reversed).collect();
    in_order(&mut reversed);
    let mut conflicts = Vec::new();
    for change in reversed {
        let path = change.path.clone();
        if let Err(error) = take_back_one(workspace, journal, change) {
            let why = match error {
                ChangeError::Conflicts(found) => {
                    conflicts.extend(found);
                    continue;
                }
                error => error.to_string(),
            };
            conflicts.push(Conflict { path, why });
        }
    }
    conflicts
}

fn take_back_one(
    workspace: &Workspace,
    journal: &Journal,
    change: Changed,
) -> Result<(), ChangeError> {
    let now = match look(workspace, &change.path)? {
        Look::State(now) => now,
        Look::Special(kind) => {
            return Err(ChangeError::conflict(&change.path, format!("is {kind} now")));
        }
    };
    if now.agrees_with(&change.after) {
        return Ok(());
    }
    let between = now == State::Absent && has_a_gap(&change.before, &change.after);
    if !between && !now.without_mode().agrees_with(&change.before) {
        return Err(ChangeError::conflict(&change.path, describe(&change.before, &now)));
    }
    Planned::between(change.path, now, change.after).perform(workspace, journal)
}

/// Whether a step was done, or is half-done: the old thing is gone and the new one not there yet.
pub(super) fn is_begun(workspace: &Workspace, change: &Changed) -> bool {
    match look(workspace, &change.path) {
        Ok(Look::State(State::Absent)) => {
            change.after == State::Absent || has_a_gap(&change.before, &change.after)
        }
        Ok(Look::State(now)) => now.without_mode().agrees_with(&change.after),
        Ok(Look::Special(_)) | Err(_) => false,
    }
}

/// Whether there is a moment with nothing when one takes the place of the other.
fn has_a_gap(one: &State, other: &State) -> bool {
    let kinds = [one, other].map(std::mem::discriminant);
    let absent = [one, other].contains(&&State::Absent);
    !absent && (kinds.first() != kinds.last() || matches!(one, State::Link { .. }))
}

/// Sorts changes so that each finds its folder there, and a folder is empty when it goes.
pub(super) fn in_order(changes: &mut [Changed]) {
    let depth = |path: &Path| path.components().count();
    changes.sort_by(|one, other| {
        let goes = |change: &Changed| change.after == State::Absent;
        let deeper = || depth(&one.path).cmp(&depth(&other.path));
        match (goes(one), goes(other)) {
            (true, true) => deeper().reverse(),
            (false, false) => deeper(),
            (one, other) => other.cmp(&one),
        }
    });
}

/// Removes the temporary files of dead writers in every folder that a change was about.
fn sweep_around(workspace: &Workspace, entry: &Entry) {
    let folders: HashSet<&Path> =
        entry.changes.iter().filter_map(|change| change.path.parent()).collect();
    for folder in folders {
        if let Ok(dir) = workspace.open_folder(folder) {
            // What stays is met again, by whoever next writes there and is killed.
            sweep(dir.as_fd()).ok();
        }
    }
}

fn sweep_folder(folder: &Path) {
    if let Ok(dir) = fs_err::File::open(folder) {
        sweep(dir.as_fd()).ok();
    }
}
