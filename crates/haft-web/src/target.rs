//! What may be fetched: a URL in its one canonical form, and what its host may be.

use std::fmt;
use std::net::IpAddr;

use url::{Host, Url};

use crate::error::WebError;

/// Longest URL that is looked at.
const LONGEST: usize = 8 * 1024;

/// Names that never mean the public internet, with all that ends in them.
const LOCAL_NAMES: [&str; 5] = ["localhost", "local", "internal", "home.arpa", "localdomain"];

/// Ports of services that a request could talk into doing something: those that browsers refuse, as
/// far as anybody still listens there.
const NOT_WEB: [u16; 36] = [
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 79, 110, 111, 113, 119,
    123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 514, 587, 6667,
];

/// A URL that may be fetched, as far as its text tells: what rules are compared with is what is sent.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Target {
    url: Url,
}

impl Target {
    /// Reads a URL as browsers do.
    ///
    /// # Errors
    /// If it is too long, malformed, not of the web, or carries a name or password.
    pub fn parse(text: &str) -> Result<Self, WebError> {
        let bad = |why: String| WebError::BadUrl { why };
        if text.len() > LONGEST {
            let why = format!("it has {} bytes, and at most {LONGEST} are taken", text.len());
            return Err(bad(why));
        }
        let url = Url::parse(text).map_err(|error| match error {
            url::ParseError::RelativeUrlWithoutBase => {
                bad("it has no scheme; write it whole, with https://".to_owned())
            }
            error => bad(error.to_string()),
        })?;
        Self::of(url)
    }

    /// Where a redirect leads from here.
    ///
    /// # Errors
    /// As [`Target::parse`].
    pub fn join(&self, location: &str) -> Result<Self, WebError> {
        if location.len() > LONGEST {
            return Err(WebError::BadUrl { why: "it is too long".to_owned() });
        }
        let url = self.url.join(location);
        Self::of(url.map_err(|error| WebError::BadUrl { why: error.to_string() })?)
    }

    fn of(mut url: Url) -> Result<Self, WebError> {
        let bad = |why: &str| Err(WebError::BadUrl { why: why.to_owned() });
        if !matches!(url.scheme(), "http" | "https") {
            let why =
                format!("its scheme is {}, and only http and https are fetched", url.scheme());
            return Err(WebError::BadUrl { why });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return bad("it holds a user name or password; leave that out");
        }
        // One name for one host: `example.org.` is `example.org`.
        let dotted = url.host_str().and_then(|host| host.strip_suffix('.')).map(str::to_owned);
        if let Some(host) = dotted
            && url.set_host(Some(&host)).is_err()
        {
            return bad("its host is malformed");
        }
        match url.host() {
            None => return bad("it has no host"),
            Some(Host::Domain(name)) if !is_a_name(name) => return bad("its host is malformed"),
            Some(_) => {}
        }
        if url.port().is_some_and(|port| NOT_WEB.contains(&port) || port == 0) {
            return bad("its port belongs to another service than the web");
        }
        url.set_fragment(None);
        if url.as_str().len() > LONGEST {
            return bad("it is too long");
        }
        Ok(Self { url })
    }

    /// The whole of it, canonical, without a fragment.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// The host, as a name or an address.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The address that is written as the host, if one is.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        match self.url.host()? {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(IpAddr::V4(address)),
            Host::Ipv6(address) => Some(IpAddr::V6(address)),
        }
    }

    /// The port, also where it is the usual one.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(80)
    }

    /// Host and port, the port only where it is not the usual one.
    #[must_use]
    pub fn authority(&self) -> String {
        match self.url.port() {
            Some(port) => format!("{}:{port}", self.host()),
            None => self.host().to_owned(),
        }
    }

    /// Whether what is sent and received is encrypted.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Path and query: what the server is asked for.
    #[must_use]
    pub fn path_and_query(&self) -> String {
        match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        }
    }

    /// Whether the name alone says that the host is not on the public internet.
    #[must_use]
    pub fn is_local_name(&self) -> bool {
        let host = self.host();
        let ends_in = |name: &&str| {
            host.strip_suffix(*name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        self.address().is_none() && LOCAL_NAMES.iter().any(ends_in)
    }

    /// Whether a redirect from here to `next` stays with the same site: the same host, no less secure.
    #[must_use]
    pub fn is_same_site(&self, next: &Self) -> bool {
        let same_port = self.url.port() == next.url.port();
        self.host() == next.host() && same_port && (next.is_secure() || !self.is_secure())
    }

    /// An absolute form of a link in the page that was fetched from here; none if it leads to
    /// something that cannot be fetched.
    #[must_use]
    pub fn resolve_link(&self, link: &str) -> Option<String> {
        let url = self.url.join(link.trim()).ok()?;
        matches!(url.scheme(), "http" | "https" | "mailto").then(|| url.into())
    }
}

/// The URL itself: the canonical form holds no secrets but those in its query.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether it can be a name at all; the lengths are those of the name system.
fn is_a_name(name: &str) -> bool {
    let fits = |label: &str| (1..=63).contains(&label.len()) && label.is_ascii();
    name.len() <= 253 && name.split('.').all(fits)
}

/// A host that may be reached though its addresses are private, as config writes it: `localhost:3000`,
/// `*.corp.example`, `10.0.0.5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    host: String,
    port: Option<u16>,
}

impl HostPattern {
    /// Reads one.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let text = text.trim().to_ascii_lowercase();
        let split = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
        // The colons of a bare IPv6 address are no port's.
        match split.filter(|(host, _)| !host.contains(':') || host.ends_with(']')) {
            Some((host, port)) => Self { host: host.to_owned(), port: Some(port) },
            None => Self { host: text, port: None },
        }
    }

    /// Whether it means the host of `target`.
    #[must_use]
    pub fn covers(&self, target: &Target) -> bool {
        let host = target.host();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let named = match self.host.strip_prefix("*.") {
            Some(parent) => host.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.')),
            None => self.host == host || self.host == bare,
        };
        named && self.port.is_none_or(|port| port == target.port())
    }
}

#[cfg(test)]
mod tests;
