//! The loosest view of a text: what is left of it when everything that a copy may lose is gone.
//!
//! Line ends, blank lines, indentation, blanks beside punctuation and the looks of characters are
//! folded away. Whatever any tier up to [`Blanks`](crate::Tier::Blanks) accepts is a plain
//! substring here, so one linear search finds the candidates of all of them.

use crate::{
    lines::{Lines, is_blank},
    look_alikes::{clusters, is_word, push_plain},
};

/// Appends the key of a line: its characters in plain form, and only those blanks that part words.
pub(crate) fn push_key(content: &str, keys: &mut String) {
    if content.is_ascii() { push_ascii_key(content, keys) } else { walk(content, keys, |_| ()) }
}

/// Returns the key of a line.
pub(crate) fn key(content: &str) -> String {
    let mut key = String::with_capacity(content.len());
    push_key(content, &mut key);
    key
}

/// One character of a line and what it became in the key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Where its part of the key begins.
    pub(crate) key: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A line's key with the way back to the line.
#[derive(Clone, Debug)]
pub(crate) struct Mapped {
    pub(crate) key: String,
    steps: Vec<Step>,
}

impl Mapped {
    pub(crate) fn new(content: &str) -> Self {
        let mut key = String::with_capacity(content.len());
        let mut steps = Vec::with_capacity(content.len());
        walk(content, &mut key, |step| steps.push(step));
        Self { key, steps }
    }

    /// Returns where the character begins whose key begins here; `None` within one.
    pub(crate) fn start_of(&self, key: usize) -> Option<usize> {
        let index = self.steps.binary_search_by_key(&key, |step| step.key).ok()?;
        self.steps.get(index).map(|step| step.start)
    }

    /// Returns where the character ends whose key ends here; `None` within one.
    pub(crate) fn end_of(&self, key: usize) -> Option<usize> {
        let next = self.steps.partition_point(|step| step.key < key);
        let is_whole = self.steps.get(next).map_or(self.key.len(), |step| step.key) == key
            // A blank between two words is part of the key but of no character.
            || self.key.as_bytes().get(key) == Some(&b' ');
        let last = self.steps.get(next.checked_sub(1)?)?;
        is_whole.then_some(last.end)
    }

    /// Returns how much of the key the characters before an offset made.
    pub(crate) fn key_before(&self, offset: usize) -> usize {
        let next = self.steps.partition_point(|step| step.start < offset);
        let Some(last) = next.checked_sub(1).and_then(|index| self.steps.get(index)) else {
            return 0;
        };
        let end = self.steps.get(next).map_or(self.key.len(), |step| step.key);
        let parts_words = self.key.get(last.key..end).is_some_and(|made| made.ends_with(' '));
        if parts_words { end - 1 } else { end }
    }
}

/// All lines of a text that are not blank, as keys, with the way back to the lines.
#[derive(Debug)]
pub(crate) struct Keys {
    /// The keys, each followed by a line feed.
    pub(crate) text: String,
    /// Where each key begins, and which line it is of.
    starts: Vec<(usize, usize)>,
}

impl Keys {
    pub(crate) fn new(lines: &Lines<'_>) -> Self {
        let mut text = String::with_capacity(lines.text().len());
        let mut starts = Vec::with_capacity(lines.count());
        for (index, content) in lines.contents().enumerate() {
            let start = text.len();
            push_key(content, &mut text);
            if text.len() > start {
                starts.push((start, index));
                text.push('\n');
            }
        }
        Self { text, starts }
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// Returns the key that holds an offset.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.starts.partition_point(|(start, _)| *start <= offset).saturating_sub(1)
    }

    pub(crate) fn start(&self, index: usize) -> usize {
        self.starts.get(index).map_or(self.text.len(), |(start, _)| *start)
    }

    /// Returns the line that a key is of.
    pub(crate) fn line(&self, index: usize) -> usize {
        self.starts.get(index).map_or(usize::MAX, |(_, line)| *line)
    }

    /// Returns a key without its line feed.
    pub(crate) fn key(&self, index: usize) -> &str {
        let end = self.start(index + 1).saturating_sub(1);
        self.text.get(self.start(index)..end).unwrap_or_default()
    }
}

fn push_ascii_key(content: &str, keys: &mut String) {
    let mut after_word = false;
    let mut parted = false;
    for byte in content.bytes() {
        let character = char::from(byte);
        if is_blank(character) {
            parted = true;
            continue;
        }
        let is_word = byte == b'_' || byte.is_ascii_alphanumeric();
        if parted && after_word && is_word {
            keys.push(' ');
        }
        keys.push(character);
        after_word = is_word;
        parted = false;
    }
}

fn walk(content: &str, keys: &mut String, mut seen: impl FnMut(Step)) {
    let origin = keys.len();
    let mut after_word = false;
    let mut parted = false;
    let mut start = 0;
    let mut folded = String::new();
    for cluster in clusters(content) {
        folded.clear();
        push_plain(cluster, &mut folded);
        let end = start + cluster.len();
        if folded.chars().all(is_blank) {
            // Nothing at all is a character without width: it parts no words.
            parted |= !folded.is_empty();
        } else {
            let is_word_now = folded.chars().next().is_some_and(is_word);
            if parted && after_word && is_word_now {
                keys.push(' ');
            }
            seen(Step { key: keys.len() - origin, start, end });
            keys.push_str(&folded);
            after_word = folded.chars().next_back().is_some_and(is_word);
            parted = false;
        }
        start = end;
    }
}

#[cfg(test)]
mod tests;
