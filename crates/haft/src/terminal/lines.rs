//! Lines typed while something runs: an answer where one is awaited, else something to say.

use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How often a process in the background looks whether it is in front again.
const IN_BACKGROUND: Duration = Duration::from_millis(250);

/// Longest line that a terminal gives.
const LINE: usize = 4096;

/// Whoever reads a terminal for all others.
pub(super) struct Lines {
    tty: OwnedFd,
    /// Held while a line is read, so that none is taken for the answer to a question that came later.
    route: Mutex<Route>,
}

/// Where the next line goes.
struct Route {
    /// Whether the terminal has gone, and no line will come.
    is_over: bool,
    awaited: Option<Sender<String>>,
    said: UnboundedSender<String>,
}

/// A question that is being put; when it is over, lines are no answers any more.
pub(super) struct Awaiting(Arc<Lines>);

impl Drop for Awaiting {
    fn drop(&mut self) {
        self.0.route().awaited = None;
    }
}

impl Lines {
    /// Listens from now on, on a thread that ends with the terminal.
    pub(super) fn listen() -> rustix::io::Result<(Arc<Self>, UnboundedReceiver<String>)> {
        // A file of its own: whoever else has the terminal open is not to stop waiting at it.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let tty = rustix::fs::open("/dev/tty", flags, Mode::empty())?;
        let (said, heard) = unbounded_channel();
        let route = Mutex::new(Route { is_over: false, awaited: None, said });
        let lines = Arc::new(Self { tty, route });
        let own = Arc::clone(&lines);
        std::thread::spawn(move || {
            while own.next().is_ok() {}
            let mut route = own.route();
            (route.is_over, route.awaited) = (true, None);
        });
        Ok((lines, heard))
    }

    /// Takes lines for answers from now on.
    pub(super) fn answers(self: &Arc<Self>) -> (Receiver<String>, Awaiting) {
        let (awaited, answers) = channel();
        let mut route = self.route();
        route.awaited = (!route.is_over).then_some(awaited);
        drop(route);
        (answers, Awaiting(Arc::clone(self)))
    }

    /// What was typed before a question was shown is no answer to it.
    pub(super) fn forget_typed(&self, answers: &Receiver<String>) -> rustix::io::Result<()> {
        let _nobody_reads = self.route();
        answers.try_iter().for_each(drop);
        tcflush(&self.tty, QueueSelector::IFlush)
    }

    /// Passes the next line on; an error where there will be none.
    fn next(&self) -> rustix::io::Result<()> {
        let mut ready = [PollFd::new(&self.tty, PollFlags::IN)];
        match poll(&mut ready, None) {
            Err(Errno::INTR) => return Ok(()),
            polled => drop(polled?),
        }
        let is_gone =
            ready.iter().any(|it| it.revents().intersects(PollFlags::HUP | PollFlags::ERR));
        if is_gone {
            return Err(Errno::IO);
        }
        // Reading in the background would stop the whole process.
        if tcgetpgrp(&self.tty)? != getpgrp() {
            wait_in_background();
            return Ok(());
        }
        let route = self.route();
        let mut bytes = [0; LINE];
        let count = match rustix::io::read(&self.tty, &mut bytes) {
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            count => count?,
        };
        let line = String::from_utf8_lossy(bytes.get(..count).unwrap_or_default()).into_owned();
        match &route.awaited {
            // Whoever asked may be gone by now.
            Some(awaited) => drop(awaited.send(line)),
            None if line.trim().is_empty() => {}
            None => drop(route.said.send(line.trim().to_owned())),
        }
        Ok(())
    }

    fn route(&self) -> MutexGuard<'_, Route> {
        self.route.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(clippy::disallowed_methods, reason = "nobody tells a process that it is in front again")]
fn wait_in_background() {
    std::thread::sleep(IN_BACKGROUND);
}
