//! Taking down what somebody else has changed, such as a command.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;

use rustix::fs::Mode;

use super::entry::{Changed, Entry, Label};
use super::error::ChangeError;
use super::kept::Sync;
use super::open_entry::OpenEntry;
use super::{Journal, prune};
use crate::write::Hash;
use crate::write::backup::{open_folder, private_folder};
use crate::write::temporary::Temporary;

/// Changes of somebody else that are being taken down. While it lives, nothing of it is pruned.
pub struct Recording<'a> {
    journal: &'a Journal,
    growing: prune::Growing,
    grown: Cell<u64>,
}

impl Journal {
    /// Begins to take down changes that have already been made, so that they can be undone like our own.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn recording(&self) -> Result<Recording<'_>, ChangeError> {
        let growing = prune::growing(&self.folder).map_err(ChangeError::journal)?;
        Ok(Recording { journal: self, growing, grown: Cell::new(0) })
    }

    /// A file without a name, for what may have to be kept: nobody else sees it, and it is gone when
    /// it is closed.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn aside(&self) -> io::Result<File> {
        private_folder(&self.folder)?;
        let dir = open_folder(&self.folder)?;
        Temporary::create(dir.as_fd(), Mode::RUSR | Mode::WUSR)?.file.try_clone()
    }
}

impl Recording<'_> {
    /// Keeps what stood in a file before.
    ///
    /// # Errors
    /// If it cannot be kept.
    pub fn keep(&self, content: &[u8]) -> Result<Hash, ChangeError> {
        let hash = blake3::hash(content);
        let grown = self.journal.kept().save(hash, content, Sync::Later);
        self.grown.set(self.grown.get() + grown.map_err(ChangeError::journal)?);
        Ok(hash)
    }

    /// Takes the changes down. What stood in their files must have been given to [`Recording::keep`].
    ///
    /// # Errors
    /// If the entry cannot be written.
    pub fn finish(self, label: Label, changes: Vec<Changed>) -> Result<Entry, ChangeError> {
        let Self { journal, growing, grown } = self;
        let entry = Entry { id: journal.next_id(), label, changes, undoes: Vec::new() };
        OpenEntry::create(&journal.folder, &entry, false).map_err(ChangeError::journal)?.finish();
        let due = growing.by(grown.get(), journal.options.bytes).map_err(ChangeError::journal)?;
        drop(growing);
        if due {
            // What does not go now goes the next time.
            journal.prune().ok();
        }
        Ok(entry)
    }
}
