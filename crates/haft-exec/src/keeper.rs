//! The runtime's end of the keeper: starts it when it is first needed, and has it start commands.

use std::ffi::OsString;
use std::io::{self, IoSlice, Write};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    sendmsg, socketpair,
};

use tokio::net::{TcpSocket, TcpStream};

use crate::command::Command;
use crate::error::SpawnError;
use crate::files::{Ends, Streams, ready};
use crate::process::Process;
use crate::sandbox::layers::Layers;
use crate::sandbox::{Confinement, Demand, Network, Sandbox};
use crate::warden::{MESSAGE, receive};
use crate::wire::{News, Request};

/// Starts commands through a small process of its own, so that all of them can be ended.
///
/// The process is started when it is first needed. It ends, with everything it started, when the last
/// of this and of every [`Process`] is dropped, and also when this program is killed.
#[derive(Debug)]
pub struct Keeper {
    program: PathBuf,
    args: Vec<OsString>,
    running: Mutex<Option<Arc<Running>>>,
}

/// The process that keeps commands.
#[derive(Debug)]
pub(crate) struct Running {
    /// For confined commands, and for the others.
    sockets: Option<[OwnedFd; 2]>,
    child: Mutex<std::process::Child>,
}

/// Who starts a command.
#[derive(Clone, Copy)]
enum To {
    /// The keeper, in namespaces.
    Keeper,
    /// The warden that waits for one.
    Spare,
}

impl Keeper {
    /// `program` is one that calls [`keep_commands`](crate::keep_commands) when its first argument is
    /// [`WORD`](crate::WORD); most often this program itself, as `/proc/self/exe`.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let args = vec![OsString::from(crate::WORD)];
        Self { program: program.into(), args, running: Mutex::new(None) }
    }

    /// Starts `command`. Dropping the future, or the process, ends all of it.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// If it could not be started; then nothing of it has run.
    pub async fn spawn(&self, command: &Command) -> Result<Process, SpawnError> {
        match self.attempt(command).await {
            // The keeper was killed with the request unread: there is a new one now.
            Err(SpawnError::Keeper(_)) => self.attempt(command).await,
            other => other,
        }
    }

    /// Which layers of the sandbox this machine gives, found out by confining something harmless.
    ///
    /// # Errors
    /// If nothing can be confined at all.
    pub async fn layers(&self) -> Result<Layers, SpawnError> {
        let mut command = Command::new(crate::shell(None), "/").args(["-c", ":"]);
        let confinement = Confinement::read_only();
        let demand = Demand::WhatThereIs;
        let peers = Some(String::new());
        command.sandbox = Sandbox::Confined(Confinement { demand, peers, ..confinement });
        Ok(self.spawn(&command).await?.layers().clone())
    }

    /// Connects to a port of the loopback that commands with these [`peers`](Confinement::peers) share.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// If nobody listens there, or there is no such loopback.
    pub async fn connect(&self, peers: &str, port: u16) -> io::Result<TcpStream> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let running = running.ok_or(io::ErrorKind::NotConnected)?;
        let (near, far) = pair()?;
        running.send(To::Keeper, &[&[0], peers.as_bytes()].concat(), &[far.as_fd()])?;
        drop(far);
        let near = ready(near)?;
        let mut sockets = Vec::new();
        while near
            .readable()
            .await?
            .try_io(|near| Ok(receive(near, &mut [0], &mut sockets)?))
            .is_err()
        {}
        let mut last = io::Error::from(io::ErrorKind::NotConnected);
        // A socket belongs to the network it was made in, wherever it is used.
        let addresses: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        for (socket, address) in sockets.into_iter().zip(addresses) {
            let socket = TcpSocket::from_std_stream(std::net::TcpStream::from(socket));
            match socket.connect((address, port).into()).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn attempt(&self, command: &Command) -> Result<Process, SpawnError> {
        let program =
            command.program_path().ok_or_else(|| SpawnError::NotFound(command.program.clone()))?;
        let started = Instant::now();
        let Streams { ours, theirs } = Streams::new(command).map_err(SpawnError::Files)?;
        let (control, far) = pair().map_err(SpawnError::Files)?;
        let is_confined =
            matches!(&command.sandbox, Sandbox::Confined(it) if it.network == Network::Off);
        let word = command.hosts.as_ref().filter(|_| is_confined).map(|_| word());
        let word = word.transpose().map_err(SpawnError::Files)?;
        let request = Request {
            program,
            args: command.args.clone(),
            cwd: command.cwd.clone(),
            env: command.env.clone(),
            terminal: command.terminal,
            limits: command.limits,
            sandbox: command.sandbox.clone(),
            proxy: word.clone(),
        };
        let (message, long) = in_message(request.encode()).map_err(SpawnError::Files)?;
        let files = [&far, &theirs.input, &theirs.output, &theirs.errors].into_iter();
        let files: Vec<BorrowedFd<'_>> = files.chain(&long).map(AsFd::as_fd).collect();
        let to = match command.sandbox {
            Sandbox::Off => To::Spare,
            Sandbox::Confined(_) => To::Keeper,
        };
        let keeper = self.send(to, &message, &files).await.map_err(SpawnError::Keeper)?;
        // The keeper has its own now; ours would keep the output from ending.
        drop((far, theirs));
        let ends = Ends::new(ours, control).map_err(SpawnError::Files)?;
        let mut process = Process::new(Arc::clone(&keeper), ends, started, command);
        match process.news().await.map_err(SpawnError::Keeper)? {
            Some(News::Started { pid, layers }) => {
                process.set_started(pid, layers);
                if let Some(word) = word {
                    process.open_proxy(command.hosts.as_ref(), &word);
                }
                Ok(process)
            }
            Some(News::Failed { what, errno }) => Err(SpawnError::from_keeper(what, errno)),
            _ if keeper.is_gone() => {
                self.forget(&keeper);
                Err(SpawnError::Keeper(io::ErrorKind::UnexpectedEof.into()))
            }
            _ => Err(SpawnError::Impossible("start the command: its warden was killed".into())),
        }
    }

    /// Sends a request, to a new keeper if the one there was is gone.
    async fn send(
        &self,
        to: To,
        message: &[u8],
        files: &[BorrowedFd<'_>],
    ) -> io::Result<Arc<Running>> {
        let mut fresh = false;
        loop {
            let running = self.running()?;
            match running.send(to, message, files) {
                Ok(()) => return Ok(running),
                // It has more to do than it can be told; there is nothing to wait on but time.
                Err(Errno::AGAIN | Errno::TOOMANYREFS) => {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) if !fresh => {
                    fresh = true;
                    self.forget(&running);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn running(&self) -> io::Result<Arc<Running>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*running {
            return Ok(Arc::clone(running));
        }
        let new = Arc::new(self.start()?);
        *running = Some(Arc::clone(&new));
        Ok(new)
    }

    fn forget(&self, gone: &Arc<Running>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.as_ref().is_some_and(|running| Arc::ptr_eq(running, gone)) {
            *running = None;
        }
    }

    fn start(&self) -> io::Result<Running> {
        let ((confined, far_confined), (plain, far_plain)) = (pair()?, pair()?);
        let child = std::process::Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .current_dir("/")
            .stdin(far_confined)
            .stdout(far_plain)
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Running { sockets: Some([confined, plain]), child: Mutex::new(child) })
    }
}

impl Running {
    /// Whether the other end is closed.
    fn is_gone(&self) -> bool {
        let Some([socket, _]) = &self.sockets else { return true };
        let mut waiting = [PollFd::new(socket, PollFlags::empty())];
        let _interrupted = poll(&mut waiting, Some(&Timespec::default()));
        waiting.iter().any(|fd| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR))
    }

    fn send(&self, to: To, message: &[u8], files: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(5))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(files));
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let [keeper, spare] = self.sockets.as_ref().ok_or(Errno::PIPE)?;
        let socket = match to {
            To::Keeper => keeper,
            To::Spare => spare,
        };
        sendmsg(socket, &[IoSlice::new(message)], &mut control, flags).map(|_| ())
    }
}

/// The keeper ends when its socket does, and is waited for, so that it is no zombie.
impl Drop for Running {
    fn drop(&mut self) {
        self.sockets = None;
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _gone = child.wait();
    }
}

/// A word that nobody can guess.
fn word() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Two ends of a socket that keeps messages apart.
fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    Ok(socketpair(family, kind, SocketFlags::CLOEXEC, None)?)
}

/// The request as a message; if it is too long for one, a short one and a file in memory.
fn in_message(bytes: Vec<u8>) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
    use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
    if bytes.len() <= MESSAGE {
        return Ok((bytes, None));
    }
    let mut file = std::fs::File::from(memfd_create("request", MemfdFlags::CLOEXEC)?);
    file.write_all(&bytes)?;
    seek(&file, SeekFrom::Start(0))?;
    Ok((vec![0], Some(file.into())))
}
