//! What a host decides about the web.

use std::path::PathBuf;
use std::time::Duration;

use crate::target::{HostPattern, Target};

/// How the web is reached, and how much of it is read.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What servers are told about who asks.
    pub user_agent: String,
    /// Hosts that may be reached though their addresses are private.
    pub private_hosts: Vec<HostPattern>,
    /// Most bytes of one answer, after decompression.
    pub most_bytes: usize,
    /// How long a page is good without asking the server again.
    pub cache_for: Duration,
    /// Who stands between us and the web.
    pub proxy: Proxy,
    /// Files with certificates that are trusted beside the system's.
    pub certificates: Vec<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            user_agent: concat!("haft/", env!("CARGO_PKG_VERSION"), " (a coding agent's tool)")
                .to_owned(),
            private_hosts: Vec::new(),
            most_bytes: 5 * 1024 * 1024,
            cache_for: Duration::from_secs(15 * 60),
            proxy: Proxy::default(),
            certificates: Vec::new(),
        }
    }
}

/// Proxies, as the usual variables name them. Only `http://` proxies are spoken to.
///
/// A proxy finds the address of a host by itself. What we find is checked all the same, where we find
/// anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxy {
    /// For `http` URLs.
    pub http: Option<String>,
    /// For `https` URLs.
    pub https: Option<String>,
    /// Hosts that are reached directly, as in `NO_PROXY`: names with all below them, or `*`.
    pub except: Vec<String>,
}

impl Proxy {
    /// The proxy for `target`, if there is one.
    pub(crate) fn for_target(&self, target: &Target) -> Option<&str> {
        let host = target.host();
        let excepted = |entry: &String| {
            let name = entry.trim_start_matches("*.").trim_start_matches('.');
            let below = || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
            entry == "*" || (!name.is_empty() && (host == name || below()))
        };
        // A proxy's own machine is not ours.
        let is_here = target.address().map_or(host == "localhost", |it| it.is_loopback());
        if is_here || self.except.iter().any(excepted) {
            return None;
        }
        let proxy = if target.is_secure() { &self.https } else { &self.http };
        proxy.as_deref().filter(|proxy| !proxy.is_empty())
    }
}
