//! What is at a path now.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::entry::State;
use super::error::ChangeError;
use crate::Workspace;
use crate::open::OpenError;

/// A path as it was found.
#[derive(Debug)]
pub enum Look {
    /// Something that can be recorded.
    State(State),
    /// Something that cannot: a device, a socket, a pipe; with its article.
    Special(&'static str),
}

/// A folder that is open, and a name in it.
pub(super) struct At<'a> {
    pub(super) path: &'a Path,
    pub(super) dir: OwnedFd,
    pub(super) name: OsString,
}

impl<'a> At<'a> {
    /// Opens the folder of a canonical path, and follows no link on the way.
    pub(super) fn open(workspace: &Workspace, path: &'a Path) -> Result<Self, OpenError> {
        let (dir, name) = workspace.open_folder_of(path)?;
        Ok(Self { path, dir, name })
    }

    pub(super) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    /// An error of the system on this path.
    pub(super) fn failed(
        &self,
        what: &'static str,
        error: impl Into<std::io::Error>,
    ) -> ChangeError {
        ChangeError::Io { path: self.path.to_owned(), what, source: error.into() }
    }

    pub(super) fn stat(&self) -> Result<Option<Stat>, Errno> {
        match retry_on_intr(|| {
            rustix::fs::statat(self.dir(), self.name(), AtFlags::SYMLINK_NOFOLLOW)
        }) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn target(&self) -> Result<PathBuf, Errno> {
        let target = retry_on_intr(|| rustix::fs::readlinkat(self.dir(), self.name(), Vec::new()))?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    /// What is there now.
    pub(super) fn look(&self) -> Result<Look, ChangeError> {
        let failed = |error: Errno| self.failed("look at", error);
        let Some(stat) = self.stat().map_err(failed)? else {
            return Ok(Look::State(State::Absent));
        };
        let mode = Some(Mode::from_raw_mode(stat.st_mode).as_raw_mode());
        Ok(Look::State(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let opened = retry_on_intr(|| {
                    rustix::fs::openat(self.dir(), self.name(), flags, Mode::empty())
                });
                let mut hasher = blake3::Hasher::new();
                let read = hasher.update_reader(File::from(opened.map_err(failed)?));
                read.map_err(|error| self.failed("read", error))?;
                State::File { content: hasher.finalize(), bytes: hasher.count(), mode }
            }
            FileType::Directory => State::Folder { mode },
            FileType::Symlink => State::Link { target: self.target().map_err(failed)? },
            FileType::Fifo => return Ok(Look::Special("a pipe")),
            FileType::Socket => return Ok(Look::Special("a socket")),
            _ => return Ok(Look::Special("a device")),
        }))
    }
}

/// What is at a canonical path now; where even its folder is missing, nothing is.
pub(super) fn look(workspace: &Workspace, path: &Path) -> Result<Look, ChangeError> {
    match At::open(workspace, path) {
        Ok(at) => at.look(),
        Err(OpenError::Missing { .. }) => Ok(Look::State(State::Absent)),
        Err(error) => Err(error.into()),
    }
}
