//! One line in three versions: what is there, what the model took it for, what it shall become.

use std::ops::Range;

use crate::{
    align::{hunks, words},
    fold::Mapped,
    lines::is_blank,
};

/// Carries the step from `old` to `new` over to `there`, which has the same key as `old`: words
/// that the model left alone stay as they are there, with the blanks around them. What is new goes
/// through `write`.
pub(crate) fn merge(there: &str, old: &str, new: &str, write: impl Fn(&str) -> String) -> String {
    if old == new {
        return there.to_owned();
    }
    let (old_words, new_words) = (words(old), words(new));
    let track = Track { there, there_key: Mapped::new(there), old, old_key: Mapped::new(old) };
    let offsets = offsets(&old_words);
    let offset = |index: usize| offsets.get(index).copied().unwrap_or(old.len());
    let mut merged = String::with_capacity(there.len() + new.len());
    let (mut done, mut put_in) = (0, false);
    for hunk in hunks(&old_words, &new_words) {
        let range = track.there(offset(hunk.old.start)..offset(hunk.old.end), done);
        // Blanks that only the text has belong to what follows, unless that goes without a trace or
        // the model has put blanks there itself.
        let gap = there.get(done..range.start).unwrap_or_default();
        let put = new_words.get(hunk.new.clone()).unwrap_or_default();
        let is_put = (put_in && merged.ends_with(is_blank))
            || (!hunk.is_equal && put.first().is_some_and(|word| word.starts_with(is_blank)));
        if !is_put && (hunk.is_equal || (!hunk.old.is_empty() && !hunk.new.is_empty())) {
            merged.push_str(gap);
        }
        put_in = !hunk.is_equal;
        if hunk.is_equal {
            merged.push_str(there.get(range.clone()).unwrap_or_default());
        } else {
            merged.push_str(&write(&put.concat()));
        }
        if !hunk.old.is_empty() {
            done = range.end;
        }
    }
    let rest = there.get(done..).unwrap_or_default();
    if rest.chars().all(is_blank) {
        merged.push_str(rest);
    }
    merged
}

/// The way from the old line to the line that is there.
struct Track<'l> {
    there: &'l str,
    there_key: Mapped,
    old: &'l str,
    old_key: Mapped,
}

impl Track<'_> {
    /// Returns where a stretch of the old line lies in the line that is there.
    fn there(&self, old: Range<usize>, done: usize) -> Range<usize> {
        let part = self.old.get(old.clone()).unwrap_or_default();
        let start = self.edge(self.old_key.key_before(old.start), part.starts_with(is_blank));
        let end = self.edge(self.old_key.key_before(old.end), !part.ends_with(is_blank));
        let start = start.clamp(done, self.there.len());
        start..end.clamp(start, self.there.len())
    }

    /// Returns the place of a point in the key: behind what is before it, or before what is behind.
    fn edge(&self, key: usize, behind: bool) -> usize {
        if behind {
            return if key == 0 { 0 } else { self.there_key.end_of(key).unwrap_or(0) };
        }
        // The blank that parts two words stands in the key before the second.
        let after_blank = if self.there_key.key.as_bytes().get(key) == Some(&b' ') { 1 } else { 0 };
        self.there_key.start_of(key + after_blank).unwrap_or(self.there.len())
    }
}

/// Returns where each word begins, and where the last ends.
fn offsets(words: &[&str]) -> Vec<usize> {
    let mut at = 0;
    let mut offsets = vec![0];
    for word in words {
        at += word.len();
        offsets.push(at);
    }
    offsets
}

#[cfg(test)]
mod tests;
