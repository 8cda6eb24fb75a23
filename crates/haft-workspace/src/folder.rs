//! What is in a folder: names in one order, what the ignore rules leave out, and bounded whatever its size.

use std::collections::BinaryHeap;
use std::ffi::{OsStr, OsString};
use std::fs::FileType;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::overrides::{Override, OverrideBuilder};
use rustix::fs::CWD;

use crate::ignored::{Marks, NEVER, Rules};
use crate::open::OpenError;
use crate::path::Place;
use crate::{Workspace, percent};

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// What kind of thing it is; folders come first.
    pub kind: EntryKind,
    /// Its name, byte for byte.
    pub name: OsString,
}

impl Entry {
    /// How it is shown: `/` on folders, where a link points, and a name that can be written back.
    #[must_use]
    pub fn shown(&self, folder: &Path) -> String {
        let name = shown(folder, &self.name);
        match &self.kind {
            EntryKind::Folder => format!("{name}/"),
            EntryKind::File => name,
            EntryKind::Link(target) => {
                format!("{name} -> {}", target.to_string_lossy().escape_debug())
            }
            EntryKind::Special => format!("{name} (special)"),
        }
    }
}

/// What kind of thing a name stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A file.
    File,
    /// A link, and where it points.
    Link(OsString),
    /// A pipe, socket or device.
    Special,
}

/// What is in a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Children {
    /// The first names in order, folders before files.
    pub entries: Vec<Entry>,
    /// How many there are in all, without the ignored ones.
    pub total: usize,
    /// How many the ignore rules leave out.
    pub ignored: usize,
}

/// Which names to leave out, beside what ignore files say.
#[derive(Debug, Clone)]
pub struct Without(Override);

impl Without {
    /// Leaves out what matches one of these globs, seen from `root`.
    ///
    /// # Errors
    /// If a glob cannot be read; the message quotes it.
    pub fn globs<'a>(
        root: &Path,
        globs: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, String> {
        let mut builder = OverrideBuilder::new(root);
        for glob in globs {
            // In this crate's language an override without `!` is a whitelist.
            let negated = format!("!{}", glob.trim_start_matches('!'));
            builder.add(&negated).map_err(|error| error.to_string())?;
        }
        builder.build().map(Self).map_err(|error| error.to_string())
    }
}

/// Which names of a folder are wanted.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// All of them, whatever ignore files say.
    Everything,
    /// What ignore files leave, and these globs.
    NotIgnored(&'a Without),
}

impl Workspace {
    /// Lists a folder: at most `keep` entries, the first in order; counts are exact.
    ///
    /// # Errors
    /// If it is not a folder, or cannot be read, or was swapped for another while it was read.
    pub fn children(
        &self,
        place: &Place,
        wanted: Wanted<'_>,
        keep: usize,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Children, OpenError> {
        let before = self.open_place(place)?.metadata;
        let children = read(&place.path, wanted, keep, cancelled)
            .map_err(|source| OpenError::Io { path: place.path.clone(), source })?;
        let after = self.open_place(place)?.metadata;
        if is_same(&before, &after) {
            Ok(children)
        } else {
            Err(OpenError::Swapped { path: place.path.clone() })
        }
    }
}

fn is_same(a: &std::fs::Metadata, b: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

fn read(
    folder: &Path,
    wanted: Wanted<'_>,
    keep: usize,
    cancelled: &dyn Fn() -> bool,
) -> io::Result<Children> {
    let mut first = First::new(keep);
    let all = fs_err::read_dir(folder)?.filter_map(Result::ok);
    let all = all.take_while(|_| !cancelled());
    let (total, ignored) = match wanted {
        Wanted::Everything => {
            all.for_each(|found| first.push(entry(&found.path(), found.file_type().ok())));
            (first.pushed, 0)
        }
        Wanted::NotIgnored(without) => {
            let rules = Rules::within(Rules::above(folder), CWD, folder, folder, Marks::ALL);
            let mut ignored = 0;
            for found in all.filter(|found| found.file_name() != NEVER) {
                let (path, kind) = (found.path(), found.file_type().ok());
                let is_folder = kind.is_some_and(|kind| kind.is_dir());
                let bytes = path.as_os_str().as_bytes();
                if without.0.matched(&path, is_folder).is_ignore()
                    || rules.as_ref().is_some_and(|rules| rules.leave_out(bytes, is_folder))
                {
                    ignored += 1;
                } else {
                    first.push(entry(&path, kind));
                }
            }
            (first.pushed, ignored)
        }
    };
    if cancelled() {
        return Err(io::ErrorKind::Interrupted.into());
    }
    Ok(Children { entries: first.into_entries(), total, ignored })
}

/// The first entries in order. The last of them is on top, and goes when an earlier one comes, so that
/// memory stays within `keep`.
struct First {
    heap: BinaryHeap<Entry>,
    keep: usize,
    pushed: usize,
}

impl First {
    fn new(keep: usize) -> Self {
        Self { heap: BinaryHeap::new(), keep, pushed: 0 }
    }

    fn push(&mut self, entry: Entry) {
        self.pushed += 1;
        self.heap.push(entry);
        if self.heap.len() > self.keep {
            self.heap.pop();
        }
    }

    fn into_entries(self) -> Vec<Entry> {
        self.heap.into_sorted_vec()
    }
}

fn entry(path: &Path, kind: Option<FileType>) -> Entry {
    let name = path.file_name().unwrap_or_default().to_owned();
    let kind = match kind {
        Some(kind) if kind.is_dir() => EntryKind::Folder,
        Some(kind) if kind.is_file() => EntryKind::File,
        Some(kind) if kind.is_symlink() => {
            EntryKind::Link(fs_err::read_link(path).unwrap_or_default().into_os_string())
        }
        _ => EntryKind::Special,
    };
    Entry { kind, name }
}

/// A name as a model can write it back: itself, or as a URL where it holds what text cannot.
pub(crate) fn shown(folder: &Path, name: &OsStr) -> String {
    match name.to_str() {
        Some(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => {
            let plain: String =
                name.to_string_lossy().chars().flat_map(char::escape_debug).collect();
            format!("{plain} (file://{})", percent::encode(&folder.join(name)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn workspace(files: &[&str]) -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, "").unwrap();
        }
        let workspace = Workspace::open(dir.path(), None).unwrap();
        (dir, workspace)
    }

    fn names(workspace: &Workspace, path: &str, without: &[&str]) -> (String, usize) {
        let place = workspace.locate(path).unwrap();
        let without = Without::globs(workspace.root(), without.iter().copied()).unwrap();
        let wanted = Wanted::NotIgnored(&without);
        let children = workspace.children(&place, wanted, 100, &|| false).unwrap();
        let names: Vec<String> = children
            .entries
            .iter()
            .map(|entry| entry.name.to_string_lossy().into_owned())
            .collect();
        (names.join(" "), children.ignored)
    }

    #[test]
    fn folders_come_first_and_both_are_in_order() {
        let (_dir, workspace) = workspace(&["b", "a", "z/x", "c/x", ".hidden"]);
        assert_eq!(names(&workspace, ".", &[]), ("c z .hidden a b".to_owned(), 0));
    }

    #[test]
    fn ignore_files_are_heeded_wherever_they_are_and_what_they_hide_is_counted() {
        let (dir, workspace) =
            workspace(&["target/x", "a.log", "keep.log", "src/a.rs", "src/b.tmp", ".git/config"]);
        fs_err::write(dir.path().join(".gitignore"), "target\n*.log\n!keep.log\n").unwrap();
        fs_err::write(dir.path().join("src/.haftignore"), "*.tmp\n").unwrap();
        assert_eq!(names(&workspace, ".", &[]), ("src .gitignore keep.log".to_owned(), 2));
        assert_eq!(names(&workspace, "src", &[]), (".haftignore a.rs".to_owned(), 1));
        assert_eq!(names(&workspace, "src", &["*.rs"]), (".haftignore".to_owned(), 2));
        assert!(Without::globs(dir.path(), ["a{"]).is_err());
    }

    #[test]
    fn only_as_many_as_wanted_are_kept_and_all_are_counted() {
        let files: Vec<String> = (0..500).map(|n| format!("{n:03}")).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let (_dir, workspace) = workspace(&files);
        let place = workspace.locate(".").unwrap();
        let children = workspace.children(&place, Wanted::Everything, 3, &|| false).unwrap();
        let names: Vec<_> =
            children.entries.iter().map(|entry| entry.name.to_str().unwrap()).collect();
        assert_eq!((names, children.total), (vec!["000", "001", "002"], 500));
        let stopped = workspace.children(&place, Wanted::Everything, 3, &|| true);
        assert!(matches!(stopped, Err(OpenError::Io { .. })));
    }

    #[test]
    fn a_name_that_is_no_text_can_be_written_back_from_what_is_shown() {
        let (dir, workspace) = workspace(&[]);
        let name = OsStr::from_bytes(b"a\xff\nb");
        fs_err::write(dir.path().join(name), "x").unwrap();
        symlink("nowhere", dir.path().join("link")).unwrap();
        let place = workspace.locate(".").unwrap();
        let children = workspace.children(&place, Wanted::Everything, 9, &|| false).unwrap();
        assert_eq!(children.entries[1].kind, EntryKind::Link("nowhere".into()));
        let shown = shown(workspace.root(), &children.entries[0].name);
        assert!(!shown.contains('\n'), "{shown}");
        let url = shown.split(" (").nth(1).unwrap().trim_end_matches(')');
        assert!(workspace.locate(url).unwrap().exists, "{url}");
    }
}
