//! Fetching: redirects, the cache, and what a server is told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_web::{Client, Fetched, Fetcher, HostPattern, Page, Settings, Source, Target, WebError};

use crate::site::{Names, Site, answer, ok, send, settings};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn fetcher(settings: Settings, names: Names) -> Fetcher {
    Fetcher::new(Client::with_resolver(settings, Arc::new(names)))
}

pub(crate) async fn get(fetcher: &Fetcher, url: &str) -> Result<Fetched, WebError> {
    fetcher.fetch(&Target::parse(url).unwrap(), 20 * SECOND, &|_| true).await
}

pub(crate) async fn page(fetcher: &Fetcher, url: &str) -> (Arc<Page>, Source) {
    match get(fetcher, url).await.unwrap() {
        Fetched::Page { page, source } => (page, source),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_server_is_told_who_asks_and_nothing_that_is_not_its_business() {
    let site = Site::saying(ok("text/plain; charset=UTF-8", "hello"));
    let fetcher = fetcher(settings(), Names::local());
    let (page, source) = page(&fetcher, &site.url("/a?b=c#part")).await;
    assert_eq!((page.bytes.as_slice(), source), (&b"hello"[..], Source::Server));
    assert_eq!((page.mime.as_str(), page.charset.as_deref()), ("text/plain", Some("UTF-8")));
    let asked = &site.requests()[0];
    assert_eq!(asked.path(), "/a?b=c");
    assert_eq!(asked.header("host"), Some(format!("site.test:{}", site.port).as_str()));
    assert!(asked.header("user-agent").unwrap().starts_with("haft/"), "{asked:?}");
    for private in ["cookie", "referer", "authorization"] {
        assert_eq!(asked.header(private), None);
    }
}

#[tokio::test]
async fn a_redirect_within_the_site_is_followed_and_one_that_leaves_it_is_told() {
    let site = Site::new(|asked, stream| match asked.path() {
        "/1" => send(stream, &answer("301 Moved Permanently", "location: 2\r\n", "")),
        "/2" => send(stream, &answer("308 Permanent Redirect", "location: /3?x\r\n", "")),
        "/3?x" => send(stream, &answer("307 Temporary Redirect", "location: /Straße\r\n", "")),
        "/Stra%C3%9Fe" => send(stream, &ok("text/plain", "here")),
        "/away" => send(stream, &answer("302 Found", "location: http://other.test/x\r\n", "")),
        "/file" => send(stream, &answer("302 Found", "location: file:///etc/passwd\r\n", "")),
        _ => send(stream, &answer("302 Found", "location: /round\r\n", "")),
    });
    let fetcher = fetcher(settings(), Names::local());
    let (page, _) = page(&fetcher, &site.url("/1")).await;
    assert_eq!(page.bytes, b"here");
    assert!(page.target.as_str().ends_with("/Stra%C3%9Fe"));
    match get(&fetcher, &site.url("/away")).await.unwrap() {
        Fetched::Elsewhere { to, status } => {
            assert_eq!((to.as_str(), status), ("http://other.test/x", 302));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(get(&fetcher, &site.url("/file")).await, Err(WebError::BadUrl { .. })));
    let error = get(&fetcher, &site.url("/round")).await.unwrap_err();
    assert!(error.to_string().contains("redirects more than"), "{error}");
}

#[tokio::test]
async fn whoever_asks_decides_about_every_hop() {
    let site =
        Site::new(|_, stream| send(stream, &answer("302 Found", "location: /private\r\n", "")));
    let fetcher = fetcher(settings(), Names::local());
    let target = Target::parse(&site.url("/public")).unwrap();
    let may = |next: &Target| !next.as_str().ends_with("/private");
    let fetched = fetcher.fetch(&target, SECOND, &may).await.unwrap();
    assert!(matches!(fetched, Fetched::Elsewhere { .. }), "{fetched:?}");
    assert_eq!(site.hits(), 1);
}

#[tokio::test]
async fn a_page_is_fetched_once_and_then_only_confirmed() {
    let site = Site::new(|asked, stream| match asked.header("if-none-match") {
        Some("\"v1\"") => send(stream, b"HTTP/1.1 304 Not Modified\r\n\r\n"),
        _ => send(stream, &answer("200 OK", "etag: \"v1\"\r\ncontent-type: text/plain\r\n", "one")),
    });
    let young = fetcher(settings(), Names::local());
    assert_eq!(page(&young, &site.url("/")).await.1, Source::Server);
    assert_eq!(page(&young, &site.url("/")).await.1, Source::Cache);
    assert_eq!(site.hits(), 1);
    let old = fetcher(Settings { cache_for: Duration::ZERO, ..settings() }, Names::local());
    assert_eq!(page(&old, &site.url("/")).await.1, Source::Server);
    let (page, source) = page(&old, &site.url("/")).await;
    assert_eq!((page.bytes.as_slice(), source), (&b"one"[..], Source::Confirmed));
    assert_eq!(site.hits(), 3);
}

#[tokio::test]
async fn what_must_not_be_stored_is_not() {
    let site = Site::saying(answer(
        "200 OK",
        "cache-control: private\r\ncache-control: max-age=60, No-Store\r\n",
        "secret",
    ));
    let fetcher = fetcher(settings(), Names::local());
    for _ in 0..2 {
        assert_eq!(page(&fetcher, &site.url("/")).await.1, Source::Server);
    }
    assert_eq!(site.hits(), 2);
}

#[tokio::test]
async fn a_short_wait_is_waited_and_a_long_one_is_told() {
    let seen = std::sync::Mutex::new(std::collections::HashSet::new());
    let site = Site::new(move |asked, stream| {
        let first = seen.lock().unwrap().insert(asked.path().to_owned());
        let busy =
            |wait: &str| answer("429 Too Many Requests", &format!("retry-after: {wait}\r\n"), "");
        match asked.path() {
            "/short" if first => send(stream, &busy("1")),
            "/short" => send(stream, &ok("text/plain", "now")),
            // A date that is over is no wait, by whichever clock.
            "/past" if first => send(stream, &busy("Sun, 06 Nov 1994 08:49:37 GMT")),
            "/past" => send(stream, &ok("text/plain", "at once")),
            "/never" => send(stream, &busy("when it suits us")),
            _ => send(stream, &busy("3600")),
        }
    });
    let fetcher = fetcher(settings(), Names::local());
    let begin = Instant::now();
    assert_eq!(page(&fetcher, &site.url("/short")).await.0.bytes, b"now");
    assert!(begin.elapsed() >= SECOND);
    let error = get(&fetcher, &site.url("/long")).await.unwrap_err();
    assert!(error.to_string().contains("429") && error.to_string().contains("3600 s"), "{error}");
    assert_eq!(site.hits(), 3);
    assert_eq!(page(&fetcher, &site.url("/past")).await.0.bytes, b"at once");
    let error = get(&fetcher, &site.url("/never")).await.unwrap_err();
    assert!(error.to_string().ends_with("429 Too Many Requests"), "{error}");
    assert_eq!(site.hits(), 6);
}

#[tokio::test]
async fn only_the_address_that_was_checked_is_connected_to() {
    let site = Site::saying(ok("text/plain", "not for you"));
    let names = Names::local()
        .with("rb1.test", &[&["192.0.2.1"], &["127.0.0.1"]])
        .with("public-first.test", &[&["127.0.0.2"], &["127.0.0.1"]]);
    let fetcher_of = |private: &str| {
        let settings =
            Settings { private_hosts: vec![HostPattern::new(private)], ..Settings::default() };
        fetcher(settings, names.clone())
    };
    let refused = get(&fetcher_of("site.test"), &format!("http://rb1.test:{}/", site.port)).await;
    assert!(matches!(refused, Err(WebError::Private { .. })), "{refused:?}");
    // The second answer, where somebody listens, is never asked for.
    let url = format!("http://public-first.test:{}/", site.port);
    let refused = get(&fetcher_of("public-first.test"), &url).await;
    assert!(matches!(refused, Err(WebError::Unreachable { .. })), "{refused:?}");
    assert_eq!(names.asked(), ["rb1.test", "public-first.test"]);
    assert_eq!(site.hits(), 0);
}
