//! What is a host, and what is not.

use proptest::prelude::*;

use super::*;

#[test]
fn a_host_is_written_in_one_way() {
    let name = |text: &str| Some((Host::Name(text.to_owned()), None));
    assert_eq!(Host::with_port("Example.COM."), name("example.com"));
    assert_eq!(Host::with_port("a_b-c.example"), name("a_b-c.example"));
    let address = |text: &str| Some(Host::Address(text.parse().unwrap()));
    assert_eq!(Host::parse("127.0.0.1"), address("127.0.0.1"));
    assert_eq!(Host::parse("[::1]"), address("::1"));
    assert_eq!(Host::parse("[::ffff:10.0.0.1]"), address("10.0.0.1"));
    let (host, port) = Host::with_port("[::1]:80").unwrap();
    assert_eq!((host.to_string().as_str(), port), ("[::1]", Some(80)));
}

#[test]
fn an_address_in_disguise_is_no_host() {
    for text in [
        "127.1",
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "127.0.0.01",
        "127.0.0.1.",
        "1.2.3.4.5",
        "a.0x7f",
        "[::1%lo]",
        "::1",
        "[::1",
        "[127.0.0.1]",
        "",
        ".",
        "a..b",
        "user@host",
        "a b",
        "a\r\nb",
        "a\0b",
        "a%2e",
        "１２７.0.0.1",
        "127。0。0。1",
        "a/b",
        "a\\b",
        "a:80:80",
        "a:",
        "a:0",
        "a:+80",
        "a:080000",
        "a:65536",
        "[::1]x:80",
    ] {
        assert_eq!(Host::with_port(text), None, "{text:?}");
    }
    assert_eq!(Host::parse(&"a".repeat(64)), None);
    assert!(Host::parse(&"a.".repeat(127)).is_some());
    assert_eq!(Host::parse(&"a.".repeat(128)), None);
}

proptest! {
    #[test]
    fn what_was_read_is_read_again_from_how_it_is_shown(text in "[a-zA-Z0-9.:\\[\\]_-]{0,24}") {
        if let Some(host) = Host::parse(&text) {
            prop_assert_eq!(Host::parse(&host.to_string()), Some(host));
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
        if let Some((host, _)) = Host::with_port(&text) {
            prop_assert!(text.is_ascii(), "{}", host);
        }
    }
}
