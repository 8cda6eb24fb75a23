//! JSON for reading: indented, with every number and text as the server wrote it.

use serde::de::IgnoredAny;

/// How much longer the indented text may be: what is nested deep is mostly blanks.
const GROWTH: usize = 4;
const LEAST_ROOM: usize = 64 * 1024;

/// The same JSON, indented; none if it is no JSON, nested too deep, or would get many times as long.
#[must_use]
pub fn pretty(text: &str) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    let most = text.len().saturating_mul(GROWTH).max(LEAST_ROOM);
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0_usize;
    let mut opened = false;
    let mut letters = text.chars();
    while let Some(letter) = letters.find(|letter| !letter.is_ascii_whitespace()) {
        if matches!(letter, '}' | ']') {
            depth = depth.saturating_sub(1);
        }
        // A bracket that closes at once stays on its line.
        if opened != matches!(letter, '}' | ']') {
            line(&mut out, depth);
        }
        opened = matches!(letter, '{' | '[');
        match letter {
            '"' => string(&mut letters, &mut out),
            ':' => out.push_str(": "),
            other => out.push(other),
        }
        depth += usize::from(opened);
        if letter == ',' {
            line(&mut out, depth);
        }
        if out.len() > most {
            return None;
        }
    }
    Some(out)
}

/// Copies a string to its end.
fn string(letters: &mut std::str::Chars<'_>, out: &mut String) {
    out.push('"');
    while let Some(letter) = letters.next() {
        out.push(letter);
        match letter {
            '\\' => out.extend(letters.next()),
            '"' => return,
            _ => {}
        }
    }
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::pretty;

    #[test]
    fn numbers_and_texts_stay_as_they_are() {
        let text =
            r#"{"a":[1.10,12345678901234567890123,"x, {\"y\"}: \\"],"b":{},"c":[ ], "d":[{}]}"#;
        let wanted = r#"{
  "a": [
    1.10,
    12345678901234567890123,
    "x, {\"y\"}: \\"
  ],
  "b": {},
  "c": [],
  "d": [
    {}
  ]
}"#;
        assert_eq!(pretty(text).unwrap(), wanted);
        assert_eq!(pretty("nonsense"), None);
        let (open, close) = ("[".repeat(100), "]".repeat(100));
        let deep = |length: usize| pretty(&format!("{open}{}1{close}", "1,".repeat(length)));
        assert!(deep(10).is_some());
        assert_eq!(deep(100_000), None, "a hundred times as long");
        assert_eq!(pretty("7").unwrap(), "7");
    }

    proptest! {
        #[test]
        fn it_means_the_same(keys in proptest::collection::vec("\\PC{0,8}", 0..5), number: i64) {
            let mut value = serde_json::json!({ "n": number, "list": [] });
            for key in keys {
                value = serde_json::json!({ key: [value, {}, "a, b"] });
            }
            let shown = pretty(&value.to_string()).unwrap();
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }
}
