//! Many clients over HTTP on this machine, each with the token.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::Server;

/// The path that is served; anything else is not found.
pub const PATH: &str = "/mcp";

/// Clients at once; more wait until one is gone.
const CONNECTIONS: usize = 256;
/// How long a client may take to say what it wants.
const HEADERS: Duration = Duration::from_secs(10);
/// As on standard input.
const LONGEST: usize = 64 * 1024 * 1024;
/// How long a client of the old era may be silent before its session ends; a call may take as long.
const SILENCE: Duration = Duration::from_secs(60 * 60);

/// A token that nobody can guess, for one start of a server.
///
/// # Errors
/// If the system has no random numbers.
pub fn fresh_token() -> Result<String, HttpError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| HttpError::Random(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is not one of this machine's own.
    #[error("{0} can be reached from other machines; use 127.0.0.1 or [::1]")]
    Exposed(SocketAddr),
    /// Nothing can be listened to there.
    #[error("nothing can be served on {address}: {error}")]
    Unavailable {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        error: std::io::Error,
    },
    /// The system has no random numbers.
    #[error("no token can be made: {0}")]
    Random(String),
}

/// A place where clients connect.
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Listens on an address of this machine; port 0 takes a free one.
    ///
    /// # Errors
    /// If the address can be reached from elsewhere, or is taken.
    pub async fn bind(address: SocketAddr) -> Result<Self, HttpError> {
        if !address.ip().is_loopback() {
            return Err(HttpError::Exposed(address));
        }
        let unavailable = |error| HttpError::Unavailable { address, error };
        let listener = TcpListener::bind(address).await.map_err(unavailable)?;
        let address = listener.local_addr().map_err(unavailable)?;
        Ok(Self { listener, address })
    }

    /// Where clients find it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }
}

type Body = BoxBody<Bytes, Infallible>;

/// What every connection shares.
struct Front {
    /// None where anybody on this machine may come.
    token: Option<blake3::Hash>,
    mcp: StreamableHttpService<Server, LocalSessionManager>,
}

impl Server {
    /// Serves clients until [`Server::close`]. Only requests with `token` are let in; without one,
    /// everybody on this machine is.
    pub async fn serve_http(self, at: Listener, token: Option<&str>) {
        let front = Arc::new(self.front(token));
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let closing = self.inner.closing.clone();
        loop {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
            let stream = tokio::select! {
                accepted = at.listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    // Out of files, or gone before it was met: others may have more luck in a moment.
                    Err(_) => {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        continue;
                    }
                },
                () = closing.cancelled() => return,
            };
            let (front, closing) = (Arc::clone(&front), closing.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = front.talk(stream) => {}
                    () = closing.cancelled() => {}
                }
                drop(permit);
            });
        }
    }

    fn front(&self, token: Option<&str>) -> Front {
        let mut config = StreamableHttpServerConfig::default()
            .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"])
            .enforce_origin_validation()
            .with_cancellation_token(self.inner.closing.child_token())
            .with_max_request_body_bytes(LONGEST);
        // Whoever asks with JSON alone gets JSON, whoever streams gets a stream.
        config.json_response = false;
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = SessionConfig::default();
        sessions.session_config.keep_alive = Some(SILENCE);
        let server = self.clone();
        let mcp =
            StreamableHttpService::new(move || Ok(server.clone()), Arc::new(sessions), config);
        Front { token: token.map(|token| blake3::hash(token.as_bytes())), mcp }
    }
}

impl Front {
    /// Answers everything that comes over one connection.
    async fn talk(self: Arc<Self>, stream: TcpStream) {
        // An answer is a few small writes; waiting to fill a packet would only delay it.
        let _no_matter = stream.set_nodelay(true);
        let service = service_fn(move |request| {
            let front = Arc::clone(&self);
            async move { Ok::<_, Infallible>(front.answer(request).await) }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEADERS);
        // A client that breaks off is gone, and nobody is left to be told.
        let _gone = http.serve_connection(TokioIo::new(stream), service).await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if request.uri().path() != PATH {
            return refused(StatusCode::NOT_FOUND, "there is nothing here but /mcp");
        }
        if !self.lets_in(&request) {
            let mut answer = refused(StatusCode::UNAUTHORIZED, "the token is missing or wrong");
            let scheme = header::HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
            return answer;
        }
        self.mcp.handle(request).await
    }

    fn lets_in(&self, request: &Request<Incoming>) -> bool {
        let Some(expected) = self.token else { return true };
        let given = request.headers().get(header::AUTHORIZATION);
        let given = given.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        // Hashes are compared in constant time, and say nothing about the token.
        given.is_some_and(|given| blake3::hash(given.trim_ascii()) == expected)
    }
}

fn refused(status: StatusCode, says: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from_static(says.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}
