//! The recovery file that makes rewriting in place safe: both contents, complete, on disk before.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::retry_on_intr;

use super::lock;
use super::temporary::{Temporary, unique};

/// The first bytes of every recovery file; the number is that of the layout.
const MAGIC: &[u8] = b"haft recovery 1\n";

/// How the names of recovery files end.
pub(super) const SUFFIX: &str = ".recovery";

/// What an interrupted rewrite left to be judged by.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) path: PathBuf,
    pub(super) inode: u64,
    pub(super) old: Vec<u8>,
    pub(super) new: Vec<u8>,
}

/// A recovery file that this process has written, locked while the rewrite goes on.
pub(super) struct Backup {
    pub(super) path: PathBuf,
    name: OsString,
    folder: OwnedFd,
    file: File,
}

impl Backup {
    /// Writes a recovery file that survives a power cut from here on.
    pub(super) fn write(
        recovery: &Path,
        target: &Path,
        inode: u64,
        old: &[u8],
        new: &[u8],
    ) -> io::Result<Self> {
        private_folder(recovery)?;
        let folder = open_folder(recovery)?;
        let name = OsString::from(format!("haft-{}{SUFFIX}", unique()));
        let file = {
            let temporary = Temporary::create(folder.as_fd(), Mode::RUSR | Mode::WUSR)?;
            store(&temporary.file, target, inode, old, new)?;
            retry_on_intr(|| rustix::fs::fsync(&temporary.file))?;
            temporary.settle_locked(&name)?
        };
        let backup = Self { path: recovery.join(&name), name, folder, file };
        if let Err(error) = retry_on_intr(|| rustix::fs::fsync(&backup.folder)) {
            backup.discard();
            return Err(error.into());
        }
        Ok(backup)
    }

    /// Removes the recovery file: the target is whole.
    ///
    /// If that fails, the next recovery finds the target whole and removes it then.
    pub(super) fn discard(self) {
        discard(self.folder.as_fd(), &self.name);
    }
}

impl Drop for Backup {
    fn drop(&mut self) {
        lock::unlock(&self.file);
    }
}

/// Removes a recovery file for good, so that a power cut does not bring it back.
pub(super) fn discard(folder: BorrowedFd<'_>, name: &OsStr) {
    if retry_on_intr(|| rustix::fs::unlinkat(folder, name, AtFlags::empty())).is_err() {
        let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
    }
    let _ = rustix::fs::fsync(folder);
}

/// Makes a folder that only its owner can look into, unless it is there.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)
}

/// Opens the folder that recovery files are kept in.
pub(crate) fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(retry_on_intr(|| rustix::fs::openat(rustix::fs::CWD, path, flags, Mode::empty()))?)
}

/// Returns where an opened folder is now.
pub(super) fn path_of(dir: BorrowedFd<'_>) -> io::Result<PathBuf> {
    let link = format!("/proc/self/fd/{}", dir.as_raw_fd());
    let path = rustix::fs::readlinkat(rustix::fs::CWD, link, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

fn store(mut file: &File, target: &Path, inode: u64, old: &[u8], new: &[u8]) -> io::Result<()> {
    let path = target.as_os_str().as_bytes();
    let mut seal = blake3::Hasher::new();
    let lengths = [inode, path.len() as u64, old.len() as u64, new.len() as u64];
    let numbers: Vec<u8> = lengths.into_iter().flat_map(u64::to_le_bytes).collect();
    for part in [MAGIC, &numbers, path, old, new] {
        seal.update(part);
        file.write_all(part)?;
    }
    file.write_all(seal.finalize().as_bytes())
}

/// Reads a recovery file; `None` if it is not whole.
pub(super) fn parse(bytes: &[u8]) -> Option<Record> {
    let (body, seal) = bytes.split_at_checked(bytes.len().checked_sub(blake3::OUT_LEN)?)?;
    if blake3::hash(body).as_bytes() != seal {
        return None;
    }
    let mut rest = body.strip_prefix(MAGIC)?;
    let mut number = || {
        let (bytes, tail) = rest.split_first_chunk::<8>()?;
        rest = tail;
        Some(u64::from_le_bytes(*bytes))
    };
    let inode = number()?;
    let (path, old, new) = (number()?, number()?, number()?);
    let (path, rest) = rest.split_at_checked(usize::try_from(path).ok()?)?;
    let (old, rest) = rest.split_at_checked(usize::try_from(old).ok()?)?;
    if rest.len() != usize::try_from(new).ok()? {
        return None;
    }
    Some(Record {
        path: PathBuf::from(OsStr::from_bytes(path)),
        inode,
        old: old.to_vec(),
        new: rest.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recovery_file_is_read_back_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let backup =
            Backup::write(folder.path(), Path::new("/a/b"), 7, b"old", b"new one").unwrap();
        let bytes = fs_err::read(&backup.path).unwrap();
        let record = Record {
            path: "/a/b".into(),
            inode: 7,
            old: b"old".to_vec(),
            new: b"new one".to_vec(),
        };
        assert_eq!(parse(&bytes), Some(record));
        for length in 0..bytes.len() {
            assert_eq!(parse(&bytes[..length]), None);
        }
        for index in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[index] ^= 1;
            assert_eq!(parse(&damaged), None);
        }
        backup.discard();
        assert_eq!(fs_err::read_dir(folder.path()).unwrap().count(), 0);
    }
}
