//! Names and descriptions from strangers: made valid, bounded, and without anything hidden.

use haft_runtime::{is_hidden, plain_lines};
use serde_json::Value;

/// Longest name that every model's provider takes.
const LONGEST: usize = 64;

/// How much of a description a model reads.
const DESCRIPTION: usize = 2048;

/// How much of a description inside a schema a model reads.
const INNER: usize = 1024;

/// How deep a schema is gone into; what is deeper is refused later.
const DEPTH: usize = 128;

/// The name under which a server's tool is offered; none if nothing is left of it.
pub(super) fn offered(server: &str, tool: &str) -> Option<String> {
    let fine = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let clean: String = tool.chars().map(fine).collect();
    if !clean.contains(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let whole = format!("{server}_{clean}");
    if whole.len() <= LONGEST {
        return Some(whole);
    }
    // Two long names that begin alike stay two names.
    let mark = format!("_{:08x}", mark(tool));
    let head: String = whole.chars().take(LONGEST - mark.len()).collect();
    Some(head + &mark)
}

/// A description that hides nothing and ends.
pub(super) fn description(text: &str) -> String {
    bounded(text.trim(), DESCRIPTION)
}

/// The first of a text, with everything hidden written out.
pub(super) fn bounded(text: &str, most: usize) -> String {
    let mut head: String = text.chars().take(most).collect();
    if text.chars().nth(most).is_some() {
        head.push('…');
    }
    plain_lines(&head)
}

/// Bounds every text in a schema that only people and models read.
pub(super) fn bound_schema(schema: &mut Value) {
    bound_below(schema, DEPTH);
}

fn bound_below(value: &mut Value, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| bound_below(item, depth)),
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if matches!(key.as_str(), "description" | "title") => {
                        if text.len() > INNER || text.contains(is_hidden) {
                            *text = bounded(text, INNER);
                        }
                    }
                    other => bound_below(other, depth),
                }
            }
        }
        _ => {}
    }
}

/// Whether a name fits a pattern in which `*` stands for anything.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            match rest.split_once(part) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
    }
    last.map_or(rest.is_empty(), |part| rest.ends_with(part))
}

/// A number for a text, the same in every process (FNV-1a).
fn mark(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |mark, byte| (mark ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_valid_short_and_stay_apart() {
        assert_eq!(offered("git", "log").as_deref(), Some("git_log"));
        assert_eq!(offered("git", "a.b/c d\u{202e}").as_deref(), Some("git_a_b_c_d_"));
        assert_eq!(offered("git", "").as_deref(), None);
        assert_eq!(offered("git", "\u{1b}..").as_deref(), None);
        let (one, two) = (offered("s", &"x".repeat(90)), offered("s", &"x".repeat(91)));
        assert_ne!(one, two);
        assert_eq!(one.unwrap().len(), LONGEST);
    }

    #[test]
    fn texts_end_and_hide_nothing() {
        let text = description(&format!("\u{1b}[2J\u{e0041}{}", "é".repeat(5000)));
        assert!(text.starts_with("\\u{1b}[2J\\u{e0041}é"), "{text}");
        assert!(text.ends_with('…') && text.chars().count() < DESCRIPTION + 40);
        let mut schema = json!({ "properties": { "description": { "description": "\u{202e}x", "default": "\u{202e}" } } });
        bound_schema(&mut schema);
        let inner = &schema["properties"]["description"];
        assert_eq!(inner["description"], "\\u{202e}x");
        assert_eq!(inner["default"], "\u{202e}", "a value means itself");
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "a", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c*", "abcd", true),
            ("a*b*c", "a_b_b_c", true),
            ("ab", "ab", true),
            ("ab", "abc", false),
            ("a*c", "abd", false),
            ("a*a", "a", false),
            ("", "a", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
