//! Servers that are reached over HTTP: one connection a request, the answer whole or as a stream of events.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use haft_web::{Request, Response, Target};
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse, SseStream};

use super::tool_list::readable;

/// The longest answer, whole or one event of a stream.
const LONGEST: usize = 16 * 1024 * 1024;

/// How much of an answer that is an error is looked at.
const ERROR: usize = 64 * 1024;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How messages get to a server and back.
pub(super) type Http = StreamableHttpClientTransport<Client>;

/// Makes ready for a server; nothing is sent yet.
///
/// # Errors
/// What is wrong with the address or a header.
pub(super) fn transport(
    url: &str,
    headers: &[(String, String)],
    client: Arc<haft_web::Client>,
) -> Result<Http, String> {
    Target::parse(url).map_err(|error| format!("`{url}` is not an address: {error}"))?;
    let mut own = HashMap::new();
    for (name, value) in headers {
        let wrong = || format!("the header `{name}` cannot be sent");
        let name = HeaderName::try_from(name.as_str()).map_err(|_| wrong())?;
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        own.insert(name, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(own);
    // A call that may have reached the server is never made twice.
    config.reinit_on_expired_session = false;
    Ok(StreamableHttpClientTransport::with_client(Client(client), config))
}

/// Sends requests.
#[derive(Clone)]
pub(super) struct Client(Arc<haft_web::Client>);

type Failed = StreamableHttpError<io::Error>;

impl Client {
    async fn send(
        &self,
        method: Method,
        uri: &str,
        own: Headers,
        accept: &str,
        body: Vec<u8>,
    ) -> Result<Response, Failed> {
        let target = Target::parse(uri).map_err(failed)?;
        // A stream that is compressed comes late.
        let mut request = Request::get(target).header(ACCEPT_ENCODING, "identity");
        request.method = method;
        if !accept.is_empty() {
            request = request.header(ACCEPT, accept);
        }
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, JSON);
        }
        if let Some(token) = own.token {
            request = request.header(AUTHORIZATION, &format!("Bearer {token}"));
        }
        for (name, value) in [(SESSION, own.session), (LAST_EVENT, own.last_event)] {
            if let Some(value) = value {
                request = request.header(name, &value);
            }
        }
        request.headers.extend(own.custom);
        request.body = body.into();
        // The config names the server: it may well be on this machine.
        let reach = haft_web::Reach::Configured;
        let response = self.0.send(&request, reach).await.map_err(failed)?;
        if response.status == StatusCode::UNAUTHORIZED {
            let words = "it wants to know who you are (HTTP 401); give a token under `headers`";
            return Err(unexpected(words.to_owned()));
        }
        Ok(response)
    }
}

/// What a request carries beside its message.
#[derive(Default)]
struct Headers {
    token: Option<String>,
    session: Option<Arc<str>>,
    last_event: Option<Arc<str>>,
    custom: HashMap<HeaderName, HeaderValue>,
}

impl StreamableHttpClient for Client {
    type Error = io::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let body = serde_json::to_vec(&message)?;
        let has_session = session.is_some();
        let own = Headers { token, session, custom, last_event: None };
        let accept = format!("{EVENTS}, {JSON}");
        let response = self.send(Method::POST, &uri, own, &accept, body).await?;
        match response.status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                return Ok(StreamableHttpPostResponse::Accepted);
            }
            StatusCode::NOT_FOUND if has_session => return Err(Failed::SessionExpired),
            status if !status.is_success() => {
                let body = response.bytes(ERROR).await.unwrap_or_default();
                return refused(&message, has_session, status, &body);
            }
            _ => {}
        }
        let session = response.header(&SESSION).map(str::to_owned);
        let kind = kind(&response);
        if kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(response), session));
        }
        let body = response.bytes(LONGEST).await.map_err(failed)?;
        match serde_json::from_slice(&readable(&body)) {
            Ok(answer) if kind.starts_with(JSON) => {
                Ok(StreamableHttpPostResponse::Json(answer, session))
            }
            // What needs no answer may get any.
            _ if !matches!(message, ClientJsonRpcMessage::Request(_)) => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            _ => Err(unexpected("its answer does not fit the protocol".to_owned())),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        let own = Headers { token, session: Some(session), custom, last_event: None };
        // Not every server lets sessions be ended; ours is forgotten either way.
        self.send(Method::DELETE, &uri, own, "", Vec::new()).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let last_event = last_event.map(Into::into);
        let own = Headers { token, session, custom, last_event };
        let response = self.send(Method::GET, &uri, own, EVENTS, Vec::new()).await?;
        let kind = kind(&response);
        match response.status {
            StatusCode::METHOD_NOT_ALLOWED => Err(Failed::ServerDoesNotSupportSse),
            status if !status.is_success() => Err(unexpected(format!("HTTP {status}"))),
            _ if !kind.starts_with(EVENTS) => Err(Failed::UnexpectedContentType(Some(kind))),
            _ => Ok(events(response)),
        }
    }
}

/// An answer that is no success. To the first question of the new era it may mean that the server is
/// of the old one, and then it is put as an answer.
fn refused(
    message: &ClientJsonRpcMessage,
    has_session: bool,
    status: StatusCode,
    body: &[u8],
) -> Result<StreamableHttpPostResponse, Failed> {
    let words = format!("HTTP {status}");
    let own_error = match serde_json::from_slice::<ServerJsonRpcMessage>(body) {
        Ok(ServerJsonRpcMessage::Error(error)) => Some(error.error),
        _ => None,
    };
    if let ClientJsonRpcMessage::Request(request) = message {
        let is_first = matches!(request.request, ClientRequest::DiscoverRequest(_)) && !has_session;
        if is_first && status.is_client_error() && status != StatusCode::FORBIDDEN {
            let error = own_error.unwrap_or_else(|| ErrorData::invalid_request(words, None));
            let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            return Ok(StreamableHttpPostResponse::Json(answer, None));
        }
    }
    Err(unexpected(match own_error {
        Some(error) => format!("{words}: {}", error.message),
        None => words,
    }))
}

/// What the server says its answer is.
fn kind(response: &Response) -> String {
    response.header(&CONTENT_TYPE).unwrap_or_default().trim().to_ascii_lowercase()
}

/// The events of a stream, each of bounded length.
fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut event = EventSize::default();
    let pieces = stream::try_unfold(response, async |mut response| {
        let piece = response.chunk().await.map_err(io::Error::other)?;
        Ok::<_, io::Error>(piece.map(|piece| (piece, response)))
    });
    let pieces =
        pieces.and_then(move |piece| std::future::ready(event.grow(&piece).map(|()| piece)));
    let events = SseStream::from_bytes_stream(pieces.boxed());
    events.map_ok(|event| Sse { data: event.data.map(readable_text), ..event }).boxed()
}

fn readable_text(data: String) -> String {
    match readable(data.as_bytes()) {
        Cow::Borrowed(_) => data,
        Cow::Owned(mended) => String::from_utf8(mended).unwrap_or(data),
    }
}

/// How long the event is that is being received.
#[derive(Default)]
struct EventSize {
    bytes: usize,
    line: usize,
}

impl EventSize {
    fn grow(&mut self, piece: &[u8]) -> io::Result<()> {
        for byte in piece {
            self.bytes += 1;
            match byte {
                b'\n' if self.line == 0 => self.bytes = 0,
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => self.line += 1,
            }
            if self.bytes > LONGEST {
                return Err(io::Error::other("an event of more than 16 MiB"));
            }
        }
        Ok(())
    }
}

fn failed(error: haft_web::WebError) -> Failed {
    Failed::Client(io::Error::other(error))
}

fn unexpected(words: String) -> Failed {
    Failed::UnexpectedServerResponse(words.into())
}
