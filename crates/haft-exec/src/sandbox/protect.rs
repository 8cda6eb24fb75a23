//! What stays as it is inside a writable folder, and what cannot be seen at all.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};

use super::Confinement;
use super::mounts::{clone, empty, lay};
use crate::sys;
use crate::warden::{Doing, Failure};

/// Something empty and unreadable to lay over what is hidden.
pub(super) struct Masks {
    file: OwnedFd,
    folder: OwnedFd,
}

impl Masks {
    /// Lies under `/tmp`, which something else covers later.
    pub(super) fn new() -> Result<Self, Failure> {
        let doing = || "make masks".to_owned();
        let mount = empty("0755")?;
        lay(&mount, Path::new("/tmp"))?;
        let nothing = Mode::empty();
        let create = OFlags::CREATE | OFlags::CLOEXEC | OFlags::WRONLY;
        rustix::fs::openat(&mount, "file", create, nothing).doing(doing)?;
        rustix::fs::mkdirat(&mount, "folder", nothing).doing(doing)?;
        let open = |name| rustix::fs::openat(&mount, name, OFlags::PATH | OFlags::CLOEXEC, nothing);
        Ok(Self { file: open("file").doing(doing)?, folder: open("folder").doing(doing)? })
    }

    fn lay(&self, path: &Path) -> Result<(), Failure> {
        let mask = if path.is_dir() { &self.folder } else { &self.file };
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH;
        let doing = || format!("hide {}", path.display());
        let mask = open_tree(mask, "", flags).doing(doing)?;
        sys::restrict_mounts(mask.as_fd(), libc::MOUNT_ATTR_RDONLY).doing(doing)?;
        lay(&mask, path)
    }
}

/// Covers every path that exists; behind a link, what it leads to.
pub(super) fn hide(paths: &[PathBuf], masks: &Masks) -> Result<(), Failure> {
    let found = paths.iter().filter_map(|path| fs_err::canonicalize(path).ok());
    found.into_iter().try_for_each(|path| masks.lay(&path))
}

/// Makes every protected path read-only, and keeps the folders above it where they are.
///
/// A folder that is a mount cannot be renamed, so nobody can move `.git` away and make another.
pub(super) fn protect(confinement: &Confinement, masks: &Masks) -> Result<(), Failure> {
    let mut held: Vec<PathBuf> = Vec::new();
    for protected in &confinement.protected {
        let path = &protected.path;
        let Some(root) = confinement.writable.iter().find(|root| path.starts_with(root)) else {
            continue;
        };
        let Ok(rest) = path.strip_prefix(root) else { continue };
        let mut at = root.clone();
        let mut parts = rest.components().peekable();
        while let Some(part) = parts.next() {
            at.push(part);
            let last = parts.peek().is_none();
            if at.is_symlink() {
                protect_link(&at, last, masks)?;
                break;
            }
            if last || is_placeholder_for_more(&at) {
                lay(&clone(&at, libc::MOUNT_ATTR_RDONLY)?, &at)?;
                break;
            }
            if !held.contains(&at) {
                lay(&clone(&at, 0)?, &at)?;
                held.push(at.clone());
            }
        }
    }
    Ok(())
}

/// Whether the next part of a protected path is missing: then this folder stands for it.
fn is_placeholder_for_more(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// A link to a file is covered by that file; a link to a folder cannot be covered, so nothing runs.
fn protect_link(link: &Path, last: bool, masks: &Masks) -> Result<(), Failure> {
    let target = fs_err::canonicalize(link).ok();
    let cover = match target {
        Some(target) if last && target.is_file() => {
            let cover = clone(&target, libc::MOUNT_ATTR_RDONLY)?;
            lay(&clone(&target, libc::MOUNT_ATTR_RDONLY)?, &target)?;
            cover
        }
        None => {
            let flags = OpenTreeFlags::OPEN_TREE_CLONE
                | OpenTreeFlags::OPEN_TREE_CLOEXEC
                | OpenTreeFlags::AT_EMPTY_PATH;
            open_tree(&masks.file, "", flags).doing(|| "make masks".into())?
        }
        Some(_) => {
            return Err(Failure {
                what: format!(
                    "protect {}: it is a link to a folder; make it a folder, or stop protecting it",
                    link.display()
                ),
                errno: 0,
            });
        }
    };
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(&cover, "", CWD, link, flags).doing(|| format!("protect {}", link.display()))
}
