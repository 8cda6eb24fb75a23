//! One request to a provider, and its answer piece by piece.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use haft_web::{Client, Line, Request, Response, Target, WebError};
use hyper::Method;
use hyper::body::Bytes;
use hyper::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use tokio::time::timeout;

use super::error::ProviderError;

/// Longest silence: models that think may be quiet for minutes, but not for longer.
const SILENCE: Duration = Duration::from_secs(300);
/// Most of an error's body that is read.
const ERROR_BODY: usize = 64 * 1024;

/// Where requests go.
pub(crate) struct Address {
    line: Line,
    target: Target,
    /// Host and port, for messages.
    host: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// An answer whose body is still to be read. Dropping it closes the connection.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    response: Response,
    host: String,
}

impl Address {
    /// The address `url`, to which every request carries `headers`.
    ///
    /// # Errors
    /// If it is no address of HTTP.
    pub(crate) fn new(
        client: Arc<Client>,
        url: &str,
        mut headers: Vec<(HeaderName, HeaderValue)>,
    ) -> Result<Self, ProviderError> {
        let target = Target::parse(url).map_err(|error| ProviderError::Setup {
            why: format!("`{url}` is no base URL, write it as https://HOST/v1: {error}"),
        })?;
        headers.push((CONTENT_TYPE, HeaderValue::from_static("application/json")));
        // A stream that is compressed comes late.
        headers.push((ACCEPT_ENCODING, HeaderValue::from_static("identity")));
        let (line, host) = (Line::new(client), target.authority());
        Ok(Self { line, target, host, headers })
    }

    /// Host and port, for messages.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Sends JSON, and returns when the answer begins.
    pub(crate) async fn post(&self, body: Vec<u8>) -> Result<Answer, ProviderError> {
        let (target, headers) = (self.target.clone(), self.headers.clone());
        let request = Request { target, method: Method::POST, headers, body: body.into() };
        let answer = timeout(SILENCE, self.line.send(&request)).await;
        let host = self.host().to_owned();
        let silent = || ProviderError::Unreachable {
            host: host.clone(),
            why: "it does not answer".to_owned(),
        };
        let response = answer.map_err(|_| silent())?.map_err(|error| self.unsent(error))?;
        let (status, retry_after) = (response.status.as_u16(), response.retry_after());
        Ok(Answer { status, retry_after, response, host })
    }

    /// Why there is no answer: the network's fault passes, the config's does not.
    fn unsent(&self, error: WebError) -> ProviderError {
        let host = self.host.clone();
        match error {
            WebError::Unreachable { host: at, kind: ErrorKind::ConnectionRefused, .. }
                if at == self.target.host() && self.is_here() =>
            {
                ProviderError::NotRunning { host }
            }
            WebError::Unreachable { why, .. } | WebError::Broken { why, .. } => {
                ProviderError::Unreachable { host, why }
            }
            error => ProviderError::Setup { why: error.to_string() },
        }
    }

    /// Whether it is on this machine.
    fn is_here(&self) -> bool {
        let address = self.target.address();
        address.map_or(self.target.host() == "localhost", |address| address.is_loopback())
    }
}

impl Answer {
    /// More of the body; none at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, ProviderError> {
        let broke_off = |why: String| ProviderError::BrokeOff { host: self.host.clone(), why };
        let chunk = timeout(SILENCE, self.response.chunk()).await;
        let chunk = chunk.map_err(|_| broke_off("it fell silent".to_owned()))?;
        chunk.map_err(|error| match error {
            WebError::Broken { why, .. } => broke_off(why),
            error => broke_off(error.to_string()),
        })
    }

    /// Lets go of it once all that matters was read.
    pub(crate) fn done(self) {
        self.response.done();
    }

    /// The beginning of the body as text, for what is no stream.
    pub(crate) async fn beginning(mut self) -> String {
        let mut text = Vec::new();
        while let Ok(Some(chunk)) = self.chunk().await
            && text.len() < ERROR_BODY
        {
            text.extend_from_slice(&chunk);
        }
        text.truncate(ERROR_BODY);
        String::from_utf8_lossy(&text).into_owned()
    }
}
