//! Replacing a file so that it is never torn and no edit is lost.
//!
//! A file is replaced by a complete new one that takes its name in a single step. The change is
//! made under a lock on the file's inode, on the content that is there then, and only if that is
//! what the caller expected. Everything happens relative to an opened folder and follows no link,
//! so a path that is redirected meanwhile leads nowhere else.

mod attributes;
pub(crate) mod backup;
mod error;
mod in_place;
pub(crate) mod lock;
pub(crate) mod temporary;

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

pub use blake3::{Hash, hash};

pub use error::{Obstacle, WriteError};
pub use in_place::{Outcome, Recovery, recover};
pub(crate) use temporary::is_temporary;
pub use temporary::sweep;

use lock::Held;
use temporary::Temporary;

/// What must be there for a write to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// No file.
    Absent,
    /// A file with the content of this hash, which is what the caller saw.
    Content(Hash),
    /// Whatever there is, or nothing.
    Anything,
}

/// Which file to replace, and how.
#[derive(Clone, Copy, Debug)]
pub struct Replace<'a> {
    /// The opened folder that the file is in.
    pub dir: BorrowedFd<'a>,
    /// The file's name in that folder: one component.
    pub name: &'a OsStr,
    /// What must be there.
    pub expected: Expected,
    /// Whether the write must survive a power cut once it has succeeded.
    pub durable: bool,
    /// The exact permission bits of a new file; without them it gets those that any new file gets.
    pub mode: Option<u32>,
    /// Where to keep a copy while a file that must keep its inode is rewritten in place.
    ///
    /// Without it such files are refused. What is left there after a kill, [`recover`] puts back.
    pub recovery: Option<&'a Path>,
}

/// Makes the new content of a file from the present one, which is `None` if there is no file.
pub type Change<'a> = dyn FnMut(Option<&[u8]>) -> Result<Vec<u8>, WriteError> + 'a;

/// What a successful write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Whether the file is new.
    pub created: bool,
    /// The hash of the content that was replaced.
    pub before: Option<Hash>,
    /// The hash of the new content.
    pub after: Hash,
    /// The size of the new content.
    pub bytes: u64,
    /// Whether the file was rewritten in place rather than replaced.
    pub in_place: bool,
    /// Whether the new content is known to survive a power cut. It can be `false` in spite of
    /// [`Replace::durable`] if the folder alone could not be synced: the file is written then.
    pub durable: bool,
}

/// What a successful removal did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The hash of the content that is gone.
    pub before: Hash,
    /// The size of the content that is gone.
    pub bytes: u64,
    /// The permission bits that the file had.
    pub mode: u32,
    /// Whether the removal is known to survive a power cut.
    pub durable: bool,
}

/// Locks a file, hands its content to `change` and replaces it by what that returns.
///
/// `change` is called at most once, under the lock, with `None` if there is no file; it must not
/// write the same file. All of the new content is there afterwards or nothing has happened, also
/// if the process is killed at any moment. Mode, owner, attributes and access list stay.
///
/// # Errors
/// Any error but [`WriteError::Torn`] means that the file is as it was. What a program that takes
/// no lock saves between the last check and the rename is noticed if the write is durable, and
/// lost if it is not or if the file is rewritten in place.
pub fn replace(what: &Replace<'_>, change: &mut Change<'_>) -> Result<Written, WriteError> {
    check_name(what.name)?;
    match lock::acquire(what.dir, what.name, lock::PATIENCE)? {
        Some(held) => overwrite(what, &held, change),
        None => create(what, change),
    }
}

/// Removes a file under the same lock and after the same checks as [`replace`].
///
/// # Errors
/// Any error means that the file is still there. With [`Expected::Absent`] it always fails.
pub fn remove(
    dir: BorrowedFd<'_>,
    name: &OsStr,
    expected: Expected,
    durable: bool,
) -> Result<Removed, WriteError> {
    check_name(name)?;
    let Some(held) = lock::acquire(dir, name, lock::PATIENCE)? else {
        return Err(WriteError::Missing { name: name.into() });
    };
    let content = held.read(name)?;
    let before = blake3::hash(&content);
    check_expected(name, expected, before)?;
    check_writable(dir, name, &held)?;
    held.verify(dir, name, &content)?;
    retry_on_intr(|| rustix::fs::unlinkat(dir, name, AtFlags::empty()))
        .map_err(|error| WriteError::system(name, "remove the file", error))?;
    Ok(Removed {
        before,
        bytes: content.len() as u64,
        mode: Mode::from_raw_mode(held.stat.st_mode).as_raw_mode(),
        durable: durable && sync_folder(dir),
    })
}

/// Makes a file where none is.
fn create(what: &Replace<'_>, change: &mut Change<'_>) -> Result<Written, WriteError> {
    let name = what.name;
    if let Expected::Content(_) = what.expected {
        return Err(WriteError::Missing { name: name.into() });
    }
    let new = change(None)?;
    // Without exact bits the system decides, by umask or by the folder's access list.
    let initial = if what.mode.is_some() { 0o600 } else { 0o666 };
    let mut temporary = Temporary::create(what.dir, Mode::from_raw_mode(initial))
        .map_err(|error| WriteError::system(name, "create a file in the folder", error))?;
    fill(&mut temporary, name, &new)?;
    if let Some(mode) = what.mode {
        retry_on_intr(|| rustix::fs::fchmod(&temporary.file, Mode::from_raw_mode(mode)))
            .map_err(|error| WriteError::system(name, "set the mode", error))?;
    }
    if what.durable {
        sync(&temporary, name)?;
    }
    temporary.settle(name).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::EXIST) => WriteError::Exists { name: name.into() },
        _ => WriteError::system(name, "give the new file its name", error),
    })?;
    Ok(Written {
        created: true,
        before: None,
        after: blake3::hash(&new),
        bytes: new.len() as u64,
        in_place: false,
        durable: what.durable && sync_folder(what.dir),
    })
}

/// Replaces a file that is there.
fn overwrite(
    what: &Replace<'_>,
    held: &Held,
    change: &mut Change<'_>,
) -> Result<Written, WriteError> {
    let name = what.name;
    let old = held.read(name)?;
    let before = blake3::hash(&old);
    check_expected(name, what.expected, before)?;
    check_writable(what.dir, name, held)?;
    let new = change(Some(&old))?;
    let mut written = Written {
        created: false,
        before: Some(before),
        after: blake3::hash(&new),
        bytes: new.len() as u64,
        in_place: false,
        durable: what.durable,
    };
    match exchange(what, held, &old, &new)? {
        Exchanged::Done { durable } => written.durable = durable,
        Exchanged::Not(why) => {
            let Some(recovery) = what.recovery else {
                return Err(WriteError::NoRecovery { name: name.into(), why });
            };
            in_place::rewrite(what.dir, name, held, &old, &new, recovery)?;
            written.in_place = true;
            // Rewriting in place is always synced: its safety rests on that.
            written.durable = true;
        }
    }
    Ok(written)
}

/// Whether a new file has taken the place of the old one.
enum Exchanged {
    Done { durable: bool },
    Not(Obstacle),
}

/// Puts a new file in the place of the held one, unless that would lose something.
fn exchange(
    what: &Replace<'_>,
    held: &Held,
    old: &[u8],
    new: &[u8],
) -> Result<Exchanged, WriteError> {
    let name = what.name;
    if held.stat.st_nlink > 1 {
        return Ok(Exchanged::Not(Obstacle::Links));
    }
    let private = Mode::RUSR | Mode::WUSR;
    let mut temporary = match Temporary::create(what.dir, private) {
        Ok(temporary) => temporary,
        Err(error) => {
            return match Errno::from_io_error(&error) {
                Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => {
                    Ok(Exchanged::Not(Obstacle::Folder))
                }
                _ => Err(WriteError::system(name, "create a file beside it", error)),
            };
        }
    };
    fill(&mut temporary, name, new)?;
    let obstacle = attributes::carry_over(&held.file, &temporary.file)
        .map_err(|error| WriteError::system(name, "keep owner, attributes and mode", error))?;
    if let Some(obstacle) = obstacle {
        return Ok(Exchanged::Not(obstacle));
    }
    if what.durable {
        sync(&temporary, name)?;
    }
    held.verify(what.dir, name, old)?;
    let placed = if what.durable {
        temporary.exchange(name, &held.stat)
    } else {
        temporary.replace(name).map(|()| true)
    };
    match placed {
        Ok(true) => Ok(Exchanged::Done { durable: what.durable && sync_folder(what.dir) }),
        Ok(false) => {
            held.verify(what.dir, name, old)?;
            // Another file had the name for a moment only; that is a change all the same.
            Err(WriteError::Changed { name: name.into(), now: blake3::hash(old) })
        }
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::BUSY) => Ok(Exchanged::Not(Obstacle::Mounted)),
            _ => Err(WriteError::system(name, "put the new file in place", error)),
        },
    }
}

fn fill(temporary: &mut Temporary<'_>, name: &OsStr, content: &[u8]) -> Result<(), WriteError> {
    temporary
        .file
        .write_all(content)
        .map_err(|error| WriteError::system(name, "write the new content", error))
}

fn sync(temporary: &Temporary<'_>, name: &OsStr) -> Result<(), WriteError> {
    retry_on_intr(|| rustix::fs::fsync(&temporary.file))
        .map_err(|error| WriteError::system(name, "sync the new content", error))
}

/// Brings the folder's entries to disk, and tells whether that worked.
///
/// At this point the write has happened, so a failure is no error of the write.
fn sync_folder(dir: BorrowedFd<'_>) -> bool {
    match retry_on_intr(|| rustix::fs::fsync(dir)) {
        Ok(()) => true,
        // A descriptor that only names the folder (`O_PATH`) cannot be synced.
        Err(Errno::BADF) => {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            retry_on_intr(|| rustix::fs::openat(dir, ".", flags, Mode::empty()))
                .and_then(|folder| retry_on_intr(|| rustix::fs::fsync(&folder)))
                .is_ok()
        }
        Err(_) => false,
    }
}

fn check_name(name: &OsStr) -> Result<(), WriteError> {
    let bytes = name.as_bytes();
    if matches!(bytes, b"" | b"." | b"..") || bytes.contains(&b'/') || bytes.contains(&0) {
        return Err(WriteError::BadName { name: name.into() });
    }
    Ok(())
}

fn check_expected(name: &OsStr, expected: Expected, now: Hash) -> Result<(), WriteError> {
    match expected {
        Expected::Absent => Err(WriteError::Exists { name: name.into() }),
        Expected::Content(seen) if seen != now => {
            Err(WriteError::Changed { name: name.into(), now })
        }
        Expected::Content(_) | Expected::Anything => Ok(()),
    }
}

/// Fails for a file that is marked read-only. A rename would get around the mark, and root around
/// the system's refusal; neither is what the one who set it meant.
fn check_writable(dir: BorrowedFd<'_>, name: &OsStr, held: &Held) -> Result<(), WriteError> {
    let read_only = || WriteError::ReadOnly { name: name.into() };
    if !Mode::from_raw_mode(held.stat.st_mode).intersects(Mode::WUSR | Mode::WGRP | Mode::WOTH) {
        return Err(read_only());
    }
    let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
    match retry_on_intr(|| rustix::fs::accessat(dir, name, Access::WRITE_OK, flags)) {
        // A file that vanished or was swapped is found out by the check before the rename.
        Ok(()) | Err(Errno::NOENT | Errno::NOSYS) => Ok(()),
        Err(Errno::ACCESS | Errno::PERM) => Err(read_only()),
        Err(error) => Err(WriteError::system(name, "ask whether it may be written", error)),
    }
}
