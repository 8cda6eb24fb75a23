//! An entry on disk while its change is being made: locked, so that the living are told from the dead.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::retry_on_intr;

use super::entry::Entry;
use crate::write::backup::private_folder;
use crate::write::lock;
use crate::write::temporary::Temporary;

/// Where entries are while their change is being made.
pub(super) const OPEN: &str = "open";
/// Where complete entries are.
pub(super) const DONE: &str = "done";
/// Where entries go that could be neither completed nor taken back.
pub(super) const STUCK: &str = "stuck";

/// An entry whose lock is ours.
pub(super) struct OpenEntry {
    journal: PathBuf,
    name: String,
    file: File,
}

impl OpenEntry {
    /// Writes an entry; with `sync` also its folder survives a power cut from here on.
    pub(super) fn create(journal: &Path, entry: &Entry, sync: bool) -> io::Result<Self> {
        let folder = journal.join(OPEN);
        private_folder(&folder)?;
        private_folder(&journal.join(DONE))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = retry_on_intr(|| rustix::fs::openat(CWD, &folder, flags, Mode::empty()))?;
        let name = entry.id.as_str().to_owned();
        let mut temporary = Temporary::create(dir.as_fd(), Mode::RUSR | Mode::WUSR)?;
        let text = serde_json::to_vec(entry)?;
        temporary.file.write_all(&text)?;
        retry_on_intr(|| rustix::fs::fdatasync(&temporary.file))?;
        let file = temporary.settle_locked(name.as_ref())?;
        let open = Self { journal: journal.to_owned(), name, file };
        if sync && let Err(error) = retry_on_intr(|| rustix::fs::fsync(&dir)) {
            open.discard();
            return Err(error.into());
        }
        Ok(open)
    }

    /// Takes over the entry of a process that is gone; none if that process lives.
    pub(super) fn adopt(journal: &Path, name: &str) -> io::Result<Option<(Self, Option<Entry>)>> {
        let mut file = match fs_err::File::open(journal.join(OPEN).join(name)) {
            Ok(file) => File::from(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if !lock::try_lock(&file)? {
            return Ok(None);
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let open = Self { journal: journal.to_owned(), name: name.to_owned(), file };
        // Its owner may have moved it between our opening and our locking.
        if !fs_err::exists(open.path(OPEN))? {
            return Ok(None);
        }
        Ok(Some((open, serde_json::from_slice(&text).ok())))
    }

    /// The change is made. If the entry cannot be moved, the next start finds the change complete.
    pub(super) fn finish(self) {
        fs_err::rename(self.path(OPEN), self.path(DONE)).ok();
    }

    /// The change was not made, or was taken back.
    pub(super) fn discard(self) {
        fs_err::remove_file(self.path(OPEN)).ok();
    }

    /// The change can be neither completed nor taken back.
    pub(super) fn set_aside(self) -> io::Result<()> {
        private_folder(&self.journal.join(STUCK))?;
        fs_err::rename(self.path(OPEN), self.path(STUCK))
    }

    fn path(&self, folder: &str) -> PathBuf {
        self.journal.join(folder).join(&self.name)
    }
}

impl Drop for OpenEntry {
    fn drop(&mut self) {
        lock::unlock(&self.file);
    }
}

/// The names of the entries whose change is being made, or was when its process ended.
pub(super) fn names(journal: &Path) -> io::Result<Vec<String>> {
    let listing = match fs_err::read_dir(journal.join(OPEN)) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for file in listing {
        names.extend(file?.file_name().into_string().ok().filter(|name| !name.starts_with('.')));
    }
    names.sort();
    Ok(names)
}
