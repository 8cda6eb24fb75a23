//! Servers that want to keep us busy: bombs, slow bodies, endless heads, wrong lengths, ruins.

use std::io::{self, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_web::{BoxFuture, Client, Fetcher, Resolve, Settings, Target, WebError};
use tokio::net::{TcpListener, TcpSocket};

use crate::bombs::{gzip, zstd_bomb};
use crate::fetching::{SECOND, fetcher, get, page};
use crate::site::{Names, Site, answer, ok, send, settings};
use crate::tls::believing;

/// More than is read of any page.
const TOO_LONG: usize = 6 << 20;

fn encoded(encoding: &str, body: &[u8]) -> Vec<u8> {
    answer("200 OK", &format!("content-type: text/plain\r\ncontent-encoding: {encoding}\r\n"), body)
}

#[tokio::test]
async fn compressed_pages_are_read() {
    let text = "a page that is long enough to be worth it ".repeat(200);
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    zlib.write_all(text.as_bytes()).unwrap();
    let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    raw.write_all(text.as_bytes()).unwrap();
    let zlib = zlib.finish().unwrap();
    let raw = raw.finish().unwrap();
    let brotli = include_bytes!("page.br").to_vec();
    let forms =
        [("gzip", gzip(text.as_bytes())), ("deflate", zlib), ("deflate", raw), ("br", brotli)];
    for (encoding, body) in forms {
        let site = Site::saying(encoded(encoding, &body));
        let fetcher = fetcher(settings(), Names::local());
        assert_eq!(page(&fetcher, &site.url("/")).await.0.bytes, text.as_bytes(), "{encoding}");
    }
    let site = Site::saying(encoded("zstd", &zstd_bomb(2)));
    let fetcher = fetcher(settings(), Names::local());
    assert_eq!(page(&fetcher, &site.url("/")).await.0.bytes, vec![b'x'; 256 * 1024]);
}

#[tokio::test]
async fn nothing_is_nothing_however_it_is_encoded() {
    for encoding in ["gzip", "deflate", "br", "zstd"] {
        let site = Site::saying(encoded(encoding, b""));
        let fetcher = fetcher(settings(), Names::local());
        assert_eq!(page(&fetcher, &site.url("/")).await.0.bytes, b"", "{encoding}");
    }
}

#[tokio::test]
async fn many_blocks_with_nothing_in_them_are_nothing() {
    // A frame of its own window, then blocks of three bytes that say nothing, and the last one.
    let mut body = b"\x28\xb5\x2f\xfd\x00\x58".to_vec();
    body.resize(5 << 20, 0);
    let whole = body.len() - (body.len() - 6) % 3;
    body.truncate(whole);
    body.extend_from_slice(b"\x01\x00\x00");
    let site = Site::saying(encoded("zstd", &body));
    let fetcher = fetcher(settings(), Names::local());
    assert_eq!(page(&fetcher, &site.url("/")).await.0.bytes, b"");
}

#[tokio::test]
async fn a_bomb_is_stopped_where_it_gets_too_long() {
    // Hundreds of megabytes to a gigabyte, each in well under a megabyte.
    let brotli = include_bytes!("bomb.br");
    let bombs =
        [("gzip", gzip(&vec![0; 200 << 20])), ("br", brotli.to_vec()), ("zstd", zstd_bomb(8_192))];
    for (encoding, body) in bombs {
        assert!(body.len() < 1 << 20, "{encoding}: {}", body.len());
        let site = Site::saying(encoded(encoding, &body));
        let fetcher = fetcher(settings(), Names::local());
        let error = get(&fetcher, &site.url("/")).await.unwrap_err();
        assert!(matches!(error, WebError::TooLarge { .. }), "{encoding}: {error}");
    }
}

#[tokio::test]
async fn what_cannot_be_decompressed_is_said() {
    let mut cut = gzip(b"a page");
    cut.truncate(12);
    let mut huge_window = zstd_bomb(1);
    huge_window[5] = 0xFF;
    let ruins = [
        ("gzip", b"no gzip at all".to_vec()),
        ("gzip", cut),
        ("br", vec![0xFF; 100]),
        ("zstd", b"no zstd at all, but long enough to look at".to_vec()),
        ("zstd", huge_window),
        ("zstd", zstd_bomb(2)[..8].to_vec()),
        ("deflate", b"\x78nonsense".to_vec()),
        ("gzip, gzip", gzip(b"twice")),
        ("lzma", b"who knows".to_vec()),
    ];
    for (encoding, body) in ruins {
        let site = Site::saying(encoded(encoding, &body));
        let error = get(&fetcher(settings(), Names::local()), &site.url("/")).await.unwrap_err();
        assert!(matches!(error, WebError::Broken { .. }), "{encoding}: {error}");
    }
}

#[tokio::test]
async fn a_long_body_is_not_waited_for() {
    let endless = |stream: &mut TcpStream, head: &str| {
        send(stream, head.as_bytes());
        let chunk = [b"10000\r\n".as_slice(), &[b'x'; 0x10000], b"\r\n"].concat();
        while stream.write_all(&chunk).is_ok() {}
    };
    let site = Site::new(move |asked, stream| match asked.path() {
        "/told" => send(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n"),
        "/chunked" => endless(stream, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"),
        "/close" => endless(stream, "HTTP/1.1 200 OK\r\n\r\n"),
        _ => send(stream, &ok("text/plain", vec![b'x'; TOO_LONG])),
    });
    let fetcher = fetcher(settings(), Names::local());
    for path in ["/told", "/chunked", "/close", "/plain"] {
        let error = get(&fetcher, &site.url(path)).await.unwrap_err();
        assert!(matches!(error, WebError::TooLarge { .. }), "{path}: {error}");
    }
}

#[tokio::test]
async fn an_endless_head_is_cut_off() {
    let site = Site::new(|_, stream| {
        send(stream, b"HTTP/1.1 200 OK\r\n");
        let line = format!("x-{}: {}\r\n", "a".repeat(50), "b".repeat(1_000));
        while stream.write_all(line.as_bytes()).is_ok() {}
    });
    let error = get(&fetcher(settings(), Names::local()), &site.url("/")).await.unwrap_err();
    assert!(matches!(error, WebError::Broken { .. }), "{error}");
}

/// Bytes that come one by one, for ever.
fn drip(stream: &mut TcpStream, head: &[u8]) {
    send(stream, head);
    let (_never, clock) = std::sync::mpsc::channel::<()>();
    while stream.write_all(b"x").is_ok() {
        clock.recv_timeout(Duration::from_millis(20)).ok();
    }
}

/// A resolver that never answers.
#[derive(Debug)]
struct Mute;

impl Resolve for Mute {
    fn resolve<'a>(&'a self, _host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deadline_covers_everything() {
    let site = Site::new(|asked, stream| match asked.path() {
        "/silent" => drop(std::io::Read::read(stream, &mut [0])),
        "/head" => drip(stream, b"HTTP/1.1 200 OK\r\nx-slow: "),
        "/body" => drip(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n"),
        _ => send(stream, &answer("302 Found", "location: /body\r\n", "")),
    });
    let deadline = Duration::from_millis(400);
    let local: Arc<dyn Resolve> = Arc::new(Names::local());
    let mut cases: Vec<_> = ["/silent", "/head", "/body", "/hop"]
        .map(|path| (site.url(path), Arc::clone(&local)))
        .into();
    // It waits for a request as one writes it; what comes to it here is not one.
    cases.push((site.url("/").replace("http:", "https:"), local));
    cases.push((site.url("/"), Arc::new(Mute)));
    for (path, resolver) in cases {
        let mut taken = Vec::new();
        for _ in 0..3 {
            let client = Client::with_resolver(believing(&["ca.pem"]), Arc::clone(&resolver));
            let fetcher = Fetcher::new(client);
            let target = Target::parse(&path).unwrap();
            let begin = Instant::now();
            let error = fetcher.fetch(&target, deadline, &|_| true).await.unwrap_err();
            taken.push(begin.elapsed());
            assert!(matches!(error, WebError::TimedOut { .. }), "{path}: {error}");
        }
        // The best of three: what else the machine does is not what this is about.
        let best = taken.into_iter().min().unwrap();
        assert!(best >= deadline && best < deadline + SECOND / 5, "{path}: {best:?}");
    }
}

/// An address that nobody answers at: its queue is full, and further connections are not even refused.
async fn silent_at(port: u16) -> (TcpListener, Vec<tokio::net::TcpStream>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 2], port).into()).unwrap();
    let listener = socket.listen(1).unwrap();
    let mut queue = Vec::new();
    let next = || tokio::net::TcpStream::connect(("127.0.0.2", port));
    while let Ok(stream) = tokio::time::timeout(SECOND / 2, next()).await {
        queue.push(stream.unwrap());
        assert!(queue.len() < 100, "everybody is let in");
    }
    (listener, queue)
}

#[tokio::test]
async fn an_address_that_is_silent_does_not_hold_up_the_others() {
    let site = Site::saying(ok("text/plain", "here"));
    let _silent = silent_at(site.port).await;
    for addresses in [["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.1"]] {
        let names = Names::default().with("site.test", &[&addresses]);
        assert_eq!(page(&fetcher(settings(), names), &site.url("/")).await.0.bytes, b"here");
    }
    let names = Names::default().with("site.test", &[&["127.0.0.2", "127.0.0.2"]]);
    let target = Target::parse(&site.url("/")).unwrap();
    let fetched = fetcher(settings(), names).fetch(&target, SECOND, &|_| true).await;
    assert!(matches!(fetched, Err(WebError::TimedOut { .. })), "{fetched:?}");
}

#[tokio::test]
async fn a_length_that_is_wrong_is_no_page() {
    for (head, body) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n", "short"),
        ("HTTP/1.1 200 OK\r\ncontent-length: nonsense\r\n\r\n", "x"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "5\r\nhello\r\n"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "fffffffffffffffff\r\nhello\r\n"),
        ("SSH-2.0-OpenSSH_9.9\r\n\r\n", ""),
        ("", ""),
    ] {
        let site = Site::saying(format!("{head}{body}"));
        let error = get(&fetcher(settings(), Names::local()), &site.url("/")).await.unwrap_err();
        assert!(matches!(error, WebError::Broken { .. }), "{head:?}: {error}");
    }
    // What comes after the length does not belong to it.
    let site = Site::saying("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello and more");
    let fetcher = fetcher(settings(), Names::local());
    assert_eq!(page(&fetcher, &site.url("/")).await.0.bytes, b"hello");
}

#[tokio::test]
async fn a_fetch_that_is_dropped_closes_its_connection() {
    let (closed, wait) = std::sync::mpsc::channel();
    let site = Site::new(move |_, stream| {
        send(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nbegin");
        // Ends when the other side is gone.
        let read = std::io::Read::read(stream, &mut [0]);
        closed.send(read.is_err() || read.is_ok_and(|count| count == 0)).unwrap();
    });
    let fetcher = fetcher(Settings { ..settings() }, Names::local());
    let target = Target::parse(&site.url("/")).unwrap();
    let fetch = fetcher.fetch(&target, 60 * SECOND, &|_| true);
    let asked = async {
        while site.requests().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        fetched = fetch => panic!("{fetched:?}"),
        () = asked => {}
    }
    tokio::task::spawn_blocking(move || assert!(wait.recv_timeout(5 * SECOND).unwrap()))
        .await
        .unwrap();
}
