//! A text seen as lines, each with its own end.

use std::ops::{Range, RangeInclusive};

/// Where one line lies in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) start: usize,
    /// Where the line's end (`\n`, `\r\n` or `\r`) begins.
    pub(crate) text_end: usize,
    pub(crate) end: usize,
}

/// A text and its lines.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'t> {
    text: &'t str,
    lines: Vec<Line>,
}

impl<'t> Lines<'t> {
    /// Splits a text. A carriage return alone ends a line only where there is no line feed at all.
    pub(crate) fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let mark = if memchr::memchr(b'\n', bytes).is_some() { b'\n' } else { b'\r' };
        let mut lines = Vec::new();
        let mut start = 0;
        for at in memchr::memchr_iter(mark, bytes) {
            let before = at.checked_sub(1).filter(|before| *before >= start);
            let is_pair = mark == b'\n' && before.and_then(|at| bytes.get(at)) == Some(&b'\r');
            let text_end = if is_pair { at - 1 } else { at };
            lines.push(Line { start, text_end, end: at + 1 });
            start = at + 1;
        }
        if start < bytes.len() {
            lines.push(Line { start, text_end: bytes.len(), end: bytes.len() });
        }
        Self { text, lines }
    }

    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    pub(crate) fn count(&self) -> usize {
        self.lines.len()
    }

    /// Returns a line; one past the end is the empty line there.
    pub(crate) fn line(&self, index: usize) -> Line {
        let end = self.text.len();
        self.lines.get(index).copied().unwrap_or(Line { start: end, text_end: end, end })
    }

    /// Returns what stands on a line, without its end.
    pub(crate) fn content(&self, index: usize) -> &'t str {
        let line = self.line(index);
        part(self.text, line.start..line.text_end)
    }

    /// Returns how a line ends; nothing for a last line without an end.
    pub(crate) fn ending(&self, index: usize) -> &'t str {
        let line = self.line(index);
        part(self.text, line.text_end..line.end)
    }

    /// Returns whether the last line has an end.
    pub(crate) fn is_closed(&self) -> bool {
        self.lines.last().is_some_and(|line| line.text_end < line.end)
    }

    pub(crate) fn contents(&self) -> impl Iterator<Item = &'t str> + '_ {
        (0..self.count()).map(|index| self.content(index))
    }

    /// Returns the line that holds an offset.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.lines.partition_point(|line| line.end <= offset)
    }

    /// Returns the numbers of the lines that a range touches, counted from 1.
    pub(crate) fn numbers(&self, range: &Range<usize>) -> RangeInclusive<usize> {
        let last = if range.is_empty() { range.start } else { range.end - 1 };
        let bound = self.count().max(1);
        (self.at(range.start) + 1).min(bound)..=(self.at(last) + 1).min(bound)
    }
}

/// Returns a part of a text; nothing where the range does not fit.
pub(crate) fn part(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

/// Whether a character is a blank within a line.
pub(crate) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\u{b}' | '\u{c}')
        || (!character.is_ascii() && crate::look_alikes::plain(character) == Some(" "))
}

/// Returns the blanks that a line opens with.
pub(crate) fn indent(content: &str) -> &str {
    part(content, 0..content.len() - content.trim_start_matches(is_blank).len())
}

/// Returns a line without the blanks it ends with.
pub(crate) fn trim_end(content: &str) -> &str {
    content.trim_end_matches(is_blank)
}

/// Returns a line without the blanks it opens with.
pub(crate) fn trim_start(content: &str) -> &str {
    content.trim_start_matches(is_blank)
}

/// Returns a line without the blanks on both sides.
pub(crate) fn trim(content: &str) -> &str {
    content.trim_matches(is_blank)
}
