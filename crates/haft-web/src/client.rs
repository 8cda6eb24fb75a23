//! One request and its answer, within bounds. Later users of HTTP share it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, DATE, HOST, HeaderMap, HeaderName,
    HeaderValue, PROXY_AUTHORIZATION, RETRY_AFTER, USER_AGENT,
};
use hyper::{Method, StatusCode};
use jiff::Timestamp;
use jiff::fmt::rfc2822;

use crate::connection::Connection;
use crate::decode::{Decoder, ENCODINGS};
use crate::error::WebError;
use crate::line::Idle;
use crate::resolve::{Resolve, SystemResolver};
use crate::settings::Settings;
use crate::target::Target;
use crate::tls::Trust;

/// How long an answer that is over may take to end, if its connection is to be kept.
const REST: Duration = Duration::from_millis(500);
/// How much more than its content an encoded answer may take: an endless stream of nothing is one too.
const OVERHEAD: usize = 256 * 1024;

/// Makes requests. It costs nothing until the first.
pub struct Client {
    settings: Settings,
    resolver: Arc<dyn Resolve>,
    trust: Trust,
}

/// Whose word it is that a host is to be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// A model's: only what is on the public internet, or allowed by name.
    Public,
    /// The config's: it may well be on this machine.
    Configured,
}

/// What is sent.
#[derive(Debug, Clone)]
pub struct Request {
    /// Where to.
    pub target: Target,
    /// How.
    pub method: Method,
    /// Lines beside those that the client writes itself.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What goes with it.
    pub body: Bytes,
}

impl Request {
    /// Asks for what is there.
    #[must_use]
    pub fn get(target: Target) -> Self {
        Self { target, method: Method::GET, headers: Vec::new(), body: Bytes::new() }
    }

    /// Adds a line; one that is no text is left out.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(mut value) = HeaderValue::from_str(value) {
            value.set_sensitive(true);
            self.headers.push((name, value));
        }
        self
    }
}

/// An answer whose body is still to be read. Dropping it closes the connection, unless that is kept and
/// all was read.
pub struct Response {
    /// How it went.
    pub status: StatusCode,
    /// What was said before the body.
    pub headers: HeaderMap,
    host: String,
    body: Incoming,
    /// Gone when it was given back.
    connection: Option<Connection>,
    /// Who keeps it for the next request.
    keeper: Option<Arc<Idle>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    /// A client that asks the system for addresses.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self::with_resolver(settings, Arc::new(SystemResolver))
    }

    /// A client that asks `resolver` for addresses.
    #[must_use]
    pub fn with_resolver(settings: Settings, resolver: Arc<dyn Resolve>) -> Self {
        let trust = Trust::new(settings.certificates.clone());
        Self { settings, resolver, trust }
    }

    /// How the web is reached.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether the host may be reached though its addresses are private.
    #[must_use]
    pub fn is_private_host(&self, target: &Target) -> bool {
        self.settings.private_hosts.iter().any(|pattern| pattern.covers(target))
    }

    pub(crate) fn resolver(&self) -> &dyn Resolve {
        self.resolver.as_ref()
    }

    pub(crate) fn trust(&self) -> &Trust {
        &self.trust
    }

    /// Sends a request, and returns when the answer begins. It follows no redirect and has no
    /// deadline: both are the caller's.
    ///
    /// # Errors
    /// If the host may not or cannot be reached, or does not speak HTTP.
    pub async fn send(&self, request: &Request, reach: Reach) -> Result<Response, WebError> {
        let connection = Connection::open(self, &request.target, reach).await?;
        match self.send_over(connection, request).await? {
            Sent::Answered(response) => Ok(response),
            Sent::Closed { why } => Err(broken(&request.target, why)),
        }
    }

    /// Sends a request over a connection, and returns when the answer begins.
    pub(crate) async fn send_over(
        &self,
        mut connection: Connection,
        request: &Request,
    ) -> Result<Sent, WebError> {
        let message = self.message(request, &connection)?;
        let host = request.target.host().to_owned();
        match connection.sender.try_send_request(message).await {
            Ok(answer) => {
                let (head, body) = answer.into_parts();
                let (status, headers, connection) = (head.status, head.headers, Some(connection));
                let response = Response { status, headers, host, body, connection, keeper: None };
                Ok(Sent::Answered(response))
            }
            Err(mut error) => {
                let was_sent = error.take_message().is_none();
                let why = told(error.error());
                if was_sent { Err(broken(&request.target, why)) } else { Ok(Sent::Closed { why }) }
            }
        }
    }

    fn message(
        &self,
        request: &Request,
        connected: &Connection,
    ) -> Result<hyper::Request<Full<Bytes>>, WebError> {
        let target = &request.target;
        let bad = |error: hyper::http::Error| WebError::BadUrl { why: error.to_string() };
        let path = target.path_and_query();
        let place = if connected.whole_url { target.as_str() } else { path.as_str() };
        let mut message = hyper::Request::builder()
            .method(request.method.clone())
            .uri(place)
            .header(HOST, target.authority())
            .header(USER_AGENT, &self.settings.user_agent);
        if !request.headers.iter().any(|(name, _)| *name == ACCEPT_ENCODING) {
            message = message.header(ACCEPT_ENCODING, ENCODINGS);
        }
        if let Some(authorization) = &connected.proxy_authorization {
            message = message.header(PROXY_AUTHORIZATION, authorization);
        }
        for (name, value) in &request.headers {
            message = message.header(name, value);
        }
        message.body(Full::new(request.body.clone())).map_err(bad)
    }
}

/// What became of a request.
pub(crate) enum Sent {
    /// Here is the answer.
    Answered(Response),
    /// Nothing: the connection was closed before any of it was sent.
    Closed { why: String },
}

impl Response {
    /// Has the connection kept once all was read.
    pub(crate) fn kept_by(mut self, keeper: Arc<Idle>) -> Self {
        self.keeper = Some(keeper);
        self
    }

    /// Lets go of an answer of which all that matters was read, so that its connection can serve again.
    pub fn done(mut self) {
        if self.keeper.is_none() || self.connection.is_none() {
            return;
        }
        tokio::spawn(async move {
            let rest = async { while let Ok(Some(_)) = self.chunk().await {} };
            tokio::time::timeout(REST, rest).await.ok();
        });
    }

    /// A line of the head, if it is there and plain text.
    #[must_use]
    pub fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// How long the server asks to wait, whether it says so in seconds or by a date.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let asked = self.header(&RETRY_AFTER)?.trim();
        if let Ok(seconds) = asked.parse() {
            return Some(Duration::from_secs(seconds));
        }
        let until = moment(asked)?;
        // By the server's own clock, if it tells it: ours may go wrong.
        let now = self.header(&DATE).and_then(moment).unwrap_or_else(Timestamp::now);
        // What is over by now is no wait.
        let seconds = until.as_second().saturating_sub(now.as_second());
        Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
    }

    /// The error that a status other than success amounts to.
    #[must_use]
    pub fn refusal(&self) -> WebError {
        let words = self.status.canonical_reason().unwrap_or("(a status that has no name)");
        WebError::Status {
            host: self.host.clone(),
            status: format!("{} {words}", self.status.as_u16()),
            retry_after: self.retry_after(),
        }
    }

    /// More of the body as it comes, for streams; none at its end. Nothing is decompressed: whoever
    /// wants a stream asks for `identity` as its encoding.
    ///
    /// # Errors
    /// If it is broken, or ends too early.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, WebError> {
        while let Some(frame) = self.body.frame().await {
            let broken = |error: hyper::Error| WebError::Broken {
                host: self.host.clone(),
                why: told(&error),
            };
            if let Ok(data) = frame.map_err(broken)?.into_data() {
                return Ok(Some(data));
            }
        }
        if let (Some(connection), Some(keeper)) = (self.connection.take(), &self.keeper) {
            keeper.put(connection);
        }
        Ok(None)
    }

    /// Reads the body to its end, decompressed; stops at once when it gets longer than `most`.
    ///
    /// # Errors
    /// If it is too long, broken, or ends too early.
    pub async fn bytes(mut self, most: usize) -> Result<Vec<u8>, WebError> {
        let host = self.host.clone();
        let broken = |why: String| WebError::Broken { host: host.clone(), why };
        let told_length =
            self.header(&CONTENT_LENGTH).and_then(|text| text.trim().parse::<u64>().ok());
        let too_large = || WebError::TooLarge {
            host: host.clone(),
            most,
            told: told_length.map_or_else(String::new, |length| format!(" (it says {length})")),
        };
        let raw_most = most.saturating_add(OVERHEAD);
        if told_length.is_some_and(|length| length > raw_most as u64) {
            return Err(too_large());
        }
        let encodings: Vec<&str> = self
            .headers
            .get_all(CONTENT_ENCODING)
            .iter()
            .filter_map(|it| it.to_str().ok())
            .collect();
        let mut decoder = Decoder::new(&encodings.join(","), most).map_err(broken)?;
        let mut raw = 0_usize;
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| broken(told(&error)))?;
            let Ok(data) = frame.into_data() else { continue };
            raw = raw.saturating_add(data.len());
            if raw > raw_most {
                return Err(too_large());
            }
            decoder.push(&data).map_err(broken)?;
            if decoder.is_over() {
                return Err(too_large());
            }
        }
        // Nothing is nothing, however it is said to be encoded.
        if raw == 0 {
            return Ok(Vec::new());
        }
        decoder.finish().map_err(broken)
    }
}

/// A date as HTTP writes it.
fn moment(text: &str) -> Option<Timestamp> {
    rfc2822::parse(text.trim()).ok().map(|date| date.timestamp())
}

fn broken(target: &Target, why: String) -> WebError {
    WebError::Broken { host: target.host().to_owned(), why }
}

/// What hyper says, with what is beneath it.
pub(crate) fn told(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
