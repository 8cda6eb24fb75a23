//! Serving the proxy: who is let in, where a connection may go, and what is answered instead.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use haft_address::not_public;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::address::Host;
use super::request::{self, Fault, Kind, Request};
use super::{Hosts, Refusals, USER, relay};

/// Most connections at a time; others wait.
const CONNECTIONS: usize = 64;

/// Longest head of a request.
const HEAD: usize = 16 * 1024;

/// How long a program may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long a name may take to be resolved, and each of its addresses to answer.
const ANSWER: Duration = Duration::from_secs(15);

/// Most addresses of a name that are tried.
const ADDRESSES: usize = 4;

/// A proxy that runs until it is dropped, with all its connections.
#[derive(Debug)]
pub(crate) struct Proxy {
    task: JoinHandle<()>,
    refusals: Refusals,
}

impl Proxy {
    /// Serves a socket that listens. Only who knows `word` gets anywhere.
    pub(crate) fn serve(listener: OwnedFd, hosts: Arc<dyn Hosts>, word: &str) -> io::Result<Self> {
        let listener = std::net::TcpListener::from(listener);
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let refusals = Refusals::default();
        let password = base64::engine::general_purpose::STANDARD.encode(format!("{USER}:{word}"));
        let authorization = format!("Basic {password}");
        let desk = Arc::new(Desk { hosts, refusals: refusals.clone(), authorization });
        Ok(Self { task: tokio::spawn(accept(listener, desk)), refusals })
    }

    pub(crate) fn refusals(&self) -> Refusals {
        self.refusals.clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, desk: Arc<Desk>) {
    // Dropped with this task, and all of them with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                Ok((program, _)) => {
                    let desk = Arc::clone(&desk);
                    connections.spawn(async move { desk.serve(program).await });
                }
                // Too many files are open; there is nothing to wait on but time.
                Err(_) => sleep(Duration::from_millis(50)).await,
            },
        }
    }
}

/// Who decides about every connection of a command.
struct Desk {
    hosts: Arc<dyn Hosts>,
    refusals: Refusals,
    authorization: String,
}

impl Desk {
    async fn serve(&self, mut program: TcpStream) {
        let served = match timeout(PATIENCE, self.request(&mut program)).await {
            Ok(Ok((request, first))) => self.fulfil(&mut program, request, &first).await,
            Ok(Err(fault)) => Err(fault),
            Err(_) => Err(Fault { status: "408 Request Timeout", why: "No request came.".into() }),
        };
        if let Err(fault) = served {
            // Whoever does not listen misses nothing.
            let _gone = timeout(PATIENCE, answer(&mut program, &fault)).await;
        }
    }

    /// Reads what the program wants, and what it sent after that.
    async fn request(&self, program: &mut TcpStream) -> Result<(Request, Vec<u8>), Fault> {
        let mut bytes = Vec::new();
        loop {
            if let Some(end) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
                let first = bytes.split_off(end + 4);
                bytes.truncate(end);
                let head = String::from_utf8(bytes).map_err(|_| Fault::bad("It is no text."))?;
                return Ok((request::read(&head, &self.authorization)?, first));
            }
            if bytes.len() >= HEAD {
                let status = "431 Request Header Fields Too Large";
                return Err(Fault { status, why: format!("It is longer than {HEAD} bytes.") });
            }
            let mut room = program.take((HEAD - bytes.len()) as u64);
            match room.read_buf(&mut bytes).await {
                Ok(0) | Err(_) => return Err(Fault::bad("It has no end.")),
                Ok(_) => {}
            }
        }
    }

    async fn fulfil(
        &self,
        program: &mut TcpStream,
        request: Request,
        first: &[u8],
    ) -> Result<(), Fault> {
        let host = self.reach(&request.host, request.port).await?;
        // From here on nothing can be answered that the program would not take for the host's.
        let _ended = match request.kind {
            Kind::Tunnel => {
                let ready = b"HTTP/1.1 200 Connection established\r\n\r\n";
                match program.write_all(ready).await {
                    Ok(()) => relay::tunnel(program, host, first).await,
                    Err(error) => Err(error),
                }
            }
            Kind::Forward { head, body } => relay::forward(program, host, &head, body, first).await,
        };
        Ok(())
    }

    /// Connects to a host, if it and the address that it has are allowed.
    async fn reach(&self, host: &Host, port: u16) -> Result<TcpStream, Fault> {
        let addresses = match host {
            Host::Address(address) => vec![*address],
            Host::Name(_) if !self.hosts.allows(host, port) => return Err(self.refuse(host, port)),
            Host::Name(name) => resolve(name, port).await?,
        };
        let is_named = matches!(host, Host::Name(_));
        let is_allowed = |address: &&IpAddr| match not_public(**address) {
            None => is_named || self.hosts.allows(host, port),
            Some(_) => self.hosts.allows_local(host, **address, port),
        };
        let allowed: Vec<IpAddr> =
            addresses.iter().filter(is_allowed).take(ADDRESSES).copied().collect();
        if allowed.is_empty() {
            return Err(match addresses.first() {
                Some(address) if is_named => self.refuse_address(host, *address, port),
                _ => self.refuse(host, port),
            });
        }
        for address in allowed {
            let connected = TcpStream::connect(SocketAddr::from((address, port)));
            if let Ok(Ok(stream)) = timeout(ANSWER, connected).await {
                return Ok(stream);
            }
        }
        let why = format!("{host}:{port} is allowed, but does not answer.");
        Err(Fault { status: "502 Bad Gateway", why })
    }

    fn refuse(&self, host: &Host, port: u16) -> Fault {
        self.refuse_with(host, port, "", self.hosts.hint(host, port))
    }

    /// Refuses a name because of where it leads.
    fn refuse_address(&self, host: &Host, address: IpAddr, port: u16) -> Fault {
        let place = Host::Address(address);
        let reason = format!(" It is {place}, which is not of the public internet.");
        self.refuse_with(host, port, &reason, self.hosts.hint(&place, port))
    }

    fn refuse_with(&self, host: &Host, port: u16, reason: &str, hint: String) -> Fault {
        let why =
            format!("The sandbox refused to connect to {host}:{port}.{reason} To allow it: {hint}");
        self.refusals.add(format!("{host}:{port}"), hint);
        // Many programs show no more than this line.
        Fault { status: "403 Refused by the sandbox", why }
    }
}

async fn resolve(name: &str, port: u16) -> Result<Vec<IpAddr>, Fault> {
    let found = timeout(ANSWER, lookup_host((name, port))).await;
    let addresses: Vec<IpAddr> = match found {
        Ok(Ok(found)) => found.map(|address| address.ip().to_canonical()).collect(),
        _ => Vec::new(),
    };
    if addresses.is_empty() {
        let why = format!("{name} is allowed, but no address of it was found.");
        return Err(Fault { status: "502 Bad Gateway", why });
    }
    Ok(addresses)
}

/// Says why not, and lets the program read it before the connection is closed.
async fn answer(program: &mut TcpStream, fault: &Fault) -> io::Result<()> {
    let Fault { status, why } = fault;
    let asks =
        if status.starts_with("407") { "Proxy-Authenticate: Basic realm=\"haft\"\r\n" } else { "" };
    let body = format!("{why}\n");
    let head = format!(
        "HTTP/1.1 {status}\r\n{asks}Content-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    program.write_all([head, body].concat().as_bytes()).await?;
    program.shutdown().await?;
    // What was sent and not read would break the connection before the answer is.
    let mut rest = program.take(4 * HEAD as u64);
    tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
    Ok(())
}
