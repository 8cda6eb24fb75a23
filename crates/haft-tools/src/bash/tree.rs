//! What stands where in a workspace: every name, and what tells whether it still stands for the same.

use std::collections::{BTreeMap, VecDeque};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Most names that are looked at.
const LOOKED_AT: usize = 20_000;

/// Folders whose content is made again by the tools that made it, or is git's.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];

/// Names, by their paths.
pub(super) type Names = BTreeMap<PathBuf, Name>;

/// What tells whether a name still stands for the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    File { inode: u64, size: u64, written: (i64, i64), changed: (i64, i64), mode: u32 },
    Folder { mode: u32 },
    Link(PathBuf),
    Other,
}

impl Name {
    /// What stands at a path; none if nothing does.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let meta = fs_err::symlink_metadata(path).ok()?;
        let mode = meta.mode() & 0o7777;
        Some(if meta.is_file() {
            let written = (meta.mtime(), meta.mtime_nsec());
            let changed = (meta.ctime(), meta.ctime_nsec());
            Self::File { inode: meta.ino(), size: meta.len(), written, changed, mode }
        } else if meta.is_dir() {
            Self::Folder { mode }
        } else if meta.is_symlink() {
            Self::Link(fs_err::read_link(path).ok()?)
        } else {
            Self::Other
        })
    }

    /// How long a file is.
    pub(super) const fn size(&self) -> Option<u64> {
        match self {
            Self::File { size, .. } => Some(*size),
            _ => None,
        }
    }

    /// When a file was last written.
    pub(super) const fn written(&self) -> (i64, i64) {
        match self {
            Self::File { written, .. } => *written,
            _ => (0, 0),
        }
    }

    /// Whether it is the same file with the same content, under whatever name and mode.
    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::File { inode, size, written, .. },
                Self::File { inode: others, size: size_there, written: written_there, .. },
            ) => (inode, size, written) == (others, size_there, written_there),
            _ => false,
        }
    }
}

/// How much was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Everything.
    Whole,
    /// There are too many names.
    Part,
}

/// Everything at and below these places, links not followed.
pub(super) fn walk(places: &[PathBuf]) -> (Names, Reach) {
    let mut names = Names::new();
    let mut folders = VecDeque::new();
    for place in places {
        let Some(name) = Name::of(place) else { continue };
        if matches!(name, Name::Folder { .. }) {
            folders.push_back(place.clone());
        }
        names.insert(place.clone(), name);
    }
    while let Some(folder) = folders.pop_front() {
        let Ok(entries) = fs_err::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let is_skipped = SKIPPED.iter().any(|skipped| entry.file_name() == *skipped);
            let path = entry.path();
            let Some(name) = Name::of(&path).filter(|_| !is_skipped) else { continue };
            if matches!(name, Name::Folder { .. }) {
                folders.push_back(path.clone());
            }
            names.insert(path, name);
            if names.len() > LOOKED_AT {
                return (names, Reach::Part);
            }
        }
    }
    (names, Reach::Whole)
}
