//! One request over HTTP, secured where the address wants it, and its answer piece by piece.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::error::ProviderError;

/// A host that has not taken a connection by then is not there.
const CONNECT: Duration = Duration::from_secs(30);
/// Longest silence: models that think may be quiet for minutes, but not for longer.
const SILENCE: Duration = Duration::from_secs(300);
/// Most of an error's body that is read.
const ERROR_BODY: usize = 64 * 1024;
/// Where systems keep the certificates that everybody believes.
const CERTIFICATES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Makes requests to one host. It costs nothing until the first.
pub(crate) struct Client {
    uri: Uri,
    host: String,
    tls: OnceLock<Result<TlsConnector, String>>,
}

/// An answer whose body is still to be read. Dropping it closes the connection.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    host: String,
    body: Incoming,
    _driver: Driver,
}

/// What moves the bytes of a connection; it ends when nobody waits for them any more.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Client {
    /// A client for this address.
    ///
    /// # Errors
    /// If it is no address of HTTP.
    pub(crate) fn new(url: &str) -> Result<Self, ProviderError> {
        let bad = || ProviderError::Setup {
            why: format!("`{url}` is no base URL; write it as https://HOST/v1"),
        };
        let uri: Uri = url.parse().map_err(|_| bad())?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        let host = uri.host().filter(|_| is_http).ok_or_else(bad)?.to_owned();
        Ok(Self { uri, host, tls: OnceLock::new() })
    }

    /// The host, for messages.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Sends JSON, and returns when the answer begins.
    pub(crate) async fn post(
        &self,
        headers: &[(HeaderName, HeaderValue)],
        body: Vec<u8>,
    ) -> Result<Answer, ProviderError> {
        let request = self.request(headers, body)?;
        let stream = timeout(CONNECT, self.connect());
        let stream = stream.await.map_err(|_| self.unreachable("it does not answer"))??;
        match self.uri.scheme_str() {
            Some("https") => {
                let connector = self.tls.get_or_init(trust).clone();
                let connector = connector.map_err(|why| ProviderError::Setup { why })?;
                let name = ServerName::try_from(self.bare_host().to_owned())
                    .map_err(|error| self.unreachable(error))?;
                let secured = timeout(CONNECT, connector.connect(name, stream)).await;
                let secured = secured.map_err(|_| self.unreachable("it does not answer"))?;
                let stream = secured.map_err(|error| self.unreachable(error))?;
                self.send(TokioIo::new(stream), request).await
            }
            _ => self.send(TokioIo::new(stream), request).await,
        }
    }

    fn request(
        &self,
        headers: &[(HeaderName, HeaderValue)],
        body: Vec<u8>,
    ) -> Result<Request<Full<Bytes>>, ProviderError> {
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let authority = self.uri.authority().map_or("", |authority| authority.as_str());
        let mut request = Request::post(path)
            .header(HOST, authority)
            .header(USER_AGENT, concat!("haft/", env!("CARGO_PKG_VERSION")))
            .header(CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(body.into()));
        request.map_err(|error| ProviderError::Setup { why: error.to_string() })
    }

    async fn connect(&self) -> Result<TcpStream, ProviderError> {
        let default = if self.uri.scheme_str() == Some("https") { 443 } else { 80 };
        let port = self.uri.port_u16().unwrap_or(default);
        let stream = TcpStream::connect((self.bare_host(), port)).await;
        let stream = stream.map_err(|error| self.unreachable(error))?;
        // Requests are whole; waiting for more to send only costs time.
        stream.set_nodelay(true).map_err(|error| self.unreachable(error))?;
        Ok(stream)
    }

    /// The host as the system resolves it: the address of version 6 without its brackets.
    fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    async fn send<S>(
        &self,
        stream: TokioIo<S>,
        request: Request<Full<Bytes>>,
    ) -> Result<Answer, ProviderError>
    where
        TokioIo<S>: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
    {
        let (mut sender, connection) =
            http1::handshake(stream).await.map_err(|error| self.unreachable(told(&error)))?;
        let driver = Driver(tokio::spawn(async move {
            // What goes wrong is told to whoever waits for the answer.
            drop(connection.await);
        }));
        let answer = timeout(SILENCE, sender.send_request(request)).await;
        let answer = answer.map_err(|_| self.unreachable("it does not answer"))?;
        let answer = answer.map_err(|error| self.unreachable(told(&error)))?;
        let (head, body) = answer.into_parts();
        let number = |name: &str| head.headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
        let precise = number("retry-after-ms").map(Duration::from_millis);
        let retry_after = precise.or(number(RETRY_AFTER.as_str()).map(Duration::from_secs));
        let (status, host) = (head.status.as_u16(), self.host.clone());
        Ok(Answer { status, retry_after, host, body, _driver: driver })
    }

    fn unreachable(&self, why: impl ToString) -> ProviderError {
        ProviderError::Unreachable { host: self.host.clone(), why: why.to_string() }
    }
}

impl Answer {
    /// More of the body; none at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, ProviderError> {
        let broke_off = |why: String| ProviderError::BrokeOff { host: self.host.clone(), why };
        loop {
            let frame = timeout(SILENCE, self.body.frame()).await;
            let frame = frame.map_err(|_| broke_off("it fell silent".to_owned()))?;
            match frame.transpose().map_err(|error| broke_off(told(&error)))? {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
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

/// The certificates of this machine, and what makes a connection secure by them.
fn trust() -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    for path in CERTIFICATES.map(Path::new) {
        let Ok(text) = fs_err::read(path) else { continue };
        let certificates = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok);
        if roots.add_parsable_certificates(certificates).0 > 0 {
            // The other places hold copies.
            break;
        }
    }
    if roots.is_empty() {
        let missing =
            "this machine has no certificates to check servers by; install ca-certificates";
        return Err(missing.to_owned());
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// What hyper says, with what is beneath it.
fn told(error: &hyper::Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}
