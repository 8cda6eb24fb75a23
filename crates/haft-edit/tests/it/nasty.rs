//! No text, however nasty, makes a panic or takes long. Sizes are chosen so that quadratic work would take minutes.

use haft_edit::diff::{Bounds, CompactBounds, compact, inline, unified};
use haft_edit::patch::{Kind, apply_chunks, parse, write_patch};
use proptest::prelude::*;

use crate::texts::{patched, text};

fn show_all(old: &str, new: &str) -> usize {
    let diff = unified(old, new, "a/f", "b/f", &Bounds::default());
    assert!(diff.text.len() <= Bounds::default().text_bytes + 100);
    let short = compact(old, new, &CompactBounds::default());
    assert!(short.len() < 4200, "{}", short.len());
    let bytes: usize = inline(old, new, &Bounds::default())
        .iter()
        .flat_map(|line| &line.segments)
        .map(|part| part.text.len())
        .sum();
    assert!(bytes <= Bounds::default().text_bytes);
    diff.additions + diff.deletions
}

#[test]
fn two_long_lines_that_differ_are_compared_in_bounds() {
    let old = "let value = compute(first, second);".repeat(3000);
    let new = old.replace("second", "third");
    assert_eq!(show_all(&old, &new), 2);
    assert_eq!(show_all(&"a".repeat(1_000_000), &"b".repeat(1_000_000)), 2);
}

#[test]
fn a_million_lines_are_compared_in_bounds() {
    let old: String = (0..500_000).map(|line| format!("{line}\n")).collect();
    let new: String = (0..500_000).rev().map(|line| format!("{line}\n")).collect();
    assert!(show_all(&old, &new) > 900_000);
    assert_eq!(show_all(&old, &old.replace("\n250000\n", "\nhere\n")), 2);
}

#[test]
fn texts_that_share_nothing_or_only_noise_are_compared_in_bounds() {
    let noise = |seed: usize| -> String {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        (0..10_000).map(|_| format!("{}\n", next() % 50)).collect()
    };
    show_all(&noise(1), &noise(2));
    show_all(&"a\n".repeat(20_000), &"a\nb\n".repeat(10_000));
}

#[test]
fn a_patch_on_lines_that_are_all_equal_is_refused_in_time() {
    let text = "\n".repeat(200_000);
    let context = " \n".repeat(80_000);
    let patch =
        format!("*** Begin Patch\n*** Update File: f\n{context}+x\n{context}*** End Patch\n");
    assert!(patched(&patch, &text).is_err());
    let hunk = format!("--- a/f\n+++ b/f\n@@ -100,160000 +100,160001 @@\n{context}+x\n{context}");
    assert_eq!(patched(&hunk, &text).unwrap().len(), text.len() + 2);
}

#[test]
fn many_chunks_on_a_long_file_are_placed_in_time() {
    let old: String = (0..50_000).map(|line| format!("line {line}\n")).collect();
    let new: String = (0..50_000)
        .map(|line| format!("{} {line}\n", if line % 50 == 0 { "changed" } else { "line" }))
        .collect();
    assert_eq!(patched(&write_patch("f", &old, &new), &old).unwrap(), new);
}

#[test]
fn long_lines_and_many_markers_are_read_in_time() {
    let line = "x".repeat(2_000_000);
    let patch = format!("*** Begin Patch\n*** Update File: f\n-{line}\n+{line}y\n*** End Patch\n");
    assert_eq!(patched(&patch, &line).unwrap().len(), line.len() + 1);
    for (head, repeated) in [
        ("*** Begin Patch\n*** Update File: f\n", "@@ x\n"),
        ("*** Begin Patch\n", "*** Add File: f\n"),
        ("", "--- a/f\n"),
        ("--- a/f\n+++ b/f\n@@\n", "--- a\n"),
        ("", "diff --git a/f b/f\n"),
        ("", "```\n"),
        ("", "cat <<EOF\n"),
        ("*** Begin Patch\n*** Update File: f\n-x\n", "\n"),
    ] {
        let patch = format!("{head}{}", repeated.repeat(100_000));
        let message =
            parse(&patch).map(|patch| patch.files.len()).map_err(|error| error.to_string().len());
        assert!(message.is_err_and(|len| len < 1000) || head.ends_with("@@\n"), "{head}{repeated}");
    }
    let many: String = (0..20_000).map(|file| format!("*** Add File: f{file}\n+x\n")).collect();
    assert_eq!(
        parse(&format!("*** Begin Patch\n{many}*** End Patch\n")).unwrap().files.len(),
        20_000
    );
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_briefly(patch in prop_oneof![any::<String>(), text()]) {
        if let Err(error) = parse(&patch) {
            prop_assert!(error.to_string().len() < 1500);
        }
    }

    #[test]
    fn any_chunk_is_placed_or_refused_briefly(
        original in text(),
        wanted in text(),
        header in "[a-c }]{0,3}",
        signs in prop::collection::vec(prop::sample::select(vec![' ', '-', '+']), 1..12),
        at_end in any::<bool>(),
    ) {
        let lines = wanted.lines().zip(&signs).map(|(line, sign)| format!("{sign}{line}\n"));
        let end = if at_end { "*** End of File\n" } else { "" };
        let patch = format!("*** Begin Patch\n*** Update File: f\n@@ {header}\n{}{end}*** End Patch", lines.collect::<String>());
        if let Ok(patch) = parse(&patch)
            && let Kind::Update { chunks, .. } = &patch.files[0].kind
        {
            match apply_chunks("f", &original, chunks) {
                Ok(changes) => {
                    let mut from = 0;
                    for change in &changes {
                        prop_assert!(from <= change.range.start && change.range.end <= original.len());
                        prop_assert!(original.get(change.range.clone()).is_some());
                        from = change.range.end;
                    }
                }
                Err(error) => prop_assert!(error.to_string().len() < 4000),
            }
        }
    }
}

#[test]
fn edits_of_large_blocks_and_of_many_places_take_no_time() {
    let plan = |text: &str, old: &str, new: &str, replace_all: bool| {
        let begun = std::time::Instant::now();
        let planned = haft_edit::plan(text, &[haft_edit::Edit { old, new, replace_all }]);
        assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
        planned.map(|changes| changes.len())
    };
    let block = |indent: &str, word: &str| -> String {
        (0..20_000).map(|line| format!("{indent}call({line}, {word}, {});\n", line % 7)).collect()
    };
    assert_eq!(plan(&block("    ", "one"), &block("", "one"), &block("", "two"), false), Ok(1));
    let gap = "\n".repeat(50_000);
    let apart = |end: &str| format!("first line{gap}{end}");
    assert_eq!(
        plan("first line\nlast line\n", &apart("last line"), &apart("new line"), false),
        Ok(1)
    );
    let long = "word ".repeat(100_000);
    assert_eq!(plan(&long, "word", "a\nb", true), Ok(100_000));
    let (there, old, new) =
        (format!("  {long}end\n"), format!("{long} end"), format!("{long} new"));
    assert_eq!(plan(&there, &old, &new, false), Ok(1));
}
