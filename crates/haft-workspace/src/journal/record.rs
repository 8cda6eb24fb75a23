//! Taking down what somebody else has changed, such as a command.

use super::entry::{Changed, Entry, Label};
use super::error::ChangeError;
use super::open_entry::OpenEntry;
use super::{Journal, prune};

impl Journal {
    /// Takes down changes that have already been made, so that they can be undone like our own.
    ///
    /// What stood in the files before must have been given to [`Journal::keep`].
    ///
    /// # Errors
    /// If the entry cannot be written.
    pub fn record(&self, label: Label, changes: Vec<Changed>) -> Result<Entry, ChangeError> {
        let _growing = prune::growing(&self.folder).map_err(ChangeError::journal)?;
        let entry = Entry { id: self.next_id(), label, changes, undoes: Vec::new() };
        OpenEntry::create(&self.folder, &entry, false).map_err(ChangeError::journal)?.finish();
        Ok(entry)
    }
}
