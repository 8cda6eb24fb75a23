//! Files for coding agents: paths, identity, encodings, reading, atomic writing, walking.
//!
//! Everything starts with a [`Workspace`]: it turns what a model wrote into a [`path::Place`], and
//! opens places so that nothing that was put there meanwhile is opened instead.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open as open_dir};

mod at_hand;
pub mod block;
pub mod folder;
pub mod glob;
mod ignored;
pub mod journal;
pub mod kind;
pub mod open;
pub mod page;
pub mod path;
mod percent;
pub mod picture;
pub mod search;
mod similar;
mod small;
pub mod text;
pub mod walk;
pub mod write;

pub use small::read_small;

/// The folder an agent works in.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    dir: OwnedFd,
    home: Option<PathBuf>,
}

impl Workspace {
    /// Opens the folder at `root`; `home` is what `~` means.
    ///
    /// # Errors
    /// If it is not a folder that can be read.
    pub fn open(root: &Path, home: Option<PathBuf>) -> io::Result<Self> {
        let root = fs_err::canonicalize(root)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = open_dir(&root, flags, Mode::empty())?;
        Ok(Self { root, dir, home })
    }

    /// Its canonical path.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}
