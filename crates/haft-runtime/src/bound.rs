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
    /// Most bytes of any one string in the metadata; all of it together may have twice as many.
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

/// Most bytes of the sentence that stands for what was cut, apart from what it says of where that is.
const NOTICE: usize = 120;
/// Lines that the sentence and its blank lines take.
const NOTICE_LINES: usize = 4;
/// Most entries of metadata that are named after they were dropped.
const DROPPED: usize = 10;
/// Longest title.
const TITLE: usize = 200;

/// Cuts `text` to `limits`, with room for a sentence that says `kept`; `None` if it fits as it is.
#[must_use]
pub fn cut<'a>(text: &'a str, keep: Keep, limits: &Limits, kept: &str) -> Option<Cut<'a>> {
    if fits(text, limits) {
        return None;
    }
    let lines = limits.lines.saturating_sub(NOTICE_LINES).max(1);
    let bytes = limits.bytes.saturating_sub(NOTICE + kept.len()).max(1);
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

/// Whether a text needs no cutting.
#[must_use]
pub fn fits(text: &str, limits: &Limits) -> bool {
    text.len() <= limits.bytes && count_lines(text) <= limits.lines
}

/// Leaves room for a line below the text.
pub(crate) fn above(limits: &Limits, footer: &str) -> Limits {
    let room = if footer.is_empty() { 0 } else { footer.len() + 2 };
    Limits { bytes: limits.bytes.saturating_sub(room), ..limits.clone() }
}

/// Cuts a title to what a line can show.
pub(crate) fn title(title: &mut String) {
    if title.len() > TITLE {
        title.truncate(title.floor_char_boundary(TITLE));
        title.push('…');
    }
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
    let kept = "not kept";
    match cut(&text, Keep::Both, &limits, kept) {
        Some(cut) => join(&cut, text.len(), kept),
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
    let mut dropped = Vec::new();
    // Twice the limit: one streamed output of full length, and as much again for everything else.
    while total > 2 * limit {
        let Some((mut key, size)) = sizes.pop() else { break };
        metadata.shift_remove(&key);
        total -= size;
        title(&mut key);
        dropped.push(Value::from(format!("{key}: {size} bytes")));
    }
    if !dropped.is_empty() {
        dropped.truncate(DROPPED);
        metadata.insert("dropped".to_owned(), dropped.into());
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

/// The longest run of whole lines from the beginning; part of a line where that would show too little.
fn first(text: &str, lines: usize, bytes: usize) -> &str {
    let mut end = 0;
    let mut taken = 0;
    for line in text.split_inclusive('\n').take(lines) {
        if end + line.len() > bytes {
            break;
        }
        end += line.len();
        taken += 1;
    }
    // A line that is longer than half of the room is not left out for being long.
    if end < bytes / 2 && taken < lines || end == 0 {
        end = text.floor_char_boundary(bytes.min(text.len()));
    }
    text.get(..end).unwrap_or_default()
}

/// The longest run of whole lines at the end; part of a line where that would show too little.
fn last(text: &str, lines: usize, bytes: usize) -> &str {
    let mut start = text.len();
    let mut taken = 0;
    for line in text.split_inclusive('\n').rev().take(lines) {
        if text.len() - start + line.len() > bytes {
            break;
        }
        start -= line.len();
        taken += 1;
    }
    if text.len() - start < bytes / 2 && taken < lines || start == text.len() {
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
        assert_eq!(cut("a\nb\n", Keep::Head, &limits(2, 4), ""), None);
    }

    #[test]
    fn one_very_long_line_is_cut_inside_and_never_emptied() {
        let text = "ä".repeat(100_000);
        for keep in [Keep::Head, Keep::Tail, Keep::Both] {
            let cut = cut(&text, keep, &Limits::default(), "").unwrap();
            let shown = cut.head.len() + cut.tail.len();
            assert!(shown > 40_000 && shown <= 50 * 1024, "{keep:?}: {shown}");
            assert_eq!(shown + cut.bytes, text.len());
            assert_eq!(cut.lines, 1);
        }
    }

    #[test]
    fn a_long_line_after_a_short_one_is_shown_in_part() {
        let text = format!("head\n{}\ntail\n", "x".repeat(200_000));
        for keep in [Keep::Head, Keep::Tail, Keep::Both] {
            let cut = cut(&text, keep, &Limits::default(), "").unwrap();
            assert!(cut.head.len() + cut.tail.len() > 40_000, "{keep:?}");
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
        assert!(data["dropped"][0].as_str().unwrap().starts_with("list"));
    }

    proptest! {
        #[test]
        fn what_is_shown_and_what_is_missing_make_the_whole(
            text in "[a-zé\n]{0,400}", keep in prop_oneof![Just(Keep::Head), Just(Keep::Tail), Just(Keep::Both)],
            lines in 1usize..40, bytes in 1usize..900,
        ) {
            let limits = limits(lines, bytes);
            match cut(&text, keep, &limits, "") {
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
            let kept = "the whole text is kept at /somewhere".repeat(20);
            if let Some(first) = cut(&text, keep, &limits, &kept) {
                prop_assert!(fits(&join(&first, text.len(), &kept), &limits));
            }
        }
    }
}
