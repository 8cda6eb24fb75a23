//! Pages in old and new charsets, honest and not.

use super::decode;

#[test]
fn a_mark_beats_the_server_and_the_server_beats_the_page() {
    let marked = decode(b"\xEF\xBB\xBF\xC3\xA4", Some("iso-8859-1"));
    assert_eq!((marked.text.as_str(), marked.charset), ("ä", "UTF-8"));
    let told = decode(b"<meta charset=utf-8>\xE4", Some("ISO-8859-1"));
    assert!(told.text.ends_with('ä') && told.charset == "windows-1252");
}

#[test]
fn a_page_may_say_what_it_is() {
    for page in [
        &b"<meta charset=\"shift_jis\"><p>\x93\xFA\x96\x7B</p>"[..],
        b"<META http-equiv=Content-Type content='text/html; charset = Shift_JIS'>\x93\xFA\x96\x7B",
        b"<?xml version=\"1.0\" encoding=\"Shift_JIS\"?><p>\x93\xFA\x96\x7B</p>",
    ] {
        let text = decode(page, None);
        assert!(text.text.contains("日本"), "{text:?}");
    }
    // What could be read as ASCII is not UTF-16, whatever it says.
    assert_eq!(decode("<meta charset=utf-16>ä".as_bytes(), None).charset, "UTF-8");
}

#[test]
fn without_a_word_it_is_looked_at() {
    assert_eq!(decode("plain ü".as_bytes(), None).charset, "UTF-8");
    let russian = encoding_rs::WINDOWS_1251
        .encode("Привет, это обычный русский текст без указания кодировки")
        .0;
    assert!(decode(&russian, None).text.starts_with("Привет"));
}

#[test]
fn utf_7_is_never_decoded() {
    let text = decode(b"+ADw-script+AD4-alert(1)", Some("utf-7"));
    assert_eq!(text.text, "+ADw-script+AD4-alert(1)");
}

#[test]
fn what_cannot_be_read_is_marked_and_holds_no_nul() {
    let text = decode(b"a\xFF\x00b", Some("utf-8"));
    assert_eq!(text.text, "a\u{fffd}\u{fffd}b");
}
