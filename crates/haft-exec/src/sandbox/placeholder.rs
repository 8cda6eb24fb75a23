//! What stands where something protected is missing, so that nothing else can be put there.
//!
//! A mount needs something to lie on. So an empty file or folder is made before the command starts and
//! taken away after it. Removing it would also remove the mounts that other commands have on it, so
//! everyone who needs it holds a shared lock, and only who can have it alone takes it away.

use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, openat, statat, unlinkat,
};
use rustix::io::Errno;

use super::{Confinement, Kind};
use crate::warden::{Doing, Failure};

/// Something empty that a running command relies on.
pub(crate) struct Placeholder {
    parent: OwnedFd,
    name: std::ffi::OsString,
    lock: OwnedFd,
    kind: Kind,
    origin: Origin,
}

/// Who made it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// This keeper did, for this command or one before it.
    Ours,
    /// It was there.
    Found,
}

/// What this keeper has made and not yet taken away: device and inode.
#[derive(Default)]
pub(crate) struct Made(std::collections::HashSet<(u64, u64)>);

/// Puts one where something protected is missing, and holds those that are already there.
pub(crate) fn put(confinement: &Confinement, made: &mut Made) -> Result<Vec<Placeholder>, Failure> {
    let mut all = Vec::new();
    for protected in &confinement.protected {
        let path = &protected.path;
        let root = confinement.writable.iter().find(|root| path.starts_with(root));
        if let Some(root) = root
            && let Ok(rest) = path.strip_prefix(root)
        {
            all.extend(put_one(root, rest, protected.kind, made)?);
        }
    }
    Ok(all)
}

impl Placeholder {
    /// Takes it away if nobody else needs it, and if it is still the empty thing that was made.
    pub(crate) fn take_away(self, made: &mut Made) {
        if self.origin == Origin::Found
            || flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_err()
        {
            return;
        }
        let (Ok(held), Ok(there)) =
            (fstat(&self.lock), statat(&self.parent, &*self.name, AtFlags::SYMLINK_NOFOLLOW))
        else {
            return;
        };
        made.0.remove(&(held.st_dev, held.st_ino));
        if (held.st_dev, held.st_ino) != (there.st_dev, there.st_ino) {
            return;
        }
        // A folder that is not empty refuses by itself.
        let flags = match self.kind {
            Kind::Folder => AtFlags::REMOVEDIR,
            Kind::File if held.st_size == 0 => AtFlags::empty(),
            Kind::File => return,
        };
        let _kept = unlinkat(&self.parent, &*self.name, flags);
    }
}

/// Follows `rest` below `root` without links, to the first part that is missing or empty.
fn put_one(
    root: &Path,
    rest: &Path,
    kind: Kind,
    made: &mut Made,
) -> Result<Option<Placeholder>, Failure> {
    let doing = || format!("protect {}", root.join(rest).display());
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut parent = rustix::fs::open(root, folder, Mode::empty()).doing(doing)?;
    let names: Vec<_> = rest
        .components()
        .filter_map(|part| if let Component::Normal(name) = part { Some(name) } else { None })
        .collect();
    for (index, name) in names.iter().enumerate() {
        let last = index + 1 == names.len();
        let kind = if last { kind } else { Kind::Folder };
        let mut fresh = false;
        let there = match openat(
            &parent,
            *name,
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        ) {
            Err(Errno::NOENT) => {
                fresh = true;
                make(&parent, name, kind).doing(doing)?
            }
            // A link, or something that cannot be read: whoever mounts over it decides.
            Err(_) => return Ok(None),
            Ok(there) => there,
        };
        let stat = fstat(&there).doing(doing)?;
        let id = (stat.st_dev, stat.st_ino);
        if fresh {
            made.0.insert(id);
        }
        if fresh || made.0.contains(&id) || last {
            // Without a lock another command could take it away; without support for locks none does.
            let _unsupported = flock(&there, FlockOperation::NonBlockingLockShared);
            let origin = if made.0.contains(&id) { Origin::Ours } else { Origin::Found };
            return Ok(Some(Placeholder {
                parent,
                name: (*name).to_owned(),
                lock: there,
                kind,
                origin,
            }));
        }
        parent = there;
    }
    Ok(None)
}

fn make(parent: &OwnedFd, name: &std::ffi::OsStr, kind: Kind) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match kind {
        Kind::Folder => {
            mkdirat(parent, name, Mode::from_raw_mode(0o755))?;
            openat(parent, name, flags | OFlags::DIRECTORY, Mode::empty())
        }
        Kind::File => {
            let create = flags | OFlags::CREATE | OFlags::EXCL;
            openat(parent, name, create, Mode::from_raw_mode(0o644))
        }
    }
}
