//! One exchange over HTTP: a connection, with TLS where the address says so, a request, a response.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Where systems keep the certificates that they trust.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Sends a request and waits for the head of the response.
pub(super) async fn exchange(
    uri: &Uri,
    request: Request<Full<Bytes>>,
    trust: &Trust,
) -> io::Result<Response<Incoming>> {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_tls = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    if !is_tls {
        return over(TokioIo::new(stream), request).await;
    }
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let stream = TlsConnector::from(trust.config()?).connect(name, stream).await?;
    over(TokioIo::new(stream), request).await
}

async fn over(
    stream: impl Read + Write + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> io::Result<Response<Incoming>> {
    let (mut sender, connection) = http1::handshake(stream).await.map_err(io::Error::other)?;
    // It ends with the response, or with whoever reads it.
    tokio::spawn(async move { drop(connection.await) });
    sender.send_request(request).await.map_err(io::Error::other)
}

/// How servers prove who they are: by the certificates that are trusted.
pub(super) struct Trust {
    certificates: Option<PathBuf>,
    config: OnceLock<Arc<ClientConfig>>,
}

impl Trust {
    /// Trusts the certificates in this file, or those that the machine trusts.
    pub(super) fn new(certificates: Option<PathBuf>) -> Self {
        Self { certificates, config: OnceLock::new() }
    }

    /// Read when it is first needed.
    fn config(&self) -> io::Result<Arc<ClientConfig>> {
        if let Some(config) = self.config.get() {
            return Ok(Arc::clone(config));
        }
        let bundles = match &self.certificates {
            Some(file) => vec![file.clone()],
            None => BUNDLES.map(PathBuf::from).to_vec(),
        };
        let mut roots = RootCertStore::empty();
        for bundle in bundles {
            let certificates = CertificateDer::pem_file_iter(bundle).into_iter().flatten();
            roots.add_parsable_certificates(certificates.flatten());
        }
        if roots.is_empty() {
            let words = "no trusted certificates are on this machine; install ca-certificates";
            return Err(io::Error::other(words));
        }
        let provider = tokio_rustls::rustls::crypto::ring::default_provider();
        let config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Arc::clone(self.config.get_or_init(|| Arc::new(config))))
    }
}
