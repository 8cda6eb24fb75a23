//! What a command changed in the workspace, taken down so that it can be undone.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use haft_workspace::journal::{Changed, Journal, Label, State};
use haft_workspace::write::hash;

/// Most names of a workspace that are compared before and after a command.
const LOOKED_AT: usize = 5_000;

/// Most bytes of one file whose content is kept or hashed.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Most bytes that are kept before one command.
const KEPT: u64 = 64 * 1024 * 1024;

/// Most changes of one command that are taken down.
const CHANGES: usize = 1_000;

/// Folders whose content is made again by the tools that made it, or is git's.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];

/// The workspace before a command.
pub(super) struct Before {
    names: BTreeMap<PathBuf, Name>,
    /// What stood in the files that the command was expected to change.
    kept: BTreeMap<PathBuf, State>,
    reach: Reach,
}

/// How much of the workspace is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// All of it.
    Whole,
    /// It has too many names: only what was kept.
    Kept,
}

/// What tells whether a name still stands for the same.
#[derive(Clone, PartialEq, Eq)]
enum Name {
    File { inode: u64, size: u64, changed: (i64, i64), mode: u32 },
    Folder { mode: u32 },
    Link(PathBuf),
    Other,
}

/// What could be said of a command's changes.
#[derive(Default)]
pub(super) struct Taken {
    /// How many were taken down.
    pub(super) recorded: usize,
    /// What was changed and cannot be undone.
    pub(super) uncovered: Vec<PathBuf>,
}

/// Looks at the workspace, and keeps the content of what is expected to change.
pub(super) fn look(root: &Path, journal: &Journal, expected: &[PathBuf]) -> Before {
    let (mut names, reach) = walk(root);
    if reach == Reach::Kept {
        let named = |path: &PathBuf| expected.iter().any(|one| path.starts_with(one));
        names.retain(|path, _| named(path));
        for path in expected.iter().filter(|path| path.starts_with(root)) {
            names.extend(name(path).map(|name| (path.clone(), name)));
        }
    }
    let mut kept = BTreeMap::new();
    let mut room = KEPT;
    for (path, name) in &names {
        let Name::File { size, mode, .. } = name else { continue };
        let is_expected = expected.iter().any(|one| path.starts_with(one));
        if !is_expected || *size > LARGEST || *size > room {
            continue;
        }
        let Ok(content) = fs_err::read(path) else { continue };
        let bytes = content.len() as u64;
        if let Ok(content) = journal.keep(&content) {
            room = room.saturating_sub(bytes);
            kept.insert(path.clone(), State::File { content, bytes, mode: Some(*mode) });
        }
    }
    Before { names, kept, reach }
}

impl Before {
    /// Compares, and takes down what changed.
    pub(super) fn take_down(self, root: &Path, journal: &Journal, label: Label) -> Taken {
        let after = match self.reach {
            Reach::Whole => walk(root).0,
            Reach::Kept => {
                self.names.keys().filter_map(|path| Some((path.clone(), name(path)?))).collect()
            }
        };
        let mut taken = Taken::default();
        let mut changes = Vec::new();
        // What is gone comes first, from the inside out.
        for (path, old) in self.names.iter().rev().filter(|(path, _)| !after.contains_key(*path)) {
            changes.push((path, self.before(path, old), Some(State::Absent)));
        }
        for (path, new) in &after {
            let old = self.names.get(path);
            if old != Some(new) {
                let before = old.map_or(Some(State::Absent), |old| self.before(path, old));
                changes.push((path, before, state(path, new)));
            }
        }
        let mut known = Vec::new();
        for (path, before, after) in changes {
            match (before, after) {
                (Some(before), Some(after)) if before.agrees_with(&after) => {}
                (Some(before), Some(after)) => {
                    known.push(Changed { path: path.clone(), before, after });
                }
                _ => taken.uncovered.push(path.clone()),
            }
        }
        if known.len() > CHANGES {
            taken.uncovered.extend(known.drain(..).map(|change| change.path));
        }
        taken.recorded = known.len();
        let paths: Vec<PathBuf> = known.iter().map(|change| change.path.clone()).collect();
        if !known.is_empty() && journal.record(label, known).is_err() {
            taken.recorded = 0;
            taken.uncovered.extend(paths);
        }
        taken
    }

    /// What stood at a path; none if its content was not kept.
    fn before(&self, path: &Path, name: &Name) -> Option<State> {
        match name {
            Name::File { .. } => self.kept.get(path).cloned(),
            Name::Folder { mode } => Some(State::Folder { mode: Some(*mode) }),
            Name::Link(target) => Some(State::Link { target: target.clone() }),
            Name::Other => None,
        }
    }
}

/// Everything in a workspace, links not followed.
fn walk(root: &Path) -> (BTreeMap<PathBuf, Name>, Reach) {
    let mut names = BTreeMap::new();
    let mut folders = std::collections::VecDeque::from([root.to_owned()]);
    while let Some(folder) = folders.pop_front() {
        let Ok(entries) = fs_err::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let is_skipped = SKIPPED.iter().any(|skipped| entry.file_name() == *skipped);
            let path = entry.path();
            let Some(name) = name(&path).filter(|_| !is_skipped) else { continue };
            if matches!(name, Name::Folder { .. }) {
                folders.push_back(path.clone());
            }
            names.insert(path, name);
            if names.len() > LOOKED_AT {
                return (names, Reach::Kept);
            }
        }
    }
    (names, Reach::Whole)
}

fn name(path: &Path) -> Option<Name> {
    let meta = fs_err::symlink_metadata(path).ok()?;
    let mode = meta.mode() & 0o7777;
    Some(if meta.is_file() {
        let changed = (meta.ctime(), meta.ctime_nsec());
        Name::File { inode: meta.ino(), size: meta.len(), changed, mode }
    } else if meta.is_dir() {
        Name::Folder { mode }
    } else if meta.is_symlink() {
        Name::Link(fs_err::read_link(path).ok()?)
    } else {
        Name::Other
    })
}

/// What stands at a path now; none if it is too large to tell, or nothing that can be put back.
fn state(path: &Path, name: &Name) -> Option<State> {
    match name {
        Name::File { size, .. } if *size > LARGEST => None,
        Name::File { mode, .. } => {
            let content = fs_err::read(path).ok()?;
            let bytes = content.len() as u64;
            Some(State::File { content: hash(&content), bytes, mode: Some(*mode) })
        }
        Name::Folder { mode } => Some(State::Folder { mode: Some(*mode) }),
        Name::Link(target) => Some(State::Link { target: target.clone() }),
        Name::Other => None,
    }
}
