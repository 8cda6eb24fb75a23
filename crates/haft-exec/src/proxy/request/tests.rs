//! What is served, what is not, and what a host gets to read.

use proptest::prelude::*;

use super::*;

const WORD: &str = "Basic word";

fn of(lines: &[&str]) -> Result<Request, Fault> {
    let all: Vec<&str> = lines.iter().copied().chain(["Proxy-Authorization: Basic word"]).collect();
    read(&all.join("\r\n"), WORD)
}

fn refused(lines: &[&str]) {
    let fault = of(lines).unwrap_err();
    assert_eq!(fault.status, "400 Bad Request", "{lines:?}");
}

#[test]
fn a_tunnel_goes_where_it_says() {
    let request = of(&["CONNECT Example.com:443 HTTP/1.1", "Host: example.com:443"]).unwrap();
    let host = Host::Name("example.com".into());
    assert_eq!(request, Request { host, port: 443, kind: Kind::Tunnel });
    of(&["CONNECT example.com:443 HTTP/1.0"]).unwrap();
    of(&["CONNECT example.com:443 HTTP/1.1", "Host: example.com"]).unwrap();
}

#[test]
fn a_request_is_passed_on_without_what_is_ours() {
    let request = of(&[
        "POST http://example.com:8080/a?b HTTP/1.1",
        "Host: EXAMPLE.com:8080",
        "Accept: */*",
        "Connection: keep-alive, X-Own",
        "X-Own: 1",
        "Proxy-Connection: keep-alive",
        "Upgrade: websocket",
        "Content-Length: 3",
    ]);
    let head = "POST /a?b HTTP/1.1\r\nHost: example.com:8080\r\nAccept: */*\r\nContent-Length: 3\r\n\
                Connection: close\r\n\r\n";
    let kind = Kind::Forward { head: head.to_owned(), body: Body::Length(3) };
    let host = Host::Name("example.com".into());
    assert_eq!(request, Ok(Request { host, port: 8080, kind }));
    let request = of(&["GET http://example.com HTTP/1.1"]).unwrap();
    assert!(
        matches!(request.kind, Kind::Forward { head, .. } if head.starts_with("GET / HTTP/1.1\r\n"))
    );
    let request = of(&["GET http://example.com?q HTTP/1.1"]).unwrap();
    assert!(
        matches!(request.kind, Kind::Forward { head, .. } if head.starts_with("GET /?q HTTP/1.1\r\n"))
    );
}

#[test]
fn what_can_be_read_in_two_ways_is_refused() {
    refused(&["CONNECT example.com HTTP/1.1"]);
    refused(&["CONNECT http://example.com:443 HTTP/1.1"]);
    refused(&["CONNECT example.com:443 HTTP/1.1", "Host: other.example:443"]);
    refused(&["CONNECT example.com:443 HTTP/1.1", "Host: example.com:80"]);
    refused(&["CONNECT example.com:443  HTTP/1.1"]);
    refused(&["CONNECT example.com:443\tHTTP/1.1"]);
    refused(&["CONNECT example.com:443 HTTP/2"]);
    refused(&["GET /path HTTP/1.1", "Host: example.com"]);
    refused(&["GET https://example.com/ HTTP/1.1"]);
    refused(&["GET http://user@example.com/ HTTP/1.1"]);
    refused(&["GET http://example.com@other.example/ HTTP/1.1"]);
    refused(&["GET http://example.com\\@other.example/ HTTP/1.1"]);
    refused(&["GET http://example.com#@other.example/ HTTP/1.1"]);
    refused(&["GET http://0x7f.1/ HTTP/1.1"]);
    refused(&["GET http://example.com/ HTTP/1.1", "Host: other.example"]);
    refused(&["GET http://example.com/ HTTP/1.1", "Host: example.com", "Host: example.com"]);
    refused(&["GET http://example.com/ HTTP/1.1", "Content-Length: 1", "Content-Length: 1"]);
    refused(&["GET http://example.com/ HTTP/1.1", "Content-Length: +1"]);
    refused(&[
        "GET http://example.com/ HTTP/1.1",
        "Content-Length: 1",
        "Transfer-Encoding: chunked",
    ]);
    refused(&["GET http://example.com/ HTTP/1.1", "Transfer-Encoding: gzip, chunked"]);
    refused(&["GET http://example.com/ HTTP/1.0", "Transfer-Encoding: chunked"]);
    refused(&["GET http://example.com/ HTTP/1.1", "Content-Length : 1"]);
    refused(&[
        "GET http://example.com/ HTTP/1.1",
        "Connection: content-length",
        "Content-Length: 1",
    ]);
    refused(&["GET http://example.com/ HTTP/1.1", "A: b", " folded: c"]);
    refused(&["GET http://example.com/ HTTP/1.1", "A: b\nHost: other.example"]);
    refused(&["GET http://example.com/ HTTP/1.1", "A: b\rHost: other.example"]);
    refused(&["GET http://example.com/ HTTP/1.1", "A: b\0"]);
    refused(&["GET http://example.com/\u{7f} HTTP/1.1"]);
    refused(&["", "GET http://example.com/ HTTP/1.1"]);
    let many: Vec<&str> = std::iter::once("GET http://example.com/ HTTP/1.1")
        .chain(std::iter::repeat_n("A: b", 200))
        .collect();
    refused(&many);
}

#[test]
fn a_stranger_is_asked_who_he_is() {
    for head in [
        "CONNECT example.com:443 HTTP/1.1",
        "CONNECT example.com:443 HTTP/1.1\r\nProxy-Authorization: Basic other",
    ] {
        assert!(read(head, WORD).unwrap_err().status.starts_with("407"));
    }
}

proptest! {
    /// Whatever is passed on has the lines that were checked, and one host.
    #[test]
    fn nothing_is_passed_on_but_one_request(line in "[ -~]{0,40}", headers in proptest::collection::vec("[ -~\\r\\n]{0,30}", 0..6)) {
        let mut lines = vec![line.as_str()];
        lines.extend(headers.iter().map(String::as_str));
        if let Ok(Request { kind: Kind::Forward { head, .. }, .. }) = of(&lines) {
            prop_assert_eq!(head.matches("\r\n\r\n").count(), 1);
            prop_assert!(head.ends_with("\r\n\r\n"));
            prop_assert_eq!(head.to_lowercase().matches("\r\nhost:").count(), 1);
        }
    }
}
