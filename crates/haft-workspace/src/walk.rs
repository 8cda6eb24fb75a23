//! Goes through a folder and all below it, on several threads, and always finds the same.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::ignored::Rules;
use crate::path::Place;

mod crew;
mod folder;

/// Most files and folders that are looked at: more than any project has, and what they take fits in memory.
const MOST: usize = 2_000_000;
/// Most names that ignore rules left out and that are remembered, for whoever wants to look there after all.
const REMEMBERED: usize = 100_000;
/// More threads than that find nothing sooner.
const THREADS: usize = 8;

/// A folder that is gone through. Everything below it is opened from its handle and without following
/// links, so that nothing outside is reached, whatever is swapped meanwhile.
#[derive(Debug)]
pub struct Ground<'a> {
    /// The folder, open.
    pub folder: &'a File,
    /// Where it is.
    pub place: &'a Place,
}

/// What to look for, and for how long.
pub struct Walk<'a> {
    /// Whether ignore files count.
    pub ignored: Ignored,
    /// Which files are wanted, by their path below the ground.
    pub wanted: &'a (dyn Fn(&Path) -> bool + Sync),
    /// Which folders may hold such files, by their path below the ground.
    pub worth: &'a (dyn Fn(&Path) -> bool + Sync),
    /// On how many threads.
    pub threads: usize,
    /// Whether to stop, now.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// What is done with what ignore files name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// It is left out.
    LeftOut,
    /// It is treated as all else.
    Included,
}

/// A file, and what decides about its place among others.
#[derive(Debug, Clone)]
pub struct Found {
    folder: Arc<Path>,
    name: Box<OsStr>,
    /// When it was last changed, in nanoseconds since 1970.
    pub modified: i64,
    /// Its size in bytes.
    pub size: u64,
}

impl Found {
    /// Its path below the ground.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join(&*self.name)
    }

    pub(crate) fn folder(&self) -> &Arc<Path> {
        &self.folder
    }

    pub(crate) fn name(&self) -> &OsStr {
        &self.name
    }

    /// The newer first; of the same age, by path.
    #[must_use]
    pub fn newest_first(&self, other: &Self) -> Ordering {
        other.modified.cmp(&self.modified).then_with(|| self.by_path(other))
    }

    /// As texts, and without putting them together: many files may be of one age.
    fn by_path(&self, other: &Self) -> Ordering {
        let (mine, theirs) =
            (self.folder.as_os_str().as_bytes(), other.folder.as_os_str().as_bytes());
        let shared = mine.len().min(theirs.len());
        let (mine, my_rest) = mine.split_at_checked(shared).unwrap_or_default();
        let (theirs, their_rest) = theirs.split_at_checked(shared).unwrap_or_default();
        mine.cmp(theirs).then_with(|| {
            let rest = |found: &'_ Self, rest: &[u8]| {
                let slash = if found.folder.as_os_str().is_empty() { "" } else { "/" };
                [rest, slash.as_bytes(), found.name.as_bytes()].concat()
            };
            if my_rest.is_empty() && their_rest.is_empty() {
                self.name.cmp(&other.name)
            } else {
                rest(self, my_rest).cmp(&rest(other, their_rest))
            }
        })
    }
}

/// Something that ignore rules left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// As a text: that is compared faster than a path.
    path: OsString,
    is_folder: bool,
}

/// All that was found, in no order.
#[derive(Debug, Default)]
pub struct Harvest {
    /// The wanted files.
    pub files: Vec<Found>,
    /// What ignore rules left out, as far as it is remembered.
    pub left_out: Vec<LeftOut>,
    /// What was met beside them.
    pub met: Met,
    /// Whether all was looked at.
    pub end: End,
}

/// What was met beside files that were wanted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Met {
    /// Files and folders that ignore rules left out; what is in such a folder is not counted.
    pub ignored: usize,
    /// Folders that could not be read.
    pub unreadable: usize,
    /// Links, which are not followed.
    pub links: usize,
    /// Pipes, sockets and devices.
    pub special: usize,
    /// Folders in which another file system begins.
    pub mounts: usize,
}

/// How far a walk came.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// To the end.
    #[default]
    Whole,
    /// It was told to stop.
    Stopped,
    /// There was more than anyone can look through.
    TooMuch,
}

impl Harvest {
    fn absorb(&mut self, other: Self) {
        self.files.extend(other.files);
        let room = REMEMBERED.saturating_sub(self.left_out.len());
        self.left_out.extend(other.left_out.into_iter().take(room));
        self.met.ignored += other.met.ignored;
        self.met.unreadable += other.met.unreadable;
        self.met.links += other.met.links;
        self.met.special += other.met.special;
        self.met.mounts += other.met.mounts;
        if self.end == End::Whole {
            self.end = other.end;
        }
    }
}

/// As many threads as the machine runs at once, within reason.
#[must_use]
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(THREADS)
}

impl Ground<'_> {
    /// Finds every wanted file.
    #[must_use]
    pub fn walk(&self, walk: &Walk<'_>) -> Harvest {
        let rules = match walk.ignored {
            Ignored::LeftOut => Rules::above(&self.place.path),
            Ignored::Included => None,
        };
        let first = folder::Waiting { path: Arc::from(Path::new("")), rules, device: None };
        let seen = AtomicUsize::new(0);
        let trip = folder::Trip { ground: self, walk, seen: &seen, most: MOST };
        crew::go_through(vec![first], &trip, walk.threads.clamp(1, THREADS))
    }

    /// Finds the wanted files among those that an earlier walk left out; looks at no more than `most` names,
    /// and always at the same ones.
    #[must_use]
    pub fn walk_left_out(&self, walk: &Walk<'_>, left_out: &[LeftOut], most: usize) -> Harvest {
        let left_out_count = left_out.len();
        let mut left_out: Vec<&LeftOut> = left_out.iter().collect();
        if most < left_out.len() {
            left_out.select_nth_unstable(most);
            left_out.truncate(most);
        }
        left_out.sort();
        let (folders, files): (Vec<&LeftOut>, Vec<&LeftOut>) =
            left_out.into_iter().partition(|entry| entry.is_folder);
        let seen = AtomicUsize::new(files.len());
        let walk = Walk { ignored: Ignored::Included, ..*walk };
        let trip = folder::Trip { ground: self, walk: &walk, seen: &seen, most };
        let end = if most < left_out_count { End::TooMuch } else { End::Whole };
        let mut harvest = Harvest { end, ..Harvest::default() };
        for path in
            files.iter().map(|file| Path::new(&file.path)).filter(|path| (walk.wanted)(path))
        {
            harvest.files.extend(trip.file(path));
        }
        let waiting = |entry: &&LeftOut| folder::Waiting {
            path: Arc::from(Path::new(&entry.path)),
            rules: None,
            device: None,
        };
        // The last is taken first, and one thread takes them in a fixed order.
        let folders = folders.iter().rev().map(waiting).collect();
        harvest.absorb(crew::go_through(folders, &trip, 1));
        harvest
    }

    /// Whether a file is still there, with no link on the way: what was found may have been swapped since.
    #[must_use]
    pub fn has(&self, path: &Path) -> bool {
        crate::open::is_file_below(self.folder.as_fd(), path)
    }

    /// Opens a file by its path below the ground, with no link on the way.
    #[must_use]
    pub fn open(&self, path: &Path) -> Option<File> {
        crate::open::open_below(self.folder.as_fd(), path).ok().map(File::from)
    }

    /// How a file is shown: relative to the root where it is inside the workspace, and so that it can be
    /// written back.
    #[must_use]
    pub fn shown(&self, path: &Path) -> String {
        match &self.place.inside {
            Some(inside) => {
                let root = self.place.path.ancestors().nth(inside.components().count());
                let root = root.unwrap_or(&self.place.path);
                crate::folder::shown(root, inside.join(path).as_os_str())
            }
            None => crate::folder::shown(Path::new("/"), self.place.path.join(path).as_os_str()),
        }
    }

    fn absolute(&self, path: &Path) -> Vec<u8> {
        self.place.path.join(path).into_os_string().as_bytes().to_vec()
    }
}
