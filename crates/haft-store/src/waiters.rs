//! Who still waits for an answer: a file for each ask, locked as long as its process lives.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_runtime::AskId;

use crate::private;

/// A file that is not locked may be about to be; after so long whoever made it is surely gone.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// The files, and those that this process holds.
#[derive(Debug)]
pub(crate) struct Waiters {
    folder: PathBuf,
    held: Mutex<HashMap<AskId, File>>,
}

impl Waiters {
    /// `folder` is made when it is needed.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, held: Mutex::default() }
    }

    /// Shows that this process waits. Where no file can be locked, the ask's lease alone says so.
    pub(crate) fn hold(&self, id: &AskId) {
        let Some(path) = self.path(id) else { return };
        self.tidy();
        let made = private::make_folder(&self.folder).and_then(|()| private::make_file(&path));
        let Ok(file) = made.map(|file| file.into_parts().0) else { return };
        if file.try_lock().is_ok() {
            self.held().insert(id.clone(), file);
        } else {
            fs_err::remove_file(path).ok();
        }
    }

    /// Nobody waits any more, here or anywhere.
    pub(crate) fn release(&self, id: &AskId) {
        // Held until the file is gone, so that nobody takes us for dead.
        let _held = self.held().remove(id);
        if let Some(path) = self.path(id) {
            fs_err::remove_file(path).ok();
        }
    }

    /// Whether the process that waited has died. What cannot be known is not so.
    pub(crate) fn is_dead(&self, id: &AskId) -> bool {
        self.path(id).is_some_and(|path| is_free(&path))
    }

    /// Removes what the dead have left behind.
    fn tidy(&self) {
        for entry in fs_err::read_dir(&self.folder).into_iter().flatten().flatten() {
            let age = entry.metadata().ok().and_then(|it| it.modified().ok()?.elapsed().ok());
            if age.is_some_and(|age| age > ABANDONED_AFTER) && is_free(&entry.path()) {
                fs_err::remove_file(entry.path()).ok();
            }
        }
    }

    /// None for an id that is no name of a file; ours all are.
    fn path(&self, id: &AskId) -> Option<PathBuf> {
        let is_plain = id.as_str().bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
        is_plain.then(|| self.folder.join(id.as_str()))
    }

    fn held(&self) -> MutexGuard<'_, HashMap<AskId, File>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether nobody holds a file that is there.
fn is_free(path: &Path) -> bool {
    let Ok(file) = fs_err::File::open(path) else { return false };
    // Shared: two who look at the same time do not take each other for whoever waits.
    file.into_parts().0.try_lock_shared().is_ok()
}
