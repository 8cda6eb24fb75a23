//! What stands in files before a command, held in a file without a name until it is known what changed.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use haft_workspace::journal::Journal;

use super::tree::Name;

/// Most bytes of one file that are held.
pub(super) const LARGEST: u64 = 8 * 1024 * 1024;

/// Most bytes that are copied before one command; the next one goes on where this one stopped.
const COPIED: u64 = 96 * 1024 * 1024;

/// Longest time that a command waits for that.
const PATIENCE: Duration = Duration::from_millis(500);

/// Most bytes that are held at a time; then it begins anew.
const HELD: u64 = 512 * 1024 * 1024;

/// The contents of files as they were when somebody last looked, for all sessions of a program.
#[derive(Debug, Default)]
pub(crate) struct Stash(Mutex<Option<Pile>>);

/// Contents one after another in a file.
#[derive(Debug)]
struct Pile {
    file: Arc<File>,
    end: u64,
    /// What each file was, and where that is.
    held: HashMap<PathBuf, (Name, u64)>,
}

/// The content of one file, as it was.
#[derive(Debug, Clone)]
pub(super) struct Held {
    file: Arc<File>,
    at: u64,
    size: u64,
}

impl Held {
    /// The bytes.
    pub(super) fn content(&self) -> io::Result<Vec<u8>> {
        let mut content = vec![0; usize::try_from(self.size).unwrap_or(usize::MAX)];
        self.file.read_exact_at(&mut content, self.at)?;
        Ok(content)
    }
}

impl Stash {
    /// Holds what stands in these files now, the first of them first, as far as there is room and time.
    pub(super) fn hold<'a>(
        &self,
        journal: &Journal,
        files: impl Iterator<Item = (&'a PathBuf, &'a Name)>,
    ) -> BTreeMap<PathBuf, Held> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if place.as_ref().is_some_and(|pile| pile.end > HELD) {
            *place = None;
        }
        if place.is_none() {
            let new = |file| Pile { file: Arc::new(file), end: 0, held: HashMap::new() };
            *place = journal.aside().ok().map(new);
        }
        let Some(pile) = place.as_mut() else { return BTreeMap::new() };
        let (deadline, most) = (Instant::now() + PATIENCE, pile.end + COPIED);
        let mut held = BTreeMap::new();
        for (path, name) in files {
            let Some(size) = name.size().filter(|size| *size <= LARGEST) else { continue };
            let known = pile.held.get(path).filter(|(known, _)| known == name).map(|(_, at)| *at);
            let has_room = pile.end + size <= most && Instant::now() < deadline;
            let at = match known {
                Some(at) => Some(at),
                None if has_room => pile.add(path, name, size).ok(),
                None => None,
            };
            let file = Arc::clone(&pile.file);
            held.extend(at.map(|at| (path.clone(), Held { file, at, size })));
        }
        held
    }
}

impl Pile {
    /// Copies a file to the end. One that changes meanwhile is not held.
    fn add(&mut self, path: &Path, name: &Name, size: u64) -> io::Result<u64> {
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        fs_err::File::open(path)?.take(size + 1).read_to_end(&mut content)?;
        if content.len() as u64 != size || Name::of(path).as_ref() != Some(name) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let at = self.end;
        self.file.write_all_at(&content, at)?;
        self.end += size;
        self.held.insert(path.to_owned(), (name.clone(), at));
        Ok(at)
    }
}
