//! The way into the sandbox: the warden goes into namespaces of its own, the command gives up the rest.

use std::io;
use std::path::Path;

use super::layers::{Layer, Layers, State};
use super::{Confinement, Demand, Network, landlock, mounts, privileges, seccomp};
use crate::sys;
use crate::warden::{Doing, Failure};

/// Who the keeper is, and what became of the namespaces that were wanted.
pub(crate) struct Entry {
    pub(crate) user: u32,
    pub(crate) group: u32,
    /// The namespaces this process was made in.
    pub(crate) flags: libc::c_int,
    /// Whose network it is in.
    pub(crate) network: Whose,
    /// Why there are none.
    pub(crate) refused: Option<io::Error>,
}

impl Entry {
    /// As this process is.
    pub(crate) fn here() -> Self {
        Self {
            user: rustix::process::geteuid().as_raw(),
            group: rustix::process::getegid().as_raw(),
            flags: 0,
            network: Whose::Own,
            refused: None,
        }
    }
}

/// Whose network a process is in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Its own, if it has one; then it is to be furnished.
    Own,
    /// One that others are in, too.
    Shared,
}

/// What every confined command has for itself, whatever network it is in.
pub(crate) const APART: libc::c_int =
    libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;

/// Sets of namespaces to try, the best first.
pub(crate) fn namespaces(confinement: &Confinement) -> [libc::c_int; 2] {
    let network = match confinement.network {
        Network::Off => libc::CLONE_NEWNET,
        Network::Full => 0,
    };
    // The second needs the rights of root, where users may not make namespaces.
    [libc::CLONE_NEWUSER | APART | network, APART | network]
}

/// Builds the world of the command, in the warden. Returns the layers that are in force by it.
pub(crate) fn enclose(
    confinement: &Confinement,
    cwd: &Path,
    entry: &Entry,
) -> Result<Layers, Failure> {
    if let Some(error) = &entry.refused {
        return without_namespaces(confinement, error);
    }
    let mut layers = Layers::default();
    if entry.flags & libc::CLONE_NEWUSER != 0 {
        map_user(entry.user, entry.group)?;
    }
    if confinement.network == Network::Off {
        if entry.network == Whose::Own {
            bring_loopback_up()?;
        }
        layers.set(Layer::Network, State::InForce);
    } else {
        layers.set(Layer::Network, State::NotWanted);
    }
    mounts::build(confinement, cwd)?;
    layers.set(Layer::Mounts, State::InForce);
    layers.set(Layer::Processes, State::InForce);
    // The warden is in there with the command, which has its user: nothing of it may be looked into.
    sys::prctl(libc::PR_SET_DUMPABLE, 0).doing(|| "shut the warden".into())?;
    Ok(layers)
}

/// Gives up what the command must not have, in the command's own process.
pub(crate) fn confine(
    confinement: &Confinement,
    filters: &seccomp::Filters,
    layers: &mut Layers,
) -> Result<(), Failure> {
    privileges::give_up()?;
    layers.set(Layer::Privileges, State::InForce);
    let state = landlock::restrict(confinement, layers.has(Layer::Mounts))?;
    layers.set(Layer::Landlock, state);
    let offline = confinement.network == Network::Off && !layers.has(Layer::Network);
    filters.apply(confinement, offline)?;
    layers.set(Layer::Seccomp, State::InForce);
    if confinement.demand == Demand::Everything
        && let Some((layer, reason)) = layers.missing().next()
    {
        return Err(missing(layer, reason));
    }
    layers.0.sort_by_key(|(layer, _)| Layer::ALL.iter().position(|one| one == layer));
    Ok(())
}

fn without_namespaces(confinement: &Confinement, error: &io::Error) -> Result<Layers, Failure> {
    let reason = format!("the kernel gives no namespaces: {error}");
    if confinement.demand == Demand::Everything {
        return Err(missing(Layer::Mounts, &reason));
    }
    let mut layers = Layers::default();
    for layer in [Layer::Mounts, Layer::Processes] {
        layers.set(layer, State::Missing(reason.clone()));
    }
    let network = match confinement.network {
        Network::Off => State::Missing(reason),
        Network::Full => State::NotWanted,
    };
    layers.set(Layer::Network, network);
    Ok(layers)
}

fn missing(layer: Layer, reason: &str) -> Failure {
    let (name, without) = (layer.name(), layer.without());
    Failure {
        what: format!(
            "confine the command: the layer `{name}` is missing ({reason}), so {without}; \
             allow a weaker sandbox, or none, to run it all the same"
        ),
        errno: 0,
    }
}

/// The same user and group inside as outside, and nobody else.
pub(crate) fn map_user(user: u32, group: u32) -> Result<(), Failure> {
    let write =
        |file: &str, text: String| fs_err::write(file, text).doing(|| format!("write {file}"));
    write("/proc/self/setgroups", "deny".into())?;
    write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Lets this network namespace talk to itself.
pub(crate) fn bring_loopback_up() -> Result<(), Failure> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None);
    let socket = socket.doing(|| "make a socket".into())?;
    sys::loopback_up(std::os::fd::AsFd::as_fd(&socket)).doing(|| "bring the loopback up".into())
}
