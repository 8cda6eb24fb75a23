//! What stands where something protected is missing, so that nothing else can be put there.
//!
//! A mount needs something to lie on. So an empty file or folder is made before the command starts and
//! taken away after it. Removing it would also remove the mounts that other commands have on it, so
//! everyone who needs it holds a shared lock, and only who can have it alone takes it away. Its mode
//! tells it from what somebody else has made, and whoever is last takes it away, whoever made it.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{
    Access, AtFlags, FlockOperation, Mode, OFlags, Stat, accessat, fchmod, flock, fstat, mkdirat,
    openat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::{Confinement, Kind};
use crate::warden::{Doing, Failure};

/// The mode of a folder that stands for something: the sticky bit means nothing on it.
const FOLDER: u32 = super::PLACEHOLDER;
/// The mode of such a file.
const FILE: u32 = 0o1644;

/// How often one is looked for while others take it away.
const TRIES: usize = 100;

/// Something empty that a running command relies on.
pub(crate) struct Placeholder {
    parent: OwnedFd,
    name: OsString,
    lock: OwnedFd,
    kind: Kind,
    /// Made for this command: it needs no mark, which not every file system can hold.
    fresh: bool,
}

/// Puts one where something protected is missing, and holds those that are already there. What is out
/// of every command's reach is no longer listed: nothing can lie on it, and nothing has to.
pub(crate) fn put(confinement: &mut Confinement) -> Result<Vec<Placeholder>, Failure> {
    let mut all = Vec::new();
    let mut wanted = Vec::new();
    for protected in std::mem::take(&mut confinement.protected) {
        let path = &protected.path;
        // The outermost: a folder between it and the path could be moved away.
        let above = confinement.writable.iter().filter(|root| path.starts_with(root));
        let root = above.min_by_key(|root| root.as_os_str().len());
        let at = root.and_then(|root| Some((root, path.strip_prefix(root).ok()?)));
        match at.map(|(root, rest)| put_one(root, rest, protected.kind)).transpose() {
            Ok(Some(Put::OutOfReach)) => continue,
            Ok(Some(Put::Placeholder(placeholder))) => all.push(placeholder),
            Ok(None | Some(Put::Nothing)) => {}
            Err(failure) => {
                all.into_iter().for_each(Placeholder::take_away);
                return Err(failure);
            }
        }
        wanted.push(protected);
    }
    confinement.protected = wanted;
    Ok(all)
}

/// What was put where something protected belongs.
enum Put {
    Placeholder(Placeholder),
    /// Something is there.
    Nothing,
    /// Nothing is there, and no command can change that.
    OutOfReach,
}

impl Placeholder {
    /// Takes it away if nobody else needs it, and if it is still the empty thing that was made.
    pub(crate) fn take_away(self) {
        if flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        let Ok(held) = fstat(&self.lock) else { return };
        let is_ours = self.fresh || is_placeholder(&held, self.kind);
        if !is_ours || !is_at(&held, &self.parent, &self.name) {
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

/// Whether it was made here, or by somebody like us, and is as it was made; as far as that can be seen.
fn is_placeholder(stat: &Stat, kind: Kind) -> bool {
    let mode = stat.st_mode & 0o7777;
    match kind {
        Kind::Folder => mode == FOLDER,
        Kind::File => mode == FILE && stat.st_size == 0,
    }
}

fn is_at(held: &Stat, parent: &OwnedFd, name: &OsStr) -> bool {
    statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|there| (held.st_dev, held.st_ino) == (there.st_dev, there.st_ino))
}

/// Follows `rest` below `root` without links, to the first part that is missing or stands for one.
fn put_one(root: &Path, rest: &Path, kind: Kind) -> Result<Put, Failure> {
    let doing = || format!("protect {}", root.join(rest).display());
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut parent = rustix::fs::open(root, folder, Mode::empty()).doing(doing)?;
    let names: Vec<_> = rest
        .components()
        .filter_map(|part| if let Component::Normal(name) = part { Some(name) } else { None })
        .collect();
    let mut can_be_moved = false;
    for (index, name) in names.iter().enumerate() {
        let last = index + 1 == names.len();
        let kind = if last { kind } else { Kind::Folder };
        match find(&parent, name, kind).doing(doing)? {
            Found::Placeholder { lock, fresh } => {
                let name = (*name).to_owned();
                return Ok(Put::Placeholder(Placeholder { parent, name, lock, kind, fresh }));
            }
            Found::Folder(there) => {
                can_be_moved |= !is_out_of_reach(&parent);
                parent = there;
            }
            Found::Other => return Ok(Put::Nothing),
            Found::OutOfReach if can_be_moved => return Err(Errno::ACCESS).doing(doing),
            Found::OutOfReach => return Ok(Put::OutOfReach),
        }
    }
    Ok(Put::Nothing)
}

/// What has a name.
enum Found {
    /// What stands for something that is missing, with a lock on it.
    Placeholder { lock: OwnedFd, fresh: bool },
    /// Somebody's own folder.
    Folder(OwnedFd),
    /// Whoever mounts over it decides.
    Other,
    /// Nothing, for good.
    OutOfReach,
}

/// Looks at what is there, and makes a placeholder of `kind` where nothing is.
fn find(parent: &OwnedFd, name: &OsStr, kind: Kind) -> rustix::io::Result<Found> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    for _ in 0..TRIES {
        let (there, fresh) = match openat(parent, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => match make(parent, name, kind) {
                // Somebody was quicker, with making it or with taking it away.
                Err(Errno::EXIST | Errno::NOENT) => continue,
                Err(_) if is_out_of_reach(parent) => return Ok(Found::OutOfReach),
                made => (made?, true),
            },
            // A link, or something that cannot be read.
            Err(_) => return Ok(Found::Other),
            Ok(there) => (there, false),
        };
        let stat = fstat(&there)?;
        if !fresh && !is_placeholder(&stat, kind) {
            return Ok(if stat.st_mode & libc::S_IFMT == libc::S_IFDIR {
                Found::Folder(there)
            } else {
                Found::Other
            });
        }
        // Without a lock another command could take it away; without support for locks none does.
        let is_busy =
            flock(&there, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK);
        if !is_busy && is_at(&fstat(&there)?, parent, name) {
            return Ok(Found::Placeholder { lock: there, fresh });
        }
    }
    Err(Errno::BUSY)
}

/// Whether no command of ours can put anything into a folder, whatever it does: nothing has to stand
/// there. An owner could make it writable again.
fn is_out_of_reach(folder: &OwnedFd) -> bool {
    match accessat(folder, ".", Access::WRITE_OK, AtFlags::empty()) {
        Err(Errno::ROFS) => true,
        Err(Errno::ACCESS) => fstat(folder).is_ok_and(|stat| stat.st_uid != geteuid().as_raw()),
        _ => false,
    }
}

fn make(parent: &OwnedFd, name: &OsStr, kind: Kind) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (made, mode) = match kind {
        Kind::Folder => {
            mkdirat(parent, name, Mode::from_raw_mode(0o755))?;
            (openat(parent, name, flags | OFlags::DIRECTORY, Mode::empty())?, FOLDER)
        }
        Kind::File => {
            let create = flags | OFlags::CREATE | OFlags::EXCL;
            (openat(parent, name, create, Mode::from_raw_mode(0o644))?, FILE)
        }
    };
    // Not when it is made: the user's mask would take its part. Without it, only we know that it is ours.
    let _unmarked = fchmod(&made, Mode::from_raw_mode(mode));
    Ok(made)
}
