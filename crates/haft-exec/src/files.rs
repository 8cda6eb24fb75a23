//! The open files between the runtime and a command: pipes or a terminal, and the control socket.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::io::unix::AsyncFd;

use crate::command::{Command, Errors, Size, Stdin};

/// What a command's pipe may hold: fewer turns for large output, little memory for many commands.
const PIPE: usize = 256 * 1024;

/// Both sides of a command's streams.
pub(crate) struct Streams {
    pub(crate) ours: Ours,
    pub(crate) theirs: Theirs,
}

pub(crate) struct Ours {
    input: Option<OwnedFd>,
    output: OwnedFd,
    errors: Option<OwnedFd>,
    rest: Vec<u8>,
}

pub(crate) struct Theirs {
    pub(crate) input: OwnedFd,
    pub(crate) output: OwnedFd,
    pub(crate) errors: OwnedFd,
}

impl Streams {
    pub(crate) fn new(command: &Command) -> io::Result<Self> {
        let rest = match &command.stdin {
            Stdin::Bytes(bytes) => bytes.clone(),
            Stdin::Nothing | Stdin::Open => Vec::new(),
        };
        match command.terminal {
            Some(size) => terminal(size, rest),
            None => pipes(&command.stdin, command.errors, rest),
        }
    }
}

fn pipes(stdin: &Stdin, errors: Errors, rest: Vec<u8>) -> io::Result<Streams> {
    let (output, to_output) = pipe()?;
    let (errors, to_errors) = match errors {
        Errors::Apart => pipe().map(|(from, to)| (Some(from), to))?,
        Errors::Joined => (None, to_output.try_clone()?),
    };
    let (from_input, input) = if *stdin == Stdin::Nothing {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        (rustix::fs::open("/dev/null", flags, Mode::empty())?, None)
    } else {
        let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
        (from, Some(to))
    };
    Ok(Streams {
        ours: Ours { input, output, errors, rest },
        theirs: Theirs { input: from_input, output: to_output, errors: to_errors },
    })
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
    // A user has only so much of this; the usual size does as well.
    let _usual = fcntl_setpipe_size(&from, PIPE);
    Ok((from, to))
}

fn terminal(size: Size, rest: Vec<u8>) -> io::Result<Streams> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let (ws_col, ws_row) = (size.columns, size.rows);
    tcsetwinsize(&ours, Winsize { ws_col, ws_row, ws_xpixel: 0, ws_ypixel: 0 })?;
    let theirs = ioctl_tiocgptpeer(&ours, flags)?;
    let (input, errors) = (theirs.try_clone()?, theirs.try_clone()?);
    Ok(Streams {
        ours: Ours { input: Some(ours.try_clone()?), output: ours, errors: None, rest },
        theirs: Theirs { input, output: theirs, errors },
    })
}

/// Our ends, ready to be waited on.
pub(crate) struct Ends {
    pub(crate) control: AsyncFd<OwnedFd>,
    pub(crate) input: Option<AsyncFd<OwnedFd>>,
    pub(crate) output: Option<AsyncFd<OwnedFd>>,
    pub(crate) errors: Option<AsyncFd<OwnedFd>>,
    /// What is still to be written to the input.
    pub(crate) rest: Vec<u8>,
}

impl Ends {
    pub(crate) fn new(ours: Ours, control: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            control: ready(control)?,
            input: ours.input.map(ready).transpose()?,
            output: Some(ready(ours.output)?),
            errors: ours.errors.map(ready).transpose()?,
            rest: ours.rest,
        })
    }
}

/// A file that can be waited on.
pub(crate) fn ready(file: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    fcntl_setfl(&file, fcntl_getfl(&file)? | OFlags::NONBLOCK)?;
    crate::sys::wait_on(file)
}
