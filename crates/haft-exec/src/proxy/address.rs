//! Hosts as they are written, strictly.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Longest name that the domain name system knows.
const LONGEST: usize = 253;

/// A host, as a command names it. There is one way to write each: what other programs may read as an
/// address in disguise (`0x7f.1`, `127.1`, `2130706433`) is no host.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name, in small letters, without a dot at its end.
    Name(String),
    /// An address; one of version 4 that is written as one of version 6 is one of version 4.
    Address(IpAddr),
}

impl Host {
    /// Reads a host; an address of version 6 stands in brackets.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Address(IpAddr::V6(address).to_canonical()));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Self::Address(address.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_number = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
        let is_name = name.len() <= LONGEST && name.split('.').all(is_label) && !is_number;
        is_name.then_some(Self::Name(name))
    }

    /// Reads a host and the port after it, if there is one.
    #[must_use]
    pub fn with_port(text: &str) -> Option<(Self, Option<u16>)> {
        let after_host = text.rfind(']').map_or(0, |at| at + 1);
        let colon = text.get(after_host..)?.find(':').map(|at| after_host + at);
        let Some((host, port)) = colon.and_then(|at| text.split_at_checked(at)) else {
            return Some((Self::parse(text)?, None));
        };
        let port = port.strip_prefix(':')?;
        let is_plain = (1..=5).contains(&port.len()) && port.bytes().all(|it| it.is_ascii_digit());
        let port = port.parse().ok().filter(|port| is_plain && *port != 0)?;
        Some((Self::parse(host)?, Some(port)))
    }

    /// Whether this is the machine that names it: its loopback, under any name.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost" || name.ends_with(".localhost"),
            Self::Address(address) => address.is_loopback() || address.is_unspecified(),
        }
    }
}

/// As it is written in a URL.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

#[cfg(test)]
mod tests;
