//! What the journal lets go of: by age, by size, or because a session is forgotten.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;
use rustix::io::{Errno, retry_on_intr};

use super::Journal;
use super::entry::{self, Entry};
use super::open_entry::OPEN;
use crate::write::backup::private_folder;

/// What was added since the last pruning, a number a line; the first is what was there then.
const GROWTH: &str = "growth";
/// Touched by every pruning.
const PRUNED: &str = "pruned";
/// How often age is looked at.
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);

/// While one lives, nothing is pruned, so that what is just being kept is not taken for rubbish.
pub(super) struct Growing {
    folder: PathBuf,
    lock: File,
}

/// Waits until nobody prunes.
pub(super) fn growing(folder: &Path) -> io::Result<Growing> {
    let lock = lock_file(folder)?;
    retry_on_intr(|| rustix::fs::flock(&lock, FlockOperation::LockShared))?;
    Ok(Growing { folder: folder.to_owned(), lock })
}

fn lock_file(folder: &Path) -> io::Result<File> {
    private_folder(folder)?;
    let path = folder.join("lock");
    let mut options = fs_err::OpenOptions::new();
    Ok(options.create(true).append(true).open(path)?.into())
}

impl Growing {
    /// Counts what was added, and tells whether the quota is exceeded.
    pub(super) fn by(&self, bytes: u64, quota: u64) -> io::Result<bool> {
        if bytes == 0 {
            return Ok(false);
        }
        let path = self.folder.join(GROWTH);
        let mut file = fs_err::OpenOptions::new().create(true).append(true).open(&path)?;
        file.write_all(format!("{bytes}\n").as_bytes())?;
        let total = fs_err::read_to_string(&path)?;
        Ok(total.lines().filter_map(|line| line.parse::<u64>().ok()).sum::<u64>() > quota)
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.lock, FlockOperation::Unlock);
    }
}

impl Journal {
    /// Lets go of what is too old or too much, the oldest first, and returns how many entries went.
    ///
    /// # Errors
    /// If the journal cannot be read or written.
    pub fn prune(&self) -> io::Result<usize> {
        let (age, quota) = (self.options.age, self.options.bytes);
        self.let_go(|entries, sizes| {
            let now = SystemTime::now();
            let old = |entry: &Entry| now.duration_since(entry.id.at()).is_ok_and(|a| a > age);
            let young = entries.iter().position(|entry| !old(entry)).unwrap_or(entries.len());
            let mut gone: HashSet<usize> = (0..young).collect();
            // From the newest back: as many as there is room for.
            let (mut room, mut counted) = (quota, HashSet::new());
            for (at, entry) in entries.iter().enumerate().skip(young).rev() {
                let needs = contents(entry).filter(|name| counted.insert(name.clone()));
                let bytes: u64 = needs.filter_map(|name| sizes.get(&name)).sum();
                match room.checked_sub(bytes) {
                    Some(left) => room = left,
                    None => {
                        gone.extend(young..=at);
                        break;
                    }
                }
            }
            gone
        })
    }

    /// Lets go of everything that a session did, and returns how many entries went.
    ///
    /// # Errors
    /// If the journal cannot be read or written.
    pub fn forget(&self, session: &str) -> io::Result<usize> {
        if !fs_err::exists(&self.folder)? {
            return Ok(0);
        }
        self.let_go(|entries, _| {
            let of_session = entries.iter().enumerate();
            let of_session = of_session.filter(|(_, entry)| entry.label.session == session);
            of_session.map(|(at, _)| at).collect()
        })
    }

    /// Looks once a day for what is too old.
    pub(super) fn prune_by_age(&self) {
        let touched = fs_err::metadata(self.folder.join(PRUNED)).and_then(|it| it.modified());
        let due = match touched {
            Ok(touched) => touched.elapsed().is_ok_and(|elapsed| elapsed > EVERY),
            Err(_) => fs_err::exists(&self.folder).unwrap_or(false),
        };
        if due {
            // Tidying is nobody's errand: what does not go now goes the next day.
            self.prune().ok();
        }
    }

    /// Removes the entries that `choose` picks, and every content that no entry needs any more.
    fn let_go(
        &self,
        choose: impl FnOnce(&[Entry], &HashMap<String, u64>) -> HashSet<usize>,
    ) -> io::Result<usize> {
        let lock = lock_file(&self.folder)?;
        match retry_on_intr(|| rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)) {
            Ok(()) => {}
            // Somebody is at work; there will be another time.
            Err(Errno::WOULDBLOCK) => return Ok(0),
            Err(error) => return Err(error.into()),
        }
        let sizes = sizes(self.kept().folder())?;
        let entries = self.entries()?;
        let gone = choose(&entries, &sizes);
        let mut needed: HashSet<String> =
            entry::all(&self.folder.join(OPEN))?.iter().flat_map(contents).collect();
        for (at, entry) in entries.iter().enumerate() {
            if gone.contains(&at) {
                fs_err::remove_file(self.done().join(entry.id.as_str()))?;
            } else {
                needed.extend(contents(entry));
            }
        }
        let mut total = 0;
        for (name, bytes) in &sizes {
            if needed.contains(name) {
                total += bytes;
            } else {
                fs_err::remove_file(self.kept().folder().join(name))?;
            }
        }
        fs_err::write(self.folder.join(GROWTH), format!("{total}\n"))?;
        fs_err::write(self.folder.join(PRUNED), "")?;
        let _ = rustix::fs::flock(&lock, FlockOperation::Unlock);
        Ok(gone.len())
    }
}

/// The contents that undoing an entry needs.
fn contents(entry: &Entry) -> impl Iterator<Item = String> {
    let hashes = entry.changes.iter().filter_map(|change| change.before.content());
    hashes.map(|hash| hash.to_hex().to_string())
}

fn sizes(folder: &Path) -> io::Result<HashMap<String, u64>> {
    let listing = match fs_err::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => return Err(error),
    };
    let mut sizes = HashMap::new();
    for file in listing {
        let file = file?;
        if let Ok(name) = file.file_name().into_string() {
            sizes.insert(name, file.metadata()?.len());
        }
    }
    Ok(sizes)
}
