//! The head of a request to the proxy, read strictly: what two programs could read in two ways is refused.

use super::address::Host;

/// Most headers of a request.
const MOST_HEADERS: usize = 100;

/// What a program wants of the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) kind: Kind,
}

/// In which way it wants to talk to the host.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// By bytes that are nobody's business.
    Tunnel,
    /// By one request, of which this is the head as the host is to read it, and the body that follows.
    Forward { head: String, body: Body },
}

/// How long the body of a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// So many bytes.
    Length(u64),
    /// As many as its pieces say.
    Chunked,
}

/// Why a request is not served, with the status that says so.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) status: &'static str,
    pub(super) why: String,
}

impl Fault {
    pub(super) fn bad(why: impl Into<String>) -> Self {
        Self { status: "400 Bad Request", why: why.into() }
    }

    fn stranger() -> Self {
        let why = "This proxy serves one command, by the name and password in its HTTP_PROXY.";
        Self { status: "407 Proxy Authentication Required", why: why.to_owned() }
    }
}

/// Reads a head, without the empty line at its end. `authorization` is what the command has to say.
pub(super) fn read(head: &str, authorization: &str) -> Result<Request, Fault> {
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap_or_default();
    let headers = Headers::read(lines)?;
    if headers.one("proxy-authorization")?.is_none_or(|given| given != authorization) {
        return Err(Fault::stranger());
    }
    if !line.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
        return Err(Fault::bad("The request line holds what a URL cannot hold."));
    }
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, version @ ("HTTP/1.1" | "HTTP/1.0")] = words.as_slice() else {
        return Err(Fault::bad("The request line is not that of HTTP/1.1."));
    };
    let request = if *method == "CONNECT" {
        tunnel(target)?
    } else if is_token(method) {
        forward(method, target, version, &headers)?
    } else {
        return Err(Fault::bad("The method is no word."));
    };
    match headers.one("host")? {
        Some(host) if !names(host, &request) => {
            Err(Fault::bad("The header Host names another host than the request."))
        }
        _ => Ok(request),
    }
}

fn tunnel(target: &str) -> Result<Request, Fault> {
    match Host::with_port(target) {
        Some((host, Some(port))) => Ok(Request { host, port, kind: Kind::Tunnel }),
        _ => Err(Fault::bad("CONNECT needs host:port, with the host written plainly.")),
    }
}

fn forward(
    method: &str,
    target: &str,
    version: &str,
    headers: &Headers<'_>,
) -> Result<Request, Fault> {
    let scheme = target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://"));
    let rest = scheme.and_then(|_| target.get(7..)).filter(|rest| !rest.contains('#'));
    let rest =
        rest.ok_or_else(|| Fault::bad("This is a proxy: use CONNECT, or a URL with http://."))?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    // A name before an @ is refused with everything else that is no host.
    let (host, port) = Host::with_port(authority).ok_or_else(|| {
        Fault::bad("The host of the URL is not written plainly, or has a user before it.")
    })?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let body = headers.body(version)?;
    let shown = port.map_or_else(|| host.to_string(), |port| format!("{host}:{port}"));
    let mut head = format!("{method} {slash}{path} {version}\r\nHost: {shown}\r\n");
    for (name, value) in headers.passed_on()? {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("Connection: close\r\n\r\n");
    Ok(Request { host, port: port.unwrap_or(80), kind: Kind::Forward { head, body } })
}

/// Whether a Host header means the host of the request.
fn names(header: &str, request: &Request) -> bool {
    let Some((host, port)) = Host::with_port(header) else { return false };
    host == request.host
        && match port {
            Some(port) => port == request.port,
            // A tunnel may be asked for by the host alone.
            None => request.kind == Kind::Tunnel || request.port == 80,
        }
}

/// The headers of a request, in order.
struct Headers<'a>(Vec<(&'a str, &'a str)>);

/// What is between a program and the proxy, and not for the host.
const OWN: [&str; 8] = [
    "host",
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "proxy-authorization",
    "proxy-connection",
];

/// What says how long a request is.
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];

impl<'a> Headers<'a> {
    fn read(lines: impl Iterator<Item = &'a str>) -> Result<Self, Fault> {
        let mut headers = Vec::new();
        for line in lines {
            let (name, value) = line.split_once(':').unwrap_or(("", ""));
            let value = value.trim_matches([' ', '\t']);
            let is_text = !value.chars().any(|it| it.is_control() && it != '\t');
            if !is_token(name) || !is_text || headers.len() == MOST_HEADERS {
                let why = "A header is not `name: value` in one line, or there are too many.";
                return Err(Fault::bad(why));
            }
            headers.push((name, value));
        }
        Ok(Self(headers))
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(one, _)| one.eq_ignore_ascii_case(name));
        named.map(|(_, value)| *value)
    }

    /// The value of a header that may be there once.
    fn one(&self, name: &str) -> Result<Option<&'a str>, Fault> {
        let mut all = self.all(name);
        match (all.next(), all.next()) {
            (_, Some(_)) => Err(Fault::bad(format!("The header {name} is there twice."))),
            (first, None) => Ok(first),
        }
    }

    fn body(&self, version: &str) -> Result<Body, Fault> {
        let length = self.one("content-length")?;
        let is_number = |text: &str| {
            (1..=18).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        match (length, self.one("transfer-encoding")?) {
            (None, None) => Ok(Body::Length(0)),
            (Some(text), None) if is_number(text) => Ok(Body::Length(text.parse().unwrap_or(0))),
            (None, Some(coding))
                if coding.eq_ignore_ascii_case("chunked") && version == "HTTP/1.1" =>
            {
                Ok(Body::Chunked)
            }
            _ => Err(Fault::bad("How long the body is can be read in two ways.")),
        }
    }

    /// Those that are for the host.
    fn passed_on(&self) -> Result<Vec<(&'a str, &'a str)>, Fault> {
        let listed = self.all("connection").flat_map(|value| value.split(','));
        let listed: Vec<&str> = listed.map(str::trim).collect();
        let has = |list: &[&str], name: &str| list.iter().any(|it| it.eq_ignore_ascii_case(name));
        if FRAMING.iter().any(|name| has(&listed, name)) {
            return Err(Fault::bad("Connection names a header that says how long the body is."));
        }
        let is_passed = |(name, _): &&(&str, &str)| !has(&OWN, name) && !has(&listed, name);
        Ok(self.0.iter().filter(is_passed).copied().collect())
    }
}

fn is_token(word: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !word.is_empty() && word.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests;
