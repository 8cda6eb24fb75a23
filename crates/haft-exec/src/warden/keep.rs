//! The keeper: takes requests, makes a warden for each, and cleans up after those that are gone.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};

use super::network::Networks;
use super::spare::Spare;
use super::watch::{self, Files};
use super::{Doing, Failure, MESSAGE, hand, receive, tell, tree};
use crate::sandbox::enter::{Entry, Whose};
use crate::sandbox::placeholder::{self, Placeholder};
use crate::sandbox::{Confinement, Demand, Network, Sandbox, enter, seccomp};
use crate::sys;
use crate::wire::Request;

/// How long wardens have to end their commands after the runtime is gone.
const LAST_WAIT: Duration = Duration::from_secs(3);

/// When something that failed is tried again.
const AGAIN: Duration = Duration::from_millis(50);

/// Serves requests from both sockets until their other ends are gone. Returns the program's exit code.
pub(super) fn serve(confined: OwnedFd, plain: OwnedFd) -> i32 {
    let Ok(mut keeper) = Keeper::new(confined, plain) else { return 1 };
    while keeper.turn() {}
    keeper.end();
    0
}

struct Keeper {
    /// Requests for confined commands, which are started from here.
    socket: OwnedFd,
    /// Those for others go to a warden that already waits for one.
    spare: Spare,
    signals: OwnedFd,
    /// Every warden that lives, with what is to be done when it is gone.
    wardens: HashMap<i32, Afterwards>,
    filters: seccomp::Filters,
    /// Whether namespaces can be furnished, once that has been tried.
    encloses: Option<bool>,
    /// Those that commands share.
    networks: Networks,
}

/// What is to be done when a warden is gone.
#[derive(Default)]
struct Afterwards {
    /// Taken away.
    placeholders: Vec<Placeholder>,
    /// Closed after that, by which the runtime knows.
    _control: Option<OwnedFd>,
    /// The network it was in, if that was one that commands share.
    network: Option<String>,
}

/// Whether a command is in the network of this name.
fn is_used(wardens: &HashMap<i32, Afterwards>, name: &str) -> bool {
    wardens.values().any(|warden| warden.network.as_deref() == Some(name))
}

impl Afterwards {
    fn clean_up(self) {
        self.placeholders.into_iter().for_each(Placeholder::take_away);
    }
}

impl Keeper {
    fn new(socket: OwnedFd, plain: OwnedFd) -> std::io::Result<Self> {
        // A session of its own, so that an interrupt typed at the runtime's terminal is the runtime's.
        let _already_a_leader = rustix::process::setsid();
        sys::ignore_signals();
        // The standard files are the sockets, which are kept under other numbers.
        let nothing = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, 0.into())?;
        rustix::stdio::dup2_stdin(&nothing)?;
        rustix::stdio::dup2_stdout(&nothing)?;
        drop(nothing);
        sys::close_from_on_exec(3)?;
        // What a killed warden leaves behind comes to us.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let signals = sys::child_signals()?;
        let mut keeper = Self {
            socket,
            spare: Spare::new(plain)?,
            signals,
            wardens: HashMap::new(),
            filters: seccomp::Filters::default(),
            encloses: None,
            networks: Networks::default(),
        };
        keeper.make_spare();
        Ok(keeper)
    }

    /// Waits for one thing to happen and sees to it. Says whether there is more to come.
    fn turn(&mut self) -> bool {
        let has_spare = self.spare.waits();
        let mut waiting = [&self.socket, &self.signals, self.spare.taken()]
            .map(|fd| PollFd::new(fd, PollFlags::IN));
        // Without a spare, which the machine may be too full for, one is tried again soon.
        let soon = if has_spare { None } else { Some(tree::timespec(AGAIN)) };
        let _interrupted = poll(&mut waiting, soon.as_ref());
        let [request, child, taken] = waiting.map(|fd| !fd.revents().is_empty());
        if child {
            self.reap();
        }
        let later = !(has_spare || request || child || taken);
        if self.spare.was_taken() || later {
            self.make_spare();
        }
        if !request {
            return true;
        }
        let (mut files, mut message) = (Vec::new(), [0; MESSAGE]);
        match receive(&self.socket, &mut message, &mut files) {
            Ok(Some(count)) => self.start(message.get(..count).unwrap_or_default(), files),
            Ok(None) => return false,
            Err(error) => return error == rustix::io::Errno::INTR,
        }
        true
    }

    /// Starts the command that was asked for; whoever asked is told if that fails.
    fn start(&mut self, message: &[u8], files: Vec<OwnedFd>) {
        if let [reply] = files.as_slice() {
            return self.lend_sockets(message, reply);
        }
        let Some((files, long)) = Files::with_request(files) else { return };
        let request = watch::read(message, long);
        if let Err(failure) = request.and_then(|request| self.make_warden(request, &files)) {
            tell(&files.control, &failure.news());
        }
    }

    /// Gives sockets in a network to whoever asks; none if there is no such network. The name comes
    /// after one byte, as an empty message would be the end.
    fn lend_sockets(&self, message: &[u8], reply: &OwnedFd) {
        let name = message.get(1..).and_then(|name| std::str::from_utf8(name).ok());
        let sockets = name.map(|name| self.networks.sockets(name)).unwrap_or_default();
        let borrowed: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
        hand(reply, &[1], &borrowed);
    }

    /// Makes a warden that waits for a command. Without one, requests wait until there is one.
    fn make_spare(&mut self) {
        if let Ok(pid) = self.spare.make() {
            self.wardens.insert(pid, Afterwards::default());
        }
    }

    fn make_warden(&mut self, mut request: Request, files: &Files) -> Result<(), Failure> {
        let mut afterwards = Afterwards::default();
        let mut wanted = Vec::new();
        if let Sandbox::Confined(confinement) = &mut request.sandbox {
            self.filters.prepare(confinement);
            if confinement.demand == Demand::Everything || self.can_enclose() {
                wanted.extend(enter::namespaces(confinement));
                afterwards.network = self.shared_network(confinement);
            }
            afterwards.placeholders = placeholder::put(confinement)?;
        }
        if !afterwards.placeholders.is_empty() {
            afterwards._control = files.control.try_clone().ok();
        }
        let made = match &afterwards.network {
            Some(network) => self.fork_into(network, &request, files),
            None => self.fork(&wanted, &request, files),
        };
        match made {
            Ok(pid) => {
                self.wardens.insert(pid.as_raw_nonzero().get(), afterwards);
                Ok(())
            }
            Err(failure) => {
                afterwards.clean_up();
                Err(failure)
            }
        }
    }

    /// The name of the network that the command is to share. Where none can be made, the command has
    /// one of its own, or finds out itself why it has none.
    fn shared_network(&mut self, confinement: &Confinement) -> Option<String> {
        let name = confinement.peers.as_ref().filter(|_| confinement.network == Network::Off)?;
        let wardens = &self.wardens;
        self.networks.get(name, |name| is_used(wardens, name)).ok().map(|_| name.clone())
    }

    /// Makes a warden in a network that others are in.
    fn fork_into(
        &mut self,
        network: &str,
        request: &Request,
        files: &Files,
    ) -> Result<Pid, Failure> {
        let entry = Entry { flags: enter::APART, network: Whose::Shared, ..Entry::here() };
        let held = self.networks.get(network, |_| true)?;
        let filters = &self.filters;
        held.fork(enter::APART, &|| watch::be_warden(request, files, filters, &entry))
    }

    /// Makes a warden in the first of the `wanted` sets of namespaces that the kernel gives.
    fn fork(
        &self,
        wanted: &[libc::c_int],
        request: &Request,
        files: &Files,
    ) -> Result<Pid, Failure> {
        let (side, entry) = fork(wanted);
        match side.doing(|| "make a process".into())? {
            sys::Side::Parent(pid) => Ok(pid),
            sys::Side::Child => watch::be_warden(request, files, &self.filters, &entry),
        }
    }

    /// Whether the kernel lets us furnish namespaces as well as make them: in some containers it does
    /// not let us mount `/proc`. Tried once, with a child that does nothing else.
    fn can_enclose(&mut self) -> bool {
        if let Some(known) = self.encloses {
            return known;
        }
        let plain = Confinement::read_only();
        let (side, entry) = fork(&enter::namespaces(&plain));
        let can = match side {
            Ok(sys::Side::Child) => {
                let done = enter::enclose(&plain, Path::new("/"), &entry);
                sys::exit(i32::from(done.is_err()))
            }
            Ok(sys::Side::Parent(pid)) => {
                let options = rustix::process::WaitOptions::empty();
                let ended = rustix::process::waitpid(Some(pid), options);
                ended.is_ok_and(|ended| ended.is_some_and(|(_, status)| status.as_raw() == 0))
            }
            Err(_) => false,
        };
        self.encloses = Some(can);
        can
    }

    /// Takes ended children away. A child that is no warden is what a killed warden left: it ends, and
    /// what it left in turn, until there is none.
    fn reap(&mut self) {
        tree::drain(&self.signals);
        let mut orphans = false;
        while let Ok(Some(reaped)) = sys::reap() {
            let Some(afterwards) = self.wardens.remove(&reaped.pid) else {
                orphans = true;
                continue;
            };
            orphans |= reaped.status != 0;
            self.spare.ended(reaped.pid);
            if afterwards.network.is_some() {
                self.networks.forget_idle(|name| is_used(&self.wardens, name));
            }
            afterwards.clean_up();
        }
        if orphans {
            self.end_orphans();
        }
    }

    fn end_orphans(&self) {
        let me = rustix::process::getpid();
        for orphan in tree::children(me.as_raw_nonzero().get()) {
            if !self.wardens.contains_key(&orphan) {
                tree::kill_below(orphan);
                if let Some(pid) = Pid::from_raw(orphan) {
                    let _gone = kill_process(pid, Signal::KILL);
                }
            }
        }
    }

    /// The runtime is gone. The wardens know it too; what they do not end in time ends here.
    fn end(mut self) {
        let deadline = Instant::now() + LAST_WAIT;
        while !self.wardens.is_empty() && Instant::now() < deadline {
            let mut waiting = [PollFd::new(&self.signals, PollFlags::IN)];
            let tick = rustix::event::Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            let _interrupted = poll(&mut waiting, Some(&tick));
            self.reap();
        }
        tree::end_all(Duration::ZERO, &self.signals);
    }
}

/// Makes a process in the first of the `wanted` sets of namespaces that the kernel gives, else in ours.
fn fork(wanted: &[libc::c_int]) -> (std::io::Result<sys::Side>, Entry) {
    let mut entry = Entry::here();
    for flags in wanted {
        entry.flags = *flags;
        match sys::fork(*flags) {
            Ok(side) => return (Ok(side), Entry { refused: None, ..entry }),
            Err(error) => entry.refused = entry.refused.or(Some(error)),
        }
    }
    entry.flags = 0;
    entry.refused = entry.refused.or(Some(std::io::ErrorKind::Unsupported.into()));
    (sys::fork(0), entry)
}
