//! One folder of a walk: its names, the rules in it, and what becomes of each.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{AtFlags, FileType, RawDir, Stat, fstat, fstatfs, statat};

use super::{End, Found, Ground, Harvest, LeftOut, REMEMBERED, Walk};
use crate::ignored::{Marks, NEVER, Rules};
use crate::open::open_below;
use crate::write::is_temporary;

/// What the kernel is asked for at once.
const NAMES: usize = 32 * 1024;

/// File systems that show the machine rather than files: proc, sys, cgroups, devpts, debug, trace, security, bpf.
const NO_FILES: [u32; 9] = [
    0x9fa0,
    0x6265_6572,
    0x0027_e0eb,
    0x6367_7270,
    0x1cd1,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0xcafe_4a11,
];

/// A folder that is still to be gone through, and the rules that come from above it.
pub(super) struct Waiting {
    pub(super) path: Arc<Path>,
    pub(super) rules: Option<Arc<Rules>>,
    /// Where the folder that holds it is; none at the beginning.
    pub(super) device: Option<u64>,
}

/// A walk under way.
pub(super) struct Trip<'a> {
    pub(super) ground: &'a Ground<'a>,
    pub(super) walk: &'a Walk<'a>,
    /// How many names all threads have looked at.
    pub(super) seen: &'a AtomicUsize,
    pub(super) most: usize,
}

/// What one thread uses again for every folder.
pub(super) struct Scratch {
    buffer: Vec<MaybeUninit<u8>>,
    names: Vec<u8>,
    entries: Vec<(Range<usize>, FileType)>,
    /// The absolute path of a name.
    path: Vec<u8>,
}

impl Scratch {
    pub(super) fn new() -> Self {
        let buffer = vec![MaybeUninit::uninit(); NAMES];
        Self { buffer, names: Vec::new(), entries: Vec::new(), path: Vec::new() }
    }
}

impl Trip<'_> {
    /// Goes through one folder; the folders in it are added to `found`.
    pub(super) fn enter(
        &self,
        folder: &Waiting,
        scratch: &mut Scratch,
        found: &mut Vec<Waiting>,
        harvest: &mut Harvest,
    ) {
        if self.is_over(harvest) {
            return;
        }
        let Some((dir, device)) = self.open(folder, harvest) else { return };
        let Some(marks) = read_names(dir.as_fd(), scratch) else {
            harvest.met.unreadable += 1;
            return;
        };
        self.seen.fetch_add(scratch.entries.len(), Ordering::Relaxed);
        let absolute = self.ground.absolute(&folder.path);
        let rules = match self.walk.ignored {
            super::Ignored::LeftOut => Rules::within(
                folder.rules.clone(),
                dir.as_fd(),
                Path::new(""),
                Path::new(OsStr::from_bytes(&absolute)),
                marks,
            ),
            super::Ignored::Included => None,
        };
        let (path, dir) = (&folder.path, dir.as_fd());
        let mut room = Room { trip: self, path, dir, device, rules, found, harvest };
        let Scratch { names, entries, path, .. } = scratch;
        path.clear();
        path.extend_from_slice(absolute.strip_suffix(b"/").unwrap_or(&absolute));
        path.push(b'/');
        let base = path.len();
        for (range, kind) in entries.drain(..) {
            let name = names.get(range).unwrap_or_default();
            path.truncate(base);
            path.extend_from_slice(name);
            room.sort(name, path, kind);
        }
    }

    /// A file that is named by its path below the ground.
    pub(super) fn file(&self, path: &Path) -> Option<Found> {
        let name = path.file_name()?;
        let folder = Arc::from(path.parent()?);
        let stat = statat(self.ground.folder.as_fd(), path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        is_regular(&stat).then(|| entry(&folder, name, &stat))
    }

    fn is_over(&self, harvest: &mut Harvest) -> bool {
        if (self.walk.stop)() {
            harvest.end = End::Stopped;
        } else if self.seen.load(Ordering::Relaxed) >= self.most {
            harvest.end = End::TooMuch;
        }
        harvest.end != End::Whole
    }

    /// Opens a folder, and says on which device it is. Where another file system begins it is told of, and
    /// not entered if what is in there are no files at all.
    fn open(&self, folder: &Waiting, harvest: &mut Harvest) -> Option<(OwnedFd, u64)> {
        let path = if folder.path.as_os_str().is_empty() { Path::new(".") } else { &folder.path };
        let opened = open_below(self.ground.folder.as_fd(), path);
        let Ok((dir, stat)) = opened.and_then(|dir| fstat(&dir).map(|stat| (dir, stat))) else {
            harvest.met.unreadable += 1;
            return None;
        };
        if folder.device.is_some_and(|device| device != stat.st_dev) {
            harvest.met.mounts += 1;
            let kind = fstatfs(&dir).map(|stat| stat.f_type).unwrap_or_default();
            if NO_FILES.iter().any(|magic| i128::from(kind) == i128::from(*magic)) {
                return None;
            }
        }
        Some((dir, stat.st_dev))
    }
}

/// One folder while its names are sorted out.
struct Room<'a> {
    trip: &'a Trip<'a>,
    path: &'a Arc<Path>,
    dir: BorrowedFd<'a>,
    device: u64,
    rules: Option<Arc<Rules>>,
    found: &'a mut Vec<Waiting>,
    harvest: &'a mut Harvest,
}

impl Room<'_> {
    /// Puts a name where it belongs; `absolute` is its path.
    fn sort(&mut self, name: &[u8], absolute: &[u8], kind: FileType) {
        if name == NEVER.as_bytes() || is_temporary(name) {
            return;
        }
        let mut stat = None;
        let kind = match kind {
            FileType::Unknown => {
                stat = self.stat(name);
                stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
            }
            kind => kind,
        };
        let is_folder = kind == FileType::Directory;
        match kind {
            FileType::Directory | FileType::RegularFile => {}
            FileType::Symlink => return self.harvest.met.links += 1,
            _ => return self.harvest.met.special += 1,
        }
        let ground = self.trip.ground.place.path.as_os_str().len();
        let below = absolute.get(ground..).unwrap_or_default();
        let below = Path::new(OsStr::from_bytes(below.strip_prefix(b"/").unwrap_or(below)));
        if self.rules.as_ref().is_some_and(|rules| rules.leave_out(absolute, is_folder)) {
            self.harvest.met.ignored += 1;
            if self.harvest.left_out.len() < REMEMBERED {
                self.harvest
                    .left_out
                    .push(LeftOut { path: below.as_os_str().to_owned(), is_folder });
            }
        } else if is_folder {
            if (self.trip.walk.worth)(below) {
                let (path, rules) = (Arc::from(below), self.rules.clone());
                self.found.push(Waiting { path, rules, device: Some(self.device) });
            }
        } else if (self.trip.walk.wanted)(below) {
            // What vanished meanwhile is not there.
            let stat = stat.or_else(|| self.stat(name)).filter(is_regular);
            let name = OsStr::from_bytes(name);
            self.harvest.files.extend(stat.map(|stat| entry(self.path, name, &stat)));
        }
    }

    fn stat(&self, name: &[u8]) -> Option<Stat> {
        statat(self.dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }
}

/// Reads all names of a folder, and notes those that matter to the rules in it.
fn read_names(dir: BorrowedFd<'_>, scratch: &mut Scratch) -> Option<Marks> {
    let Scratch { buffer, names, entries, .. } = scratch;
    names.clear();
    entries.clear();
    let mut marks = Marks::default();
    let mut raw = RawDir::new(dir, buffer);
    while let Some(entry) = raw.next() {
        let entry = entry.ok()?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        marks.see(name);
        let begin = names.len();
        names.extend_from_slice(name);
        entries.push((begin..names.len(), entry.file_type()));
    }
    Some(marks)
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

fn entry(folder: &Arc<Path>, name: &OsStr, stat: &Stat) -> Found {
    let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or_default();
    Found {
        folder: Arc::clone(folder),
        name: Box::from(name),
        modified: stat.st_mtime.saturating_mul(1_000_000_000).saturating_add(nanos),
        size: u64::try_from(stat.st_size).unwrap_or_default(),
    }
}
