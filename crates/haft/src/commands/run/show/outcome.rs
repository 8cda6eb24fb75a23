//! What came of a call, in a few words: how a command ended, how much was read, found or changed.

use haft_runtime::Metadata;
use serde_json::Value;

use crate::print::counted;

/// What came of a call that was answered.
pub(super) struct Outcome {
    /// Whether it did what it was to do: a command that fails is an answer too, and no success.
    pub(super) went_well: bool,
    /// What there is to tell of it, for the end of its line; may be empty.
    pub(super) words: String,
}

impl Outcome {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let end = end(metadata);
        let went_well = end.is_none();
        let words = end.or_else(|| changes(metadata)).or_else(|| amount(metadata));
        let words = words.map(|words| format!(" · {words}")).unwrap_or_default();
        Self { went_well, words }
    }
}

/// How a command ended that did not end well.
fn end(metadata: &Metadata) -> Option<String> {
    let number = |name: &str| metadata.get(name).and_then(Value::as_i64);
    let code = number("exit").filter(|code| *code != 0).map(|code| format!("exit {code}"));
    code.or_else(|| number("signal").map(|signal| format!("signal {signal}")))
}

/// Lines that were added and removed.
fn changes(metadata: &Metadata) -> Option<String> {
    let (added, removed) = (number(metadata, "additions")?, number(metadata, "deletions")?);
    Some(format!("+{added} −{removed}"))
}

/// How much was read or found.
fn amount(metadata: &Metadata) -> Option<String> {
    let number = |name| number(metadata, name);
    let lines = metadata.get("lines").and_then(Value::as_array).map(Vec::as_slice);
    if let (Some([from, to]), Some(total)) = (lines, number("total_lines")) {
        let is_whole = from.as_u64() == Some(1) && to.as_u64() == Some(total);
        let part = || format!("lines {from} to {to} of {total}");
        return Some(if is_whole { counted(total, "line", "lines") } else { part() });
    }
    if let (Some(matches), Some(files)) = (number("matches"), number("files")) {
        let matches = counted(matches, "match", "matches");
        return Some(format!("{matches} in {}", counted(files, "file", "files")));
    }
    let of = |name, one, many| number(name).map(|number| counted(number, one, many));
    of("files", "file", "files")
        .or_else(|| of("entries", "entry", "entries"))
        .or_else(|| of("results", "result", "results"))
}

fn number(metadata: &Metadata, name: &str) -> Option<u64> {
    metadata.get(name).and_then(Value::as_u64)
}
