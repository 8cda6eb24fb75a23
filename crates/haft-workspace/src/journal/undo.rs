//! Undo and redo: which entries are meant, and what taking them back amounts to.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::Journal;
use super::entry::{Changed, Entry, EntryId, Label, State};
use super::error::{ChangeError, Conflict};
use super::look::{Look, look};
use super::recover::in_order;
use super::step::{Content, Step, describe};
use crate::Workspace;

/// There, or back again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// What was done is taken back.
    Undo,
    /// What was taken back is done again.
    Redo,
}

/// Which changes are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Which {
    /// Those of one call, parts of it included; the last change if there is none.
    pub call: Option<String>,
    /// Those of one session only.
    pub session: Option<String>,
    /// All of them rather than the last.
    pub all: bool,
}

/// What taking back some entries amounts to, if nobody changes anything meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reversal {
    /// The entries, oldest first.
    pub entries: Vec<Entry>,
    /// From what is there now to what will be.
    pub changes: Vec<Changed>,
    /// Folders that stay because something else is in them.
    pub kept: Vec<PathBuf>,
}

impl Journal {
    /// Finds out what undoing or redoing amounts to. Nothing is changed.
    ///
    /// # Errors
    /// If there is nothing of the kind, or if somebody has changed the files since.
    pub fn reversal(
        &self,
        workspace: &Workspace,
        way: Way,
        which: &Which,
    ) -> Result<Reversal, ChangeError> {
        let entries = self.entries().map_err(ChangeError::journal)?;
        let chosen = choose(&entries, way, which)?;
        let mut conflicts = Vec::new();
        let mut changes = Vec::new();
        for net in net_changes(&chosen, &mut conflicts) {
            let (path, why) = match look(workspace, &net.path) {
                Ok(Look::State(now)) => match from_now(&net, now) {
                    Ok(change) => {
                        changes.extend(change);
                        continue;
                    }
                    Err(why) => (net.path, why.to_owned()),
                },
                Ok(Look::Special(kind)) => (net.path, format!("is {kind} now")),
                Err(error) => (net.path, error.to_string()),
            };
            conflicts.push(Conflict { path, why });
        }
        if !conflicts.is_empty() {
            return Err(ChangeError::Conflicts(conflicts));
        }
        in_order(&mut changes);
        let kept = keep_full_folders(&mut changes);
        Ok(Reversal { entries: chosen, changes, kept })
    }

    /// Undoes or redoes what [`Journal::reversal`] found, all of it or nothing.
    ///
    /// # Errors
    /// As [`Journal::change`].
    pub fn reverse(
        &self,
        workspace: &Workspace,
        label: Label,
        reversal: &Reversal,
    ) -> Result<Entry, ChangeError> {
        let steps = reversal.changes.iter().map(|change| Step {
            path: change.path.clone(),
            before: Content::Of(change.before.clone()),
            after: Content::Of(change.after.clone()),
        });
        let undoes = reversal.entries.iter().map(|entry| entry.id.clone()).collect();
        self.carry_out(workspace, label, steps.collect(), undoes)
    }

    /// The entries whose effect still holds, oldest first: those that nothing took back.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn in_force(&self) -> std::io::Result<HashSet<EntryId>> {
        Ok(in_force(&self.entries()?).into_iter().cloned().collect())
    }
}

/// An entry holds unless one that holds takes it back, so they are judged from the newest on.
fn in_force(entries: &[Entry]) -> HashSet<&EntryId> {
    let (mut holding, mut undone) = (HashSet::new(), HashSet::new());
    for entry in entries.iter().rev() {
        if !undone.contains(&entry.id) {
            holding.insert(&entry.id);
            undone.extend(&entry.undoes);
        }
    }
    holding
}

fn choose(entries: &[Entry], way: Way, which: &Which) -> Result<Vec<Entry>, ChangeError> {
    let holding = in_force(entries);
    let by_id: HashMap<&EntryId, &Entry> = entries.iter().map(|entry| (&entry.id, entry)).collect();
    let is_about = |entry: &Entry| match &which.call {
        None => true,
        Some(call) => {
            let targets = entry.undoes.iter().filter_map(|id| by_id.get(id).copied());
            let of_call = |entry: &Entry| {
                entry.label.call == *call || entry.label.parent.as_ref() == Some(call)
            };
            of_call(entry) || targets.into_iter().any(of_call)
        }
    };
    let of_session =
        |entry: &Entry| which.session.as_ref().is_none_or(|wanted| entry.label.session == *wanted);
    let mut chosen: Vec<Entry> = entries
        .iter()
        .filter(|entry| holding.contains(&entry.id))
        .filter(|entry| direction(entry, &by_id) == Some(way))
        .filter(|entry| of_session(entry) && is_about(entry))
        .cloned()
        .collect();
    if which.call.is_none() && !which.all && chosen.len() > 1 {
        chosen.drain(..chosen.len() - 1);
    }
    if chosen.is_empty() {
        return Err(ChangeError::Nothing(nothing(way, which)));
    }
    Ok(chosen)
}

fn nothing(way: Way, which: &Which) -> String {
    let (done, what) = match way {
        Way::Undo => ("undone", "change"),
        Way::Redo => ("redone", "undone change"),
    };
    match (&which.call, &which.session) {
        (Some(call), _) => format!("call {call} has no {what} in the journal that can be {done}"),
        (None, Some(_)) => format!("this session has no {what} that can be {done}"),
        (None, None) => format!("there is no {what} that can be {done}"),
    }
}

/// What can be done about an entry: what does something is undone, what takes back is redone.
/// An entry that takes back a taking back is neither: it stands for the first one.
fn direction(entry: &Entry, by_id: &HashMap<&EntryId, &Entry>) -> Option<Way> {
    let mut depth = 0;
    let mut at = entry;
    while let Some(target) = at.undoes.first() {
        depth += 1;
        match by_id.get(target) {
            Some(deeper) => at = deeper,
            None => break,
        }
    }
    match depth {
        0 => Some(Way::Undo),
        odd if odd % 2 == 1 => Some(Way::Redo),
        _ => None,
    }
}

/// What taking back all the entries does to each path, as if nobody else had been there.
fn net_changes(entries: &[Entry], conflicts: &mut Vec<Conflict>) -> Vec<Changed> {
    let mut net: Vec<Changed> = Vec::new();
    let mut place: HashMap<&Path, usize> = HashMap::new();
    for change in entries.iter().flat_map(|entry| &entry.changes) {
        match place.get(change.path.as_path()).and_then(|at| net.get_mut(*at)) {
            None => {
                place.insert(&change.path, net.len());
                net.push(change.reversed());
            }
            Some(earlier) => {
                // Two calls beside each other may both have found a folder missing.
                let both_made = matches!(change.after, State::Folder { .. })
                    && earlier.before.agrees_with(&change.after);
                if !earlier.before.agrees_with(&change.before) && !both_made {
                    let why = "was changed by somebody else in between".to_owned();
                    conflicts.push(Conflict { path: change.path.clone(), why });
                }
                earlier.before = change.after.clone();
            }
        }
    }
    net
}

/// From what is there now to what is wanted; nothing if it is there already.
fn from_now(net: &Changed, now: State) -> Result<Option<Changed>, &'static str> {
    let changes_mode = net.before.content() == net.after.content();
    let expected = if changes_mode { net.before.clone() } else { net.before.without_mode() };
    if !now.agrees_with(&expected) {
        let there = now.agrees_with(&net.after);
        return if there { Ok(None) } else { Err(describe(&net.before, &now)) };
    }
    // A file keeps the bits that somebody gave it since, unless the change was about them.
    let keeps_bits = now.content().is_some() && net.after.content().is_some() && !changes_mode;
    let after = match &net.after {
        State::File { content, bytes, .. }
            if keeps_bits && net.before.mode() == net.after.mode() =>
        {
            State::File { content: *content, bytes: *bytes, mode: now.mode() }
        }
        after => after.clone(),
    };
    Ok((!now.agrees_with(&after)).then(|| Changed { path: net.path.clone(), before: now, after }))
}

/// Leaves out the folders that would not be empty, and returns them.
fn keep_full_folders(changes: &mut Vec<Changed>) -> Vec<PathBuf> {
    let mut going: HashSet<PathBuf> = changes
        .iter()
        .filter(|change| change.after == State::Absent)
        .map(|change| change.path.clone())
        .collect();
    let mut kept = Vec::new();
    // Those that go are in order, the deepest first.
    for change in changes.iter() {
        if change.after == State::Absent && matches!(change.before, State::Folder { .. }) {
            let children = fs_err::read_dir(&change.path).into_iter().flatten();
            let full = children.flatten().any(|child| !going.contains(&child.path()));
            if full {
                going.remove(&change.path);
                kept.push(change.path.clone());
            }
        }
    }
    changes.retain(|change| !kept.contains(&change.path));
    kept
}
