//! Whom we believe: certificates that are good, expired, of somebody else, or of nobody we know.

use std::net::TcpListener as StdListener;
use std::path::PathBuf;
use std::sync::Arc;

use haft_web::{Settings, Target, WebError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

use crate::fetching::{SECOND, fetcher, get, page};
use crate::site::{Names, Site, ok, settings};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/tls").join(name)
}

/// A server that proves itself with the certificate `name`; returns its port.
async fn server(name: &str) -> u16 {
    let certificate = CertificateDer::from_pem_file(file(&format!("{name}.pem"))).unwrap();
    let key = PrivateKeyDer::from_pem_file(file(&format!("{name}.key"))).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // A client that does not believe us ends it here.
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut request = [0; 4096];
            if stream.read(&mut request).await.is_ok_and(|count| count > 0) {
                stream.write_all(&ok("text/plain", "in confidence")).await.unwrap();
            }
        }
    });
    port
}

pub(crate) fn believing(names: &[&str]) -> Settings {
    Settings { certificates: names.iter().map(|name| file(name)).collect(), ..settings() }
}

#[tokio::test]
async fn a_server_that_proves_who_it_is_is_read() {
    let port = server("good").await;
    let fetcher = fetcher(believing(&["ca.pem"]), Names::local());
    let (page, _) = page(&fetcher, &format!("https://site.test:{port}/")).await;
    assert_eq!(page.bytes, b"in confidence");
}

#[tokio::test]
async fn a_server_that_does_not_is_refused_and_nothing_is_sent() {
    for (name, believed, why) in [
        ("expired", "ca.pem", "expired"),
        ("other", "ca.pem", "not valid for name"),
        // Somebody vouches for it, but nobody whom we know.
        ("good", "other.pem", "UnknownIssuer"),
    ] {
        let port = server(name).await;
        let fetcher = fetcher(believing(&[believed]), Names::local());
        let error = get(&fetcher, &format!("https://site.test:{port}/")).await.unwrap_err();
        assert!(matches!(error, WebError::Untrusted { .. }), "{name}: {error}");
        assert!(error.to_string().contains(why), "{name}: {error}");
    }
}

#[tokio::test]
async fn plain_http_is_never_tried_instead() {
    let site = Site::saying(ok("text/plain", "plain"));
    let fetcher = fetcher(believing(&["ca.pem"]), Names::local());
    let url = format!("https://site.test:{}/", site.port);
    // The server waits for a request that it can read, as long as it is let.
    let target = Target::parse(&url).unwrap();
    assert!(fetcher.fetch(&target, SECOND, &|_| true).await.is_err());
    assert!(site.requests().is_empty(), "nothing that was read as a request");
    let free = StdListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = get(&fetcher, &format!("https://site.test:{free}/")).await.unwrap_err();
    assert!(matches!(error, WebError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn a_file_without_certificates_is_said() {
    let port = server("good").await;
    // A path of its own stands as it is. The device would never end, the other is far too long.
    let long = tempfile::NamedTempFile::new().unwrap();
    long.as_file().set_len(1 << 30).unwrap();
    for (name, why) in [
        ("good.key", "no certificates"),
        ("missing.pem", "cannot be used"),
        (".", "is not a file"),
        ("/dev/zero", "is not a file"),
        (long.path().to_str().unwrap(), "larger than 16 MiB"),
    ] {
        let fetcher = fetcher(believing(&[name]), Names::local());
        let error = get(&fetcher, &format!("https://site.test:{port}/")).await.unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}
