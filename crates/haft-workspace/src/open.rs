//! Opens what was asked about, and nothing that was put in its place meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, open, openat, openat2};
use rustix::io::Errno;

use crate::Workspace;
use crate::path::Place;

/// Never waits, whatever it is that is opened.
pub(crate) const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

/// Why something cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Nothing is there.
    #[error("{} does not exist", .path.display())]
    Missing {
        /// Where.
        path: PathBuf,
    },
    /// It is neither file nor folder.
    #[error("{} is {kind}; only files and folders can be read", .path.display())]
    Special {
        /// Where.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// It is no longer what was asked about.
    #[error("{} was replaced by a link while it was opened; try again", .path.display())]
    Swapped {
        /// Where.
        path: PathBuf,
    },
    /// We may not.
    #[error("{} cannot be read: permission denied by the system", .path.display())]
    Forbidden {
        /// Where.
        path: PathBuf,
    },
    /// Anything else.
    #[error("{} cannot be opened: {source}", .path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What stopped it.
        source: io::Error,
    },
}

/// An open file or folder.
#[derive(Debug)]
pub struct Opened {
    /// Reads never block: it is a regular file or a folder.
    pub file: File,
    /// What was true of it when it was opened.
    pub metadata: Metadata,
}

impl Workspace {
    /// Opens the folder that a canonical path's last name is in, as [`Workspace::open_place`] opens.
    pub(crate) fn open_folder_of(&self, path: &Path) -> Result<(OwnedFd, OsString), OpenError> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            let source = io::Error::other("it is not in a folder");
            return Err(OpenError::Io { path: path.to_owned(), source });
        };
        Ok((self.open_folder(folder)?, name.to_owned()))
    }

    /// Opens a folder by its canonical path, as [`Workspace::open_place`] opens.
    pub(crate) fn open_folder(&self, path: &Path) -> Result<OwnedFd, OpenError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let (folder, relative, beneath) = self.start(path, path.strip_prefix(self.root()).ok());
        open_without_links(folder, relative, beneath, flags).map_err(|errno| explain(path, errno))
    }

    /// Where opening starts, the way from there, and whether it may not leave.
    fn start<'a>(
        &'a self,
        path: &'a Path,
        inside: Option<&'a Path>,
    ) -> (Option<BorrowedFd<'a>>, &'a Path, bool) {
        match inside {
            Some(inside) if inside.as_os_str().is_empty() => {
                (Some(self.dir()), Path::new("."), true)
            }
            Some(inside) => (Some(self.dir()), inside, true),
            None => (None, path, false),
        }
    }

    /// Opens a place for reading, by its canonical path and without following any link on the way.
    ///
    /// A path that is canonical has no links. If one is met, somebody put it there after the path
    /// was shown to whoever allowed it.
    ///
    /// # Errors
    /// If it is missing, special, swapped, or not ours to read.
    pub fn open_place(&self, place: &Place) -> Result<Opened, OpenError> {
        let (folder, relative, beneath) = self.start(&place.path, place.inside.as_deref());
        let flags = READ;
        let fail = |errno: Errno| explain(&place.path, errno);
        let handle = open_without_links(folder, relative, beneath, flags).map_err(fail)?;
        let file = File::from(handle);
        let metadata =
            file.metadata().map_err(|source| OpenError::Io { path: place.path.clone(), source })?;
        match special(&metadata) {
            Some(kind) => Err(OpenError::Special { path: place.path.clone(), kind }),
            None => Ok(Opened { file, metadata }),
        }
    }
}

/// Opens what lies below a folder, without following any link on the way.
pub(crate) fn open_below(folder: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    open_without_links(Some(folder), path, true, READ)
}

/// Opens what has this name in a folder, unless it is a link.
pub(crate) fn open_in(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    openat(folder, name, READ | OFlags::NOFOLLOW, Mode::empty())
}

/// Whether a file is there, below a folder and with no link on the way. It need not be readable.
pub(crate) fn is_file_below(folder: BorrowedFd<'_>, path: &Path) -> bool {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    let opened = match openat2(folder, path, flags, Mode::empty(), resolve) {
        Err(Errno::NOSYS) => open_step_by_step(folder, path, flags),
        opened => opened,
    };
    let stat = opened.and_then(|handle| rustix::fs::fstat(&handle));
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}

/// Opened without blocking: a pipe that nobody writes to would otherwise be waited for.
fn open_without_links(
    folder: Option<BorrowedFd<'_>>,
    path: &Path,
    beneath: bool,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let mut resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    if beneath {
        resolve |= ResolveFlags::BENEATH;
    }
    let folder = folder.unwrap_or(CWD);
    match openat2(folder, path, flags, Mode::empty(), resolve) {
        Err(Errno::NOSYS) => open_step_by_step(folder, path, flags),
        opened => opened,
    }
}

/// The same where the kernel has no `openat2`: one name at a time, none of them a link.
fn open_step_by_step(folder: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut at: OwnedFd = if path.is_absolute() {
        open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?
    } else {
        folder.try_clone_to_owned().map_err(|_| Errno::MFILE)?
    };
    let names: Vec<_> = path.iter().filter(|name| *name != "/" && *name != ".").collect();
    let Some((last, folders)) = names.split_last() else {
        return openat(at, ".", flags, Mode::empty());
    };
    for name in folders {
        let step = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
        at = openat(at.as_fd(), *name, step, Mode::empty())?;
    }
    openat(at, *last, flags | OFlags::NOFOLLOW, Mode::empty())
}

fn explain(path: &Path, errno: Errno) -> OpenError {
    let path = path.to_owned();
    match errno {
        Errno::NOENT | Errno::NOTDIR => OpenError::Missing { path },
        Errno::LOOP | Errno::XDEV => OpenError::Swapped { path },
        Errno::ACCESS | Errno::PERM => OpenError::Forbidden { path },
        // What opening a socket, or a pipe for writing, says.
        Errno::NXIO => OpenError::Special { path, kind: "a socket or a device" },
        errno => OpenError::Io { path, source: errno.into() },
    }
}

fn special(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    if kind.is_file() || kind.is_dir() {
        None
    } else if kind.is_fifo() {
        Some("a pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else {
        Some("a device")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        fs_err::create_dir_all(dir.path().join("W/d")).unwrap();
        fs_err::create_dir(dir.path().join("O")).unwrap();
        fs_err::write(dir.path().join("W/d/f"), "inside").unwrap();
        fs_err::write(dir.path().join("O/f"), "outside").unwrap();
        let workspace = Workspace::open(&dir.path().join("W"), None).unwrap();
        (dir, workspace)
    }

    #[test]
    fn files_and_folders_are_opened_and_nothing_else() {
        let (dir, workspace) = workspace();
        let open = |path: &str| workspace.open_place(&workspace.locate(path).unwrap());
        assert!(open("d/f").unwrap().metadata.is_file());
        assert!(open("d").unwrap().metadata.is_dir());
        assert!(open(".").unwrap().metadata.is_dir());
        assert!(open("../O/f").unwrap().metadata.is_file());
        assert!(matches!(open("none"), Err(OpenError::Missing { .. })));
        let pipe = dir.path().join("W/pipe");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        let _listener = UnixListener::bind(dir.path().join("W/socket")).unwrap();
        for path in ["pipe", "socket", "/dev/null", "/dev/zero", "/dev/tty"] {
            let error = open(path).unwrap_err();
            let refused = matches!(error, OpenError::Special { .. } | OpenError::Io { .. });
            assert!(refused, "{path}: {error}");
        }
    }

    #[test]
    fn what_was_swapped_for_a_link_after_it_was_located_is_not_opened() {
        let (dir, workspace) = workspace();
        let (file, deeper) = (workspace.locate("d/f").unwrap(), workspace.locate("d").unwrap());
        fs_err::rename(dir.path().join("W/d"), dir.path().join("W/e")).unwrap();
        symlink(dir.path().join("O"), dir.path().join("W/d")).unwrap();
        assert!(matches!(workspace.open_place(&file), Err(OpenError::Swapped { .. })));
        assert!(matches!(workspace.open_place(&deeper), Err(OpenError::Swapped { .. })));
    }

    #[test]
    fn the_way_without_openat2_sees_the_same() {
        let (dir, workspace) = workspace();
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let step = |path: &str| open_step_by_step(workspace.dir(), Path::new(path), flags);
        assert!(step("d/f").is_ok() && step(".").is_ok());
        assert!(step(&dir.path().join("O/f").display().to_string()).is_ok());
        symlink(dir.path().join("O"), dir.path().join("W/link")).unwrap();
        symlink(dir.path().join("O/f"), dir.path().join("W/file")).unwrap();
        assert!(step("link/f").is_err());
        assert_eq!(step("file").unwrap_err(), Errno::LOOP);
    }
}
