//! Servers that are reached over HTTP: one connection a request, the answer whole or as a stream of events.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse, SseStream};

use super::dial::{self, Trust};

/// The longest answer, whole or one event of a stream.
const LONGEST: usize = 16 * 1024 * 1024;

/// How much of an answer that is an error is looked at.
const ERROR: usize = 64 * 1024;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";

/// How messages get to a server and back.
pub(super) type Http = StreamableHttpClientTransport<Client>;

/// Makes ready for a server; nothing is sent yet.
///
/// # Errors
/// What is wrong with the address or a header.
pub(super) fn transport(
    url: &str,
    headers: &[(String, String)],
    certificates: Option<PathBuf>,
) -> Result<Http, String> {
    let uri: Uri = url.parse().map_err(|_| format!("`{url}` is not an address"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
        return Err(format!("`{url}` is not an address: write http://… or https://…"));
    }
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
    let client = Client { trust: Arc::new(Trust::new(certificates)) };
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Sends requests.
#[derive(Clone)]
pub(super) struct Client {
    trust: Arc<Trust>,
}

type Failed = StreamableHttpError<io::Error>;

impl Client {
    async fn send(
        &self,
        method: Method,
        uri: &str,
        own: Headers,
        accept: &str,
        body: Vec<u8>,
    ) -> Result<Response<Incoming>, Failed> {
        let uri: Uri = uri.parse().map_err(|_| client(io::ErrorKind::InvalidInput.into()))?;
        let host = uri.authority().map(|it| it.as_str().to_owned()).unwrap_or_default();
        let path = uri.path_and_query().map_or("/", |it| it.as_str()).to_owned();
        let mut request = Request::builder().method(method).uri(path).header(HOST, host);
        if !accept.is_empty() {
            request = request.header(ACCEPT, accept);
        }
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, JSON);
        }
        if let Some(token) = own.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        for (name, value) in own.custom {
            request = request.header(name, value);
        }
        for (name, value) in [(SESSION, own.session), (LAST_EVENT, own.last_event)] {
            if let Some(value) = value {
                request = request.header(name, value.as_ref());
            }
        }
        let request = request.body(Full::new(Bytes::from(body)));
        let request = request.map_err(|error| client(io::Error::other(error)))?;
        let response = dial::exchange(&uri, request, &self.trust).await.map_err(client)?;
        if response.status() == StatusCode::UNAUTHORIZED {
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
        let status = response.status();
        match status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                return Ok(StreamableHttpPostResponse::Accepted);
            }
            StatusCode::NOT_FOUND if has_session => return Err(Failed::SessionExpired),
            status if !status.is_success() => {
                let body = whole(response, ERROR).await.unwrap_or_default();
                return refused(&message, has_session, status, &body);
            }
            _ => {}
        }
        let session = header(&response, SESSION);
        let kind = header(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
        if kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(response), session));
        }
        let body = whole(response, LONGEST).await.map_err(client)?;
        match serde_json::from_slice(&body) {
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
        let kind = header(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
        match response.status() {
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

fn header(response: &Response<Incoming>, name: &str) -> Option<String> {
    response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

async fn whole(response: Response<Incoming>, most: usize) -> io::Result<Bytes> {
    let body = Limited::new(response.into_body(), most).collect().await;
    body.map(|body| body.to_bytes()).map_err(io::Error::other)
}

/// The events of a stream, each of bounded length.
fn events(response: Response<Incoming>) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut event = EventSize::default();
    let pieces = response.into_body().into_data_stream().map(move |piece| {
        let piece = piece.map_err(io::Error::other)?;
        event.grow(&piece)?;
        Ok::<_, io::Error>(piece)
    });
    SseStream::from_bytes_stream(pieces.boxed()).boxed()
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

fn client(error: io::Error) -> Failed {
    Failed::Client(error)
}

fn unexpected(words: String) -> Failed {
    Failed::UnexpectedServerResponse(words.into())
}
