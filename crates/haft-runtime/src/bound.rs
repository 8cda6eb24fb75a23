//! Keeps what the model reads within limits: cut on character boundaries, with the exact count of what is missing.

use serde_json::Value;

use crate::output::{Keep, Metadata};

/// How much the model reads of one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most lines of text.
    pub lines: usize,
    /// Most bytes of text.
    pub bytes: usize,
    /// Most bytes of metadata, and of any one string in it.
    pub metadata: usize,
    /// Most bytes of attachments, in base64.
    pub attachments: usize,
    /// What to do with the path of a kept output, in the words of the tools at hand.
    pub hint: String,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            lines: 2_000,
            bytes: 50 * 1024,
            metadata: 30_000,
            attachments: 16 * 1024 * 1024,
            hint: String::new(),
        }
    }
}

impl Limits {
    /// The limits of one of `parts` answers that are shown together.
    #[must_use]
    pub fn shared_by(&self, parts: usize) -> Self {
        let parts = parts.max(1);
        // Even the smallest share must hold a sentence that says what is missing.
        Self {
            lines: (self.lines / parts).max(8),
            bytes: (self.bytes / parts).max(1024),
            ..self.clone()
        }
    }
}

/// What is left of a text that was too long: two pieces, and what lies between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut<'a> {
    /// The beginning that stays.
    pub head: &'a str,
    /// The end that stays.
    pub tail: &'a str,
    /// How many lines are missing, wholly or in part.
    pub lines: usize,
    /// How many bytes are missing.
    pub bytes: usize,
}

/// Room for the sentence that stands for what was cut, path included.
const NOTICE: usize = 512;
/// Lines that the sentence and its blank lines take.
const NOTICE_LINES: usize = 4;

/// Cuts `text` to `limits`; `None` if it fits as it is.
#[must_use]
pub fn cut<'a>(text: &'a str, keep: Keep, limits: &Limits) -> Option<Cut<'a>> {
    if text.len() <= limits.bytes && count_lines(text) <= limits.lines {
        return None;
    }
    let lines = limits.lines.saturating_sub(NOTICE_LINES).max(1);
    let bytes = limits.bytes.saturating_sub(NOTICE).max(1);
    let (head, tail) = match keep {
        Keep::Head => (first(text, lines, bytes), ""),
        Keep::Tail => ("", last(text, lines, bytes)),
        Keep::Both => {
            let head = first(text, lines.div_ceil(2), bytes.div_ceil(2));
            let rest = text.get(head.len()..).unwrap_or_default();
            (head, if lines < 2 { "" } else { last(rest, lines / 2, bytes / 2) })
        }
    };
    let missing = text.get(head.len()..text.len() - tail.len()).unwrap_or_default();
    Some(Cut { head, tail, lines: count_lines(missing), bytes: missing.len() })
}

/// Puts the two pieces together with a sentence about the gap.
#[must_use]
pub fn join(cut: &Cut<'_>, total_bytes: usize, kept: &str) -> String {
    let Cut { head, tail, lines, bytes } = cut;
    let notice =
        format!("[{lines} lines, {bytes} of {total_bytes} bytes, are left out here; {kept}]");
    let mut text = String::with_capacity(head.len() + tail.len() + notice.len() + 4);
    text.push_str(head);
    if !head.is_empty() {
        text.push_str(if head.ends_with('\n') { "\n" } else { "\n\n" });
    }
    text.push_str(&notice);
    if !tail.is_empty() {
        text.push_str("\n\n");
        text.push_str(tail);
    }
    text
}

/// Cuts a sentence for the model, such as an error, to `bytes`.
#[must_use]
pub(crate) fn sentence(text: String, bytes: usize) -> String {
    if text.len() <= bytes {
        return text;
    }
    let limits = Limits { lines: usize::MAX, bytes, ..Limits::default() };
    match cut(&text, Keep::Both, &limits) {
        Some(cut) => join(&cut, text.len(), "not kept"),
        None => text,
    }
}

/// Cuts the strings in `metadata` to the limit, then drops whole entries, largest first, until the rest fits.
pub(crate) fn metadata(metadata: &mut Metadata, limit: usize) {
    for value in metadata.values_mut() {
        shorten(value, limit);
    }
    let mut sizes: Vec<(String, usize)> =
        metadata.iter().map(|(key, value)| (key.clone(), key.len() + size(value))).collect();
    let mut total: usize = sizes.iter().map(|(_, size)| size).sum();
    sizes.sort_by_key(|(_, size)| *size);
    // Twice the limit: one streamed output of full length, and as much again for everything else.
    while total > 2 * limit {
        let Some((key, size)) = sizes.pop() else { break };
        metadata.shift_remove(&key);
        metadata.insert("dropped".to_owned(), format!("{key}: {size} bytes").into());
        total -= size;
    }
}

fn shorten(value: &mut Value, limit: usize) {
    match value {
        Value::String(text) if text.len() > limit => {
            let missing = text.len() - limit;
            let kept = first(text, usize::MAX, limit).len();
            text.truncate(kept);
            text.push_str(&format!("… [{missing} more bytes]"));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shorten(item, limit)),
        Value::Object(map) => map.values_mut().for_each(|item| shorten(item, limit)),
        _ => {}
    }
}

/// About how many bytes a value takes as JSON.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Value::Object(map) => map.iter().map(|(k, v)| k.len() + size(v) + 4).sum::<usize>() + 2,
        _ => 8,
    }
}

/// Lines as an editor counts them: a final newline starts no further line.
fn count_lines(text: &str) -> usize {
    let newlines = text.bytes().filter(|byte| *byte == b'\n').count();
    newlines + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// The longest run of whole lines from the beginning; of a first line that is too long, as much as fits.
fn first(text: &str, lines: usize, bytes: usize) -> &str {
    let mut end = 0;
    for line in text.split_inclusive('\n').take(lines) {
        if end + line.len() > bytes {
            break;
        }
        end += line.len();
    }
    if end == 0 {
        end = text.floor_char_boundary(bytes.min(text.len()));
    }
    text.get(..end).unwrap_or_default()
}

/// The longest run of whole lines at the end; of a last line that is too long, as much as fits.
fn last(text: &str, lines: usize, bytes: usize) -> &str {
    let mut start = text.len();
    for line in text.split_inclusive('\n').rev().take(lines) {
        if text.len() - start + line.len() > bytes {
            break;
        }
        start -= line.len();
    }
    if start == text.len() {
        start = text.ceil_char_boundary(text.len().saturating_sub(bytes));
    }
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn limits(lines: usize, bytes: usize) -> Limits {
        Limits { lines, bytes, ..Limits::default() }
    }

    #[test]
    fn a_text_within_the_limits_is_left_alone() {
        assert_eq!(cut("a\nb\n", Keep::Head, &limits(2, 4)), None);
    }

    #[test]
    fn one_very_long_line_is_cut_inside_and_never_emptied() {
        let text = "ä".repeat(100_000);
        for keep in [Keep::Head, Keep::Tail, Keep::Both] {
            let cut = cut(&text, keep, &Limits::default()).unwrap();
            let shown = cut.head.len() + cut.tail.len();
            assert!(shown > 40_000 && shown <= 50 * 1024, "{keep:?}: {shown}");
            assert_eq!(shown + cut.bytes, text.len());
            assert_eq!(cut.lines, 1);
        }
    }

    #[test]
    fn metadata_that_is_too_large_loses_its_largest_entries_and_says_so() {
        let mut data = Metadata::new();
        data.insert("small".into(), json!(1));
        data.insert("text".into(), json!("x".repeat(100)));
        data.insert("list".into(), json!(vec!["y".repeat(5); 100]));
        metadata(&mut data, 50);
        assert_eq!(data["small"], json!(1));
        assert!(data["text"].as_str().unwrap().ends_with("[50 more bytes]"));
        assert!(!data.contains_key("list"));
        assert!(data["dropped"].as_str().unwrap().starts_with("list"));
    }

    proptest! {
        #[test]
        fn what_is_shown_and_what_is_missing_make_the_whole(
            text in "[a-zé\n]{0,400}", keep in prop_oneof![Just(Keep::Head), Just(Keep::Tail), Just(Keep::Both)],
            lines in 1usize..40, bytes in 1usize..900,
        ) {
            let limits = limits(lines, bytes);
            match cut(&text, keep, &limits) {
                None => prop_assert!(text.len() <= bytes && count_lines(&text) <= lines),
                Some(cut) => {
                    prop_assert!(text.starts_with(cut.head) && text.ends_with(cut.tail));
                    prop_assert_eq!(cut.head.len() + cut.bytes + cut.tail.len(), text.len());
                }
            }
        }

        #[test]
        fn a_bounded_text_needs_no_second_bounding(
            text in "[a-zé\n]{0,9000}", keep in prop_oneof![Just(Keep::Head), Just(Keep::Tail), Just(Keep::Both)],
        ) {
            let limits = limits(40, 4096);
            if let Some(first) = cut(&text, keep, &limits) {
                let joined = join(&first, text.len(), "the whole text is kept at /somewhere");
                prop_assert_eq!(cut(&joined, keep, &limits), None);
            }
        }
    }
}
