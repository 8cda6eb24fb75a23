//! The journal: what every call changed, so that a change of several files is whole and all can be undone.
//!
//! A change is a list of [`Step`]s. Before the first one is done, an entry that names them all, and
//! everything that they would overwrite, is on disk. If one fails the others are taken back; if the
//! process is killed, [`Journal::recover`] does that at the next start. An entry that is complete
//! stays, and undoing is nothing but a change in the other direction.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::Workspace;
use crate::write::Hash;

mod entry;
mod error;
mod kept;
mod look;
mod open_entry;
mod prune;
mod record;
mod recover;
mod step;
mod undo;

pub use entry::{Changed, Entry, EntryId, Label, State};
pub use error::{ChangeError, Conflict};
pub use look::Look;
pub use record::Recording;
pub use recover::{Recovered, Verdict};
pub use step::{Content, Step};
pub use undo::{Reversal, Way, Which};

use kept::Kept;
use open_entry::OpenEntry;

/// The folders of a journal in which files are made, so that killed processes leave some there.
const OPEN_FOLDERS: [&str; 2] = [open_entry::OPEN, kept::FOLDER];

/// How much a journal keeps.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Most bytes of old contents, compressed; the oldest entries go first.
    pub bytes: u64,
    /// How long an entry stays.
    pub age: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { bytes: 1 << 30, age: Duration::from_secs(30 * 24 * 60 * 60) }
    }
}

/// What was changed in one workspace, and by whom.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    /// Where copies are kept while a file is rewritten in place.
    recovery: PathBuf,
    options: Options,
    /// The time of the last entry: a clock that stands still must not mix up their order.
    last: AtomicU64,
}

impl Journal {
    /// The journal of the workspace at `root`, under a folder for the journals of all of them.
    ///
    /// Nothing is created before the first change.
    #[must_use]
    pub fn of(root: &Path, state: &Path, options: Options) -> Self {
        use std::os::unix::ffi::OsStrExt as _;
        let name = blake3::hash(root.as_os_str().as_bytes()).to_hex();
        let folder = state.join("journal").join(name.get(..32).unwrap_or_default());
        Self { folder, recovery: state.join("recovery"), options, last: AtomicU64::new(0) }
    }

    /// Does all the steps or none, and returns the record of it; a step that changes nothing is
    /// left out, and without any other nothing is recorded.
    ///
    /// Folders that are missing on the way to a new file are made. Steps are done in order; each
    /// one is on another path.
    ///
    /// # Errors
    /// Any error but [`ChangeError::Stuck`] means that everything is as it was.
    pub fn change(
        &self,
        workspace: &Workspace,
        label: Label,
        steps: Vec<Step>,
    ) -> Result<Entry, ChangeError> {
        self.carry_out(workspace, label, steps, Vec::new())
    }

    /// Every entry that is complete, oldest first.
    ///
    /// # Errors
    /// If the journal cannot be read. A damaged entry is passed over.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        entry::all(&self.done())
    }

    /// The content that an entry names, if it is still kept.
    ///
    /// # Errors
    /// If it cannot be read, or is not what it was.
    pub fn content(&self, hash: Hash) -> io::Result<Option<Vec<u8>>> {
        self.kept().load(hash)
    }

    fn carry_out(
        &self,
        workspace: &Workspace,
        label: Label,
        steps: Vec<Step>,
        undoes: Vec<EntryId>,
    ) -> Result<Entry, ChangeError> {
        let steps = step::with_folders(workspace, steps)?;
        let mut planned = step::prepare(workspace, steps)?;
        planned.retain(|one| !one.is_idle());
        let entry = Entry {
            id: self.next_id(),
            label,
            changes: planned.iter().map(step::Planned::changed).collect(),
            undoes,
        };
        if entry.changes.is_empty() {
            return Ok(entry);
        }
        let open = self.begin(workspace, &entry, &planned)?;
        for (at, one) in planned.iter().enumerate() {
            let Err(error) = one.perform(workspace, self) else { continue };
            let done = entry.changes.get(..at).unwrap_or_default();
            let failed = entry.changes.get(at);
            // A step that failed may have been done all the same, or in part; if not, what is there
            // is none of our business.
            let begun = failed.filter(|change| recover::is_begun(workspace, change));
            let done: Vec<Changed> = done.iter().chain(begun).cloned().collect();
            let stuck = recover::take_back(workspace, self, &done);
            if stuck.is_empty() {
                open.discard();
                return Err(error);
            }
            return Err(ChangeError::Stuck { cause: Box::new(error), conflicts: stuck });
        }
        open.finish();
        Ok(entry)
    }

    /// Puts everything on disk that is needed to take the steps back.
    fn begin(
        &self,
        workspace: &Workspace,
        entry: &Entry,
        planned: &[step::Planned],
    ) -> Result<OpenEntry, ChangeError> {
        let growing = prune::growing(&self.folder).map_err(ChangeError::journal)?;
        let kept = self.kept();
        let mut grown = 0;
        for one in planned {
            one.overwritten(workspace, &mut |hash, content| {
                grown += kept.save(hash, content, kept::Sync::Now)?;
                Ok(())
            })?;
        }
        // One file is replaced in a single step, whatever happens to its entry. Of several, none may
        // be touched before the entry survives a power cut.
        let several = planned.len() > 1;
        let open = OpenEntry::create(&self.folder, entry, several).map_err(ChangeError::journal)?;
        let due = growing.by(grown, self.options.bytes).map_err(ChangeError::journal)?;
        drop(growing);
        if due {
            // What does not go now goes the next time.
            self.prune().ok();
        }
        Ok(open)
    }

    fn next_id(&self) -> EntryId {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX - 1);
        let last = self.last.fetch_max(now, Ordering::Relaxed);
        let stamp = if last < now { now } else { self.last.fetch_add(1, Ordering::Relaxed) + 1 };
        EntryId::new(stamp)
    }

    fn kept(&self) -> Kept {
        Kept::in_folder(&self.folder)
    }

    fn done(&self) -> PathBuf {
        self.folder.join(open_entry::DONE)
    }
}
