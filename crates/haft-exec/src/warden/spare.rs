//! A warden that waits for a command, so that none has to be made when one comes.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

use super::watch::{self, Files};
use super::{MESSAGE, receive, tell};
use crate::sandbox::enter::{Entry, Whose};
use crate::sandbox::seccomp::Filters;
use crate::sys::{self, Side};

/// The warden that waits, and how the keeper hears that it waits no more.
pub(super) struct Spare {
    requests: OwnedFd,
    taken: OwnedFd,
    pid: i32,
}

impl Spare {
    /// None yet; requests will come by `requests`.
    pub(super) fn new(requests: OwnedFd) -> io::Result<Self> {
        let taken = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { requests, taken, pid: 0 })
    }

    /// Can be read when the one that waited has got a command.
    pub(super) const fn taken(&self) -> &OwnedFd {
        &self.taken
    }

    /// Whether one waits, as far as is known.
    pub(super) const fn waits(&self) -> bool {
        self.pid != 0
    }

    /// Whether it has got a command since this was last asked.
    pub(super) fn was_taken(&mut self) -> bool {
        let taken = rustix::io::read(&self.taken, &mut [0; 8]).is_ok();
        if taken {
            self.pid = 0;
        }
        taken
    }

    /// A child has ended; if it was the one that waited, there is none. Should it have ended at once,
    /// so would the next, so that one is not made before some time is over.
    pub(super) const fn ended(&mut self, pid: i32) {
        if self.pid == pid {
            self.pid = 0;
        }
    }

    /// Makes one and returns its number.
    pub(super) fn make(&mut self) -> io::Result<i32> {
        let keeper = getpid();
        match sys::fork(0)? {
            Side::Parent(pid) => {
                self.pid = pid.as_raw_nonzero().get();
                Ok(self.pid)
            }
            Side::Child => {
                // Idle, it goes with the keeper; with a command it stays to the command's end.
                let follow = set_parent_process_death_signal(Some(Signal::KILL));
                if follow.is_ok() && getppid() == Some(keeper) {
                    self.wait();
                }
                sys::exit(0)
            }
        }
    }

    /// Waits for a command and is its warden.
    fn wait(&self) {
        sys::close_all_but(vec![self.requests.as_raw_fd(), self.taken.as_raw_fd()]);
        let (mut files, mut message) = (Vec::new(), [0; MESSAGE]);
        let count = loop {
            match receive(&self.requests, &mut message, &mut files) {
                Ok(count) => break count.unwrap_or(0),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        };
        let Some((files, long)) = Files::with_request(files) else { return };
        let _alone = set_parent_process_death_signal(None);
        let _told = rustix::io::write(&self.taken, &1_u64.to_ne_bytes());
        let entry = Entry { user: 0, group: 0, flags: 0, network: Whose::Own, refused: None };
        match watch::read(message.get(..count).unwrap_or_default(), long) {
            Ok(request) => watch::be_warden(&request, &files, &Filters::default(), &entry),
            Err(failure) => tell(&files.control, &failure.news()),
        }
    }
}
