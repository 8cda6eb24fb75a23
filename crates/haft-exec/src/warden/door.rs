//! The socket by which a confined command reaches the proxy: it listens in there, and is served out here.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};

use super::{Doing, Failure};

/// Hosts that are reached without the proxy: the command's own.
const OWN: &str = "localhost,.localhost,127.0.0.1,127.0.0.0/8,::1,0.0.0.0";

/// The names under which programs look for a proxy.
const NAMES: [&str; 6] =
    ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/// A socket that listens in the network of the command.
pub(super) struct Door {
    listener: TcpListener,
    address: String,
}

impl Door {
    /// Opens one in the network of this process. Who knows `word` is served by it.
    pub(super) fn open(word: &str) -> Result<Self, Failure> {
        let doing = || "listen for the proxy".to_owned();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).doing(doing)?;
        let port = listener.local_addr().as_ref().map(SocketAddr::port).unwrap_or_default();
        Ok(Self {
            listener,
            address: format!("http://{}:{word}@127.0.0.1:{port}", crate::proxy::USER),
        })
    }

    /// What programs have to be told of it.
    pub(super) fn variables(&self) -> Vec<(&'static str, &str)> {
        let proxies = NAMES.iter().map(|name| (*name, self.address.as_str()));
        // Node looks at them only if it is told to.
        let rest = [("no_proxy", OWN), ("NO_PROXY", OWN), ("NODE_USE_ENV_PROXY", "1")];
        proxies.chain(rest).collect()
    }

    /// To be handed to whoever serves it.
    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}
