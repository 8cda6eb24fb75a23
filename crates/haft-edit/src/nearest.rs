//! The regions that come nearest to a text that is not there, for a message that teaches.

use std::collections::HashMap;

use rapidfuzz::distance::levenshtein;

use crate::{
    Cause, Difference, Miss, Region,
    asked::{Asked, Reading},
    fold::Keys,
    lines::{Lines, indent, trim, trim_end},
    miss::{difference, difference_of_indent},
    place::Place,
};

/// As many regions are shown.
const MOST_REGIONS: usize = 3;

/// Lines longer than this are not compared letter by letter.
const LONGEST_COMPARED: usize = 2_000;

/// The most letters that are compared in all.
const MOST_COMPARED: usize = 4_000_000;

/// A line of the text must share at least this part of its letters to be shown.
const LEAST_LIKENESS: f64 = 0.5;

/// A block of the text that may be what was meant, and how much speaks for it.
struct Candidate {
    start: usize,
    weight: usize,
}

/// Makes a miss that shows the nearest regions, and names a stale middle if there is one.
pub(crate) fn miss(text: &Lines<'_>, keys: &Keys, old: &str, cause: Cause) -> Miss {
    let reading = Reading::literal(old, "");
    let Some(asked) = Asked::new(&reading) else { return Miss::from(cause) };
    let wanted: Vec<&str> = asked.key.split('\n').collect();
    let mut candidates = by_equal_lines(keys, &wanted);
    if candidates.is_empty() {
        candidates = by_likeness(keys, &wanted);
    }
    candidates.sort_by_key(|candidate| (std::cmp::Reverse(candidate.weight), candidate.start));
    let mut shown: Vec<usize> = Vec::new();
    for candidate in candidates {
        let is_apart = shown.iter().all(|start| start.abs_diff(candidate.start) >= wanted.len());
        if is_apart && shown.len() < MOST_REGIONS {
            shown.push(candidate.start);
        }
    }
    let regions: Vec<Region> =
        shown.iter().map(|start| region(text, keys, &asked, &wanted, *start)).collect();
    let cause = match (
        &cause,
        shown.first(),
        regions.first().and_then(|region| region.difference.as_ref()),
    ) {
        (Cause::Absent, Some(start), Some(first)) if has_both_ends(keys, &wanted, *start) => {
            Cause::StaleMiddle { line: first.line }
        }
        _ => cause,
    };
    Miss { cause, nearest: regions }
}

/// Makes a miss about a place that was found but cannot be used.
pub(crate) fn at_place(text: &Lines<'_>, asked: &Asked<'_>, place: &Place, cause: Cause) -> Miss {
    let pairs =
        place.pairs().map(|(old, line)| (asked.lines.content(old), text.content(line), line));
    let mut differing = pairs.filter(|(old, there, _)| trim_end(old) != trim_end(there));
    let by_indent = |(old, there, _): &(&str, &str, usize)| indent(old) != indent(there);
    let first = if matches!(cause, Cause::Indentation { .. }) {
        differing
            .find(by_indent)
            .map(|(old, there, line)| difference_of_indent(old, there, line + 1))
    } else {
        differing.next().map(|(old, there, line)| difference(old, there, line + 1))
    };
    let region = Region { lines: text.numbers(&place.range), difference: first };
    Miss { cause, nearest: vec![region] }
}

/// Votes by lines that are there in full: each says where the block would begin.
fn by_equal_lines(keys: &Keys, wanted: &[&str]) -> Vec<Candidate> {
    /// A line that repeats more often in the text looked for says too little.
    const MOST_REPEATS: usize = 4;
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, key) in wanted.iter().enumerate().filter(|(_, key)| key.len() > 2) {
        places.entry(key).or_default().push(index);
    }
    places.retain(|_, indexes| indexes.len() <= MOST_REPEATS);
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for line in 0..keys.count() {
        let key = keys.key(line);
        for index in places.get(key).into_iter().flatten() {
            *votes.entry(line.saturating_sub(*index)).or_default() += key.len();
        }
    }
    votes.into_iter().map(|(start, weight)| Candidate { start, weight }).collect()
}

/// Votes by likeness to the line that says most, where no line is there in full.
fn by_likeness(keys: &Keys, wanted: &[&str]) -> Vec<Candidate> {
    let lines = wanted.iter().enumerate().filter(|(_, key)| key.len() <= LONGEST_COMPARED);
    let Some((index, line)) = lines.max_by_key(|(_, key)| key.len()) else { return Vec::new() };
    let comparator = levenshtein::BatchComparator::new(line.chars());
    let mut best: Vec<Candidate> = Vec::new();
    let mut compared = 0;
    for at in 0..keys.count() {
        let key = keys.key(at);
        let longer = key.len().max(line.len());
        let most_alike = key.len().min(line.len()) as f64 / longer.max(1) as f64;
        let bound = if best.len() < MOST_REGIONS {
            LEAST_LIKENESS
        } else {
            best.iter().map(|known| known.weight).min().unwrap_or(0) as f64 / 1000.0
        };
        if most_alike <= bound || longer > LONGEST_COMPARED {
            continue;
        }
        // The bit-parallel distance takes a step for each letter and each 64 letters of the line.
        compared += key.len() * (line.len() / 64 + 1);
        if compared > MOST_COMPARED {
            break;
        }
        let args = levenshtein::Args::default().score_cutoff(bound);
        if let Some(likeness) = comparator.normalized_similarity_with_args(key.chars(), &args) {
            let weight = (likeness * 1000.0) as usize;
            best.push(Candidate { start: at.saturating_sub(index), weight });
            best.sort_by_key(|known| std::cmp::Reverse(known.weight));
            best.truncate(MOST_REGIONS);
        }
    }
    best
}

/// Describes the block that begins at a key, with the first line that is not as wanted.
fn region(
    text: &Lines<'_>,
    keys: &Keys,
    asked: &Asked<'_>,
    wanted: &[&str],
    start: usize,
) -> Region {
    let last = (start + wanted.len()).min(keys.count()).saturating_sub(1);
    let range = text.line(keys.line(start)).start..text.line(keys.line(last)).text_end;
    let different = wanted.iter().enumerate().find(|(index, key)| keys.key(start + index) != **key);
    let difference = different.map(|(index, _)| {
        let old = asked.kept.get(index).map_or("", |line| asked.lines.content(*line));
        first_difference(text, keys, old, start + index)
    });
    Region { lines: text.numbers(&range), difference }
}

fn first_difference(text: &Lines<'_>, keys: &Keys, old: &str, key: usize) -> Difference {
    if key < keys.count() {
        let line = keys.line(key);
        difference(trim(old), trim(text.content(line)), line + 1)
    } else {
        difference(trim(old), "", text.count() + 1)
    }
}

/// Whether a block begins and ends as wanted, while something between does not fit.
fn has_both_ends(keys: &Keys, wanted: &[&str], start: usize) -> bool {
    let (Some(first), Some(last)) = (wanted.first(), wanted.last()) else { return false };
    let reach = start + wanted.len() / 2..start + wanted.len() * 2;
    wanted.len() > 2
        && keys.key(start) == *first
        && reach.into_iter().any(|index| keys.key(index) == *last)
}
