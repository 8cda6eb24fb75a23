//! Windows of lines over every encoding, and over files too large to hold.

use std::cell::Cell;
use std::io::Write;

use proptest::prelude::*;

use super::*;

fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("written");
    file
}

fn paged(bytes: &[u8], encoding: Encoding, window: Window) -> Page {
    page(&file_of(bytes), bytes.len() as u64, &encoding, window, &|| false).expect("readable")
}

fn texts(page: &Page) -> Vec<&str> {
    page.lines.iter().map(|line| line.text.as_str()).collect()
}

fn from(from_line: u64, lines: usize) -> Window {
    Window { from_line, lines, ..Window::default() }
}

#[test]
fn a_window_has_its_lines_their_numbers_and_the_total() {
    let page = paged(b"one\ntwo\nthree\nfour\n", Encoding::Utf8, from(2, 2));
    assert_eq!(texts(&page), ["two", "three"]);
    assert_eq!(page.lines[0].number, 2);
    assert_eq!(page.total, Total::Exact(4));
    assert_eq!(page.line_ends, LineEnds::Lf);
    assert!(page.ends_with_newline);
}

#[test]
fn a_last_line_without_an_end_is_a_line() {
    let page = paged(b"one\ntwo", Encoding::Utf8, Window::default());
    assert_eq!(texts(&page), ["one", "two"]);
    assert_eq!(page.total, Total::Exact(2));
    assert!(!page.ends_with_newline);
}

#[test]
fn nothing_has_no_lines_and_one_newline_is_one() {
    assert_eq!(paged(b"", Encoding::Utf8, Window::default()).total, Total::Exact(0));
    let page = paged(b"\n", Encoding::Utf8, Window::default());
    assert_eq!((texts(&page), page.total), (vec![""], Total::Exact(1)));
    let page = paged(b"\xEF\xBB\xBF", Encoding::Utf8Bom, Window::default());
    assert_eq!((texts(&page), page.total), (vec![], Total::Exact(0)));
}

#[test]
fn odd_numbers_are_taken_calmly() {
    assert_eq!(texts(&paged(b"a\nb", Encoding::Utf8, from(0, 1))), ["a"]);
    let beyond = paged(b"a\nb", Encoding::Utf8, from(u64::MAX, usize::MAX));
    assert_eq!((beyond.lines.len(), beyond.total), (0, Total::Exact(2)));
    assert!(paged(b"a\nb", Encoding::Utf8, from(1, 0)).lines.is_empty());
    let nothing = Window { line_chars: 0, bytes: 0, ..Window::default() };
    let page = paged(b"abc\nd", Encoding::Utf8, nothing);
    assert_eq!(page.lines, [Line { number: 1, text: String::new(), cut: Some(3) }]);
    assert!(page.full);
    let all = Window { line_chars: usize::MAX, bytes: usize::MAX, ..Window::default() };
    assert_eq!(texts(&paged(b"abc\nd", Encoding::Utf8, all)), ["abc", "d"]);
}

#[test]
fn the_return_of_a_windows_line_is_not_shown_and_a_lone_one_is() {
    let page = paged(b"one\r\ntw\ro\r\n", Encoding::Utf8, Window::default());
    assert_eq!(texts(&page), ["one", "tw\ro"]);
    assert_eq!(page.line_ends, LineEnds::CrLf);
    let page = paged(b"one\r\ntwo\n", Encoding::Utf8, Window::default());
    assert_eq!(page.line_ends, LineEnds::Mixed);
}

#[test]
fn lines_of_an_old_macintosh_are_lines() {
    let page = paged(b"one\rtwo\r", Encoding::Utf8, Window::default());
    assert_eq!(texts(&page), ["one", "two"]);
    assert_eq!((page.total, page.line_ends), (Total::Exact(2), LineEnds::Cr));
    assert!(page.ends_with_newline);
}

#[test]
fn a_return_at_the_end_of_the_first_chunk_waits_for_its_line_feed() {
    let mut bytes = vec![b'x'; CHUNK - 1];
    bytes.extend_from_slice(b"\r\ntwo\r\n");
    let page = paged(&bytes, Encoding::Utf8, Window::default());
    assert_eq!(page.lines[0].cut, Some(CHUNK - 1 - 2000));
    assert_eq!(page.lines[1].text, "two");
    assert_eq!((page.total, page.line_ends), (Total::Exact(2), LineEnds::CrLf));
}

#[test]
fn a_long_line_is_cut_on_a_character_and_says_by_how_much() {
    let bytes = format!("{}\nnext\n", "€".repeat(2500));
    let page = paged(bytes.as_bytes(), Encoding::Utf8, Window::default());
    assert_eq!(page.lines[0].text, "€".repeat(2000));
    assert_eq!(page.lines[0].cut, Some(500));
    assert_eq!((page.lines[1].text.as_str(), page.lines[1].cut), ("next", None));
    assert_eq!(page.invalid, 0);
}

#[test]
fn a_line_of_just_the_limit_is_whole() {
    for character in ["a", "é", "€", "😀"] {
        for end in ["\n", "\r\n", ""] {
            let bytes = format!("{}{end}", character.repeat(2000));
            let page = paged(bytes.as_bytes(), Encoding::Utf8, Window::default());
            assert_eq!(page.lines[0].text.chars().count(), 2000);
            assert_eq!(page.lines[0].cut, None, "{character} {end:?}");
        }
    }
}

#[test]
fn long_lines_are_counted_in_every_encoding() {
    let text = format!("{}\r\nx", "aé中".repeat(5000));
    for name in ["utf-8-bom", "utf-16le", "utf-16be", "utf-32le", "utf-32be", "gb18030"] {
        let encoding = Encoding::for_name(name).expect(name);
        let page = paged(&encoding.encode(&text).expect(name), encoding, Window::default());
        assert_eq!(page.lines[0].cut, Some(13_000), "{name}");
        assert_eq!(texts(&page)[1], "x");
        assert_eq!((page.total, page.line_ends), (Total::Exact(2), LineEnds::CrLf), "{name}");
    }
}

#[test]
fn wide_characters_that_hold_the_byte_of_a_line_feed_end_no_line() {
    for encoding in [Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Utf32Le, Encoding::Utf32Be] {
        // U+0A0A, and U+0D00 beside U+000A, look like ends when read at the wrong place.
        let text = "\u{0A0A}\u{0D00}ਊ\na\u{0A00}\u{000B}\n";
        let page = paged(&encoding.encode(text).expect("any"), encoding, Window::default());
        assert_eq!(texts(&page), ["\u{0A0A}\u{0D00}ਊ", "a\u{0A00}\u{000B}"]);
        assert_eq!(page.total, Total::Exact(2));
    }
}

#[test]
fn bad_bytes_are_marked_and_counted() {
    let page = paged(b"a\xFFb\nok\n\xC3\n", Encoding::Utf8, Window::default());
    assert_eq!(texts(&page), ["a\u{FFFD}b", "ok", "\u{FFFD}"]);
    assert_eq!(page.invalid, 2);
    let half = paged(b"\xFF\xFEa\0b", Encoding::Utf16Le, Window::default());
    assert_eq!((texts(&half), half.invalid), (vec!["a\u{FFFD}"], 1));
}

#[test]
fn the_budget_of_bytes_ends_the_page_and_says_so() {
    let bytes = "x".repeat(1999) + "\n";
    let page = paged(bytes.repeat(2000).as_bytes(), Encoding::Utf8, Window::default());
    assert!(page.full);
    assert_eq!(page.lines.len(), 256 * 1024 / 2000);
    assert_eq!(page.total, Total::Exact(2000));
}

#[test]
fn a_budget_smaller_than_one_line_cuts_it_on_a_character() {
    let window = Window { bytes: 10, ..Window::default() };
    let page = paged("€€€€€€€€€\nbbbb\n".as_bytes(), Encoding::Utf8, window);
    assert_eq!(page.lines, [Line { number: 1, text: "€€".to_owned(), cut: Some(7) }]);
    assert_eq!((page.full, page.invalid), (true, 0));
}

#[test]
fn a_file_that_shrank_ends_early_without_an_error() {
    let file = file_of(b"one\ntwo\n");
    let page = page(&file, 1 << 40, &Encoding::Utf8, Window::default(), &|| false).expect("ends");
    assert_eq!((texts(&page), page.total), (vec!["one", "two"], Total::Exact(2)));
    assert_eq!(page.bytes_read, 8);
}

#[test]
fn what_is_appended_while_reading_is_not_read() {
    let file = file_of(b"one\ntwo\n");
    let chunks = Cell::new(0);
    let grow = || {
        chunks.set(chunks.get() + 1);
        (&file).write_all(b"more\n").expect("appended");
        chunks.get() > 10
    };
    let page = page(&file, 8, &Encoding::Utf8, Window::default(), &grow).expect("ends");
    assert_eq!((texts(&page), page.total), (vec!["one", "two"], Total::Exact(2)));
    assert_eq!(chunks.get(), 1);
}

#[test]
fn a_cancelled_page_says_how_far_it_counted() {
    let bytes = "line\n".repeat(200_000);
    let asked = Cell::new(0);
    let cancelled = || {
        asked.set(asked.get() + 1);
        asked.get() > 2
    };
    let file = file_of(bytes.as_bytes());
    let page =
        page(&file, bytes.len() as u64, &Encoding::Utf8, from(1, 3), &cancelled).expect("ends");
    assert_eq!(texts(&page), ["line"; 3]);
    let Total::AtLeast(counted) = page.total else { panic!("not cancelled") };
    assert!(counted > 100_000 && counted < 105_000, "{counted}");
    assert_eq!(page.bytes_read, 2 * CHUNK as u64);
}

#[test]
fn a_gigabyte_in_one_line_is_cut_and_counted() {
    const GIGABYTE: u64 = 1 << 30;
    let mut file = file_of(b"start");
    file.set_len(GIGABYTE).expect("sparse");
    std::io::Seek::seek(&mut file, io::SeekFrom::End(0)).expect("seeks");
    file.write_all(b"\nlast").expect("written");
    let page =
        page(&file, GIGABYTE + 5, &Encoding::Utf8, Window::default(), &|| false).expect("readable");
    assert!(page.lines[0].text.starts_with("start"));
    assert_eq!(page.lines[0].cut, Some((GIGABYTE - 2000) as usize));
    assert_eq!((page.lines[1].number, page.lines[1].text.as_str()), (2, "last"));
    assert_eq!(page.total, Total::Exact(2));
}

#[test]
fn ten_million_lines_are_passed_over() {
    let block = "0123456789\n".repeat(100_000);
    let mut file = tempfile::tempfile().expect("a file");
    for _ in 0..100 {
        file.write_all(block.as_bytes()).expect("written");
    }
    let len = block.len() as u64 * 100;
    let window = from(9_999_990, 2000);
    let page = page(&file, len, &Encoding::Utf8, window, &|| false).expect("readable");
    assert_eq!((page.lines.len(), page.total), (11, Total::Exact(10_000_000)));
    assert_eq!(page.lines[10].number, 10_000_000);
}

/// What a page must be, told by a program that holds the whole text.
fn expected(text: &str, window: Window) -> Vec<(u64, String, Option<usize>)> {
    let feeds = text.contains('\n');
    let mut lines: Vec<&str> = if feeds || !text.contains('\r') {
        text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect()
    } else {
        text.split('\r').collect()
    };
    // The last piece has no end, so its return is its own.
    if feeds && let (Some(last), Some(whole)) = (lines.last_mut(), text.split('\n').next_back()) {
        *last = whole;
    }
    if lines.last() == Some(&"") {
        lines.pop();
    }
    (1..)
        .zip(lines)
        .skip(window.from_line as usize - 1)
        .take(window.lines)
        .map(|(number, line)| {
            let all = line.chars().count();
            let cut = all.saturating_sub(window.line_chars);
            let shown = line.chars().take(window.line_chars).collect();
            (number, shown, (cut > 0).then_some(cut))
        })
        .collect()
}

proptest! {
    #[test]
    fn a_page_is_what_splitting_the_whole_text_gives(
        text in "[aé中😀\r\n\n]{0,80}",
        from_line in 1_u64..12,
        lines in 0_usize..12,
        line_chars in 1_usize..6,
    ) {
        let window = Window { from_line, lines, line_chars, bytes: 4096 };
        for name in ["utf-8", "utf-8-bom", "utf-16le", "utf-16be", "utf-32le", "utf-32be", "gb18030"] {
            let encoding = Encoding::for_name(name).expect(name);
            let page = paged(&encoding.encode(&text).expect(name), encoding, window);
            let shown: Vec<_> =
                page.lines.into_iter().map(|line| (line.number, line.text, line.cut)).collect();
            prop_assert_eq!(shown, expected(&text, window), "{}", name);
        }
    }

    #[test]
    fn any_bytes_in_any_encoding_are_paged(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        line_chars in 0_usize..9,
        budget in 0_usize..200,
    ) {
        for name in ["utf-8", "utf-16le", "utf-32be", "shift_jis", "windows-1252"] {
            let encoding = Encoding::for_name(name).expect(name);
            let window = Window { from_line: 1, lines: 50, line_chars, bytes: budget };
            let page = paged(&bytes, encoding, window);
            let size: usize = page.lines.iter().map(|line| line.text.len()).sum();
            prop_assert!(size <= budget, "{size} of {budget}");
            prop_assert!(page.lines.iter().all(|line| line.text.chars().count() <= line_chars));
        }
    }
}
