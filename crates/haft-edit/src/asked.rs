//! What is looked for: one reading of the model's text, as lines and as keys.

use std::borrow::Cow;

use crate::{
    Tier,
    fold::push_key,
    lines::{Lines, trim},
};

/// One way to read what the model wrote.
#[derive(Clone, Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) old: Cow<'a, str>,
    pub(crate) new: Cow<'a, str>,
    /// The tier that this reading belongs to; `None` for the text as it came.
    pub(crate) tier: Option<Tier>,
}

impl<'a> Reading<'a> {
    /// The text as it came.
    pub(crate) fn literal(old: &'a str, new: &'a str) -> Self {
        Self { old: Cow::Borrowed(old), new: Cow::Borrowed(new), tier: None }
    }
}

/// The lines of one reading, and the key that is searched for.
#[derive(Debug)]
pub(crate) struct Asked<'r> {
    pub(crate) lines: Lines<'r>,
    pub(crate) new: Lines<'r>,
    /// The lines that are not blank; only these have a key.
    pub(crate) kept: Vec<usize>,
    /// The keys of those lines, with a line feed between two.
    pub(crate) key: String,
    /// Whether the last line that is not blank was followed by a line end.
    pub(crate) is_closed: bool,
    /// Whether the new text ends with a line end.
    pub(crate) new_is_closed: bool,
}

impl<'r> Asked<'r> {
    /// Looks at a reading; `None` if there is nothing in it but blanks.
    pub(crate) fn new(reading: &'r Reading<'_>) -> Option<Self> {
        let (lines, ended_in_blanks) = without_open_blanks(&reading.old);
        let (new, new_ended_in_blanks) = without_open_blanks(&reading.new);
        let mut key = String::with_capacity(reading.old.len());
        let mut kept = Vec::with_capacity(lines.count());
        for (index, content) in lines.contents().enumerate() {
            if trim(content).is_empty() {
                continue;
            }
            let mark = key.len();
            if mark > 0 {
                key.push('\n');
            }
            let start = key.len();
            push_key(content, &mut key);
            if key.len() > start {
                kept.push(index);
            } else {
                key.truncate(mark);
            }
        }
        let last = *kept.last()?;
        let is_closed = ended_in_blanks || lines.is_closed() || last + 1 < lines.count();
        let new_is_closed = new_ended_in_blanks || new.is_closed();
        Some(Self { lines, new, kept, key, is_closed, new_is_closed })
    }

    /// Returns the first and the last line that are not blank.
    pub(crate) fn span(&self) -> (usize, usize) {
        (self.kept.first().copied().unwrap_or(0), self.kept.last().copied().unwrap_or(0))
    }
}

/// Splits a text, without the indentation of a next line that it may end in.
fn without_open_blanks(text: &str) -> (Lines<'_>, bool) {
    let lines = Lines::new(text);
    let Some(last) = lines.count().checked_sub(1).filter(|last| *last > 0) else {
        return (lines, false);
    };
    let line = lines.line(last);
    if line.text_end == line.end && trim(lines.content(last)).is_empty() {
        return (Lines::new(text.get(..line.start).unwrap_or_default()), true);
    }
    (lines, false)
}
