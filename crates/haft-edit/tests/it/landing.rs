//! Edits that land, each in the way that its name says.

use haft_edit::{Edit, Tier, Within, apply, locate, plan};

/// Checks what one edit makes of a text, and the tier that it took.
fn lands(text: &str, old: &str, new: &str, tier: Tier, expected: &str) {
    let changes = plan(text, &[Edit { old, new, replace_all: false }]);
    let changes = changes.unwrap_or_else(|refusal| panic!("refused: {refusal}"));
    assert_eq!(apply(text, &changes), expected);
    assert_eq!(changes[0].tier, tier);
}

#[test]
fn new_lines_take_the_line_ends_of_the_place() {
    lands("a\r\nb\r\n", "b", "b\nc", Tier::Exact, "a\r\nb\r\nc\r\n");
    lands("a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", Tier::LineEnds, "a\r\nx\r\nb\r\nc\r\n");
    lands("a\nb\nc\n", "a\r\nb\r\n", "a\r\nx\r\n", Tier::LineEnds, "a\nx\nc\n");
    lands("one\rtwo\rthree", "one\ntwo", "one\n2", Tier::LineEnds, "one\r2\rthree");
    lands("a\nb\r\nc\nd\r\n", "b\nc", "b\nx", Tier::LineEnds, "a\nb\r\nx\nd\r\n");
}

#[test]
fn an_edit_that_is_about_line_ends_is_left_to_itself() {
    lands("a\r\nb\n", "a\r\n", "a\n", Tier::Exact, "a\nb\n");
}

#[test]
fn a_line_is_not_joined_with_the_next_for_want_of_a_line_end() {
    lands("a\nb\nc\n", "b\n", "x", Tier::Exact, "a\nx\nc\n");
    lands("a\nb\nc\n", "b\n", "", Tier::Exact, "a\nc\n");
    lands("a\nb\nc\n", "b", "", Tier::Exact, "a\n\nc\n");
}

#[test]
fn a_last_line_without_an_end_stays_without() {
    lands("a\nbee\n\nlast", "last\n", "final\n", Tier::LineEnds, "a\nbee\n\nfinal");
}

#[test]
fn lines_left_alone_keep_their_very_bytes() {
    let text = "say(\u{201c}hi\u{201d})  \nold = 1\n";
    lands(
        text,
        "say(\"hi\")\nold = 1",
        "say(\"hi\")\nnew = 1",
        Tier::LookAlikes,
        "say(\u{201c}hi\u{201d})  \nnew = 1\n",
    );
}

#[test]
fn words_left_alone_keep_their_very_bytes() {
    lands(
        "x = \u{201c}a\u{201d} \u{2014} one\n",
        "x = \"a\" - one",
        "x = \"a\" - two",
        Tier::LookAlikes,
        "x = \u{201c}a\u{201d} \u{2014} two\n",
    );
}

#[test]
fn plain_characters_of_the_file_stay_plain_in_new_lines() {
    lands(
        "a = \"x\"\nb = \"y\"\n",
        "a = \u{201c}x\u{201d}\nb",
        "a = \u{201c}x\u{201d}\nc = \u{201c}z\u{201d}\nb",
        Tier::LookAlikes,
        "a = \"x\"\nc = \"z\"\nb = \"y\"\n",
    );
}

#[test]
fn composed_and_decomposed_letters_are_the_same() {
    lands(
        "// cafe\u{301} one\n",
        "caf\u{e9} one",
        "caf\u{e9} two",
        Tier::LookAlikes,
        "// cafe\u{301} two\n",
    );
}

#[test]
fn new_lines_are_shifted_as_the_match_is() {
    let text = "fn f() {\n        a();\n        b();\n}\n";
    lands(
        text,
        "a();\nb();\n",
        "a();\nif c {\n    d();\n}\nb();\n",
        Tier::Indentation,
        "fn f() {\n        a();\n        if c {\n            d();\n        }\n        b();\n}\n",
    );
}

#[test]
fn tabs_of_the_file_stay_tabs() {
    let text = "f {\n\ta {\n\t\tb\n\t}\n}\n";
    lands(
        text,
        "    a {\n        b\n    }",
        "    a {\n        b\n        if c {\n            d\n        }\n    }",
        Tier::Indentation,
        "f {\n\ta {\n\t\tb\n\t\tif c {\n\t\t\td\n\t\t}\n\t}\n}\n",
    );
}

#[test]
fn another_width_of_a_level_is_carried_over() {
    let text = "f:\n  a:\n    b\n  c\n";
    lands(
        text,
        "f:\n    a:\n        b",
        "f:\n    a:\n        b\n        d",
        Tier::Indentation,
        "f:\n  a:\n    b\n    d\n  c\n",
    );
}

#[test]
fn blank_lines_that_were_left_out_stay() {
    lands("a1\n\nb1\n\nc1\n", "a1\nb1\nc1", "a1\nb1\nc2", Tier::Blanks, "a1\n\nb1\n\nc2\n");
}

#[test]
fn blank_lines_that_were_made_up_are_left_out() {
    lands("aa\nbb\n", "\naa\nbb", "\naa\ncc", Tier::BoundaryBlankLines, "aa\ncc\n");
    lands("aa\nbb\nzz\n", "aa\n\nbb", "aa\n\ncc", Tier::Blanks, "aa\ncc\nzz\n");
}

#[test]
fn escapes_are_undone_in_both_texts() {
    lands(
        "say(\"a\");\nnext();\n",
        "say(\\\"a\\\");\\nnext();",
        "say(\\\"b\\\");\\nnext();",
        Tier::Escapes,
        "say(\"b\");\nnext();\n",
    );
    lands(
        "p(\"a\\n\");\nq();\n",
        "p(\\\"a\\\\n\\\");\\nq();",
        "p(\\\"b\\\\n\\\");\\nq();",
        Tier::Escapes,
        "p(\"b\\n\");\nq();\n",
    );
}

#[test]
fn a_backslash_that_is_there_is_taken_literally() {
    lands("p(\"a\\n\");\n", "\"a\\n\"", "\"b\\n\"", Tier::Exact, "p(\"b\\n\");\n");
}

#[test]
fn line_numbers_are_taken_off_in_every_form() {
    for (first, second) in [
        ("     1→", "     2→"),
        ("1: ", "2: "),
        ("1| ", "2| "),
        ("1\t", "2\t"),
        ("  1 | ", "  2 | "),
    ] {
        let old = format!("{first}  aaa\n{second}  bbb");
        let new = format!("{first}  aaa\n{second}  ccc");
        lands("  aaa\n  bbb\n", &old, &new, Tier::LineNumbers, "  aaa\n  ccc\n");
    }
}

#[test]
fn a_slip_in_a_line_that_stays_is_forgiven() {
    let text = "fn load() {\n    let connection = open();\n    connection.send(1);\n    finish(connection);\n}\n";
    let old = "    let conection = open();\n    connection.send(1);\n    finish(connection);";
    let new = "    let conection = open();\n    connection.send(2);\n    finish(connection);";
    lands(text, old, new, Tier::Near, &text.replace("send(1)", "send(2)"));
}

#[test]
fn a_comma_that_is_missing_in_a_line_that_stays_is_forgiven() {
    let text = "call(\n    connection,\n    first_argument\n    second_argument,\n);\n";
    let old = "    connection,\n    first_argument,\n    second_argument,";
    let new = "    connection,\n    first_argument,\n    third_argument,";
    lands(text, old, new, Tier::Near, &text.replace("second", "third"));
}

#[test]
fn every_place_of_a_tier_is_changed_when_asked() {
    let text = "  one(a)\n  two(b)\nx\n    one(a)\n    two(b)\n";
    let edit = Edit { old: "one(a)\ntwo(b)\n", new: "one(a)\nnew(c)\ntwo(b)\n", replace_all: true };
    let changes = plan(text, &[edit]).unwrap();
    assert_eq!(
        apply(text, &changes),
        "  one(a)\n  new(c)\n  two(b)\nx\n    one(a)\n    new(c)\n    two(b)\n"
    );
    assert_eq!(
        changes.iter().map(|change| change.lines.clone()).collect::<Vec<_>>(),
        [1..=2, 4..=5]
    );
}

#[test]
fn a_match_is_looked_for_only_where_it_may_be() {
    let text = "a = 1\nb = 2\na = 1\n";
    let edit = Edit { old: "a = 1", new: "a = 3", replace_all: false };
    let later = Within { range: 6..text.len(), at_end: false };
    assert_eq!(locate(text, &edit, &later).unwrap()[0].range, 12..17);
    let last = Within { range: 0..text.len(), at_end: true };
    assert_eq!(locate(text, &edit, &last).unwrap()[0].lines, 3..=3);
}

#[test]
fn lines_that_take_the_stead_of_an_indented_one_hang_as_it_does() {
    let text = "fn f() {\n    a();\n    c();\n}\n";
    let hung = "fn f() {\n    if b {\n        a();\n    }\n    c();\n}\n";
    lands(text, "a();", "if b {\n    a();\n}", Tier::Exact, hung);
    lands(text, "a();", "if b {\n        a();\n    }", Tier::Exact, hung);
    lands(text, "  a();", "  if b {\n      a();\n  }", Tier::Indentation, hung);
    lands(text, "a();  ", "if b {\n    a();\n}", Tier::Indentation, hung);
}

#[test]
fn a_line_end_of_two_bytes_is_not_taken_apart() {
    lands("a\r\nb\r\n", "\nb", "\nc", Tier::Exact, "a\r\nc\r\n");
    lands("a\r\nb\r\n", "\nb", "", Tier::Exact, "a\r\n");
}

#[test]
fn lines_that_a_block_is_put_around_keep_their_bytes() {
    lands(
        "a   = \u{201c}x\u{201d}\n}\nb   = 1\n",
        "a = \"x\"\n}\nb = 1",
        "if c {\n    a = \"x\"\n    }\n    b = 1\n}",
        Tier::Blanks,
        "if c {\n    a   = \u{201c}x\u{201d}\n    }\n    b   = 1\n}\n",
    );
}

#[test]
fn only_the_old_text_may_be_off() {
    let text = "fn f() {\n    first(1);\n    second(2);\n}\n";
    let expected = text.replace("second(2)", "second(\"\\t\")");
    lands(
        text,
        "first(1);\nsecond(2);",
        "    first(1);\n    second(\"\\t\");",
        Tier::Indentation,
        &expected,
    );
    lands(
        text,
        "    first(1);\\n    second(2);",
        "    first(1);\n    second(\"\\t\");",
        Tier::Escapes,
        &expected,
    );
}

#[test]
fn blanks_are_not_doubled_where_both_have_them() {
    lands("a = [1]\nb = 2\n", "a=[1]\nb=2", "a = [3]\nb=2", Tier::Blanks, "a = [3]\nb = 2\n");
}
