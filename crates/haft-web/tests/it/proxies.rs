//! Proxies: honoured, told apart from servers, and no way around the check.

use std::io::{Read, Write};
use std::net::TcpStream;

use haft_web::{Proxy, Settings, WebError};

use crate::fetching::{fetcher, get, page};
use crate::site::{Names, Site, answer, ok, send, settings};

fn through(site: &Site, except: &[&str]) -> Settings {
    let proxy = Some(format!("http://user:p%40ss@127.0.0.1:{}", site.port));
    let except = except.iter().map(|name| (*name).to_owned()).collect();
    Settings { proxy: Proxy { http: proxy.clone(), https: proxy, except }, ..settings() }
}

#[tokio::test]
async fn a_proxy_gets_the_whole_url_and_its_password() {
    let proxy = Site::saying(ok("text/plain", "by proxy"));
    // The name is known to the proxy alone.
    let fetcher = fetcher(through(&proxy, &[]), Names::default());
    let (page, _) = page(&fetcher, "http://docs.test/a?b").await;
    assert_eq!(page.bytes, b"by proxy");
    let asked = &proxy.requests()[0];
    assert_eq!(asked.path(), "http://docs.test/a?b");
    assert_eq!(asked.header("host"), Some("docs.test"));
    assert_eq!(asked.header("proxy-authorization"), Some("Basic dXNlcjpwQHNz"), "user:p@ss");
}

#[tokio::test]
async fn a_secure_page_goes_through_a_tunnel() {
    let proxy = Site::new(|asked, stream| {
        assert!(asked.head.starts_with("CONNECT docs.test:443 HTTP/1.1\r\n"), "{asked:?}");
        send(stream, b"HTTP/1.1 200 Connection established\r\n\r\n");
        let mut first = [0];
        // What comes now is the beginning of TLS, and not another request.
        stream.read_exact(&mut first).unwrap();
        assert_eq!(first[0], 0x16);
        send(stream, b"\x15\x03\x03\x00\x02\x02\x28");
    });
    let settings = through(&proxy, &[]);
    let error = get(&fetcher(settings, Names::default()), "https://docs.test/").await.unwrap_err();
    assert!(!matches!(error, WebError::Private { .. }), "{error}");
    assert_eq!(proxy.hits(), 1);
}

#[tokio::test]
async fn a_proxy_that_says_no_is_quoted() {
    let proxy = Site::saying(answer("407 Proxy Authentication Required", "", ""));
    let settings = through(&proxy, &[]);
    let error = get(&fetcher(settings, Names::default()), "https://docs.test/").await.unwrap_err();
    assert!(error.to_string().contains("the proxy 127.0.0.1 answered 407"), "{error}");
    assert!(!error.to_string().contains("ss@"), "{error}");
}

#[tokio::test]
async fn a_proxy_is_no_way_to_what_is_private() {
    let proxy = Site::saying(ok("text/plain", "inside"));
    let names = Names::default().with("inside.test", &[&["10.0.0.1"]]);
    let fetcher = fetcher(through(&proxy, &[]), names);
    for url in ["http://127.0.0.1/", "http://localhost/", "http://inside.test/", "https://[::1]/"] {
        let error = get(&fetcher, url).await.unwrap_err();
        assert!(matches!(error, WebError::Private { .. }), "{url}: {error}");
    }
    assert_eq!(proxy.hits(), 0);
}

#[tokio::test]
async fn some_hosts_need_no_proxy() {
    let (proxy, site) = (Site::saying("no"), Site::saying(ok("text/plain", "direct")));
    for except in ["site.test", ".test", "*"] {
        let fetcher = fetcher(through(&proxy, &[except]), Names::local());
        assert_eq!(page(&fetcher, &site.url("/")).await.0.bytes, b"direct");
    }
    assert_eq!(proxy.hits(), 0);
}

#[tokio::test]
async fn only_http_proxies_are_spoken_to() {
    for text in ["socks5://127.0.0.1:1080", "https://proxy.test", "::"] {
        let proxy = Proxy { http: Some(text.to_owned()), ..Proxy::default() };
        let fetcher = fetcher(Settings { proxy, ..settings() }, Names::local());
        let error = get(&fetcher, "http://site.test/").await.unwrap_err();
        assert!(error.to_string().contains("only http://"), "{error}");
    }
}

/// A proxy that never stops talking.
#[tokio::test]
async fn what_a_proxy_says_is_bounded() {
    let proxy = Site::new(|_, stream: &mut TcpStream| {
        send(stream, b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"x-more: and more\r\n").is_ok() {}
    });
    let settings = through(&proxy, &[]);
    let error = get(&fetcher(settings, Names::default()), "https://docs.test/").await.unwrap_err();
    assert!(error.to_string().contains("has no end"), "{error}");
}
