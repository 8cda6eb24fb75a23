//! Rewriting a file in place, for the few that must keep their inode, and undoing an interrupted one.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Dir, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::backup::{self, Backup, Record};
use super::error::WriteError;
use super::lock::{self, Held};
use super::temporary::sweep;

/// A start of the program must not wait for long; what is busy is met again at the next one.
const PATIENCE: Duration = Duration::from_secs(1);

/// Rewrites the held file; whatever happens, it holds `old` or `new` at the end, or a recovery file
/// tells how to get there.
///
/// Others may see the file half-written meanwhile: that is the price of keeping the inode.
pub(super) fn rewrite(
    dir: BorrowedFd<'_>,
    name: &OsStr,
    held: &Held,
    old: &[u8],
    new: &[u8],
    recovery: &Path,
) -> Result<(), WriteError> {
    let failed = |what, error: io::Error| WriteError::system(name, what, error);
    let file = open_to_write(dir, name, held)?;
    let path = backup::path_of(dir).map_err(|error| failed("find the folder's path", error))?;
    let backup = Backup::write(recovery, &path.join(name), held.stat.st_ino, old, new)
        .map_err(|error| failed("keep a copy in the recovery folder", error))?;
    if let Err(changed) = held.verify(dir, name, old) {
        backup.discard();
        return Err(changed);
    }
    let Err(error) = overwrite(&file, new) else {
        backup.discard();
        return Ok(());
    };
    // Shrinking to what was there before needs no room, so this works even on a full disk.
    if overwrite(&file, old).or_else(|_| overwrite(&file, old)).is_err() {
        let backup = backup.path.clone();
        return Err(WriteError::Torn { name: name.into(), backup, source: error });
    }
    backup.discard();
    Err(failed("rewrite the file in place", error))
}

/// Opens the held inode for writing, by its name.
fn open_to_write(dir: BorrowedFd<'_>, name: &OsStr, held: &Held) -> Result<File, WriteError> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match retry_on_intr(|| rustix::fs::openat(dir, name, flags, Mode::empty())) {
        Ok(file) => File::from(file),
        Err(Errno::LOOP) => return Err(WriteError::Swapped { name: name.into() }),
        Err(Errno::NOENT) => return Err(WriteError::Missing { name: name.into() }),
        Err(error) => return Err(WriteError::system(name, "open the file for writing", error)),
    };
    let stat = rustix::fs::fstat(&file)
        .map_err(|error| WriteError::system(name, "look at the opened file", error))?;
    if lock::same_file(&stat, &held.stat) {
        Ok(file)
    } else {
        Err(WriteError::Swapped { name: name.into() })
    }
}

/// Writes first and truncates after, so that an interruption never leaves less than there was.
fn overwrite(mut file: &File, content: &[u8]) -> io::Result<()> {
    file.rewind()?;
    file.write_all(content)?;
    retry_on_intr(|| rustix::fs::ftruncate(file, content.len() as u64))?;
    Ok(retry_on_intr(|| rustix::fs::fsync(file))?)
}

/// A rewrite that was found interrupted, and what became of it.
#[derive(Debug)]
pub struct Recovery {
    /// The file that was being rewritten, or the recovery file itself if it is damaged.
    pub path: PathBuf,
    /// What was done.
    pub outcome: Outcome,
}

/// What became of an interrupted rewrite.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The old content was put back.
    Restored,
    /// The file was whole already, old or new.
    Whole,
    /// Nothing was done, because it is not certain that only the interruption changed the file.
    Kept {
        /// The recovery file, which holds both contents.
        backup: PathBuf,
        /// Why it was left alone.
        why: String,
    },
}

/// Puts back what rewriting in place left half-done when its process was killed.
///
/// To be called at the start, before the first write. Recovery files of live writers are passed
/// over. A file is restored only if every byte of it is explained by the interrupted rewrite; one
/// that someone has worked on since is reported and not touched.
///
/// # Errors
/// Fails if the recovery folder cannot be read.
pub fn recover(recovery: &Path) -> io::Result<Vec<Recovery>> {
    let folder = backup::open_folder(recovery)?;
    sweep(folder.as_fd())?;
    let mut found = Vec::new();
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if !name.as_bytes().ends_with(backup::SUFFIX.as_bytes()) {
            continue;
        }
        if let Some(one) = recover_one(folder.as_fd(), name, &recovery.join(name))? {
            found.push(one);
        }
    }
    Ok(found)
}

fn recover_one(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    backup: &Path,
) -> io::Result<Option<Recovery>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = match retry_on_intr(|| rustix::fs::openat(folder, name, flags, Mode::empty())) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if !lock::try_lock(&file)? {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let kept = |why: String| Outcome::Kept { backup: backup.to_path_buf(), why };
    let (path, outcome) = match backup::parse(&bytes) {
        None => (backup.to_path_buf(), kept("the recovery file is damaged".into())),
        Some(record) => {
            let outcome = put_back(&record).unwrap_or_else(kept);
            (record.path, outcome)
        }
    };
    if !matches!(outcome, Outcome::Kept { .. }) {
        backup::discard(folder, name);
    }
    lock::unlock(&file);
    Ok(Some(Recovery { path, outcome }))
}

/// Judges one record; an error is the reason to leave the file alone.
fn put_back(record: &Record) -> Result<Outcome, String> {
    let (Some(parent), Some(name)) = (record.path.parent(), record.path.file_name()) else {
        return Err("it names no file".into());
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = retry_on_intr(|| rustix::fs::openat(rustix::fs::CWD, parent, flags, Mode::empty()))
        .map_err(|error| format!("its folder cannot be opened: {error}"))?;
    let held = lock::acquire(dir.as_fd(), name, PATIENCE)
        .map_err(|error| error.to_string())?
        .ok_or("the file is gone")?;
    let now = held.read(name).map_err(|error| error.to_string())?;
    if now == record.old || now == record.new {
        return Ok(Outcome::Whole);
    }
    // The device is not compared: its number may be another one after a restart.
    if held.stat.st_ino != record.inode {
        return Err("another file has its name now".into());
    }
    if !is_torn(&now, &record.old, &record.new) {
        return Err("the file has been changed since".into());
    }
    let file = open_to_write(dir.as_fd(), name, &held).map_err(|error| error.to_string())?;
    overwrite(&file, &record.old).map_err(|error| format!("it could not be written: {error}"))?;
    Ok(Outcome::Restored)
}

/// Tells whether an interrupted rewrite of `old` by `new` can have left `now`.
///
/// After a kill it is a piece of the new content before a piece of the old; after a power cut any
/// mixture of both, with zeros where a block was reserved and not yet written.
fn is_torn(now: &[u8], old: &[u8], new: &[u8]) -> bool {
    let shortest = old.len().min(new.len());
    let longest = old.len().max(new.len());
    (shortest..=longest).contains(&now.len())
        && now.iter().enumerate().all(|(index, byte)| {
            *byte == 0 || old.get(index) == Some(byte) || new.get(index) == Some(byte)
        })
}

#[cfg(test)]
mod tests {
    use super::is_torn;

    #[test]
    fn a_mixture_of_old_and_new_is_torn_and_anything_else_is_not() {
        assert!(is_torn(b"newold", b"oldold", b"newnewnew"));
        assert!(is_torn(b"oldold\0\0w", b"oldold", b"newnewnew"));
        assert!(!is_torn(b"old", b"oldold", b"newnewnew"));
        assert!(!is_torn(b"oldold mine", b"oldold", b"newnewnew"));
        assert!(!is_torn(b"oldmin", b"oldold", b"newnewnew"));
    }
}
