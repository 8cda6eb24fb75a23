//! Whom we believe: certificates of the system, and what the host adds.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

/// Where systems keep the certificates that everybody believes.
const BUNDLES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
];

/// Many times what all of the world's authorities take.
const MOST: u64 = 16 * 1024 * 1024;

/// Certificates, read when they are first needed: most runs never are.
#[derive(Default)]
pub(crate) struct Trust {
    added: Vec<PathBuf>,
    connector: OnceLock<Result<TlsConnector, String>>,
}

impl Trust {
    pub(crate) fn new(added: Vec<PathBuf>) -> Self {
        Self { added, connector: OnceLock::new() }
    }

    /// What makes a connection secure.
    ///
    /// # Errors
    /// Why there is nothing to believe.
    pub(crate) fn connector(&self) -> Result<TlsConnector, String> {
        self.connector.get_or_init(|| self.read()).clone()
    }

    fn read(&self) -> Result<TlsConnector, String> {
        let mut roots = RootCertStore::empty();
        for file in &self.added {
            let added = add(&mut roots, file).map_err(|why| {
                format!("the certificates in {} cannot be used: {why}", file.display())
            })?;
            if added == 0 {
                return Err(format!("{} holds no certificates", file.display()));
            }
        }
        // The first that is there; the others are copies or links.
        let _found =
            BUNDLES.iter().any(|file| add(&mut roots, Path::new(file)).is_ok_and(|n| n > 0));
        if roots.is_empty() {
            let missing = "this machine has no certificates to check servers by; install the package \
                           ca-certificates, or name a file as certificates under [web] in the config";
            return Err(missing.to_owned());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// What a file holds, if it is one: a pipe would be waited for, and a device has no end.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !fs_err::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    fs_err::File::open(path)?.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        return Err(io::Error::other(format!("it is larger than {} MiB", MOST >> 20)));
    }
    Ok(bytes)
}

/// Adds what a file holds, and says how many. A certificate that nobody understands is passed over,
/// as everywhere: bundles have some.
fn add(roots: &mut RootCertStore, file: &Path) -> Result<usize, String> {
    let text = read(file).map_err(|error| error.to_string())?;
    let certificates: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(&text).filter_map(Result::ok).collect();
    let (added, _) = roots.add_parsable_certificates(certificates);
    Ok(added)
}
