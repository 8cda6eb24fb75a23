//! From the place of a chunk to the bytes that change.

use std::ops::Range;

use super::view::View;
use crate::diff::Role;
use crate::patch::Chunk;
use crate::{Change, Tier};

/// What a chunk says about the line end of the last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FinalEnd {
    /// It stays as it is.
    Keep,
    /// The new text has one.
    Present,
    /// The new text has none.
    Absent,
}

impl FinalEnd {
    pub(super) const fn of(chunk: &Chunk) -> Self {
        match (chunk.no_newline.old, chunk.no_newline.new) {
            (false, true) => Self::Absent,
            (true, false) => Self::Present,
            _ => Self::Keep,
        }
    }
}

/// The changes of a chunk whose old lines stand at `first`: only what it removes and adds, not what is around it.
pub(super) fn compose(
    view: &View<'_>,
    chunk: &Chunk,
    first: usize,
    index: usize,
    tier: Tier,
) -> Vec<Change> {
    let old_lines = chunk.lines.iter().filter(|line| line.role != Role::Added).count();
    let place =
        Place { view, lines: first..first + old_lines, end: FinalEnd::of(chunk), index, tier };
    let mut changes = Vec::new();
    let mut run = Run { removed: first..first, added: Vec::new() };
    for line in &chunk.lines {
        match line.role {
            Role::Removed => run.removed.end += 1,
            Role::Added => run.added.push(&line.text),
            Role::Context => {
                changes.extend(place.change(&run));
                let next = run.removed.end + 1;
                run = Run { removed: next..next, added: Vec::new() };
            }
        }
    }
    changes.extend(place.change(&run));
    changes
}

struct Run<'c> {
    removed: Range<usize>,
    added: Vec<&'c str>,
}

struct Place<'v, 't> {
    view: &'v View<'t>,
    lines: Range<usize>,
    end: FinalEnd,
    index: usize,
    tier: Tier,
}

impl Place<'_, '_> {
    fn change(&self, run: &Run<'_>) -> Option<Change> {
        if run.removed.is_empty() && run.added.is_empty() {
            return None;
        }
        let view = self.view;
        let mut replacement = String::new();
        let reaches_end = run.removed.end == view.rows.len();
        if reaches_end && run.removed.is_empty() && view.ends_bare() {
            replacement.push_str(self.line_end(run, 0));
        }
        for (index, line) in run.added.iter().enumerate() {
            replacement.push_str(line);
            let bare = match self.end {
                FinalEnd::Absent => true,
                FinalEnd::Present => false,
                FinalEnd::Keep => view.ends_bare(),
            };
            if !(reaches_end && bare && index + 1 == run.added.len()) {
                replacement.push_str(self.line_end(run, index));
            }
        }
        Some(Change {
            range: view.bytes(&run.removed),
            replacement,
            tier: self.tier,
            lines: self.lines.start + 1..=self.lines.end.max(self.lines.start + 1),
            edit: self.index,
        })
    }

    /// The line end of the line that an added one replaces, or of the nearest one that has any.
    fn line_end(&self, run: &Run<'_>, index: usize) -> &str {
        if self.tier == Tier::Exact {
            return "\n";
        }
        let replaced =
            run.removed.start.saturating_add(index).min(run.removed.end.saturating_sub(1));
        let near =
            [Some(replaced), run.removed.start.checked_sub(1), Some(run.removed.end), Some(0)];
        let ends = near.into_iter().flatten().map(|row| self.view.terminator(row));
        ends.into_iter().find(|end| !end.is_empty()).unwrap_or("\n")
    }
}

/// Takes the lines that a change leaves alone from its head and tail.
pub(super) fn narrow(text: &str, mut change: Change) -> Change {
    let old = text.get(change.range.clone()).unwrap_or_default();
    let new = change.replacement.as_str();
    let head: usize = old
        .split_inclusive('\n')
        .zip(new.split_inclusive('\n'))
        .take_while(|(a, b)| a == b && a.ends_with('\n'))
        .map(|(line, _)| line.len())
        .sum();
    let old_rest = old.get(head..).unwrap_or_default();
    let new_rest = new.get(head..).unwrap_or_default();
    let olds: Vec<&str> = old_rest.split_inclusive('\n').collect();
    let news: Vec<&str> = new_rest.split_inclusive('\n').collect();
    let same = olds.iter().rev().zip(news.iter().rev()).take_while(|(a, b)| a == b);
    let tail: usize = same.map(|(line, _)| line.len()).sum();
    let replacement = new_rest.get(..new_rest.len() - tail).unwrap_or_default().to_owned();
    change.range = change.range.start + head..change.range.end - tail;
    change.replacement = replacement;
    change
}

/// Lets the last line of the text end as the chunk says, or as it did.
pub(super) fn settle_end(text: &str, chunk: &Chunk, mut change: Change) -> Change {
    let after = text.get(change.range.end..).unwrap_or_default();
    if !after.trim_matches(['\r', '\n']).is_empty() || change.replacement.is_empty() {
        return change;
    }
    let bare = match FinalEnd::of(chunk) {
        FinalEnd::Absent => true,
        FinalEnd::Present => false,
        FinalEnd::Keep if after.is_empty() => !text.ends_with(['\n', '\r']),
        FinalEnd::Keep => return change,
    };
    let line = change.replacement.trim_end_matches(['\r', '\n']).len();
    match bare {
        true if FinalEnd::of(chunk) == FinalEnd::Absent => {
            change.range.end = text.len();
            change.replacement.truncate(line);
        }
        true => change.replacement.truncate(line),
        false if after.is_empty() && line == change.replacement.len() => {
            change.replacement.push('\n');
        }
        false => {}
    }
    change
}
