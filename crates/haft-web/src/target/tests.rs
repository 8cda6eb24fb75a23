//! What URLs become, and which are none.

use super::{HostPattern, Target};

fn canonical(text: &str) -> String {
    Target::parse(text).unwrap().as_str().to_owned()
}

#[test]
fn one_page_has_one_form() {
    assert_eq!(canonical("HTTPS://DOCS.Test"), "https://docs.test/");
    assert_eq!(canonical(" https://docs.test./a/../b#top\n"), "https://docs.test/b");
    assert_eq!(canonical("https://docs.test:443/%2e%2e/x"), "https://docs.test/x");
    assert_eq!(canonical("http://bücher.test/ä"), "http://xn--bcher-kva.test/%C3%A4");
    assert_eq!(canonical("http://0x7f.1/"), "http://127.0.0.1/");
}

#[test]
fn what_is_not_of_the_web_is_refused_with_the_reason() {
    let reasons = [
        ("file:///etc/passwd", "scheme is file"),
        ("docs.test/x", "no scheme"),
        ("//docs.test/", "no scheme"),
        ("https://user:secret@docs.test/", "password"),
        ("https://docs.test:22/", "port"),
        ("http:///", "host"),
        ("http://a..b/", "malformed"),
    ];
    for (text, why) in reasons {
        let message = Target::parse(text).unwrap_err().to_string();
        assert!(message.contains(why) && !message.contains("secret"), "{text}: {message}");
    }
    let long = format!("https://docs.test/{}", "x".repeat(1_000_000));
    assert!(Target::parse(&long).unwrap_err().to_string().contains("at most"));
}

#[test]
fn local_names_are_known_by_their_end() {
    for host in
        ["localhost", "foo.localhost", "LOCALHOST.", "metadata.google.internal", "printer.local"]
    {
        assert!(Target::parse(&format!("http://{host}/")).unwrap().is_local_name(), "{host}");
    }
    for host in ["mylocalhost.test", "local.test", "internal.test"] {
        assert!(!Target::parse(&format!("http://{host}/")).unwrap().is_local_name(), "{host}");
    }
}

#[test]
fn a_redirect_stays_with_the_site_or_leaves_it() {
    let from = Target::parse("http://docs.test/a").unwrap();
    for (location, stays) in [
        ("/b", true),
        ("https://docs.test/", true),
        ("https://www.docs.test/", false),
        ("http://docs.test:8080/", false),
    ] {
        assert_eq!(from.is_same_site(&from.join(location).unwrap()), stays, "{location}");
    }
    let secure = Target::parse("https://docs.test/").unwrap();
    assert!(!secure.is_same_site(&secure.join("http://docs.test/").unwrap()));
}

#[test]
fn private_hosts_are_named_exactly_by_suffix_or_with_their_port() {
    let covers =
        |pattern: &str, url: &str| HostPattern::new(pattern).covers(&Target::parse(url).unwrap());
    assert!(covers("localhost:3000", "http://localhost:3000/x"));
    assert!(!covers("localhost:3000", "http://localhost:3001/x"));
    assert!(covers("*.corp.test", "https://wiki.corp.test/"));
    assert!(!covers("*.corp.test", "https://evilcorp.test/"));
    assert!(!covers("*.corp.test", "https://corp.test/"));
    assert!(covers("::1", "http://[::1]:8080/"));
    assert!(covers("[::1]:8080", "http://[::1]:8080/"));
    assert!(!covers("docs.test", "http://docs.test.evil.test/"));
}
