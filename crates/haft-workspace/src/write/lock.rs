//! The lock on a file's inode, which excludes threads and processes alike.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use blake3::Hash;
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::error::WriteError;

/// Far longer than any write takes, short enough that a model's call still gets its answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How many times as long is waited where one writer follows the other: nobody keeps a lock for himself
/// then, and the turn comes.
const PROGRESS: u32 = 6;

/// A write that is not synced is done within this time.
const FIRST_PAUSE: Duration = Duration::from_micros(50);

/// Short against a synced write, so that a busy writer does not starve the others.
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

/// A regular file whose inode is locked until this is dropped.
pub(super) struct Held {
    pub(super) file: File,
    pub(super) stat: Stat,
}

impl Drop for Held {
    fn drop(&mut self) {
        unlock(&self.file);
    }
}

/// Locks the file that `name` names in `dir`, or returns `None` if there is none.
///
/// Writers replace inodes, so a lock is worth something only while the name still leads to the
/// locked inode; whoever gets the lock of a replaced inode starts over with the new one.
pub(super) fn acquire(
    dir: BorrowedFd<'_>,
    name: &OsStr,
    patience: Duration,
) -> Result<Option<Held>, WriteError> {
    let begin = Instant::now();
    let (mut since, mut last) = (begin, None);
    let mut pause = FIRST_PAUSE;
    loop {
        let Some((file, stat)) = open_regular(dir, name)? else { return Ok(None) };
        let version = (stat.st_ino, stat.st_mtime, stat.st_mtime_nsec);
        if last.replace(version) != Some(version) {
            since = Instant::now();
        }
        if try_lock(&file).map_err(|error| WriteError::system(name, "lock the file", error))? {
            let mut held = Held { file, stat };
            if let Some(stat) = held.look(dir, name)? {
                // Mode and number of links may have changed before the lock was ours.
                held.stat = stat;
                return Ok(Some(held));
            }
        }
        let waited = begin.elapsed();
        if since.elapsed() >= patience || waited >= patience * PROGRESS {
            return Err(WriteError::Busy { name: name.into(), waited });
        }
        wait(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Takes the lock of `file` if it is free.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    match retry_on_intr(|| rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Frees the lock now. Closing would not do: a child process just being started elsewhere in this
/// program shares the description, and would hold the lock until it has become another program.
pub(crate) fn unlock(file: &File) {
    let _ = rustix::fs::flock(file, FlockOperation::Unlock);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the kernel has no flock with a deadline, and a thread blocked in one outlives the call"
)]
fn wait(pause: Duration) {
    std::thread::sleep(pause);
}

impl Held {
    /// Looks at the locked inode by its name; `None` if the name does not lead to it any more.
    fn look(&self, dir: BorrowedFd<'_>, name: &OsStr) -> Result<Option<Stat>, WriteError> {
        match retry_on_intr(|| rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)) {
            Ok(now) => Ok(same_file(&now, &self.stat).then_some(now)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(WriteError::system(name, "look again", error)),
        }
    }

    /// Returns the whole content.
    pub(super) fn read(&self, name: &OsStr) -> Result<Vec<u8>, WriteError> {
        read_all(&self.file, &self.stat)
            .map_err(|error| WriteError::system(name, "read the present content", error))
    }

    /// Fails unless the name still leads to this inode and it still holds exactly `seen`.
    ///
    /// Our own kind cannot have changed it under the lock, but an editor that knows no lock can.
    /// Times are not asked: two changes within one tick of the clock have the same.
    pub(super) fn verify(
        &self,
        dir: BorrowedFd<'_>,
        name: &OsStr,
        seen: &[u8],
    ) -> Result<(), WriteError> {
        if !holds(&self.file, seen)
            .map_err(|error| WriteError::system(name, "compare the present content", error))?
        {
            return Err(WriteError::Changed {
                name: name.into(),
                now: blake3::hash(&self.read(name)?),
            });
        }
        if self.look(dir, name)?.is_some() {
            return Ok(());
        }
        Err(match open_regular(dir, name)? {
            None => WriteError::Missing { name: name.into() },
            Some((file, stat)) => WriteError::Changed {
                name: name.into(),
                now: hash(&file, &stat)
                    .map_err(|error| WriteError::system(name, "read the new content", error))?,
            },
        })
    }
}

/// Tells whether two looks at a file saw the same inode.
pub(super) fn same_file(a: &Stat, b: &Stat) -> bool {
    a.st_ino == b.st_ino && a.st_dev == b.st_dev
}

/// Opens a regular file for reading, without following a link and without ever blocking.
fn open_regular(dir: BorrowedFd<'_>, name: &OsStr) -> Result<Option<(File, Stat)>, WriteError> {
    // Opening alone can have an effect on a device, so its kind is looked at before.
    match retry_on_intr(|| rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)) {
        Ok(stat) => require_regular(name, &stat)?,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(WriteError::system(name, "look at the file", error)),
    }
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match retry_on_intr(|| rustix::fs::openat(dir, name, flags, Mode::empty())) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(WriteError::Swapped { name: name.into() }),
        Err(error) => return Err(WriteError::system(name, "open the file", error)),
    };
    let stat = rustix::fs::fstat(&file)
        .map_err(|error| WriteError::system(name, "look at the opened file", error))?;
    require_regular(name, &stat)?;
    require_storage(name, &file)?;
    Ok(Some((file, stat)))
}

/// Fails with the name's real kind unless it is a regular file.
fn require_regular(name: &OsStr, stat: &Stat) -> Result<(), WriteError> {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Symlink => return Err(WriteError::Swapped { name: name.into() }),
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "something unknown",
    };
    Err(WriteError::NotAFile { name: PathBuf::from(name), kind })
}

/// Fails for the kernel's own tables, which look like regular files and are not.
#[cfg(target_os = "linux")]
fn require_storage(name: &OsStr, file: &File) -> Result<(), WriteError> {
    /// `statfs` numbers: proc, sysfs, cgroup, cgroup2, debugfs, tracefs, securityfs, bpf.
    const TABLES: [i64; 8] = [
        0x9fa0,
        0x6265_6572,
        0x0027_e0eb,
        0x6367_7270,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0xcafe_4a11,
    ];
    let number = rustix::fs::fstatfs(file)
        .map_err(|error| WriteError::system(name, "ask for the file system", error))?
        .f_type;
    if TABLES.contains(&number) {
        return Err(WriteError::NotAFile { name: name.into(), kind: "a table of the kernel" });
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn require_storage(_: &OsStr, _: &File) -> Result<(), WriteError> {
    Ok(())
}

fn read_all(mut file: &File, stat: &Stat) -> io::Result<Vec<u8>> {
    // The size is a hint only: a file may grow, and a wrong one must not cost memory at once.
    let hint = usize::try_from(stat.st_size).unwrap_or(0).min(64 << 20);
    let mut content = Vec::with_capacity(hint + 1);
    file.rewind()?;
    file.read_to_end(&mut content)?;
    Ok(content)
}

fn hash(file: &File, stat: &Stat) -> io::Result<Hash> {
    read_all(file, stat).map(|content| blake3::hash(&content))
}

/// Compares without holding the content twice.
fn holds(mut file: &File, mut seen: &[u8]) -> io::Result<bool> {
    let mut block = vec![0; seen.len().clamp(1, 64 << 10)];
    file.rewind()?;
    loop {
        let count = match file.read(&mut block) {
            Ok(0) => return Ok(seen.is_empty()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        match (block.get(..count), seen.split_at_checked(count)) {
            (Some(now), Some((then, rest))) if now == then => seen = rest,
            _ => return Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn a_lock_that_is_held_too_long_is_reported_and_a_freed_one_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("a"), "x").unwrap();
        let dir = fs_err::File::open(folder.path()).unwrap();
        let name = OsStr::new("a");
        let held = acquire(dir.as_fd(), name, PATIENCE).unwrap().unwrap();
        let patience = Duration::from_millis(5);
        let busy = acquire(dir.as_fd(), name, patience).err().unwrap();
        assert!(matches!(busy, WriteError::Busy { waited, .. } if waited >= patience), "{busy}");
        drop(held);
        assert!(acquire(dir.as_fd(), name, patience).unwrap().is_some());
        assert!(acquire(dir.as_fd(), OsStr::new("b"), patience).unwrap().is_none());
    }

    #[test]
    fn writers_that_follow_each_other_are_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (name, next) = (folder.path().join("a"), folder.path().join("next"));
        let patience = Duration::from_millis(1500);
        let locked = || {
            let file = fs_err::File::create(&next).unwrap();
            assert!(try_lock(file.file()).unwrap());
            fs_err::rename(&next, &name).unwrap();
            file
        };
        let mut held = locked();
        std::thread::scope(|threads| {
            let dir = fs_err::File::open(folder.path()).unwrap();
            let other =
                threads.spawn(move || acquire(dir.as_fd(), OsStr::new("a"), patience).is_ok());
            let begin = Instant::now();
            // The name is never free, and never with the same writer for long.
            while begin.elapsed() < patience * 2 {
                held = locked();
            }
            drop(held);
            assert!(other.join().unwrap());
        });
    }

    #[test]
    fn content_is_compared_to_its_last_byte() {
        let mut file = tempfile::tempfile().unwrap();
        let content = vec![7; (64 << 10) * 2 + 1];
        std::io::Write::write_all(&mut file, &content).unwrap();
        assert!(holds(&file, &content).unwrap());
        assert!(!holds(&file, &content[1..]).unwrap());
        assert!(!holds(&file, &[content.as_slice(), &[7]].concat()).unwrap());
        assert!(!holds(&file, b"").unwrap());
    }
}
