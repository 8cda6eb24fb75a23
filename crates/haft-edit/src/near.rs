//! The last tier: a block in which a few lines hold a slip of the pen.
//!
//! All lines but a few must be there in full, and in the rest nothing but one word may be off, by a
//! slip that cannot be another name. The words are then corrected in the model's text, in the new
//! part only where the model left them alone, and the result is matched like any other reading.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use rapidfuzz::distance::levenshtein;

use crate::{
    Tier,
    align::{Hunk, hunks, successors, words},
    asked::{Asked, Reading},
    fold::Keys,
    lines::{Lines, indent, is_blank, trim, trim_end},
    look_alikes::{fold, is_word},
    typo::{Manner, is_slip, manner},
};

/// The most lines that are compared in one search.
const MOST_COMPARISONS: usize = 4_000_000;

/// Letters that must be matched in full before a slip elsewhere is forgiven.
const LEAST_EVIDENCE: usize = 12;

/// A single line is only forgiven a slip if it says at least this much.
const LEAST_ALONE: (usize, usize) = (24, 4);

/// The second best place must be worse by this many letters.
const CLEARLY: usize = 2;

/// What the search came to.
#[derive(Debug)]
pub(crate) enum Near {
    /// The reading without its slips.
    Corrected(Reading<'static>),
    Nothing,
    TooMuch,
}

/// A line of the old text to be put right.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Correction {
    line: usize,
    slip: Slip,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Slip {
    Word(Word),
    /// A comma, quote or the like is missing or too many; the line should be this one.
    Sign(String),
}

/// A word to be put right.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    /// Which of the line's words and signs, not counting blanks.
    index: usize,
    written: String,
    meant: String,
    manner: Manner,
}

/// A stretch of the text that is nearly what is looked for.
struct Window {
    start: usize,
    distance: usize,
    corrections: Option<Vec<Correction>>,
}

/// Looks for the one place that a reading means but for slips.
pub(crate) fn near(text: &Lines<'_>, keys: &Keys, reading: &Reading<'_>) -> Near {
    let Some(asked) = Asked::new(reading) else { return Near::Nothing };
    let wanted: Vec<&str> = asked.key.split('\n').collect();
    let Some(starts) = starts(keys, &wanted) else { return Near::TooMuch };
    let mut windows = Vec::new();
    let mut comparisons = 0;
    for start in starts {
        comparisons += wanted.len();
        if comparisons > MOST_COMPARISONS {
            return Near::TooMuch;
        }
        windows.extend(compare(text, keys, &asked, &wanted, start));
    }
    windows.sort_by_key(|window| window.distance);
    let mut best = windows.into_iter();
    let Some(first) = best.next() else { return Near::Nothing };
    let is_clear = best.next().is_none_or(|next| next.distance >= first.distance + CLEARLY);
    let corrections = first.corrections.filter(|_| is_clear).unwrap_or_default();
    if corrections.is_empty()
        || !corrections.iter().filter_map(word).all(|slip| is_unknown(slip, text, &asked))
    {
        return Near::Nothing;
    }
    corrected(&asked, &corrections).map_or(Near::Nothing, Near::Corrected)
}

/// Returns how many lines of a block may hold a slip.
fn most_slips(lines: usize) -> usize {
    (lines / 6).clamp(1, 4)
}

/// Returns where windows may begin: around the rarest lines, of which one must be there in full.
/// `None` if that would be too many.
fn starts(keys: &Keys, wanted: &[&str]) -> Option<Vec<usize>> {
    let last = keys.count().checked_sub(wanted.len());
    let Some(last) = last else { return Some(Vec::new()) };
    if let [line] = wanted {
        let is_about_as_long =
            |index: &usize| keys.key(*index).len().abs_diff(line.len()) <= CLEARLY;
        return Some((0..=last).filter(is_about_as_long).collect());
    }
    let mut counts: HashMap<&str, usize> = wanted.iter().map(|key| (*key, 0)).collect();
    for index in 0..keys.count() {
        if let Some(count) = counts.get_mut(keys.key(index)) {
            *count += 1;
        }
    }
    let count =
        |index: &usize| wanted.get(*index).and_then(|key| counts.get(key)).copied().unwrap_or(0);
    let mut anchors: Vec<usize> = (0..wanted.len()).filter(|index| count(index) > 0).collect();
    if wanted.len() - anchors.len() > most_slips(wanted.len()) {
        return Some(Vec::new());
    }
    anchors.sort_by_key(count);
    anchors.truncate(most_slips(wanted.len()) + 1);
    if anchors.iter().map(count).sum::<usize>() > MOST_COMPARISONS {
        return None;
    }
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for anchor in &anchors {
        places.entry(wanted.get(*anchor)?).or_default().push(*anchor);
    }
    let mut starts = Vec::new();
    for index in 0..keys.count() {
        for anchor in places.get(keys.key(index)).into_iter().flatten() {
            starts.extend(index.checked_sub(*anchor).filter(|start| *start <= last));
        }
    }
    starts.sort_unstable();
    starts.dedup();
    Some(starts)
}

/// Compares a window line by line; `None` if too many lines differ or too little is sure.
fn compare(
    text: &Lines<'_>,
    keys: &Keys,
    asked: &Asked<'_>,
    wanted: &[&str],
    start: usize,
) -> Option<Window> {
    let mut different = Vec::new();
    for (index, key) in wanted.iter().enumerate() {
        if keys.key(start + index) != *key {
            different.push(index);
            if different.len() > most_slips(wanted.len()) {
                return None;
            }
        }
    }
    let letters = |key: &&str| key.chars().filter(|letter| letter.is_alphanumeric()).count();
    let sure: usize = (wanted.iter().enumerate())
        .filter(|(index, _)| !different.contains(index))
        .map(|(_, key)| letters(key))
        .sum();
    let says_enough = |index: &usize| {
        let key = wanted.get(*index).copied().unwrap_or_default();
        key.len() >= LEAST_ALONE.0
            && words(key).iter().filter(|word| word.starts_with(is_word)).count() >= LEAST_ALONE.1
    };
    if sure < LEAST_EVIDENCE && !(different.len() == 1 && different.iter().all(says_enough)) {
        return None;
    }
    let mut distance = 0;
    let mut corrections = Some(Vec::new());
    for index in different {
        let (written, there) = (*wanted.get(index)?, keys.key(start + index));
        // Farther than this is no rival of a slip, whatever it is.
        let most = 4 * CLEARLY;
        let args = levenshtein::Args::default().score_cutoff(most);
        distance += levenshtein::distance_with_args(written.bytes(), there.bytes(), &args)
            .unwrap_or(most + 1);
        let line = *asked.kept.get(index)?;
        let is_surrounded = wanted.len() > 2 && sure >= 2 * LEAST_EVIDENCE;
        let slip = wrong_word(written, there).map(Slip::Word).or_else(|| {
            let line = trim(text.content(keys.line(start + index)));
            (is_surrounded && is_sign_off(written, there)).then(|| Slip::Sign(line.to_owned()))
        });
        corrections = corrections.zip(slip).map(|(mut all, slip)| {
            all.push(Correction { line, slip });
            all
        });
    }
    Some(Window { start, distance, corrections }).filter(|window| window.start < keys.count())
}

/// Returns the one word in which two keys differ, if that is a slip.
fn wrong_word(written: &str, there: &str) -> Option<Word> {
    let solid = |key| words(key).into_iter().filter(|word| !word.starts_with(is_blank));
    let mut pairs = solid(written).zip(solid(there)).enumerate().filter(|(_, (a, b))| a != b);
    let (index, (wrong, right)) = pairs.next()?;
    let is_only = pairs.next().is_none() && solid(written).count() == solid(there).count();
    let manner = manner(there, right);
    let is_slip = is_only && is_slip(wrong, right, manner);
    is_slip.then(|| Word { index, written: wrong.to_owned(), meant: right.to_owned(), manner })
}

/// Whether two keys of some length differ in one sign that one of them lacks. Operators and brackets
/// are no such signs, and neither is what stands beside a digit.
fn is_sign_off(written: &str, there: &str) -> bool {
    const SIGNS: [char; 6] = [',', ';', '.', '"', '\'', '`'];
    const LEAST_LETTERS: usize = 8;
    if there.chars().filter(|letter| letter.is_alphanumeric()).count() < LEAST_LETTERS {
        return false;
    }
    let (long, short) =
        if written.len() > there.len() { (written, there) } else { (there, written) };
    let head = long.bytes().zip(short.bytes()).take_while(|(a, b)| a == b).count();
    let Some((before, rest)) = long.split_at_checked(head) else { return false };
    let mut rest = rest.chars();
    let is_sign = rest.next().is_some_and(|sign| SIGNS.contains(&sign));
    let after = rest.as_str();
    is_sign
        && short.strip_prefix(before) == Some(after)
        && !before.ends_with(|c: char| c.is_ascii_digit())
        && !after.starts_with(|c: char| c.is_ascii_digit())
}

fn word(correction: &Correction) -> Option<&Word> {
    match &correction.slip {
        Slip::Word(word) => Some(word),
        Slip::Sign(_) => None,
    }
}

/// Whether the word as it was written is nowhere in the text and only once in the old one: a name
/// that exists is no slip.
fn is_unknown(slip: &Word, text: &Lines<'_>, asked: &Asked<'_>) -> bool {
    whole_words(text.text(), &slip.written).next().is_none()
        && whole_words(asked.lines.text(), &slip.written).nth(1).is_none()
}

/// Returns where a word stands in a text as a whole word.
fn whole_words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    memchr::memmem::find_iter(text.as_bytes(), word.as_bytes())
        .map(|at| at..at + word.len())
        .filter(|range| {
            let before = text.get(..range.start).and_then(|text| text.chars().next_back());
            let after = text.get(range.end..).and_then(|text| text.chars().next());
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
}

/// Puts the words right in the old text, and in the new one where the model left them alone.
fn corrected(asked: &Asked<'_>, corrections: &[Correction]) -> Option<Reading<'static>> {
    let old: Vec<&str> = asked.lines.contents().map(trim_end).collect();
    let new: Vec<&str> = asked.new.contents().map(trim_end).collect();
    let mut old_lines: Vec<Cow<'_, str>> = asked.lines.contents().map(Cow::Borrowed).collect();
    let mut new_lines: Vec<Cow<'_, str>> = asked.new.contents().map(Cow::Borrowed).collect();
    let hunks = hunks(&old, &new);
    for Correction { line, slip } in corrections {
        let written = old_lines.get(*line)?.clone();
        let successor = counterpart(&hunks, &old, &new, *line);
        let right = match slip {
            Slip::Word(word) => with_word(&written, word.index, word)?,
            Slip::Sign(there) => [indent(&written), there].concat(),
        };
        if let Some((version, is_same)) = successor {
            let line = new_lines.get_mut(version)?;
            match slip {
                _ if is_same => *line = Cow::Owned(right.clone()),
                Slip::Word(word) => {
                    if let Some(index) = same_word(&written, line, word.index) {
                        *line = Cow::Owned(with_word(line, index, word)?);
                    }
                }
                // What the model made of a line that it did not see right is not sure.
                Slip::Sign(_) => return None,
            }
        }
        *old_lines.get_mut(*line)? = Cow::Owned(right);
    }
    let rejoin = |lines: &[Cow<'_, str>], ends: &Lines<'_>| {
        lines
            .iter()
            .enumerate()
            .map(|(index, line)| [line, ends.ending(index)].concat())
            .collect::<String>()
    };
    let old = rejoin(&old_lines, &asked.lines);
    let new = rejoin(&new_lines, &asked.new);
    // New lines that use the word as it was written mean a name that is not there.
    let is_used = |slip: &Word| {
        slip.manner == Manner::Code && whole_words(&new, &slip.written).next().is_some()
    };
    if corrections.iter().filter_map(word).any(is_used) {
        return None;
    }
    Some(Reading { old: old.into(), new: new.into(), tier: Some(Tier::Near) })
}

/// Returns the line of the new text that a line of the old one lives on in.
fn counterpart(hunks: &[Hunk], old: &[&str], new: &[&str], line: usize) -> Option<(usize, bool)> {
    let hunk = hunks.iter().find(|hunk| hunk.old.contains(&line))?;
    if hunk.is_equal {
        return Some((hunk.new.start + line - hunk.old.start, true));
    }
    let pairs = successors(old.get(hunk.old.clone())?, new.get(hunk.new.clone())?);
    let pair = pairs.iter().find(|(index, _)| hunk.old.start + index == line)?;
    Some((hunk.new.start + pair.1, false))
}

/// Returns which word of a new line is the given word of the old one, left alone.
fn same_word(old: &str, new: &str, word: usize) -> Option<usize> {
    let solid = |line| -> Vec<&str> {
        words(line).into_iter().filter(|word| !word.starts_with(is_blank)).collect()
    };
    let (old, new) = (solid(old), solid(new));
    let hunks = hunks(&old, &new);
    let hunk = hunks.iter().find(|hunk| hunk.is_equal && hunk.old.contains(&word))?;
    Some(hunk.new.start + word - hunk.old.start)
}

/// Returns a line with one of its words put right; `None` if that word is another one.
fn with_word(line: &str, word: usize, slip: &Word) -> Option<String> {
    let mut corrected = String::with_capacity(line.len() + slip.meant.len());
    let mut index = 0;
    for part in words(line) {
        if part.starts_with(is_blank) {
            corrected.push_str(part);
            continue;
        }
        if index == word && fold(part) != slip.written {
            return None;
        }
        corrected.push_str(if index == word { &slip.meant } else { part });
        index += 1;
    }
    Some(corrected)
}
