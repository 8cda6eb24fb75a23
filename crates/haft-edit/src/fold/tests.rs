//! What folding drops, and that the way back is right.

use super::*;

#[test]
fn keys_keep_only_blanks_that_part_words() {
    assert_eq!(key("  let  x = foo( a,b ) ;  "), "let x=foo(a,b);");
    assert_eq!(key("\u{201c}a\u{a0}b\u{201d}\u{2014}c\u{200b}d\u{2026}"), "\"a b\"-cd...");
    assert_eq!(key("cafe\u{301} x"), key("caf\u{e9}  x"));
    assert_eq!(key(" \t\u{a0}"), "");
}

#[test]
fn a_place_in_the_key_leads_back_to_the_line() {
    let line = " a\u{301}  bc \u{2026} d";
    let mapped = Mapped::new(line);
    assert_eq!(mapped.key, "\u{e1} bc...d");
    assert_eq!(mapped.start_of(0), Some(1));
    assert_eq!(mapped.end_of(2), Some(4), "before the blank that parts the words");
    assert_eq!(mapped.start_of(3), Some(6));
    assert_eq!(mapped.start_of(6), None, "within an ellipsis");
    assert_eq!(mapped.end_of(mapped.key.len()), Some(line.len()));
    assert_eq!(mapped.key_before(4), 2);
    assert_eq!(mapped.key_before(0), 0);
}

#[test]
fn blank_lines_have_no_key() {
    let lines = Lines::new("a\n\n  b c\r\n");
    let keys = Keys::new(&lines);
    assert_eq!(keys.text, "a\nb c\n");
    assert_eq!((keys.count(), keys.line(1), keys.key(1)), (2, 2, "b c"));
    assert_eq!((keys.at(0), keys.at(1), keys.at(2)), (0, 0, 1));
}
