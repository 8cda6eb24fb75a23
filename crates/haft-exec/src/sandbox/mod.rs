//! What a confined command may touch, and what the kernel holds it to.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub mod denial;
#[cfg(target_os = "linux")]
pub(crate) mod enter;
#[cfg(target_os = "linux")]
mod landlock;
pub mod layers;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
pub(crate) mod placeholder;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod protect;
pub mod seatbelt;
#[cfg(target_os = "linux")]
pub(crate) mod seccomp;

/// Whether a command is confined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// It may do what its user may do.
    #[default]
    Off,
    /// It may do what is said here, whatever its user may do.
    Confined(Confinement),
}

/// What a confined command may touch. Everything else is read-only, and nothing outside is reachable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// Folders and files that may be changed.
    pub writable: Vec<PathBuf>,
    /// What stays as it is though it lies in a writable folder, also what does not exist yet.
    pub protected: Vec<Protected>,
    /// Files and folders that can be neither read nor listed.
    pub hidden: Vec<PathBuf>,
    /// What stays readable though it lies under a private place such as `/tmp`.
    pub visible: Vec<PathBuf>,
    /// The folder that is `/tmp` inside, so that files there outlive one command; without it,
    /// `/tmp` is new and gone with the command.
    pub scratch: Option<PathBuf>,
    /// What can be reached.
    pub network: Network,
    /// The name of a private network: all commands of a [`Keeper`](crate::Keeper) that give the same
    /// one share a loopback, so that one reaches a server that another has started. Without it, the
    /// loopback is the command's own. Means nothing where the network is not [`Network::Off`].
    pub peers: Option<String>,
    /// Whether sockets of the file system can be made and reached.
    pub unix_sockets: UnixSockets,
    /// What happens where the kernel lacks a layer.
    pub demand: Demand,
}

impl Confinement {
    /// Nothing may be changed but the private `/tmp`.
    #[must_use]
    pub fn read_only() -> Self {
        Self::workspace([])
    }

    /// These folders may be changed, and the private `/tmp`.
    #[must_use]
    pub fn workspace(writable: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            writable: writable.into_iter().collect(),
            protected: Vec::new(),
            hidden: Vec::new(),
            visible: Vec::new(),
            scratch: None,
            network: Network::Off,
            peers: None,
            unix_sockets: UnixSockets::Refused,
            demand: Demand::Everything,
        }
    }

    /// Whether `path`, which must be canonical, may be changed.
    #[must_use]
    pub fn may_write(&self, path: &Path) -> bool {
        let within = |folder: &PathBuf| path.starts_with(folder);
        let is_private = PRIVATE.iter().any(|place| path.starts_with(place));
        let kept = self.protected.iter().any(|protected| path.starts_with(&protected.path));
        let hidden = self.hidden.iter().any(within);
        (is_private || self.writable.iter().any(within)) && !kept && !hidden
    }
}

/// Places that are new and empty inside; the first is the writable one that programs expect.
pub(crate) const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// A path inside a writable folder that stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protected {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// What stands there while the command runs, if nothing is there yet.
    pub kind: Kind,
}

impl Protected {
    /// A file that stays as it is, or stays missing.
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), kind: Kind::File }
    }

    /// A folder that stays as it is, or stays missing.
    #[must_use]
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), kind: Kind::Folder }
    }
}

/// The mode of an empty folder that stands for something protected.
const PLACEHOLDER: u32 = 0o1755;

/// Whether a path is only there because a confined command runs that must not make it.
#[must_use]
pub fn stands_for_nothing(path: &Path) -> bool {
    let is_marked = fs_err::symlink_metadata(path)
        .is_ok_and(|it| it.is_dir() && it.mode() & 0o7777 == PLACEHOLDER);
    is_marked && fs_err::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// What a protected path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
}

/// What a confined command can reach over the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Only itself, and who shares its loopback; hosts only by a proxy.
    Off,
    /// Whatever the machine can reach.
    Full,
}

/// Whether a confined command can make and reach sockets of the file system.
///
/// Who can speak to a daemon can have it act: such a socket is a way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnixSockets {
    /// It cannot; pairs of connected sockets still work.
    Refused,
    /// It can reach those in the folders it sees. `/run` is hidden all the same.
    Allowed,
}

/// What happens where the kernel lacks a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// The command does not start.
    Everything,
    /// It starts with the layers there are; [`Process::layers`](crate::Process::layers) says which.
    WhatThereIs,
}
