//! What a new file takes over from the one it replaces: owner, attributes, access list, mode.

use std::fs::File;
use std::io;

use rustix::buffer::spare_capacity;
use rustix::fs::{Gid, Mode, Stat, Uid, XattrFlags};
use rustix::io::{Errno, retry_on_intr};

use super::error::Obstacle;

/// A list or value that keeps growing between asking for its size and fetching it.
const ATTEMPTS: usize = 4;

/// Makes `to` look like `from`, and returns what stands in the way if it cannot.
pub(super) fn carry_over(from: &File, to: &File) -> io::Result<Option<Obstacle>> {
    let wanted = rustix::fs::fstat(from)?;
    let has = rustix::fs::fstat(to)?;
    // The order matters: a change of owner clears mode bits, an access list sets some.
    if !give(to, &has, &wanted)? {
        return Ok(Some(Obstacle::Owner));
    }
    if !copy_attributes(from, to)? {
        return Ok(Some(Obstacle::Attributes));
    }
    if has.st_mode != wanted.st_mode {
        retry_on_intr(|| rustix::fs::fchmod(to, Mode::from_raw_mode(wanted.st_mode)))?;
    }
    Ok(None)
}

/// Hands the file to its owner and group; `false` if the system does not let us.
fn give(to: &File, has: &Stat, wanted: &Stat) -> io::Result<bool> {
    let owner = (has.st_uid != wanted.st_uid).then(|| Uid::from_raw(wanted.st_uid));
    let group = (has.st_gid != wanted.st_gid).then(|| Gid::from_raw(wanted.st_gid));
    if owner.is_none() && group.is_none() {
        return Ok(true);
    }
    match retry_on_intr(|| rustix::fs::fchown(to, owner, group)) {
        Ok(()) => Ok(true),
        // An owner that this user namespace has no number for is invalid to it.
        Err(Errno::PERM | Errno::INVAL) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Copies every attribute; `false` if one cannot be kept.
fn copy_attributes(from: &File, to: &File) -> io::Result<bool> {
    let wanted = names(from)?;
    for name in split(&wanted) {
        let Some(value) = value(from, name)? else { continue };
        match retry_on_intr(|| rustix::fs::fsetxattr(to, name, &value, XattrFlags::empty())) {
            Ok(()) => {}
            // Labels and capabilities are the system's to give, and writing in place would
            // not keep them either.
            Err(Errno::PERM | Errno::ACCESS | Errno::NOTSUP) if is_systems_own(name) => {}
            Err(Errno::PERM | Errno::ACCESS | Errno::NOTSUP) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
    // A folder's default access list has come to the new file unasked.
    let unasked = names(to)?;
    for name in split(&unasked) {
        if !is_systems_own(name) && !split(&wanted).any(|kept| kept == name) {
            retry_on_intr(|| rustix::fs::fremovexattr(to, name))?;
        }
    }
    Ok(true)
}

fn is_systems_own(name: &[u8]) -> bool {
    name.starts_with(b"security.") || name.starts_with(b"trusted.")
}

fn split(names: &[u8]) -> impl Iterator<Item = &[u8]> {
    names.split(|byte| *byte == 0).filter(|name| !name.is_empty())
}

/// Returns the names of all attributes, each ended by a NUL; none where there are no attributes.
fn names(file: &File) -> io::Result<Vec<u8>> {
    fetch(
        || rustix::fs::flistxattr_query(file),
        |buffer| rustix::fs::flistxattr(file, spare_capacity(buffer)),
    )
    .map(Option::unwrap_or_default)
}

fn value(file: &File, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
    fetch(
        || rustix::fs::fgetxattr_query(file, name),
        |buffer| rustix::fs::fgetxattr(file, name, spare_capacity(buffer)),
    )
}

/// Asks for a size, then for as many bytes; `None` if there is nothing of the kind.
fn fetch(
    size: impl Fn() -> rustix::io::Result<usize>,
    fill: impl Fn(&mut Vec<u8>) -> rustix::io::Result<usize>,
) -> io::Result<Option<Vec<u8>>> {
    for _ in 0..ATTEMPTS {
        let room = match retry_on_intr(&size) {
            Ok(0) => return Ok(Some(Vec::new())),
            Ok(room) => room,
            Err(Errno::NOTSUP | Errno::NODATA) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut buffer = Vec::with_capacity(room);
        match retry_on_intr(|| fill(&mut buffer)) {
            Ok(_) => return Ok(Some(buffer)),
            Err(Errno::RANGE) => {}
            Err(Errno::NODATA) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::RANGE.into())
}
