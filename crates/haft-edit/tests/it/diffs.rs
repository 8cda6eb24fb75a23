//! What changed, for files, models and terminals, and how much of it is shown.

use haft_edit::diff::{Bounds, CompactBounds, Line, Role, compact, inline, unified};
use proptest::prelude::*;

use crate::texts::pair;

fn diff(old: &str, new: &str) -> String {
    unified(old, new, "a/f", "b/f", &Bounds::WHOLE).text
}

fn short(old: &str, new: &str) -> String {
    compact(old, new, &CompactBounds::default())
}

#[test]
fn a_unified_diff_has_headers_counts_and_three_lines_around() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let diff = unified(old, &old.replace('5', "five\nV"), "a/f", "b/f", &Bounds::WHOLE);
    assert_eq!(
        diff.text,
        "--- a/f\n+++ b/f\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+V\n 6\n 7\n 8\n"
    );
    assert_eq!((diff.additions, diff.deletions, diff.first_changed_line), (2, 1, Some(5)));
}

#[test]
fn a_missing_last_line_end_and_empty_texts_are_said() {
    assert_eq!(
        diff("a", "a\n"),
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"
    );
    assert_eq!(diff("", "a\n"), "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n");
    assert_eq!(diff("a\n", ""), "--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-a\n");
    assert_eq!(diff("a\n", "a\n"), "");
    assert_eq!(unified("", "", "a", "b", &Bounds::WHOLE).first_changed_line, None);
}

#[test]
fn paths_that_would_end_early_are_quoted() {
    let diff = unified("a\n", "b\n", "a/x y", "b/t\tq\"", &Bounds::WHOLE);
    assert!(diff.text.starts_with("--- a/x y\t\n+++ \"b/t\\tq\\\"\"\n"), "{}", diff.text);
}

#[test]
fn a_long_diff_stops_on_a_line_and_says_what_is_missing() {
    let old: String = (0..5000).map(|line| format!("{line}\n")).collect();
    let diff = unified(&old, "", "a/f", "b/f", &Bounds { text_bytes: 1000, ..Bounds::WHOLE });
    assert!(
        diff.text.len() < 1100 && diff.text.ends_with("more lines of this diff are not shown\n")
    );
    assert_eq!(diff.deletions, 5000);
    assert_eq!(diff.text.lines().count() - 3 - 1 + diff.missing_lines, 5000);
}

#[test]
fn texts_with_too_many_changed_lines_are_one_hunk_without_head_and_tail() {
    let old = format!("head\n{}tail\n", "a\nb\n".repeat(50));
    let new = format!("head\n{}tail\n", "b\nc\n".repeat(50));
    let diff = unified(&old, &new, "a/f", "b/f", &Bounds { compared_lines: 10, ..Bounds::WHOLE });
    assert_eq!((diff.additions, diff.deletions, diff.first_changed_line), (100, 100, Some(2)));
    assert_eq!(crate::texts::patched(&diff.text, &old).unwrap(), new);
}

#[test]
fn a_model_reads_changed_lines_with_their_numbers_and_two_around() {
    let old: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    let new = old.replace("line 9\n", "nine\nand a half\n").replace("line 25\n", "");
    assert_eq!(
        short(&old, &new),
        " 7   line 7\n 8   line 8\n 9 - line 9\n 9 + nine\n10 + and a half\n11   line 10\n12   line 11\n   …\n\
         24   line 23\n25   line 24\n25 - line 25\n26   line 26\n27   line 27\n"
    );
    assert_eq!(short(&old, &old), "");
}

#[test]
fn a_model_sees_changes_of_line_ends_only_where_they_are_the_change() {
    assert_eq!(short("a\r\nb\r\n", "a\r\nc\r\n"), "1   a\n2 - b\n2 + c\n");
    assert_eq!(short("a\r\n", "a\n"), "1 - a␍\n1 + a\n");
    assert_eq!(short("a", "a\n"), "1 - a  (no line end)\n1 + a\n");
}

#[test]
fn what_a_model_reads_is_bounded_in_lines_bytes_and_within_a_line() {
    let old: String = (0..1000).map(|line| format!("{line}\n")).collect();
    let text = short(&old, "");
    assert_eq!(text.lines().count(), 61);
    assert!(text.ends_with("… 940 more changed lines\n"), "{text}");
    let long = format!("{}A{}", "ä".repeat(100_000), "ö".repeat(1000));
    let text = short(&long, &long.replace('A', "B"));
    assert!(text.len() < 2000, "{}", text.len());
    assert!(text.contains('A') && text.contains('B'), "{text}");
}

fn marked(lines: &[Line]) -> Vec<String> {
    let part = |segment: &haft_edit::diff::Segment| match segment.changed {
        true => format!("[{}]", segment.text),
        false => segment.text.clone(),
    };
    lines
        .iter()
        .map(|line| {
            format!("{}{}", line.role.sign(), line.segments.iter().map(part).collect::<String>())
        })
        .collect()
}

#[test]
fn a_terminal_gets_the_changed_words_marked() {
    let lines = inline("x\nlet a = one(b);\n", "x\nlet a = two(b);\nmore\n", &Bounds::default());
    assert_eq!(marked(&lines), [" x", "-let a = [one](b);", "+let a = [two](b);", "+[more]"]);
    let lines = inline("completely\n", "different\n", &Bounds::default());
    assert_eq!(marked(&lines), ["-[completely]", "+[different]"]);
    assert_eq!(lines[1].role, Role::Added);
}

#[test]
fn a_terminal_gets_long_lines_cut() {
    let long = format!("{}A{}", "ä".repeat(100_000), "ö".repeat(1000));
    let lines = inline(&long, &long.replace('A', "B"), &Bounds::default());
    let bytes: usize =
        lines.iter().flat_map(|line| &line.segments).map(|segment| segment.text.len()).sum();
    assert!(bytes < 20_000, "{bytes}");
    let changed: Vec<&str> = lines
        .iter()
        .flat_map(|line| &line.segments)
        .filter(|part| part.changed)
        .map(|part| part.text.as_str())
        .collect();
    assert_eq!(changed, ["A", "B"]);
}

proptest! {
    #[test]
    fn parts_of_lines_make_the_lines((old, new) in pair()) {
        let side = |lines: &[Line], without: Role| -> Vec<String> {
            let kept = lines.iter().filter(|line| line.role != without);
            kept.map(|line| line.segments.iter().map(|part| part.text.as_str()).collect()).collect()
        };
        let whole = Bounds { context: 1000, ..Bounds::WHOLE };
        let lines = inline(&old, &new, &whole);
        let expected = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
        if old != new {
            let bare = |text: &str| text.ends_with('\r');
            if !bare(&old) { prop_assert_eq!(side(&lines, Role::Added), expected(&old)); }
            if !bare(&new) { prop_assert_eq!(side(&lines, Role::Removed), expected(&new)); }
        }
    }

    #[test]
    fn what_a_model_reads_is_within_its_bounds((old, new) in pair(), lines in 1..20_usize, bytes in 50..500_usize) {
        let bounds = CompactBounds { context: 2, lines, bytes, line_chars: 20 };
        let text = compact(&old, &new, &bounds);
        prop_assert!(text.lines().count() <= lines + 1);
        prop_assert!(text.len() <= bytes + 40);
        prop_assert_eq!(text.is_empty(), old == new);
    }
}
