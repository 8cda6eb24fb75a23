//! Edits that are refused, and what a model is told about it.

use haft_edit::{Cause, DifferenceKind, Edit, Miss, Refusal, Tier, Within, locate, plan};

fn miss(text: &str, old: &str, new: &str) -> Miss {
    let edit = Edit { old, new, replace_all: false };
    locate(text, &edit, &Within::all(text)).expect_err("it must be refused")
}

const TEXT: &str = "fn first(limit: u32) {\n    let total = sum(limit);\n    report(total);\n}\n\n\
                    fn second(limit: u32) {\n    let total = sum(limit);\n    store(total);\n}\n";

#[test]
fn several_places_are_listed() {
    let miss = miss(TEXT, "let total = sum(limit);", "let total = 0;");
    assert_eq!(
        miss.cause,
        Cause::Several { tier: Tier::Exact, places: 2, lines: vec![2..=2, 7..=7] }
    );
    assert!(miss.render().contains("2 times: line 2, line 7."), "{miss}");
}

#[test]
fn an_ambiguous_tier_never_falls_through_to_a_looser_one() {
    // Exactly there twice, and once more with another indentation.
    let text = "  go(1)\nx\n  go(1)\nx\n    go( 1 )\n";
    let miss = miss(text, "  go(1)\nx", "y");
    assert!(matches!(miss.cause, Cause::Several { tier: Tier::Exact, places: 2, .. }), "{miss}");
    let miss = self::miss("\tgo(1)\n\tx\n  go(1)\n  x\n", "go(1)\nx\n", "y\n");
    assert!(
        matches!(miss.cause, Cause::Several { tier: Tier::Indentation, places: 2, .. }),
        "{miss}"
    );
}

#[test]
fn overlapping_places_are_several() {
    assert!(matches!(miss("aaa", "aa", "b").cause, Cause::Several { places: 2, .. }));
}

#[test]
fn lines_left_out_are_refused() {
    let miss = miss(TEXT, "fn first(limit: u32) {\n    // ...\n}", "fn first() {\n}");
    assert_eq!(miss.cause, Cause::Elided { line: 2 });
}

#[test]
fn a_placeholder_in_the_new_text_is_refused() {
    let miss = miss(TEXT, "    report(total);\n}", "    // ... existing code ...\n}");
    assert_eq!(miss.cause, Cause::Placeholder { line: 1 });
}

#[test]
fn a_stale_middle_is_named() {
    let old = "fn first(limit: u32) {\n    let total = product(limit);\n    report(total);\n}";
    let miss = miss(TEXT, old, "x");
    assert_eq!(miss.cause, Cause::StaleMiddle { line: 2 });
    let difference = miss.nearest[0].difference.as_ref().unwrap();
    assert_eq!((difference.kind, difference.line), (DifferenceKind::Words, 2));
    assert_eq!(difference.there, "let total = ⟦sum(limit);");
    assert_eq!(difference.written, "let total = ⟦product(limit);");
}

#[test]
fn what_was_done_before_is_said() {
    let miss = self::miss(TEXT, "    write_down(total);\n", "    report(total);\n");
    assert_eq!(miss.cause, Cause::AlreadyApplied { lines: 3..=3 });
    let miss = self::miss(
        TEXT,
        "    report(total);\n",
        "    report(total);\n}\n\nfn second(limit: u32) {\n",
    );
    assert!(matches!(miss.cause, Cause::AlreadyApplied { .. }), "{miss}");
}

#[test]
fn nothing_to_look_for_and_nothing_to_change_are_refused() {
    assert_eq!(miss(TEXT, "", "x").cause, Cause::EmptyOld);
    assert_eq!(miss(TEXT, "report", "report").cause, Cause::SameText);
    assert_eq!(miss("", "report", "x").cause, Cause::Absent);
}

#[test]
fn an_edit_of_blanks_needs_the_right_blanks() {
    let miss = miss("f:\n    a\n    b\n", "  a\n  b\n", "      a\n      b\n");
    assert!(matches!(miss.cause, Cause::OnlyBlanks { .. }), "{miss}");
}

#[test]
fn tabs_where_spaces_were_written_are_named() {
    // The match is sure; how deep the new line goes is not.
    let text = "a {\n\tone();\n\t  two();\n}\n";
    let miss = miss(text, "  one();\n    two();\n", "  one();\n   three();\n    two();\n");
    assert!(matches!(miss.cause, Cause::Indentation { .. }), "{miss}");
    assert!(miss.render().contains("tabs where you wrote spaces, line 2"), "{miss}");
}

#[test]
fn other_names_numbers_and_operators_are_no_slips() {
    for (there, written) in [
        ("limit", "limits"),
        ("32", "64"),
        ("report", "record"),
        ("sum", "num"),
        ("total", "tally"),
    ] {
        let old = "fn first(limit: u32) {\n    let total = sum(limit);\n    report(total);\n}"
            .replacen(there, written, 1);
        let new = old.replacen("}", "    more();\n}", 1);
        miss(TEXT, &old, &new);
    }
    miss(
        "if a < b && c {\n    run_the_thing();\n}\n",
        "if a <= b && c {\n    run_the_thing();\n}",
        "x",
    );
}

#[test]
fn a_twin_is_not_taken_for_what_was_meant() {
    miss(TEXT, "fn third(limit: u32) {\n    let total = sum(limit);\n    store(total);\n}", "x");
}

#[test]
fn the_first_of_similar_blocks_is_never_picked() {
    let text = "a:\n  run: x\n  name: one\nb:\n  run: x\n  name: two\n";
    assert!(matches!(miss(text, "  run: y\n", "  run: z\n").cause, Cause::Absent));
    miss(text, "run:  x", "run: z");
}

#[test]
fn a_miss_is_never_longer_than_two_kilobytes() {
    let long = "word ".repeat(5_000);
    let text = format!("{long}\n{long}x\n");
    assert!(miss(&text, &format!("{long}y"), "z").render().len() <= 2_048);
    let many = "same\n".repeat(5_000);
    assert!(miss(&many, "same", "other").render().len() <= 2_048);
}

#[test]
fn edits_that_overlap_are_refused_together() {
    let edits = [
        Edit { old: "let total = sum(limit);\n    report(total);", new: "x", replace_all: false },
        Edit { old: "report(total);\n}", new: "y", replace_all: false },
    ];
    let refusal = plan(TEXT, &edits).unwrap_err();
    assert_eq!(refusal, Refusal::Overlap { first: 0, second: 1, line: 3 });
    assert_eq!(plan(TEXT, &[]), Err(Refusal::NoEdits));
}

#[test]
fn a_miss_of_one_edit_refuses_all_and_says_which() {
    let good = Edit { old: "report", new: "tell", replace_all: false };
    let bad = Edit { old: "nowhere to be found", new: "x", replace_all: false };
    let refusal = plan(TEXT, &[good, bad]).unwrap_err();
    assert!(refusal.to_string().starts_with("Edit 2 of 2, so nothing was changed:"), "{refusal}");
}

#[test]
fn lines_that_may_hang_either_way_are_refused() {
    let text = "def f():\n    return 1\n";
    let miss = miss(text, "return 1", "return 1\n\ndef g():\n    return 2");
    assert_eq!(miss.cause, Cause::Indentation { lines: 2..=2 });
    let miss = self::miss("a:\n    b: 1\n", "b: 1", "b:\n    - 1\n    - 2");
    assert_eq!(miss.cause, Cause::Indentation { lines: 2..=2 });
}

#[test]
fn another_initial_or_last_letter_makes_another_name() {
    let text = "pub fn getsockopt(\n    level: c_int,\n    option_value: c_int,\n) -> c_int;\n";
    for other in ["setsockopt", "getsockopf", "Getsockopt"] {
        let old = text.replace("getsockopt", other);
        let new = old.replace("level", "depth");
        assert!(matches!(miss(text, &old, &new).cause, Cause::Absent | Cause::StaleMiddle { .. }));
    }
}

#[test]
fn a_number_that_the_file_has_no_line_for_is_part_of_the_text() {
    let miss = miss("color: red;\n", "2000: color: red;", "2000: color: blue;");
    assert_eq!(miss.cause, Cause::Absent);
}

#[test]
fn escapes_of_a_kind_that_stands_both_ways_are_refused() {
    let text = "say(\"a\");\nnext();\n";
    let miss = miss(text, "say(\\\"a\\\");\\nnext();", "say(\"b\");\\nnext();");
    assert!(matches!(miss.cause, Cause::Absent | Cause::StaleMiddle { .. }), "{miss}");
}
