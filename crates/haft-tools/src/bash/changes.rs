//! What a command changed in the workspace, taken down so that it can be undone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use haft_workspace::journal::{Changed, Journal, Label, Recording, State};
use haft_workspace::read_small;
use haft_workspace::write::hash;

use super::stash::{Held, LARGEST, Stash};
use super::tree::{Name, Names, Reach, walk};

/// Most changes of one command that are taken down.
const CHANGES: usize = 1_000;

/// Which files a command may change.
pub(super) enum Scope {
    /// These, and what is below them.
    Named(Vec<PathBuf>),
    /// Any of the workspace; these are the likeliest.
    Any(Vec<PathBuf>),
}

/// The workspace before a command.
pub(super) struct Before {
    /// Where it is looked again.
    places: Vec<PathBuf>,
    names: Names,
    held: BTreeMap<PathBuf, Held>,
    reach: Reach,
}

/// What could be said of a command's changes.
#[derive(Default)]
pub(super) struct Taken {
    /// How many were taken down.
    pub(super) recorded: usize,
    /// What was changed and cannot be undone.
    pub(super) uncovered: Vec<PathBuf>,
    /// Whether files may have been changed that nobody has looked at.
    pub(super) unseen: bool,
}

/// Looks at what a command may change, and holds what stands in it.
pub(super) fn look(root: &Path, journal: &Journal, stash: &Stash, scope: Scope) -> Before {
    let (named, mut places) = match scope {
        Scope::Named(named) => {
            let places = named.iter().filter_map(|path| topmost_missing(root, path)).collect();
            (named, places)
        }
        Scope::Any(named) => (named, vec![root.to_owned()]),
    };
    places.sort();
    let (mut names, reach) = walk(&places);
    if reach == Reach::Part {
        // What was seen of it depends on chance: only what is named is compared.
        places = named.iter().filter_map(|path| topmost_missing(root, path)).collect();
        names = walk(&places).0;
    }
    let is_named = |path: &Path| named.iter().any(|one| path.starts_with(one));
    let mut files: Vec<_> = names.iter().filter(|(_, name)| name.size().is_some()).collect();
    files.sort_by_cached_key(|(path, name)| {
        (!is_named(path), std::cmp::Reverse(name.written()), (*path).clone())
    });
    let held = stash.hold(journal, files.into_iter());
    Before { places, names, held, reach }
}

/// A path of the workspace, or the first folder on the way to it that is not there yet.
fn topmost_missing(root: &Path, path: &Path) -> Option<PathBuf> {
    let inside = path.strip_prefix(root).ok()?;
    let mut place = root.to_owned();
    for part in inside.components() {
        place.push(part);
        if place.symlink_metadata().is_err() {
            break;
        }
    }
    Some(place)
}

impl Before {
    /// Compares, and takes down what changed.
    pub(super) fn take_down(self, journal: &Journal, label: Label) -> Taken {
        let unseen = self.reach == Reach::Part;
        let after = walk(&self.places).0;
        let changed: Vec<&PathBuf> = self.differing(&after);
        if changed.is_empty() {
            return Taken { unseen, ..Taken::default() };
        }
        let everything = || changed.iter().map(|path| (*path).clone()).collect();
        let Some(recording) = journal.recording().ok().filter(|_| changed.len() <= CHANGES) else {
            return Taken { recorded: 0, uncovered: everything(), unseen };
        };
        let (mut known, mut uncovered) = (Vec::new(), Vec::new());
        for path in &changed {
            let before = self.before(path, &after, &recording);
            let after = after.get(*path).map_or(Some(State::Absent), |name| state(path, name));
            match (before, after) {
                (Some(before), Some(after)) if before.agrees_with(&after) => {}
                (Some(before), Some(after)) => {
                    known.push(Changed { path: (*path).clone(), before, after });
                }
                _ => uncovered.push((*path).clone()),
            }
        }
        let recorded = known.len();
        if recorded > 0 && recording.finish(label, known).is_err() {
            return Taken { recorded: 0, uncovered: everything(), unseen };
        }
        Taken { recorded, uncovered, unseen }
    }

    /// The names that are not as they were. What is gone comes first, from the inside out.
    fn differing<'a>(&'a self, after: &'a Names) -> Vec<&'a PathBuf> {
        let gone = self.names.keys().rev().filter(|path| !after.contains_key(*path));
        let other = after.iter().filter(|(path, name)| self.names.get(*path) != Some(*name));
        gone.chain(other.map(|(path, _)| path)).collect()
    }

    /// What stood at a path; none if its content was not held.
    fn before(&self, path: &Path, after: &Names, recording: &Recording<'_>) -> Option<State> {
        let Some(name) = self.names.get(path) else { return Some(State::Absent) };
        match name {
            Name::File { mode, .. } => {
                let content = match self.held.get(path) {
                    Some(held) => held.content().ok()?,
                    None => elsewhere(name, after)?,
                };
                let bytes = content.len() as u64;
                let content = recording.keep(&content).ok()?;
                Some(State::File { content, bytes, mode: Some(*mode) })
            }
            Name::Folder { mode } => Some(State::Folder { mode: Some(*mode) }),
            Name::Link(target) => Some(State::Link { target: target.clone() }),
            Name::Other => None,
        }
    }
}

/// The content of a file that was not held, if the file is still there: renamed, or with another mode.
fn elsewhere(name: &Name, after: &Names) -> Option<Vec<u8>> {
    let small = name.size().is_some_and(|size| size <= LARGEST);
    let (path, _) = after.iter().find(|(_, one)| small && one.is_same_file(name))?;
    read_small(path, LARGEST).ok()
}

/// What stands at a path now; none if it is too large to tell, or nothing that can be put back.
fn state(path: &Path, name: &Name) -> Option<State> {
    match name {
        Name::File { size, .. } if *size > LARGEST => None,
        Name::File { mode, .. } => {
            // Whatever else still runs may have put something else there by now.
            let content = read_small(path, LARGEST).ok()?;
            let bytes = content.len() as u64;
            Some(State::File { content: hash(&content), bytes, mode: Some(*mode) })
        }
        Name::Folder { mode } => Some(State::Folder { mode: Some(*mode) }),
        Name::Link(target) => Some(State::Link { target: target.clone() }),
        Name::Other => None,
    }
}
