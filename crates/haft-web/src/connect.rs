//! From a target to an open connection: resolved, checked, pinned, through a proxy, secured.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_address::not_public;
use percent_encoding::percent_decode_str;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use url::Url;

use crate::client::{Client, Reach};
use crate::error::WebError;
use crate::resolve::{Resolve, SystemResolver};
use crate::target::Target;

/// Most bytes of what a proxy says before it lets us through.
const PROXY_ANSWER: usize = 8 * 1024;

/// Most addresses of a name that are tried.
const MOST_ADDRESSES: usize = 8;
/// How long an address may be silent before the next is tried as well.
const HEAD_START: Duration = Duration::from_millis(300);

/// An open connection, and how requests on it are written.
pub(crate) struct Connected {
    pub(crate) stream: Stream,
    /// Whether the whole URL is sent instead of the path: to a proxy that makes the request itself.
    pub(crate) whole_url: bool,
    /// What the proxy wants to see with such a request.
    pub(crate) proxy_authorization: Option<String>,
}

/// Bytes to and from a server.
pub(crate) enum Stream {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

impl Client {
    /// Connects to the server of `target`, if it may be reached.
    pub(crate) async fn connect(
        &self,
        target: &Target,
        reach: Reach,
    ) -> Result<Connected, WebError> {
        let proxy = self.settings().proxy.for_target(target).map(ToOwned::to_owned);
        let addresses = self.checked(target, reach, proxy.is_some()).await?;
        let Some(proxy) = proxy else {
            let stream = tcp(target.host(), &addresses, target.port()).await?;
            return self.secured(target, stream).await;
        };
        let proxy = ProxyServer::parse(&proxy)?;
        let mut stream = proxy.connect().await?;
        if target.is_secure() {
            proxy.tunnel(&mut stream, target).await?;
            return self.secured(target, stream).await;
        }
        let (stream, proxy_authorization) = (Stream::Plain(stream), proxy.authorization);
        Ok(Connected { stream, whole_url: true, proxy_authorization })
    }

    /// Says what can be said without a packet: whether the host may be reached by its name or address as
    /// it is written.
    ///
    /// # Errors
    /// If it may not.
    pub fn check_name(&self, target: &Target) -> Result<(), WebError> {
        let why = match target.address() {
            Some(address) => not_public(address),
            None => target.is_local_name().then_some("its name is for local use"),
        };
        match why.filter(|_| !self.is_private_host(target)) {
            Some(why) => Err(private(target, why.to_owned())),
            None => Ok(()),
        }
    }

    /// The addresses of a target, all of which may be connected to. One that may not is enough to
    /// refuse: an honest name has no such company.
    async fn checked(
        &self,
        target: &Target,
        reach: Reach,
        proxied: bool,
    ) -> Result<Vec<IpAddr>, WebError> {
        let allowed = reach == Reach::Configured || self.is_private_host(target);
        if !allowed {
            self.check_name(target)?;
        }
        if let Some(address) = target.address() {
            return Ok(vec![address]);
        }
        let addresses = match self.resolver().resolve(target.host()).await {
            Ok(addresses) => addresses,
            // Behind a proxy, names may be known to nobody but the proxy.
            Err(_) if proxied => return Ok(Vec::new()),
            Err(error) => {
                let host = target.host().to_owned();
                return Err(unreachable(host, &error));
            }
        };
        let refused = addresses.iter().find_map(|it| Some((it, not_public(*it)?)));
        match refused.filter(|_| !allowed) {
            Some((address, why)) => Err(private(target, format!("{address}, {why}"))),
            None => Ok(addresses),
        }
    }

    async fn secured(&self, target: &Target, stream: TcpStream) -> Result<Connected, WebError> {
        let plain = |stream| Connected { stream, whole_url: false, proxy_authorization: None };
        if !target.is_secure() {
            return Ok(plain(Stream::Plain(stream)));
        }
        let host = target.host().to_owned();
        let connector = self.trust().connector().map_err(WebError::Service)?;
        let name = match target.address() {
            Some(address) => ServerName::from(address),
            None => ServerName::try_from(host.clone())
                .map_err(|_| WebError::BadUrl { why: "its host is malformed".to_owned() })?,
        };
        match connector.connect(name, stream).await {
            Ok(stream) => Ok(plain(Stream::Secure(Box::new(stream)))),
            // What the library found wrong comes wrapped; the rest is the network's.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(WebError::Untrusted { host, why: error.to_string() })
            }
            Err(error) => Err(unreachable(host, &error)),
        }
    }
}

fn private(target: &Target, why: String) -> WebError {
    WebError::Private { host: target.host().to_owned(), why }
}

fn unreachable(host: String, error: &io::Error) -> WebError {
    WebError::Unreachable { host, why: error.to_string(), kind: error.kind() }
}

/// Connects to the first address that answers. One that is silent does not keep the others waiting.
async fn tcp(host: &str, addresses: &[IpAddr], port: u16) -> Result<TcpStream, WebError> {
    let mut why = io::Error::other("it has no address");
    let mut untried = addresses.iter().take(MOST_ADDRESSES);
    // Dropped with the answer, and all that still try with it.
    let mut tries = JoinSet::new();
    loop {
        if let Some(address) = untried.next() {
            tries.spawn(TcpStream::connect(SocketAddr::new(*address, port)));
        }
        let patience = if untried.len() == 0 { Duration::MAX } else { HEAD_START };
        match tokio::time::timeout(patience, tries.join_next()).await {
            Ok(Some(Ok(Ok(stream)))) => {
                // Requests are small and whole; waiting for more to send only costs time.
                stream.set_nodelay(true).ok();
                return Ok(stream);
            }
            Ok(Some(Ok(Err(error)))) => why = error,
            Ok(Some(Err(error))) => why = io::Error::other(error),
            Ok(None) => return Err(unreachable(host.to_owned(), &why)),
            // It says nothing so far: the next has its turn beside it.
            Err(_) => {}
        }
    }
}

/// A proxy that speaks HTTP.
struct ProxyServer {
    host: String,
    port: u16,
    authorization: Option<String>,
}

impl ProxyServer {
    fn parse(text: &str) -> Result<Self, WebError> {
        let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = Url::parse(&whole).ok().filter(|url| url.scheme() == "http");
        let (url, host) = url
            .and_then(|url| Some((url.clone(), url.host_str()?.to_owned())))
            .ok_or_else(|| {
                WebError::Service("the proxy is not usable: only http:// proxies are".to_owned())
            })?;
        let user = url.username();
        let authorization = (!user.is_empty()).then(|| {
            // As they are, not as a URL has to write them.
            let plain = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
            let pair = [plain(user), b":".to_vec(), plain(url.password().unwrap_or_default())];
            format!("Basic {}", STANDARD.encode(pair.concat()))
        });
        Ok(Self { host, port: url.port_or_known_default().unwrap_or(80), authorization })
    }

    /// The proxy is the user's word: its address is not checked.
    async fn connect(&self) -> Result<TcpStream, WebError> {
        let name = self.host.trim_start_matches('[').trim_end_matches(']');
        let host = format!("the proxy {}", self.host);
        match SystemResolver.resolve(name).await {
            Ok(addresses) => tcp(&host, &addresses, self.port).await,
            Err(error) => Err(unreachable(host, &error)),
        }
    }

    /// Asks for a tunnel to `target`, by name: proxies decide by it.
    async fn tunnel(&self, stream: &mut TcpStream, target: &Target) -> Result<(), WebError> {
        let place = format!("{}:{}", target.host(), target.port());
        let authorization = match &self.authorization {
            Some(value) => format!("Proxy-Authorization: {value}\r\n"),
            None => String::new(),
        };
        let request = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{authorization}\r\n");
        let host = format!("the proxy {}", self.host);
        let failed = |error: io::Error| unreachable(host.clone(), &error);
        stream.write_all(request.as_bytes()).await.map_err(failed)?;
        let mut answer = Vec::new();
        // Byte by byte: what follows the answer belongs to the tunnel.
        while !answer.ends_with(b"\r\n\r\n") && answer.len() < PROXY_ANSWER {
            answer.push(stream.read_u8().await.map_err(failed)?);
        }
        if !answer.ends_with(b"\r\n\r\n") {
            let why = "what it says before it lets us through has no end".to_owned();
            return Err(WebError::Broken { host, why });
        }
        let answer = String::from_utf8_lossy(&answer);
        let line = answer.lines().next().unwrap_or_default();
        if line.split(' ').nth(1).is_some_and(|code| code.starts_with('2')) {
            return Ok(());
        }
        let status = line.split_once(' ').map_or("nothing that is HTTP", |(_, status)| status);
        let status = status.chars().filter(|letter| !letter.is_control()).take(100).collect();
        Err(WebError::Status { host, status, retry_after: None })
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (stream, before) = (self.get_mut(), buffer.filled().len());
        let read = match stream {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Secure(stream) => Pin::new(stream).poll_read(cx, buffer),
        };
        if read.is_ready() && buffer.filled().len() > before {
            stream.acknowledge();
        }
        read
    }
}

impl Stream {
    /// Tells the server at once what has come. On a connection that is used again, the system would wait
    /// for up to 40 ms, and many servers wait for that before they go on.
    fn acknowledge(&self) {
        #[cfg(target_os = "linux")]
        {
            let stream = match self {
                Self::Plain(stream) => stream,
                Self::Secure(stream) => stream.get_ref().0,
            };
            // It is a hint; without it all goes on, later.
            stream.set_quickack(true).ok();
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Secure(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Secure(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Secure(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
