//! Private networks that several commands share: made once, joined by every command that names them.
//!
//! A network is held by files that are open here, so it lives as long as the keeper, whether or not a
//! command is in it. A command joins it by a process between the keeper and its warden: who has joined
//! cannot go back.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{Pid, WaitOptions, getegid, geteuid, waitpid};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::{Doing, Failure};
use crate::sandbox::enter;
use crate::sys::{self, Side};

/// Most networks that are held though no command is in them.
const IDLE: usize = 16;

/// All networks that are held.
#[derive(Default)]
pub(super) struct Networks {
    held: HashMap<String, Held>,
    /// Counts every use, to know which was used last.
    uses: u64,
}

/// One network.
pub(super) struct Held {
    /// Where its rights come from; none if those of root were enough.
    user: Option<OwnedFd>,
    network: OwnedFd,
    used: u64,
}

impl Networks {
    /// The network of this name, made if there is none. `is_used` says whether a command is in one.
    pub(super) fn get(
        &mut self,
        name: &str,
        is_used: impl Fn(&str) -> bool,
    ) -> Result<&Held, Failure> {
        if !self.held.contains_key(name) {
            self.held.insert(name.to_owned(), Held::make()?);
            self.forget_idle(|other| other == name || is_used(other));
        }
        self.uses += 1;
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let held = self.held.get_mut(name).ok_or_else(gone).doing(|| "find the network".into())?;
        held.used = self.uses;
        Ok(held)
    }

    /// Sockets in the network of this name, one for each version of the protocol that there is.
    pub(super) fn sockets(&self, name: &str) -> Vec<OwnedFd> {
        let Some(held) = self.held.get(name) else { return Vec::new() };
        let mut sockets = Vec::new();
        let child = sys::fork_sharing(libc::CLONE_FILES, &mut || {
            if held.join().is_ok() {
                let families = [AddressFamily::INET, AddressFamily::INET6];
                sockets.extend(families.iter().filter_map(|family| {
                    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
                    socket_with(*family, SocketType::STREAM, flags, None).ok()
                }));
            }
            0
        });
        wait(child.ok());
        sockets
    }

    /// Lets go those that were not used for longest, where more are idle than are kept.
    pub(super) fn forget_idle(&mut self, is_used: impl Fn(&str) -> bool) {
        let idle = self.held.iter().filter(|(name, _)| !is_used(name));
        let mut idle: Vec<_> = idle.map(|(name, held)| (held.used, name.clone())).collect();
        idle.sort_unstable();
        let too_many = idle.len().saturating_sub(IDLE);
        for (_, name) in idle.iter().take(too_many) {
            self.held.remove(name);
        }
    }
}

impl Held {
    /// Makes a network with a loopback, by a child that is gone when this returns.
    fn make() -> Result<Self, Failure> {
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        let mut made = None;
        // The second needs the rights of root, where users may not make namespaces.
        for flags in [libc::CLONE_NEWUSER | libc::CLONE_NEWNET, libc::CLONE_NEWNET] {
            let own_user = flags & libc::CLONE_NEWUSER != 0;
            // What the child opens is open here: it has the same files.
            let child = sys::fork_sharing(flags | libc::CLONE_FILES, &mut || {
                made = Some(Self::furnish(own_user.then_some((user, group))));
                0
            });
            wait(child.ok());
            if matches!(made, Some(Ok(_))) {
                break;
            }
        }
        let refused = || io::Error::from(io::ErrorKind::Unsupported);
        made.ok_or_else(refused).doing(|| "make a network".into())?
    }

    /// In the network: who one is in it, its loopback, and how others find it.
    fn furnish(user: Option<(u32, u32)>) -> Result<Self, Failure> {
        let open = |name: &str| {
            let path = format!("/proc/self/ns/{name}");
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            rustix::fs::open(&path, flags, Mode::empty()).doing(|| format!("open {path}"))
        };
        if let Some((user, group)) = user {
            enter::map_user(user, group)?;
        }
        enter::bring_loopback_up()?;
        let own = if user.is_some() { Some(open("user")?) } else { None };
        Ok(Self { user: own, network: open("net")?, used: 0 })
    }

    /// Makes a process in this network that has `others` of its own, and does `work` in it.
    pub(super) fn fork(&self, others: libc::c_int, work: &dyn Fn()) -> Result<Pid, Failure> {
        let mut made = Err(io::ErrorKind::Unsupported.into());
        let between = sys::fork_sharing(0, &mut || {
            made = self.join().and_then(|()| match sys::fork(others)? {
                Side::Parent(pid) => Ok(pid),
                Side::Child => {
                    work();
                    sys::exit(0)
                }
            });
            0
        });
        // What it leaves behind comes to us when it is gone.
        wait(between.ok());
        made.doing(|| "make a process in the network of the session".into())
    }

    fn join(&self) -> io::Result<()> {
        if let Some(user) = &self.user {
            move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
        }
        Ok(move_into_link_name_space(self.network.as_fd(), Some(LinkNameSpaceType::Network))?)
    }
}

/// Takes an ended child away.
fn wait(child: Option<Pid>) {
    if let Some(pid) = child {
        while matches!(waitpid(Some(pid), WaitOptions::empty()), Err(Errno::INTR)) {}
    }
}
