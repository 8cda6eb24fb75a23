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

/// A text, where it is to be changed, and what is to stand there.
fn change_of(text: &str, from: usize, to: usize) -> std::ops::Range<usize> {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let (one, two) = (places[from % places.len()], places[to % places.len()]);
    one.min(two)..one.max(two)
}

/// Characters that the encoding can hold, made of what it makes of bytes.
fn encodable(encoding: &Encoding, bytes: &[u8]) -> String {
    let text = encoding.decode_part(bytes).text.into_owned();
    text.chars().filter(|one| encoding.encode_part(&one.to_string()).is_ok()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_change_of_a_span_leaves_every_other_byte_in_any_encoding(
        which in 0_usize..39,
        bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0x20_u8..0x7f, Just(b'\n'), Just(b'\r')], 0..60),
        new in proptest::collection::vec(any::<u8>(), 0..12),
        (from, to) in (0_usize..60, 0_usize..60),
        clean in any::<bool>(),
    ) {
        let encoding = every_encoding()[which];
        let body = match clean {
            // What the encoding itself would write.
            true => encoding.encode_part(&encodable(&encoding, &bytes)).unwrap().into_owned(),
            false => bytes,
        };
        let whole = [encoding.mark(), &body].concat();
        let text = encoding.decode(&whole).text.into_owned();
        let range = change_of(&text, from, to);
        let new = encodable(&encoding, &new).replace(char::REPLACEMENT_CHARACTER, "");
        let (before, rest) = text.split_at(range.start);
        let after = rest.split_at(range.len()).1;
        let expected = format!("{before}{new}{after}");
        match encoding.splice(&whole, &[(range.clone(), &new)]) {
            Ok(spliced) => {
                prop_assert_eq!(&*encoding.decode(&spliced).text, &expected);
                prop_assert!(spliced.starts_with(encoding.mark()));
                // Before and after the span, byte for byte what was there.
                let head = encoding.encode_part(before).map_or(0, |head| head.len());
                let tail = encoding.encode_part(after).map_or(0, |tail| tail.len());
                if clean {
                    let mark = encoding.mark().len();
                    prop_assert_eq!(&spliced[..mark + head], &whole[..mark + head]);
                    prop_assert_eq!(&spliced[spliced.len() - tail..], &whole[whole.len() - tail..]);
                }
            }
            Err(error) => {
                let several = matches!(encoding, Encoding::Legacy(legacy) if !legacy.is_single_byte());
                prop_assert!(several || !clean, "{error}");
                prop_assert!(!clean || !encoding.decode(&whole).faithful, "{error}");
            }
        }
    }

    #[test]
    fn damaged_utf_8_keeps_its_damage_outside_the_span(
        before in proptest::collection::vec(any::<u8>(), 0..20),
        after in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let whole = [&before, "\nold é\n".as_bytes(), &after].concat();
        let text = String::from_utf8_lossy(&whole).into_owned();
        prop_assume!(text.matches("old é").count() == 1);
        let at = text.find("old é").unwrap();
        let spliced = Encoding::Utf8.splice(&whole, &[(at..at + 6, "new ü")]).unwrap();
        prop_assert_eq!(spliced, [&before, "\nnew ü\n".as_bytes(), &after].concat());
    }
}

#[test]
fn several_spans_are_changed_at_once_and_in_order_only() {
    let utf_16 = Encoding::Utf16Le.encode("eins zwei drei").unwrap();
    let changed = Encoding::Utf16Le.splice(&utf_16, &[(0..4, "one"), (10..14, "three")]).unwrap();
    assert_eq!(Encoding::Utf16Le.decode(&changed).text, "one zwei three");
    for bad in [[(5..9, "x"), (0..4, "y")], [(0..6, "x"), (5..9, "y")], [(0..4, "x"), (5..99, "y")]]
    {
        let refused = Encoding::Utf16Le.splice(&utf_16, &bad);
        assert!(matches!(refused, Err(SpliceError::Indivisible { .. })), "{bad:?}");
    }
    let latin = Encoding::for_name("windows-1252").unwrap();
    let refused = latin.splice(b"caf\xE9", &[(0..3, "日本")]).unwrap_err();
    assert!(refused.to_string().contains("cannot be written in windows-1252"), "{refused}");
    let bad = Encoding::Utf8.splice(b"a\xFFb", &[(0..5, "b\u{FFFD}a")]).unwrap_err();
    assert!(matches!(bad, SpliceError::Undecodable { at: 1 }), "{bad}");
}
