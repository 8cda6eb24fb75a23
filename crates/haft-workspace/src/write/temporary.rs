//! The file beside the target that becomes the target, or is gone.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::lock;

/// More than ever needed: a name is taken only if someone guesses 64 random bits, or if a sweep
/// falls into the moment between creating and locking.
const ATTEMPTS: usize = 16;

/// A locked file with a name nobody else has; dropping it removes it, unless it was put in place.
///
/// The lock tells the living from the dead: it ends with the process, whatever ends the process.
/// It is kept when the file takes the target's name, so that the next writer waits for the sync too.
pub(crate) struct Temporary<'a> {
    pub(crate) file: File,
    dir: BorrowedFd<'a>,
    name: Option<OsString>,
    locked: bool,
}

impl<'a> Temporary<'a> {
    /// Creates an empty one with the given permission bits, of which the umask takes its share.
    pub(crate) fn create(dir: BorrowedFd<'a>, mode: Mode) -> io::Result<Self> {
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        for _ in 0..ATTEMPTS {
            let name = OsString::from(format!(".haft-{}.tmp", unique()));
            let file = match retry_on_intr(|| rustix::fs::openat(dir, &name, flags, mode)) {
                Ok(file) => File::from(file),
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(error.into()),
            };
            let temporary = Self { file, dir, name: Some(name), locked: true };
            // A sweep that came before the lock has removed the file, or is about to.
            if lock::try_lock(&temporary.file)? && rustix::fs::fstat(&temporary.file)?.st_nlink > 0
            {
                return Ok(temporary);
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Renames it over what `target` names.
    pub(super) fn replace(&mut self, target: &OsStr) -> io::Result<()> {
        if let Some(name) = &self.name {
            retry_on_intr(|| rustix::fs::renameat(self.dir, name, self.dir, target))?;
            self.name = None;
        }
        Ok(())
    }

    /// Takes the place of the file that `expected` is a look at, and of no other.
    ///
    /// The two names are swapped, and what came out is looked at: if someone saved in the last
    /// moment, the names are swapped back and the answer is `false`.
    ///
    /// Only for content that is synced. A file system that sees a rename over a file takes care of
    /// content that is not yet on disk; it does not when names are swapped.
    pub(super) fn exchange(&mut self, target: &OsStr, expected: &Stat) -> io::Result<bool> {
        let Some(name) = &self.name else { return Ok(true) };
        let dir = self.dir;
        let swap = || {
            retry_on_intr(|| {
                rustix::fs::renameat_with(dir, name, dir, target, RenameFlags::EXCHANGE)
            })
        };
        match swap() {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                return self.replace(target).map(|()| true);
            }
            Err(error) => return Err(error.into()),
        }
        let displaced = retry_on_intr(|| rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW));
        if displaced.is_ok_and(|displaced| lock::same_file(&displaced, expected)) {
            // Done before the folder is synced; if it fails, dropping tries again.
            if retry_on_intr(|| rustix::fs::unlinkat(dir, name, AtFlags::empty())).is_ok() {
                self.name = None;
            }
            return Ok(true);
        }
        if swap().is_err() {
            // The new file is in place and cannot be taken back; what it displaced is not ours.
            self.name = None;
            return Ok(true);
        }
        displaced.map(|_| false).map_err(io::Error::from)
    }

    /// Gives it the name `target`, which must be free.
    pub(crate) fn settle(&mut self, target: &OsStr) -> io::Result<()> {
        let Some(name) = &self.name else { return Ok(()) };
        let dir = self.dir;
        match retry_on_intr(|| {
            rustix::fs::renameat_with(dir, name, dir, target, RenameFlags::NOREPLACE)
        }) {
            Ok(()) => self.name = None,
            // Not every file system can do that; every one that has links can do this.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                retry_on_intr(|| rustix::fs::linkat(dir, name, dir, target, AtFlags::empty()))?;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Like [`Self::settle`], and returns the file still locked.
    pub(crate) fn settle_locked(mut self, target: &OsStr) -> io::Result<File> {
        // The lock belongs to the open file description, which both handles share.
        let file = self.file.try_clone()?;
        self.settle(target)?;
        self.locked = false;
        Ok(file)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // A second try costs nothing; what still stays is left to a sweep.
            if retry_on_intr(|| rustix::fs::unlinkat(self.dir, name, AtFlags::empty())).is_err() {
                let _ = rustix::fs::unlinkat(self.dir, name, AtFlags::empty());
            }
        }
        if self.locked {
            lock::unlock(&self.file);
        }
    }
}

/// Returns a part of a name that no other file of ours has.
pub(crate) fn unique() -> String {
    // The keys of a `RandomState` come from the system's randomness.
    format!("{}-{:016x}", std::process::id(), RandomState::new().hash_one(0))
}

/// Removes temporary files that dead processes left in a folder, and returns how many.
///
/// A file counts as left behind if it has our kind of name and nobody holds its lock; those of
/// live writers, in this process or another, are never touched. One that cannot be removed is
/// passed over, and is met again by the next sweep.
///
/// # Errors
/// Fails if the folder cannot be listed.
pub fn sweep(dir: BorrowedFd<'_>) -> io::Result<usize> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // Opened anew, because the caller's descriptor may only name the folder (`O_PATH`).
    let listing = retry_on_intr(|| rustix::fs::openat(dir, ".", flags, Mode::empty()))?;
    let mut removed = 0;
    for entry in Dir::new(listing)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if is_temporary(name.as_bytes()) && remove_abandoned(dir, name) {
            removed += 1;
        }
    }
    Ok(removed)
}

/// Recognises `.haft-<process>-<16 hex digits>.tmp`.
pub(crate) fn is_temporary(name: &[u8]) -> bool {
    let Some(middle) = name.strip_prefix(b".haft-").and_then(|rest| rest.strip_suffix(b".tmp"))
    else {
        return false;
    };
    let mut parts = middle.split(|byte| *byte == b'-');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(process), Some(random), None) => {
            !process.is_empty()
                && process.iter().all(u8::is_ascii_digit)
                && random.len() == 16
                && random.iter().all(u8::is_ascii_hexdigit)
        }
        _ => false,
    }
}

fn remove_abandoned(dir: BorrowedFd<'_>, name: &OsStr) -> bool {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let is_file = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
    if !is_file {
        return false;
    }
    let Ok(file) = rustix::fs::openat(dir, name, flags, Mode::empty()).map(File::from) else {
        return false;
    };
    if !lock::try_lock(&file).unwrap_or(false) {
        return false;
    }
    // If its writer put it in place meanwhile, the name is gone and nothing is removed.
    let removed = rustix::fs::unlinkat(dir, name, AtFlags::empty()).is_ok();
    lock::unlock(&file);
    removed
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn a_sweep_takes_what_the_dead_left_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let dir = fs_err::File::open(folder.path()).unwrap();
        let live = Temporary::create(dir.as_fd(), Mode::RUSR | Mode::WUSR).unwrap();
        for name in [".haft-1-0123456789abcdef.tmp", ".haft-2-0123456789abcdef.tmp"] {
            fs_err::write(folder.path().join(name), "left behind").unwrap();
        }
        fs_err::write(folder.path().join(".haft-mine.tmp"), "the user's").unwrap();
        fs_err::create_dir(folder.path().join(".haft-3-0123456789abcdef.tmp")).unwrap();
        fs_err::os::unix::fs::symlink(
            ".haft-mine.tmp",
            folder.path().join(".haft-4-0123456789abcdef.tmp"),
        )
        .unwrap();
        assert_eq!(sweep(dir.as_fd()).unwrap(), 2);
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 4);
        drop(live);
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_temporary_file_takes_a_free_name_and_never_one_that_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let dir = fs_err::File::open(folder.path()).unwrap();
        let mut first = Temporary::create(dir.as_fd(), Mode::RUSR | Mode::WUSR).unwrap();
        let mut second = Temporary::create(dir.as_fd(), Mode::RUSR | Mode::WUSR).unwrap();
        first.settle(OsStr::new("a")).unwrap();
        let error = second.settle(OsStr::new("a")).unwrap_err();
        assert_eq!(Errno::from_io_error(&error), Some(Errno::EXIST));
        drop((first, second));
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_our_kind_of_name_is_taken_for_a_temporary_file() {
        assert!(is_temporary(format!(".haft-{}.tmp", unique()).as_bytes()));
        for name in [
            ".haft-.tmp",
            ".haft-1-0123.tmp",
            ".haft--0123456789abcdef.tmp",
            ".haft-x1-0123456789abcdef.tmp",
            ".haft-1-0123456789abcdeg.tmp",
            ".haft-1-2-0123456789abcdef.tmp",
            "haft-1-0123456789abcdef.tmp",
            ".haft-1-0123456789abcdef.tmp~",
            ".haft",
            "",
        ] {
            assert!(!is_temporary(name.as_bytes()), "{name}");
        }
    }
}
