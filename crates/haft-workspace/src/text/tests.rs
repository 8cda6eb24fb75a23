//! Encodings round trip, detection is calm about cuts, and nothing is lost unnoticed.

use proptest::prelude::*;

use super::*;

fn every_encoding() -> Vec<Encoding> {
    let legacy = [
        "big5",
        "euc-jp",
        "euc-kr",
        "gb18030",
        "gbk",
        "ibm866",
        "iso-8859-2",
        "iso-8859-3",
        "iso-8859-4",
        "iso-8859-5",
        "iso-8859-6",
        "iso-8859-7",
        "iso-8859-8",
        "iso-8859-10",
        "iso-8859-13",
        "iso-8859-14",
        "iso-8859-15",
        "iso-8859-16",
        "koi8-r",
        "koi8-u",
        "macintosh",
        "shift_jis",
        "windows-874",
        "windows-1250",
        "windows-1251",
        "windows-1252",
        "windows-1253",
        "windows-1254",
        "windows-1255",
        "windows-1256",
        "windows-1257",
        "windows-1258",
        "x-mac-cyrillic",
    ];
    let own = ["utf-8", "utf-8-bom", "utf-16le", "utf-16be", "utf-32le", "utf-32be"];
    own.iter().chain(&legacy).map(|name| Encoding::for_name(name).expect(name)).collect()
}

#[test]
fn every_name_leads_back_to_its_encoding() {
    for encoding in every_encoding() {
        assert_eq!(Encoding::for_name(&encoding.name()), Some(encoding));
        assert_eq!(encoding.name(), encoding.name().to_lowercase());
    }
    assert_eq!(Encoding::for_name("iso-2022-jp"), None);
    assert_eq!(Encoding::for_name("klingon"), None);
    assert_eq!(Encoding::for_name("latin1").expect("a label").name(), "windows-1252");
}

#[test]
fn marks_decide_first_and_the_longer_mark_wins() {
    assert_eq!(Encoding::detect(b"\xFF\xFEa\0", true), Encoding::Utf16Le);
    assert_eq!(Encoding::detect(b"\xFE\xFF\0a", true), Encoding::Utf16Be);
    assert_eq!(Encoding::detect(b"\xFF\xFE\0\0a\0\0\0", true), Encoding::Utf32Le);
    assert_eq!(Encoding::detect(b"\0\0\xFE\xFF\0\0\0a", true), Encoding::Utf32Be);
    assert_eq!(Encoding::detect(b"\xEF\xBB\xBFa", true), Encoding::Utf8Bom);
}

#[test]
fn a_character_cut_at_the_end_of_a_probe_is_still_utf8() {
    let text = "abc €".as_bytes();
    for cut in [1, 2] {
        let probe = &text[..text.len() - cut];
        assert_eq!(Encoding::detect(probe, false), Encoding::Utf8);
        assert_ne!(Encoding::detect(probe, true), Encoding::Utf8);
    }
}

#[test]
fn one_bad_byte_among_much_utf8_does_not_make_it_legacy() {
    let mut bytes = "größer, weißer, süßer, länger, höher".repeat(3).into_bytes();
    bytes.push(0xFF);
    assert_eq!(Encoding::detect(&bytes, true), Encoding::Utf8);
    let decoded = Encoding::Utf8.decode(&bytes);
    assert_eq!((decoded.replaced, decoded.faithful), (1, false));
}

#[test]
fn legacy_texts_are_recognised() {
    let samples = [
        ("windows-1252", "Die Straße nach Köln ist für Fußgänger nicht gesperrt, sagte er müde."),
        ("shift_jis", "これは日本語のテキストです。文字コードを判定するための文章です。"),
        ("gbk", "这是一个用于检测编码的中文文本。我们希望它能够被正确识别。"),
        ("windows-1251", "Это русский текст, по которому определяется кодировка файла."),
        ("euc-kr", "이것은 문자 인코딩을 감지하기 위한 한국어 텍스트입니다."),
    ];
    for (name, text) in samples {
        let bytes = Encoding::for_name(name).expect(name).encode(text).expect(name);
        let found = Encoding::detect(&bytes, true);
        assert_eq!(found.name(), name);
        assert_eq!(found.decode(&bytes).text, text);
    }
}

#[test]
fn what_an_encoding_lacks_is_named_with_its_place() {
    let latin = Encoding::for_name("windows-1252").expect("known");
    let refused = latin.encode("ä → b").expect_err("no arrow in it");
    assert_eq!((refused.character, refused.at), ('→', 3));
    assert_eq!(refused.to_string(), "'→' (U+2192) at byte 3 cannot be written in windows-1252");
}

#[test]
fn a_look_alike_is_refused_instead_of_written() {
    let japanese = Encoding::for_name("shift_jis").expect("known");
    let refused = japanese.encode("価格¥5").expect_err("would become a backslash");
    assert_eq!((refused.character, refused.at), ('¥', 6));
}

#[test]
fn a_second_spelling_of_a_character_is_not_called_faithful() {
    // NEC's row 13 and the IBM extension both hold the same character.
    let japanese = Encoding::for_name("shift_jis").expect("known");
    let decoded = japanese.decode(b"\xED\x40");
    assert_eq!((decoded.replaced, decoded.faithful), (0, false));
}

#[test]
fn half_a_unit_and_lone_surrogates_are_marked() {
    let odd = Encoding::Utf16Le.decode(b"\xFF\xFEa\0b");
    assert_eq!((&*odd.text, odd.replaced, odd.faithful), ("a\u{FFFD}", 1, false));
    let lone = Encoding::Utf16Be.decode(b"\xFE\xFF\xD8\x00\0a");
    assert_eq!((&*lone.text, lone.replaced), ("\u{FFFD}a", 1));
    let beyond = Encoding::Utf32Le.decode(b"\xFF\xFE\0\0\0\0\x11\0");
    assert_eq!((&*beyond.text, beyond.replaced), ("\u{FFFD}", 1));
}

#[test]
fn a_mark_inside_a_file_is_a_character() {
    assert_eq!(Encoding::Utf8.decode_part("\u{FEFF}a".as_bytes()).text, "\u{FEFF}a");
    assert_eq!(Encoding::Utf8Bom.decode("\u{FEFF}\u{FEFF}a".as_bytes()).text, "\u{FEFF}a");
    assert!(!Encoding::Utf8Bom.decode(b"no mark").faithful);
}

#[test]
fn line_ends_are_told_apart() {
    assert_eq!(LineEnds::of("one"), LineEnds::None);
    assert_eq!(LineEnds::of("one\ntwo"), LineEnds::Lf);
    assert_eq!(LineEnds::of("one\r\ntwo\r\n"), LineEnds::CrLf);
    assert_eq!(LineEnds::of("one\rtwo\r"), LineEnds::Cr);
    assert_eq!(LineEnds::of("10%\r20%\n"), LineEnds::Lf);
    assert_eq!(LineEnds::of("one\r\ntwo\n"), LineEnds::Mixed);
    assert_eq!(LineEnds::of("one\r\r\n"), LineEnds::CrLf);
}

proptest! {
    #[test]
    fn what_was_encoded_decodes_to_the_same_text(text in "\\PC{0,12}|[ -~äßéЖñ€あ中한\r\n]{0,60}") {
        for encoding in every_encoding() {
            if let Ok(bytes) = encoding.encode(&text) {
                let decoded = encoding.decode(&bytes);
                prop_assert_eq!(&*decoded.text, &*text, "{}", encoding.name());
                prop_assert_eq!(decoded.replaced, 0);
                prop_assert!(decoded.faithful);
            }
        }
    }

    #[test]
    fn faithful_bytes_encode_to_the_same_bytes(body in prop::collection::vec(any::<u8>(), 0..40)) {
        for encoding in every_encoding() {
            let bytes = [encoding.mark(), &body].concat();
            let decoded = encoding.decode(&bytes);
            if decoded.faithful {
                prop_assert_eq!(encoding.encode(&decoded.text).expect("came from it"), &*bytes);
            }
            // Only encodings with two spellings may be unfaithful without a mark in the text.
            let doubled = ["big5", "euc-jp", "euc-kr", "gbk", "gb18030", "shift_jis"];
            prop_assert!(
                decoded.faithful || decoded.replaced > 0
                    || doubled.contains(&&*encoding.name()),
                "{}", encoding.name()
            );
        }
    }

    #[test]
    fn detection_takes_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200), whole: bool) {
        let encoding = Encoding::detect(&bytes, whole);
        encoding.decode(&bytes);
    }
}
