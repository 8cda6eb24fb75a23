//! Random texts and patches for the property tests.

use haft_edit::patch::{Kind, PatchError, apply_chunks, parse};
use proptest::prelude::*;

/// Lines of which many are equal, so that places repeat.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["", "a", "b", "}", "    x", "\tx", "--- a", "+++ b", "@@ -1 +1 @@", "*** End Patch"])
            .prop_map(str::to_owned),
        2 => "[a-c]{1,3}",
        1 => "[ -~]{0,20}",
        1 => "[äß→😀\u{a0}“”\u{2028} ]{0,5}",
        1 => prop::sample::select(vec!["a\rb", "\\ No newline at end of file", "```", "EOF", "diff --git a/x b/x", "\u{feff}a"])
            .prop_map(str::to_owned),
    ]
}

fn ends() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["\n", "\n", "\n", "\r\n"])
}

/// A text: with `\n`, `\r\n` or both, with or without a last line end, or empty.
pub(crate) fn text() -> impl Strategy<Value = String> {
    (prop::collection::vec((line(), ends()), 0..30), any::<bool>(), 0..4_u8).prop_map(
        |(lines, bare, style)| {
            let mut text = String::new();
            for (line, end) in lines {
                text.push_str(&line);
                text.push_str(match style {
                    0 => "\r\n",
                    1 => end,
                    _ => "\n",
                });
            }
            if bare && text.ends_with('\n') {
                text.pop();
            }
            text
        },
    )
}

/// Two texts, the second one mostly made from the first.
pub(crate) fn pair() -> impl Strategy<Value = (String, String)> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, line()), 0..6);
    prop_oneof![
        1 => (text(), text()),
        4 => (text(), edits, any::<bool>()).prop_map(|(old, edits, toggle)| {
            let mut lines: Vec<String> = old.split_inclusive('\n').map(str::to_owned).collect();
            for (at, kind, line) in edits {
                let at = at.index(lines.len() + 1);
                match kind {
                    0 => lines.insert(at, format!("{line}\n")),
                    1 if at < lines.len() => lines[at] = format!("{line}\n"),
                    _ if at < lines.len() => drop(lines.remove(at)),
                    _ => {}
                }
            }
            let mut new = lines.concat();
            if toggle && !new.ends_with('\n') {
                new.push('\n');
            } else if toggle {
                new.pop();
            }
            (old, new)
        }),
    ]
}

/// Two texts that look like code, with few equal lines, the second one made from the first.
pub(crate) fn code_pair() -> impl Strategy<Value = (String, String)> {
    let line = || {
        prop_oneof![
            6 => "( {4}){0,2}[a-z]{2,8}( [a-z]{1,6}){1,3}",
            1 => prop::sample::select(vec!["", "}", "    }", "    return x;"]).prop_map(str::to_owned),
        ]
    };
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, line()), 1..5);
    (prop::collection::vec(line(), 1..30), edits).prop_map(|(lines, edits)| {
        let mut changed = lines.clone();
        for (at, kind, line) in edits {
            let at = at.index(changed.len() + 1);
            match kind {
                0 => changed.insert(at, line),
                1 if at < changed.len() => changed[at] = line,
                _ if at < changed.len() => drop(changed.remove(at)),
                _ => {}
            }
        }
        let text =
            |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        (text(&lines), text(&changed))
    })
}

/// Reads a patch for one file and puts it on that file's text.
pub(crate) fn patched(patch: &str, original: &str) -> Result<String, PatchError> {
    let patch = parse(patch).unwrap_or_else(|error| panic!("{error}\n{patch}"));
    let [file] = patch.files.as_slice() else { panic!("one file") };
    let Kind::Update { chunks, .. } = &file.kind else { panic!("an update") };
    let changes = apply_chunks(&file.path, original, chunks)?;
    Ok(haft_edit::apply(original, &changes))
}
