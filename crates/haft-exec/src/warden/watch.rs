//! The warden of one command: starts it, tells how it goes, ends it, and then itself.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::door::Door;
use super::{Doing, Failure, child, hand, receive, tell, tree};
use crate::sandbox::enter::Entry;
use crate::sandbox::layers::{Layer, Layers};
use crate::sandbox::{Sandbox, enter, seccomp};
use crate::sys::{self, Reaped};
use crate::wire::{News, Order, Request};

/// A command that ends within this time is told of once.
const SHORT: Duration = Duration::from_millis(2);

/// The open files of a command.
pub(super) struct Files {
    /// To the runtime: orders come, news go; its end is the runtime's end.
    pub(super) control: OwnedFd,
    pub(super) input: OwnedFd,
    pub(super) output: OwnedFd,
    pub(super) errors: OwnedFd,
}

impl Files {
    /// What comes with a request: the files of the command, and one with the request if it is long.
    pub(super) fn with_request(files: Vec<OwnedFd>) -> Option<(Self, Option<OwnedFd>)> {
        let mut files = files.into_iter();
        let mut next = || files.next();
        let (control, input, output, errors) = (next()?, next()?, next()?, next()?);
        Some((Self { control, input, output, errors }, next()))
    }
}

/// Reads a request from the message it came in, or from the file if it was too long for that.
pub(super) fn read(message: &[u8], file: Option<OwnedFd>) -> Result<Request, Failure> {
    let mut bytes = Vec::new();
    if let Some(file) = file {
        File::from(file).read_to_end(&mut bytes).doing(|| "read the request".into())?;
    }
    let request = Request::decode(if bytes.is_empty() { message } else { &bytes });
    request.ok_or_else(|| Failure {
        what: "understand the request: the keeper is of another version".into(),
        errno: 0,
    })
}

/// Runs the command and stays with it until nothing of it is left.
pub(super) fn be_warden(
    request: &Request,
    files: &Files,
    filters: &seccomp::Filters,
    entry: &Entry,
) -> ! {
    // The keeper's own files, and those of other commands, would outlive their owners in here.
    let Files { control, input, output, errors } = files;
    sys::close_all_but([control, input, output, errors].map(AsRawFd::as_raw_fd).to_vec());
    match Warden::start(request, files, filters, entry) {
        Ok(mut warden) => while warden.turn(&files.control) {},
        Err(failure) => tell(&files.control, &failure.news()),
    }
    sys::exit(0)
}

struct Warden {
    signals: OwnedFd,
    shell: i32,
    /// Under which names the kernel knows the command's output.
    output: Vec<String>,
    /// How the tree below is reached.
    reach: Reach,
    /// When those that were asked to end are killed.
    deadline: Option<Instant>,
    shell_ended: bool,
}

/// How every process of the command is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// This is the first process of a pid namespace: one signal reaches all.
    Namespace,
    /// By walking down from here.
    Walk,
}

impl Warden {
    fn start(
        request: &Request,
        files: &Files,
        filters: &seccomp::Filters,
        entry: &Entry,
    ) -> Result<Self, Failure> {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .doing(|| "take in orphans".into())?;
        let signals = sys::child_signals().doing(|| "watch children".into())?;
        let output =
            [&files.output, &files.errors].into_iter().filter_map(tree::identity).collect();
        let mut layers = Layers::default();
        if let Sandbox::Confined(confinement) = &request.sandbox {
            layers = enter::enclose(confinement, &request.cwd, entry)?;
        }
        let reach =
            if rustix::process::getpid().is_init() { Reach::Namespace } else { Reach::Walk };
        let door = match &request.proxy {
            Some(word) if layers.has(Layer::Network) => Some(Door::open(word)?),
            _ => None,
        };
        let shell = child::start(request, files, filters, &mut layers, door.as_ref())?;
        // The command holds its own; were they open here, its output would never end.
        child::release_output(files).doing(|| "let go of the output".into())?;
        // Most commands are short. The runtime that hears of the beginning and the end at once is woken
        // once, and does not take the processor from what it waits for.
        let mut waiting = [PollFd::new(&signals, PollFlags::IN)];
        let _interrupted = poll(&mut waiting, Some(&tree::timespec(SHORT)));
        let started = News::Started { pid: shell.unsigned_abs(), layers };
        // Only the proxy may keep the door open.
        let door = door.as_ref().map(Door::socket);
        hand(&files.control, &started.encode(), door.as_slice());
        Ok(Self { signals, shell, output, reach, deadline: None, shell_ended: false })
    }

    /// Waits for one thing to happen and sees to it. Says whether there is more to come.
    fn turn(&mut self, control: &OwnedFd) -> bool {
        let left = self.deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let mut waiting =
            [PollFd::new(control, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
        let _interrupted = poll(&mut waiting, left.map(tree::timespec).as_ref());
        let [order, child] = waiting.map(|fd| !fd.revents().is_empty());
        if child && !self.reap(control) {
            tell(control, &News::Empty { unkillable: 0 });
            return false;
        }
        if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return self.kill(control);
        }
        !order || self.obey(control)
    }

    /// Does what the runtime asks; ends everything if it is gone.
    fn obey(&mut self, control: &OwnedFd) -> bool {
        let mut buffer = [0; 64];
        let order = match receive(control, &mut buffer, &mut Vec::new()) {
            Ok(Some(count)) => buffer.get(..count).and_then(Order::decode),
            Ok(None) => return self.kill(control),
            Err(rustix::io::Errno::INTR) => return true,
            Err(_) => return self.kill(control),
        };
        match order {
            Some(Order::End(grace)) => self.ask_to_end(Duration::from_millis(grace.into())),
            Some(Order::Left) => {
                let (total, some) = tree::left(&self.output);
                tell(control, &News::Left { total, some });
            }
            Some(Order::Waiting) => tell(control, &News::Waiting(tree::waits_for_terminal())),
            None => {}
        }
        true
    }

    fn ask_to_end(&mut self, grace: Duration) {
        match self.reach {
            Reach::Namespace => {
                sys::signal_all(libc::SIGTERM);
                sys::signal_all(libc::SIGCONT);
            }
            Reach::Walk => {
                tree::signal_below(rustix::process::Signal::TERM);
                // A stopped process follows nothing until it goes on.
                tree::signal_below(rustix::process::Signal::CONT);
            }
        }
        self.deadline = Some(Instant::now() + grace);
    }

    /// Ends everything now. There is nothing more to come then.
    fn kill(&mut self, control: &OwnedFd) -> bool {
        if self.reach == Reach::Namespace {
            sys::signal_all(libc::SIGKILL);
        }
        let mut unkillable = 0;
        // The shell's own end is news; what else ends here is not.
        let deadline = Instant::now() + Duration::from_secs(1);
        while !self.shell_ended && Instant::now() < deadline {
            if self.reach == Reach::Walk {
                tree::kill_below(rustix::process::getpid().as_raw_nonzero().get());
            }
            let mut waiting = [PollFd::new(&self.signals, PollFlags::IN)];
            let tick = tree::timespec(Duration::from_millis(5));
            let _interrupted = poll(&mut waiting, Some(&tick));
            if !self.reap(control) {
                break;
            }
        }
        if !tree::wait_until_alone(Duration::ZERO, &self.signals) {
            unkillable = tree::end_all(Duration::ZERO, &self.signals);
        }
        tell(control, &News::Empty { unkillable });
        false
    }

    /// Takes ended children away and tells of the shell. Says whether anything is left.
    fn reap(&mut self, control: &OwnedFd) -> bool {
        tree::drain(&self.signals);
        let mut shell = None;
        let is_left = loop {
            match sys::reap() {
                Ok(Some(reaped)) if reaped.pid == self.shell => shell = Some(reaped),
                Ok(Some(_)) => {}
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        if let Some(Reaped { status, user_us, system_us, peak_kib, .. }) = shell {
            self.shell_ended = true;
            let news = News::Exited { status, user_us, system_us, peak_kib, alone: !is_left };
            tell(control, &news);
        }
        is_left
    }
}
