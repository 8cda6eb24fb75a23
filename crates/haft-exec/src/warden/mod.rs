//! The processes that keep commands: a keeper for the runtime, and a warden for each command.
//!
//! The keeper is a small program with one thread, so that it may fork and do anything after it. It is
//! started once; for each command it makes a copy of itself, the warden, which starts the command,
//! takes in every orphan below it, and ends all of it when told, or when the runtime is gone. In a
//! sandbox the warden is the first process of its namespaces.

mod child;
mod door;
mod keep;
mod network;
mod spare;
mod tree;
mod watch;

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::wire::News;

/// The word by which a program is asked to be the keeper, as its first argument.
pub const WORD: &str = "--keep-commands";

/// Is the keeper until the runtime is gone, then ends the program. The sockets to it are standard input,
/// and standard output for commands that are not confined.
///
/// A program that runs commands calls this first thing in `main` when its first argument is [`WORD`].
/// It must not have started a thread.
pub fn main() -> ! {
    let dup = |fd| rustix::io::fcntl_dupfd_cloexec(fd, 3);
    let code = match (dup(rustix::stdio::stdin()), dup(rustix::stdio::stdout())) {
        (Ok(confined), Ok(plain)) => keep::serve(confined, plain),
        _ => 1,
    };
    crate::sys::exit(code)
}

/// Most files that come with a request: control, input, output, errors, a long request.
const MOST_FILES: usize = 5;

/// Longest request that is its own message.
pub(crate) const MESSAGE: usize = 32 * 1024;

/// Receives one message and the files beside it. `None` when the other end is gone.
pub(crate) fn receive(
    socket: impl AsFd,
    buffer: &mut [u8],
    files: &mut Vec<OwnedFd>,
) -> rustix::io::Result<Option<usize>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [io::IoSliceMut::new(buffer)];
    let got = recvmsg(socket, &mut slices, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            files.extend(received);
        }
    }
    let whole = !got.flags.contains(ReturnFlags::TRUNC);
    Ok((got.bytes > 0 && whole).then_some(got.bytes))
}

/// Tells the runtime something. If it is gone, nobody needs to know.
fn tell(control: impl AsFd, news: &News) {
    hand(control, &news.encode(), &[]);
}

/// Gives the runtime a message with open files beside it. If it is gone, nobody needs them.
fn hand(to: impl AsFd, message: &[u8], files: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(files));
    }
    let slices = [io::IoSlice::new(message)];
    let _gone = sendmsg(to, &slices, &mut control, SendFlags::NOSIGNAL);
}

/// A failure with what was being done, to be told to whoever asked for the command.
pub(crate) struct Failure {
    pub(crate) what: String,
    pub(crate) errno: i32,
}

impl Failure {
    pub(crate) fn of(what: impl Into<String>, error: &io::Error) -> Self {
        Self { what: what.into(), errno: error.raw_os_error().unwrap_or(0) }
    }

    fn news(&self) -> News {
        News::Failed { what: self.what.clone(), errno: self.errno }
    }
}

/// Adds to an error what was being done.
pub(crate) trait Doing<T> {
    /// `what` is a phrase after which the system's own words fit.
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| Failure::of(what(), &error.into()))
    }
}
