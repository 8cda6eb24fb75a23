//! A running command: what it says, what it leaves, and its end.

use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::unix::AsyncFd;

use crate::capture::Stream;
use crate::command::{Command, Size};
use crate::files::Ends;
use crate::keeper::Running;
use crate::proxy::{Hosts, Proxy, Refusals};
use crate::sandbox::layers::Layers;
use crate::sandbox::{Confinement, Sandbox};
use crate::warden::receive;
use crate::wire::{Left, News, Order};

/// How much is read at once.
const READ: usize = 128 * 1024;

/// How much of the last output is looked at for prompts and denials.
const RECENT: usize = 16 * 1024;

/// Longest message of a warden.
const MESSAGE: usize = 16 * 1024;

/// A running command with everything it started. Dropping it ends all of it at once.
pub struct Process {
    control: AsyncFd<OwnedFd>,
    input: Option<AsyncFd<OwnedFd>>,
    pub(crate) output: Option<AsyncFd<OwnedFd>>,
    pub(crate) errors: Option<AsyncFd<OwnedFd>>,
    /// What is still to be written to the input, and how much of it is.
    rest: (Vec<u8>, usize),
    buffer: Vec<u8>,
    recent: Vec<u8>,
    pid: u32,
    layers: Layers,
    pub(crate) started: Instant,
    pub(crate) confinement: Option<Confinement>,
    pub(crate) terminal: Option<Size>,
    proxy: Option<Proxy>,
    /// The last files that came with news.
    files: Vec<OwnedFd>,
    pub(crate) exited: Option<Exited>,
    /// Set when nothing is left: how many could not be ended.
    pub(crate) empty: Option<u32>,
    /// Last, so that the control socket is closed before the keeper is waited for.
    _keeper: Arc<Running>,
}

/// How the program itself ended, and what it used, with all children it waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exited {
    /// How it ended.
    pub exit: Exit,
    /// Processor time in the program.
    pub user: Duration,
    /// Processor time in the system.
    pub system: Duration,
    /// The most memory that one process of it used at a time, in bytes.
    pub peak_memory: u64,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With a code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// What happened next.
pub(crate) enum Event {
    Output(Stream, usize),
    News(News),
    /// The warden is gone.
    Gone,
}

impl Process {
    pub(crate) fn new(
        keeper: Arc<Running>,
        ends: Ends,
        started: Instant,
        command: &Command,
    ) -> Self {
        let confinement = match &command.sandbox {
            Sandbox::Off => None,
            Sandbox::Confined(confinement) => Some(confinement.clone()),
        };
        Self {
            control: ends.control,
            input: ends.input,
            output: ends.output,
            errors: ends.errors,
            rest: (ends.rest, 0),
            buffer: vec![0; READ],
            recent: Vec::new(),
            pid: 0,
            layers: Layers::default(),
            started,
            confinement,
            terminal: command.terminal,
            proxy: None,
            files: Vec::new(),
            exited: None,
            empty: None,
            _keeper: keeper,
        }
    }

    pub(crate) fn set_started(&mut self, pid: u32, layers: Layers) {
        self.pid = pid;
        self.layers = layers;
    }

    /// Serves the socket that came with the news of the start, if there is one.
    pub(crate) fn open_proxy(&mut self, hosts: Option<&Arc<dyn Hosts>>, word: &str) {
        if let (Some(hosts), Some(listener)) = (hosts, self.files.pop()) {
            self.proxy = Proxy::serve(listener, Arc::clone(hosts), word).ok();
        }
    }

    /// The hosts that its proxy has refused and will refuse, as long as it runs.
    #[must_use]
    pub fn refusals(&self) -> Refusals {
        self.proxy.as_ref().map(Proxy::refusals).unwrap_or_default()
    }

    /// Its number; inside a sandbox, the number it has in there.
    #[must_use]
    pub const fn id(&self) -> u32 {
        self.pid
    }

    /// The layers of the sandbox that hold it; none if it is not confined.
    #[must_use]
    pub const fn layers(&self) -> &Layers {
        &self.layers
    }

    /// How the program itself ended, if it has.
    #[must_use]
    pub const fn exited(&self) -> Option<&Exited> {
        self.exited.as_ref()
    }

    /// The input, if the command was given an open one and nobody has taken it. Dropping it ends it.
    pub fn take_input(&mut self) -> Option<Input> {
        // Bytes that were given with the command go first; they are written while it is watched.
        if self.rest.0.is_empty() { self.input.take().map(Input) } else { None }
    }

    /// Asks who is left: every process of the command that still runs, the first of them by name.
    ///
    /// Output that comes meanwhile is kept for later.
    ///
    /// # Errors
    /// If the warden does not answer.
    pub async fn left(&mut self) -> io::Result<(u32, Vec<Left>)> {
        if self.empty.is_some() || self.order(Order::Left).is_err() {
            return Ok((0, Vec::new()));
        }
        loop {
            match self.news().await? {
                Some(News::Left { total, some }) => return Ok((total, some)),
                Some(_) => {}
                None => return Ok((0, Vec::new())),
            }
        }
    }

    /// Ends every process of the command: TERM, KILL after `grace`. Returns how many could not be
    /// ended, which is none unless they belong to another user or hang in the kernel.
    ///
    /// # Errors
    /// If the warden cannot be reached.
    pub async fn end(&mut self, grace: Duration) -> io::Result<u32> {
        self.ask_to_end(grace);
        while self.empty.is_none() {
            if self.news().await?.is_none() {
                break;
            }
        }
        Ok(self.empty.unwrap_or(0))
    }

    pub(crate) fn ask_to_end(&self, grace: Duration) {
        let grace = u32::try_from(grace.as_millis()).unwrap_or(u32::MAX);
        // If it is gone, so is everything it kept.
        let _gone = self.order(Order::End(grace));
    }

    pub(crate) fn order(&self, order: Order) -> rustix::io::Result<usize> {
        let flags = rustix::net::SendFlags::NOSIGNAL | rustix::net::SendFlags::DONTWAIT;
        rustix::net::send(&self.control, &order.encode(), flags)
    }

    /// The next word of the warden, `None` when it is gone. Output waits.
    pub(crate) async fn news(&mut self) -> io::Result<Option<News>> {
        poll_fn(|cx| self.poll_news(cx)).await
    }

    /// What happens next, whatever it is.
    pub(crate) async fn next(&mut self) -> io::Result<Event> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The bytes of the last [`Event::Output`], of which there are `count`.
    pub(crate) fn bytes(&self, count: usize) -> &[u8] {
        self.buffer.get(..count).unwrap_or_default()
    }

    /// The last of what the command said.
    pub(crate) fn recent(&self) -> &[u8] {
        &self.recent
    }

    /// Whether its streams have ended.
    pub(crate) const fn is_silent(&self) -> bool {
        self.output.is_none() && self.errors.is_none()
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Event>> {
        self.poll_input(cx);
        for stream in [Stream::Output, Stream::Errors] {
            if let Poll::Ready(count) = self.poll_output(stream, cx)? {
                return Poll::Ready(Ok(Event::Output(stream, count)));
            }
        }
        if self.empty.is_some() {
            return if self.is_silent() { Poll::Ready(Ok(Event::Gone)) } else { Poll::Pending };
        }
        let news = ready!(self.poll_news(cx))?;
        Poll::Ready(Ok(news.map_or(Event::Gone, Event::News)))
    }

    fn poll_output(&mut self, stream: Stream, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let place = match stream {
            Stream::Output => &mut self.output,
            Stream::Errors => &mut self.errors,
        };
        let Some(file) = place else { return Poll::Pending };
        let buffer = &mut self.buffer;
        let read = ready!(poll_read(file, cx, |file| rustix::io::read(file, &mut *buffer)));
        match read {
            // A terminal whose other side is closed says EIO.
            Ok(0) | Err(rustix::io::Errno::IO) => {
                *place = None;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Ok(count) => {
                self.remember(count);
                Poll::Ready(Ok(count))
            }
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }

    /// Writes what the input still lacks, as far as it takes it. Who reads no more gets no more.
    fn poll_input(&mut self, cx: &mut Context<'_>) {
        let (bytes, written) = &mut self.rest;
        if bytes.is_empty() {
            return;
        }
        while let (Some(input), Some(rest)) = (&self.input, bytes.get(*written..)) {
            if rest.is_empty() {
                break;
            }
            let Poll::Ready(Ok(mut guard)) = input.poll_write_ready(cx) else { return };
            match guard.try_io(|file| Ok(rustix::io::write(file, rest)?)) {
                Ok(Ok(count)) => *written += count,
                Ok(Err(_)) => break,
                Err(_) => {}
            }
        }
        bytes.clear();
        self.input = None;
    }

    fn poll_news(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<News>>> {
        let mut message = [0; MESSAGE];
        let received = ready!(poll_read(&self.control, cx, |control| {
            receive(control, &mut message, &mut self.files).map(Option::unwrap_or_default)
        }));
        let count = match received {
            Ok(count) => count,
            Err(rustix::io::Errno::CONNRESET) => 0,
            Err(error) => return Poll::Ready(Err(error.into())),
        };
        if count == 0 {
            self.empty.get_or_insert(0);
            return Poll::Ready(Ok(None));
        }
        let news = message.get(..count).and_then(News::decode);
        match &news {
            Some(News::Exited { status, user_us, system_us, peak_kib, alone }) => {
                self.exited = Some(Exited {
                    exit: exit(*status),
                    user: Duration::from_micros(*user_us),
                    system: Duration::from_micros(*system_us),
                    peak_memory: peak_kib * 1024,
                });
                if *alone {
                    self.empty = Some(0);
                }
            }
            Some(News::Empty { unkillable }) => self.empty = Some(*unkillable),
            _ => {}
        }
        Poll::Ready(news.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into()))
    }

    fn remember(&mut self, count: usize) {
        let bytes = self.buffer.get(count.saturating_sub(RECENT)..count).unwrap_or_default();
        if self.recent.len() + bytes.len() > 2 * RECENT {
            let keep = RECENT.saturating_sub(bytes.len());
            self.recent.drain(..self.recent.len().saturating_sub(keep));
        }
        self.recent.extend_from_slice(bytes);
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Process");
        shown.field("pid", &self.pid).field("exited", &self.exited).finish_non_exhaustive()
    }
}

/// What a command reads from.
#[derive(Debug)]
pub struct Input(AsyncFd<OwnedFd>);

impl Input {
    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// If the command reads no more.
    pub async fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let mut guard = self.0.writable().await?;
            if let Ok(written) = guard.try_io(|file| Ok(rustix::io::write(file, bytes)?)) {
                bytes = bytes.get(written?..).unwrap_or_default();
            }
        }
        Ok(())
    }
}

/// Reads when there is something to read; comes back with what the kernel said but "not yet".
fn poll_read(
    file: &AsyncFd<OwnedFd>,
    cx: &mut Context<'_>,
    mut read: impl FnMut(&OwnedFd) -> rustix::io::Result<usize>,
) -> Poll<rustix::io::Result<usize>> {
    loop {
        let Ok(mut guard) = ready!(file.poll_read_ready(cx)) else {
            return Poll::Ready(Err(rustix::io::Errno::BADF));
        };
        match read(file.get_ref()) {
            Err(rustix::io::Errno::AGAIN) => guard.clear_ready(),
            Err(rustix::io::Errno::INTR) => {}
            other => return Poll::Ready(other),
        }
    }
}

fn exit(status: i32) -> Exit {
    use std::os::unix::process::ExitStatusExt;
    let status = std::process::ExitStatus::from_raw(status);
    let by_signal = || Exit::Signal(status.signal().unwrap_or(0));
    status.code().map_or_else(by_signal, Exit::Code)
}
