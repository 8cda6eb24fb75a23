//! The file system of a confined command: read-only, with private places, devices and processes of its own.
//!
//! Everything is done in place, in a mount namespace that ends with the command. What stays writable
//! is cloned first, then all is made read-only, then the clones are laid over.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount,
    open_tree,
};

use super::{Confinement, Network, PRIVATE, protect};
use crate::sys;
use crate::warden::{Doing, Failure};

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const HARMLESS: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// Devices that programs expect and that hold nothing.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Where daemons have their sockets.
const SOCKETS: [&str; 2] = ["/run", "/var/run"];

/// What programs need of a hidden `/run`: names of hosts, and the programs of some distributions.
const NEEDED_OF_RUN: [&str; 2] = ["/etc/resolv.conf", "/run/current-system"];

/// Builds it for this process and those it will make.
pub(super) fn build(confinement: &Confinement, cwd: &Path) -> Result<(), Failure> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).doing(|| "part from the mounts outside".into())?;
    let writable = clone_all(&confinement.writable, HARMLESS)?;
    let visible = clone_all(&visible(confinement, cwd), HARMLESS | READ_ONLY)?;
    let scratch = match &confinement.scratch {
        Some(folder) => Some(clone(folder, HARMLESS)?),
        None => None,
    };
    let devices = DEVICES.map(|name| clone(&Path::new("/dev").join(name), READ_ONLY).ok());
    let masks = protect::Masks::new()?;
    // After this nothing can be written but what is laid over it.
    let root = open(Path::new("/"))?;
    sys::restrict_mounts(root.as_fd(), READ_ONLY | HARMLESS)
        .doing(|| "make the file system read-only".into())?;
    lay_devices(devices)?;
    lay_private_places(scratch)?;
    lay_processes()?;
    // Outer folders first: what lies in another must be laid over it.
    let mut trees: Vec<_> = visible.into_iter().chain(writable).collect();
    trees.sort_by_key(|(path, _)| path.components().count());
    for (path, tree) in &trees {
        make_place(path, tree)?;
        lay(tree, path)?;
    }
    protect::protect(confinement, &masks)?;
    protect::hide(&confinement.hidden, &masks)
}

/// Lays a cloned or new mount over `path`.
pub(super) fn lay(mount: &OwnedFd, path: &Path) -> Result<(), Failure> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(mount, "", CWD, path, flags).doing(|| format!("mount over {}", path.display()))
}

/// A copy of what is mounted at `path` and below it, laid nowhere yet.
pub(super) fn clone(path: &Path, attributes: u64) -> Result<OwnedFd, Failure> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let doing = || format!("clone the mount of {}", path.display());
    let tree = open_tree(CWD, path, flags).doing(doing)?;
    sys::restrict_mounts(tree.as_fd(), attributes).doing(doing)?;
    Ok(tree)
}

/// A new, empty file system in memory.
pub(super) fn empty(mode: &str) -> Result<OwnedFd, Failure> {
    new_mount("tmpfs", &[("mode", mode)])
}

fn new_mount(kind: &str, options: &[(&str, &str)]) -> Result<OwnedFd, Failure> {
    let doing = || format!("mount a new {kind}");
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC).doing(doing)?;
    for (name, value) in options {
        fsconfig_set_string(context.as_fd(), *name, *value).doing(doing)?;
    }
    fsconfig_create(context.as_fd()).doing(doing)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes).doing(doing)
}

fn open(path: &Path) -> Result<OwnedFd, Failure> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).doing(|| format!("open {}", path.display()))
}

fn clone_all(paths: &[PathBuf], attributes: u64) -> Result<Vec<(PathBuf, OwnedFd)>, Failure> {
    let each = |path: &PathBuf| {
        let path = fs_err::canonicalize(path).doing(|| "find a folder of the sandbox".into())?;
        let tree = clone(&path, attributes)?;
        Ok((path, tree))
    };
    paths.iter().map(each).collect()
}

/// What would be covered by a private place but is to be seen.
fn visible(confinement: &Confinement, cwd: &Path) -> Vec<PathBuf> {
    let mut paths = confinement.visible.clone();
    let is_covered = |path: &Path| {
        PRIVATE.iter().chain(&SOCKETS).any(|place| path.starts_with(place))
            && !confinement.writable.iter().any(|root| path.starts_with(root))
    };
    let needed =
        if confinement.network == Network::Full { &NEEDED_OF_RUN[..] } else { &NEEDED_OF_RUN[1..] };
    let needed = needed.iter().filter_map(|path| fs_err::canonicalize(*path).ok());
    paths.extend(needed.chain(fs_err::canonicalize(cwd)).filter(|path| is_covered(path)));
    paths
}

/// Makes the file or folder over which `tree` is mounted, in a place that is ours.
fn make_place(path: &Path, tree: &OwnedFd) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    let doing = || format!("make a place for {}", path.display());
    if let Some(parent) = path.parent() {
        fs_err::create_dir_all(parent).doing(doing)?;
    }
    let stat = rustix::fs::fstat(tree).doing(doing)?;
    if FileType::from_raw_mode(stat.st_mode).is_dir() {
        // Another command of the session, whose `/tmp` this is too, may have made it just now.
        fs_err::create_dir_all(path).doing(doing)
    } else {
        fs_err::write(path, "").doing(doing)
    }
}

fn lay_devices(devices: [Option<OwnedFd>; DEVICES.len()]) -> Result<(), Failure> {
    let folder = empty("0755")?;
    let make = |name: &str| rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o755));
    make("shm").and_then(|()| make("pts")).doing(|| "fill /dev".into())?;
    let links = [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ];
    for (name, target) in links {
        rustix::fs::symlinkat(target, &folder, name).doing(|| "fill /dev".into())?;
    }
    let create = OFlags::CREATE | OFlags::CLOEXEC | OFlags::WRONLY;
    for name in DEVICES {
        rustix::fs::openat(&folder, name, create, Mode::from_raw_mode(0o666))
            .doing(|| "fill /dev".into())?;
    }
    sys::restrict_mounts(folder.as_fd(), READ_ONLY | HARMLESS).doing(|| "shut /dev".into())?;
    lay(&folder, Path::new("/dev"))?;
    for (name, device) in DEVICES.iter().zip(devices) {
        if let Some(device) = device {
            lay(&device, &Path::new("/dev").join(name))?;
        }
    }
    // Terminals of its own, for programs that make some; few do, so its absence is no failure.
    if let Ok(terminals) = new_mount("devpts", &[("ptmxmode", "0666"), ("mode", "0620")]) {
        lay(&terminals, Path::new("/dev/pts"))?;
    }
    Ok(())
}

fn lay_private_places(scratch: Option<OwnedFd>) -> Result<(), Failure> {
    let mut scratch = scratch;
    for place in PRIVATE.map(Path::new).into_iter().filter(|place| place.is_dir()) {
        let mount = match scratch.take() {
            Some(folder) => folder,
            None => empty("1777")?,
        };
        lay(&mount, place)?;
    }
    for place in SOCKETS.map(Path::new) {
        if place.is_dir() && !place.is_symlink() {
            lay(&empty("0755")?, place)?;
        }
    }
    Ok(())
}

/// `/proc` shows the processes of this namespace, and nothing of the kernel can be set through it.
fn lay_processes() -> Result<(), Failure> {
    let processes = new_mount("proc", &[])?;
    sys::restrict_mounts(processes.as_fd(), READ_ONLY | HARMLESS)
        .doing(|| "make /proc read-only".into())?;
    lay(&processes, Path::new("/proc"))
}
