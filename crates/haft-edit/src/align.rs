//! Which parts of the old text live on in the new one, by lines and by words.

use std::{hash::Hash, ops::Range};

use similar::{Algorithm, DiffTag, capture_diff_slices};

use crate::{
    lines::{is_blank, trim},
    look_alikes::{clusters, is_word},
};

/// Beyond this many items that differ on both sides together, the rest counts as replaced whole.
const MOST_ITEMS: usize = 3_000;

/// Pairs of lines are weighed against each other up to this many combinations.
const MOST_COMBINATIONS: usize = 2_500;

/// A step from old to new: both ranges equal, or one taken out and the other put in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) is_equal: bool,
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

/// Compares two lists, in bounded time.
pub(crate) fn hunks<T: Eq + Hash + Ord>(old: &[T], new: &[T]) -> Vec<Hunk> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - head;
    let tail =
        old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let mut hunks = vec![Hunk { is_equal: true, old: 0..head, new: 0..head }];
    let middle = old.get(head..old_end).zip(new.get(head..new_end));
    match middle {
        Some((old, new)) if old.len() + new.len() <= MOST_ITEMS => {
            for op in capture_diff_slices(Algorithm::Myers, old, new) {
                let (tag, old, new) = op.as_tag_tuple();
                hunks.push(Hunk {
                    is_equal: tag == DiffTag::Equal,
                    old: old.start + head..old.end + head,
                    new: new.start + head..new.end + head,
                });
            }
        }
        _ => hunks.push(Hunk { is_equal: false, old: head..old_end, new: head..new_end }),
    }
    hunks.push(Hunk { is_equal: true, old: old_end..old.len(), new: new_end..new.len() });
    hunks.retain(|hunk| !hunk.old.is_empty() || !hunk.new.is_empty());
    hunks
}

/// Compares old and new line by line, without regard to indentation if more lines live on like that.
pub(crate) fn living_steps(old: &[&str], new: &[&str]) -> Vec<Hunk> {
    let bare = |lines: &[&str]| -> Vec<String> {
        lines.iter().map(|line| trim(line).to_owned()).collect()
    };
    let living = |hunks: &[Hunk]| -> usize {
        let lines = hunks.iter().filter(|hunk| hunk.is_equal).flat_map(|hunk| hunk.old.clone());
        lines.filter(|line| old.get(*line).is_some_and(|line| !line.is_empty())).count()
    };
    let (strict, loose) = (hunks(old, new), hunks(&bare(old), &bare(new)));
    if living(&loose) > living(&strict) { loose } else { strict }
}

/// Returns for each line the nearest ones before and behind it that are not blank.
pub(crate) fn neighbours(lines: &[&str]) -> Vec<(Option<usize>, Option<usize>)> {
    let mut around = vec![(None, None); lines.len()];
    let mut before = None;
    for (index, (line, slot)) in lines.iter().zip(&mut around).enumerate() {
        slot.0 = before;
        before = if line.is_empty() { before } else { Some(index) };
    }
    let mut behind = None;
    for (index, (line, slot)) in lines.iter().zip(&mut around).enumerate().rev() {
        slot.1 = behind;
        behind = if line.is_empty() { behind } else { Some(index) };
    }
    around
}

/// Pairs the lines of a replaced stretch with those that take their stead, in order: one by one if
/// there are as many, else those that seem to be versions of each other.
pub(crate) fn successors(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    if old.len() == new.len() || old.len() * new.len() > MOST_COMBINATIONS {
        return (0..old.len().min(new.len())).map(|index| (index, index)).collect();
    }
    let (old, new) = (old.iter().map(|line| bag(line)), new.iter().map(|line| bag(line)));
    let (old, new): (Vec<Vec<&str>>, Vec<Vec<&str>>) = (old.collect(), new.collect());
    // The best sum of likeness from each pair of positions on.
    let width = new.len() + 1;
    let mut best = vec![0_usize; (old.len() + 1) * width];
    let score = |at: usize, best: &[usize]| best.get(at).copied().unwrap_or(0);
    for (row, a) in old.iter().enumerate().rev() {
        for (column, b) in new.iter().enumerate().rev() {
            let at = row * width + column;
            let taken = shared(a, b) + score(at + width + 1, &best);
            let most = taken.max(score(at + 1, &best)).max(score(at + width, &best));
            if let Some(slot) = best.get_mut(at) {
                *slot = most;
            }
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut pairs = Vec::new();
    while let (Some(a), Some(b)) = (old.get(row), new.get(column)) {
        let at = row * width + column;
        let likeness = shared(a, b);
        if likeness > 0 && score(at, &best) == likeness + score(at + width + 1, &best) {
            pairs.push((row, column));
            row += 1;
            column += 1;
        } else if score(at, &best) == score(at + width, &best) {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}

/// Whether a line is a version of another rather than a different one.
pub(crate) fn is_version(old: &str, new: &str) -> bool {
    let solid = |line| words(line).into_iter().filter(|word| !word.starts_with(is_blank));
    let (count, new_count) = (solid(old).count(), solid(new).count());
    let differ = solid(old).zip(solid(new)).filter(|(a, b)| a != b).count();
    (count == new_count && count > 1 && differ <= 1) || shared(&bag(old), &bag(new)) > 0
}

/// Returns the words and signs of a line, sorted.
fn bag(line: &str) -> Vec<&str> {
    let mut bag = words(line);
    bag.retain(|word| !word.starts_with(is_blank));
    bag.sort_unstable();
    bag
}

/// Returns how many letters two lines share in whole words; 0 if they share less than half of their
/// letters and two thirds of their words.
fn shared(a: &[&str], b: &[&str]) -> usize {
    let size = |bag: &[&str]| bag.iter().map(|word| word.len()).sum::<usize>();
    let (mut at, mut other, mut common, mut words) = (0, 0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(at), b.get(other)) {
        if x == y {
            common += x.len();
            words += 1;
        }
        at += usize::from(x <= y);
        other += usize::from(y <= x);
    }
    let is_alike = common * 4 >= size(a) + size(b) || words * 3 >= a.len() + b.len();
    if is_alike { common } else { 0 }
}

/// Cuts a line into words, runs of blanks, and single other characters.
pub(crate) fn words(line: &str) -> Vec<&str> {
    #[derive(PartialEq, Clone, Copy)]
    enum Kind {
        Word,
        Blank,
        Other,
    }
    let mut words = Vec::new();
    let (mut start, mut end) = (0, 0);
    let mut kind = Kind::Other;
    for cluster in clusters(line) {
        let next = match cluster.chars().next() {
            Some(first) if is_blank(first) => Kind::Blank,
            Some(first) if is_word(first) => Kind::Word,
            _ => Kind::Other,
        };
        if end > start && (next != kind || next == Kind::Other) {
            words.push(line.get(start..end).unwrap_or_default());
            start = end;
        }
        kind = next;
        end += cluster.len();
    }
    if end > start {
        words.push(line.get(start..end).unwrap_or_default());
    }
    words
}
