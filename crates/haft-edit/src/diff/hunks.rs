//! The lines of two texts, where they differ, and those places grouped with lines around them.

use std::ops::Range;

use memchr::{memchr_iter, memrchr_iter};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::Role;

/// The lines of both texts, line ends included, or those around all that differs.
pub(crate) struct Lines<'t> {
    pub(crate) old: Vec<&'t str>,
    pub(crate) new: Vec<&'t str>,
    /// How many lines, the same in both texts, stand before these.
    pub(crate) before: usize,
}

/// Lines of the old text and those that stand in their place, as line indices from zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// Hunks that are close together, with the unchanged lines around them.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
    pub(crate) hunks: Vec<Hunk>,
}

/// One line on the way through a group.
pub(crate) struct Step<'t> {
    pub(crate) role: Role,
    /// The line with its end.
    pub(crate) line: &'t str,
    /// Its index among the lines: of the old text if it was removed, else of the new one.
    pub(crate) index: usize,
    /// Its number from one, in the same text.
    pub(crate) number: usize,
}

/// Finds where two texts differ, as [`compare`] does, but splits only what differs and `context` lines around it: in a
/// large text with a small change, the rest is only compared byte by byte.
pub(crate) fn compare_around<'t>(
    old: &'t str,
    new: &'t str,
    most: usize,
    context: usize,
) -> (Lines<'t>, Vec<Hunk>) {
    let (start, tail) = window(old.as_bytes(), new.as_bytes(), context);
    let part = |text: &'t str| text.get(start..text.len() - tail).unwrap_or(text);
    let (mut lines, hunks) = compare(part(old), part(new), most);
    lines.before = memchr_iter(b'\n', old.as_bytes().get(..start).unwrap_or_default()).count();
    (lines, hunks)
}

/// Where the lines around all differences begin, and how many bytes after them are the same to the end.
fn window(old: &[u8], new: &[u8], context: usize) -> (usize, usize) {
    let rest = |text: &'_ [u8], from: usize| text.len() - from;
    let head = common_head(old, new);
    let start = line_back(old.get(..head).unwrap_or_default(), context);
    let most = rest(old, head).min(rest(new, head));
    let tail = common_tail(old, new, most);
    // A line begins in both texts where one ends in what they have in common.
    let mut ends = memchr_iter(b'\n', old.get(old.len() - tail..).unwrap_or_default());
    let kept = ends.nth(context).map_or(tail, |end| end + 1);
    (start, tail - kept)
}

/// The start of the line that is `lines` lines before the one at the end of `text`.
fn line_back(text: &[u8], lines: usize) -> usize {
    memrchr_iter(b'\n', text).nth(lines).map_or(0, |end| end + 1)
}

/// Compared in blocks, because the machine is quick at that.
const BLOCK: usize = 1024;

fn common_head(old: &[u8], new: &[u8]) -> usize {
    let blocks = old.chunks(BLOCK).zip(new.chunks(BLOCK)).take_while(|(a, b)| a == b);
    let same = blocks.map(|(block, _)| block.len()).sum::<usize>();
    let (old, new) = (old.get(same..).unwrap_or_default(), new.get(same..).unwrap_or_default());
    same + old.iter().zip(new).take_while(|(a, b)| a == b).count()
}

fn common_tail(old: &[u8], new: &[u8], most: usize) -> usize {
    let (old, new) = (last(old, most), last(new, most));
    let blocks = old.rchunks(BLOCK).zip(new.rchunks(BLOCK)).take_while(|(a, b)| a == b);
    let same = blocks.map(|(block, _)| block.len()).sum::<usize>();
    let before = |text: &'_ [u8]| text.len() - same;
    let (old, new) = (old.get(..before(old)), new.get(..before(new)));
    let (old, new) = (old.unwrap_or_default().iter().rev(), new.unwrap_or_default().iter().rev());
    same + old.zip(new).take_while(|(a, b)| a == b).count()
}

fn last(text: &[u8], count: usize) -> &[u8] {
    text.get(text.len().saturating_sub(count)..).unwrap_or_default()
}

/// Finds where two texts differ. If more than `most` lines are left without the common head and tail, all of them
/// are one hunk.
pub(crate) fn compare<'t>(old: &'t str, new: &'t str, most: usize) -> (Lines<'t>, Vec<Hunk>) {
    let lines = Lines { old: split(old), new: split(new), before: 0 };
    let head = lines.old.iter().zip(&lines.new).take_while(|(a, b)| a == b).count();
    let old_rest = lines.old.get(head..).unwrap_or_default();
    let new_rest = lines.new.get(head..).unwrap_or_default();
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let old_middle = old_rest.get(..old_rest.len() - tail).unwrap_or_default();
    let new_middle = new_rest.get(..new_rest.len() - tail).unwrap_or_default();
    let hunks = if old_middle.is_empty() && new_middle.is_empty() {
        Vec::new()
    } else if old_middle.len() + new_middle.len() > most {
        vec![Hunk { old: head..head + old_middle.len(), new: head..head + new_middle.len() }]
    } else {
        changed(&capture_diff_slices(Algorithm::Histogram, old_middle, new_middle), head)
    };
    (lines, hunks)
}

/// Gathers hunks whose surroundings of `context` lines touch.
pub(crate) fn groups(hunks: &[Hunk], lines: &Lines<'_>, context: usize) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut changed_until = 0;
    for hunk in hunks {
        let gap = hunk.old.start - changed_until;
        let before = context.min(gap);
        let after = context.min(lines.old.len() - hunk.old.end);
        let (old_end, new_end) = (hunk.old.end + after, hunk.new.end + after);
        changed_until = hunk.old.end;
        match groups.last_mut() {
            Some(last) if gap <= context.saturating_mul(2) => {
                last.old.end = old_end;
                last.new.end = new_end;
                last.hunks.push(hunk.clone());
            }
            _ => groups.push(Group {
                old: hunk.old.start - before..old_end,
                new: hunk.new.start - before..new_end,
                hunks: vec![hunk.clone()],
            }),
        }
    }
    groups
}

impl Group {
    /// Every line of the group, in the order of a diff.
    pub(crate) fn steps<'a, 't: 'a>(
        &'a self,
        lines: &'a Lines<'t>,
    ) -> impl Iterator<Item = Step<'t>> + 'a {
        let mut from = self.new.start;
        let changed = self.hunks.iter().flat_map(move |hunk| {
            let context = from..hunk.new.start;
            from = hunk.new.end;
            steps(Role::Context, &lines.new, context, lines.before)
                .chain(steps(Role::Removed, &lines.old, hunk.old.clone(), lines.before))
                .chain(steps(Role::Added, &lines.new, hunk.new.clone(), lines.before))
        });
        let rest = self.hunks.last().map_or(self.new.start, |hunk| hunk.new.end)..self.new.end;
        changed.chain(steps(Role::Context, &lines.new, rest, lines.before))
    }
}

fn steps<'a, 't: 'a>(
    role: Role,
    lines: &'a [&'t str],
    range: Range<usize>,
    before: usize,
) -> impl Iterator<Item = Step<'t>> + 'a {
    let first = range.start;
    let lines = lines.get(range).unwrap_or_default();
    lines.iter().enumerate().map(move |(offset, line)| {
        let index = first + offset;
        Step { role, line, index, number: before + index + 1 }
    })
}

fn changed(ops: &[DiffOp], offset: usize) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for op in ops {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let shift = |range: Range<usize>| range.start + offset..range.end + offset;
        let (old, new) = (shift(op.old_range()), shift(op.new_range()));
        match hunks.last_mut() {
            Some(last) if last.old.end == old.start && last.new.end == new.start => {
                last.old.end = old.end;
                last.new.end = new.end;
            }
            _ => hunks.push(Hunk { old, new }),
        }
    }
    hunks
}

fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}
