//! A diff that is applied gives the new text, and a patch read in pieces is the patch read at once.

use haft_edit::diff::{Bounds, unified};
use haft_edit::patch::{Parser, parse, write_patch};
use proptest::prelude::*;

use crate::texts::{code_pair, pair, patched, text};

proptest! {
    #[test]
    fn a_unified_diff_applied_to_the_old_text_gives_the_new_one((old, new) in pair(), context in 1..5_usize) {
        let diff = unified(&old, &new, "a/x", "b/x", &Bounds { context, ..Bounds::WHOLE });
        if old == new {
            prop_assert!(diff.text.is_empty());
        } else {
            prop_assert_eq!(patched(&diff.text, &old).map_err(|e| e.to_string()), Ok(new));
        }
    }

    #[test]
    fn an_envelope_applied_to_the_old_text_gives_the_new_one((old, new) in pair()) {
        let patch = write_patch("x", &old, &new);
        if old == new {
            prop_assert!(patch.is_empty());
        } else {
            prop_assert_eq!(patched(&patch, &old).map_err(|e| e.to_string()), Ok(new));
        }
    }

    #[test]
    fn a_patch_with_plain_line_ends_fits_a_file_with_others((old, new) in code_pair()) {
        let crlf = |text: &str| text.replace('\n', "\r\n");
        if old != new {
            let patch = write_patch("x", &old, &new);
            prop_assert_eq!(patched(&patch, &crlf(&old)).map_err(|e| e.to_string()), Ok(crlf(&new)));
            let diff = unified(&old, &new, "a/x", "b/x", &Bounds::WHOLE).text;
            prop_assert_eq!(patched(&diff, &crlf(&old)).map_err(|e| e.to_string()), Ok(crlf(&new)));
        }
    }

    #[test]
    fn a_patch_for_a_file_that_was_indented_since_lands_and_leaves_other_lines_alone_or_does_not_land((old, new) in code_pair()) {
        let indented = |text: &str| -> String {
            let indent = |line: &str| if line.trim().is_empty() { line.to_owned() } else { format!("    {line}") };
            text.split_inclusive('\n').map(indent).collect()
        };
        if old != new
            && let Ok(result) = patched(&write_patch("x", &old, &new), &indented(&old))
        {
            // How deep new lines go is for the tiers to say; what was there stays as it is, and nothing is lost.
            let bare = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
            prop_assert_eq!(bare(&result), bare(&new));
            let diff = unified(&indented(&old), &result, "a", "b", &Bounds::WHOLE);
            let least = unified(&old, &new, "a", "b", &Bounds::WHOLE);
            prop_assert!(diff.deletions <= least.deletions, "{}", diff.text);
        }
    }

    #[test]
    fn a_patch_for_a_file_with_blanks_at_line_ends_leaves_them_alone_or_does_not_land((old, new) in code_pair()) {
        let blanks = |text: &str| text.replace('\n', "  \n");
        if old != new
            && let Ok(result) = patched(&write_patch("x", &old, &new), &blanks(&old))
        {
            let bare = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
            prop_assert_eq!(bare(&result), bare(&new));
            let kept = old.lines().filter(|line| new.lines().any(|new| new == *line)).count();
            let with_blanks = result.lines().filter(|line| line.ends_with("  ")).count();
            prop_assert!(with_blanks * 2 >= kept, "{:?}", result);
        }
    }

    #[test]
    fn a_unified_diff_counts_what_it_shows((old, new) in pair()) {
        let diff = unified(&old, &new, "a/x", "b/x", &Bounds::WHOLE);
        let body = diff.text.lines().skip(2);
        let hunks: Vec<&str> = body.collect();
        let starting = |sign: char| hunks.iter().filter(|line| line.starts_with(sign)).count();
        prop_assert_eq!(diff.additions, starting('+'));
        prop_assert_eq!(diff.deletions, starting('-'));
        prop_assert_eq!(diff.first_changed_line.is_some(), old != new);
        let lines = |text: &str| text.split_inclusive('\n').count();
        prop_assert_eq!(lines(&old) + diff.additions, lines(&new) + diff.deletions);
    }

    #[test]
    fn a_patch_read_in_pieces_is_the_patch_read_at_once(
        patch in prop_oneof![
            pair().prop_map(|(old, new)| write_patch("x", &old, &new)),
            pair().prop_map(|(old, new)| unified(&old, &new, "a/x", "b/x", &Bounds::WHOLE).text),
            pieces(),
        ],
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut at: Vec<usize> = cuts.iter().map(|cut| patch.floor_char_boundary(cut.index(patch.len() + 1))).collect();
        at.push(patch.len());
        at.sort_unstable();
        let mut parser = Parser::new();
        let mut from = 0;
        let mut failed = None;
        let mut events = Vec::new();
        for end in at {
            match parser.push(&patch[from..end]) {
                Ok(more) => events.extend(more),
                Err(error) => failed = Some(error),
            }
            from = end;
        }
        let in_pieces = parser.finish();
        if let Some(error) = failed {
            prop_assert_eq!(&in_pieces, &Err(error));
        } else if in_pieces.is_ok() {
            let mut whole = Parser::new();
            let mut all = whole.push(&patch).unwrap();
            all.truncate(events.len());
            prop_assert_eq!(events, all);
        }
        prop_assert_eq!(in_pieces, parse(&patch));
    }
}

/// Lines of patches in any order.
fn pieces() -> impl Strategy<Value = String> {
    let markers = prop::sample::select(vec![
        "*** Begin Patch",
        "*** End Patch",
        "*** Add File: a",
        "*** Update File: b",
        "*** Delete File: c",
        "*** Update File: a",
        "*** Move to: d",
        "*** End of File",
        "@@",
        "@@ fn x",
        "@@ -1,2 +1,2 @@",
        "@@ -0,0 +1 @@",
        "--- a/x",
        "+++ b/x",
        "--- /dev/null",
        "+++ /dev/null",
        "diff --git a/x b/x",
        "rename from x",
        "rename to y",
        "new file mode 100644",
        "deleted file mode 100755",
        "```diff",
        "```",
        "cat <<'EOF'",
        "EOF",
        "",
        " x",
        "-x",
        "+y",
        "lost",
        "\\ No newline at end of file",
        "-- ",
        "--- ",
        "*** Nothing",
    ]);
    let line = prop_oneof![5 => markers.prop_map(str::to_owned), 1 => text()];
    (prop::collection::vec(line, 0..14), any::<bool>())
        .prop_map(|(lines, crlf)| lines.join(if crlf { "\r\n" } else { "\n" }))
}
