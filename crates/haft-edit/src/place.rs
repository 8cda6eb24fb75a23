//! Places where a reading stands in a text, each with the tier that it takes to see it.

use std::ops::Range;

use memchr::memmem;

use crate::{
    Tier, Within,
    asked::Asked,
    fold::{Keys, Mapped},
    hanging::{Hang, hang},
    indent::Shift,
    lines::{Lines, indent, is_blank, part, trim, trim_end},
    look_alikes::{fold, is_word},
};

/// The most comparisons of lines in one search; beyond it the text repeats itself hopelessly.
const MOST_COMPARISONS: usize = 50_000;

/// A match of more lines than asked for, by blank lines, is refused beyond this many.
const MOST_EXTRA_LINES: usize = 8;

/// A stretch of the text that a reading stands for.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) range: Range<usize>,
    /// The line of the text that each line of the reading is; `None` for a blank one without one.
    pub(crate) line_of: Vec<Option<usize>>,
    /// Whether the match begins behind the indentation of its first line, or later.
    pub(crate) starts_within: bool,
    pub(crate) tier: Tier,
}

impl Place {
    /// Returns the lines that the place touches, counted from 0.
    pub(crate) fn lines(&self) -> Range<usize> {
        let first = self.line_of.iter().flatten().next().copied().unwrap_or(0);
        let last = self.line_of.iter().flatten().next_back().copied().unwrap_or(0);
        first..last + 1
    }

    /// Returns what of a line lies in the place, without the line's end.
    pub(crate) fn content<'t>(&self, text: &Lines<'t>, line: usize) -> &'t str {
        let whole = text.line(line);
        let start = whole.start.max(self.range.start);
        part(text.text(), start..whole.text_end.min(self.range.end).max(start))
    }

    /// Returns the pairs of lines, the reading's first, without blanks that have no counterpart.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.line_of.iter().enumerate().filter_map(|(asked, line)| line.map(|line| (asked, line)))
    }
}

/// What a search came to.
#[derive(Debug)]
pub(crate) enum Found {
    /// All places of the tightest tier that has any; maybe none.
    Places(Vec<Place>),
    /// The text repeats itself so often that looking on would take too long.
    TooMany,
}

/// Finds the places of a reading, and keeps those of the tightest tier that has any.
pub(crate) fn places(text: &Lines<'_>, keys: &Keys, asked: &Asked<'_>, within: &Within) -> Found {
    let mut found: Vec<Place> = Vec::new();
    let mut comparisons = 0;
    let finder = memmem::Finder::new(asked.key.as_bytes());
    let mut from = 0;
    while let Some(rest) = keys.text.as_bytes().get(from..)
        && let Some(at) = finder.find(rest).map(|at| at + from)
    {
        comparisons += asked.kept.len();
        if comparisons > MOST_COMPARISONS {
            return Found::TooMany;
        }
        from = at + 1;
        if let Some(place) = examine(text, keys, asked, at, within) {
            found.push(place);
        }
    }
    let tightest = found.iter().map(|place| place.tier).min();
    found.retain(|place| Some(place.tier) == tightest);
    prefer_end(&mut found, text.text(), within);
    Found::Places(found)
}

/// Keeps only what ends at the end of the text, if that was wished for and there is any.
fn prefer_end(found: &mut Vec<Place>, text: &str, within: &Within) {
    let is_last = |place: &Place| {
        part(text, place.range.end..text.len()).chars().all(|rest| is_blank(rest) || rest == '\n')
    };
    if within.at_end && found.iter().any(is_last) {
        found.retain(is_last);
    }
}

/// Looks at one occurrence of the key; `None` if it is not a place in good form.
fn examine(
    text: &Lines<'_>,
    keys: &Keys,
    asked: &Asked<'_>,
    at: usize,
    within: &Within,
) -> Option<Place> {
    let (first, last) = asked.span();
    let first_key = keys.at(at);
    let last_key = first_key + asked.kept.len() - 1;
    let (first_line, last_line) = (keys.line(first_key), keys.line(last_key));
    let mut line_of = vec![None; asked.lines.count()];
    for (index, asked_line) in asked.kept.iter().enumerate() {
        *line_of.get_mut(*asked_line)? = Some(keys.line(first_key + index));
    }
    if last_line - first_line > last - first + MOST_EXTRA_LINES + (last - first) / 2 {
        return None;
    }
    let start = start_of(text, keys, asked, at, first_key)?;
    let end = end_of(text, keys, asked, at + asked.key.len(), last_key)?;
    pair_blank_lines(text, asked, &mut line_of, start.is_some(), end.is_some());
    if (start.is_some() || end.is_some()) && !says_enough(text, asked, first_line, start.is_some())
    {
        return None;
    }
    let mut place = Place {
        range: start.unwrap_or(text.line(first_line).start)
            ..end.unwrap_or_else(|| full_end(text, asked, last_line)),
        line_of,
        starts_within: start.is_some(),
        tier: Tier::Blanks,
    };
    let is_bare = start.is_none() && is_fragment(text, asked, &place, first_line);
    if is_bare {
        place.starts_within = true;
        place.range.start += indent(text.content(first_line)).len();
    }
    cover_blank_lines(text, asked, &mut place);
    let inside = within.range.start <= place.range.start && place.range.end <= within.range.end;
    place.tier = tier(text, asked, &place);
    if is_bare && asked.kept.len() == 1 {
        // How the new text is read must not settle which of two places is meant.
        place.tier = place.tier.max(Tier::Indentation);
    }
    inside.then_some(place)
}

/// Whether a text says enough to be seen in a part of a line, where not every byte is the same: two
/// words or a long one, and no indentation that the line does not have.
fn says_enough(text: &Lines<'_>, asked: &Asked<'_>, line: usize, starts_within: bool) -> bool {
    const LEAST: usize = 8;
    let (first, last) = asked.span();
    let words = asked.key.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()).count();
    let model = indent(asked.lines.content(first));
    let fits = model.is_empty() || starts_within || model == indent(text.content(line));
    first < last || ((words > 1 || asked.key.len() >= LEAST) && fits)
}

/// Returns where a match begins within a line, `Some(None)` at a line's first character, and
/// `None` if it may not begin there: within a word, or where the text has no blank.
#[expect(
    clippy::option_option,
    reason = "refused, whole line, and within a line are three answers"
)]
fn start_of(
    text: &Lines<'_>,
    keys: &Keys,
    asked: &Asked<'_>,
    at: usize,
    key_index: usize,
) -> Option<Option<usize>> {
    if keys.start(key_index) == at {
        return Some(None);
    }
    let (first, _) = asked.span();
    let before = keys.text.get(..at)?.chars().next_back()?;
    let next = asked.key.chars().next()?;
    if first > 0 || (is_word(before) && is_word(next)) {
        return None;
    }
    let line = text.line(keys.line(key_index));
    let content = text.content(keys.line(key_index));
    let start = Mapped::new(content).start_of(at - keys.start(key_index))?;
    // More than a space is indentation, and that opens a line.
    let opening = indent(asked.lines.content(first));
    let after_blank = part(content, 0..start).ends_with(is_blank);
    (opening.is_empty() || (opening == " " && after_blank)).then_some(Some(line.start + start))
}

/// The same for the end of a match.
#[expect(
    clippy::option_option,
    reason = "refused, whole line, and within a line are three answers"
)]
fn end_of(
    text: &Lines<'_>,
    keys: &Keys,
    asked: &Asked<'_>,
    key_end: usize,
    key_index: usize,
) -> Option<Option<usize>> {
    if keys.text.as_bytes().get(key_end) == Some(&b'\n') {
        return Some(None);
    }
    let (_, last) = asked.span();
    let next = keys.text.get(key_end..)?.chars().next()?;
    let before = asked.key.chars().next_back()?;
    if asked.is_closed || (is_word(before) && is_word(next)) {
        return None;
    }
    let line = text.line(keys.line(key_index));
    let content = text.content(keys.line(key_index));
    let end = Mapped::new(content).end_of(key_end - keys.start(key_index))?;
    // Blanks that the text ends in are part of it.
    let written = asked.lines.content(last);
    let blanks = part(written, trim_end(written).len()..written.len());
    let is_there = part(content, end..content.len()).starts_with(blanks);
    is_there.then_some(Some(line.start + end + blanks.len()))
}

/// Returns where a match ends that covers its last line to the end.
fn full_end(text: &Lines<'_>, asked: &Asked<'_>, last_line: usize) -> usize {
    let line = text.line(last_line);
    if asked.is_closed { line.end } else { line.text_end }
}

/// Gives the blank lines of the reading their counterparts: between two lines in order, before
/// the first and after the last those next to it.
fn pair_blank_lines(
    text: &Lines<'_>,
    asked: &Asked<'_>,
    line_of: &mut [Option<usize>],
    starts_within: bool,
    ends_within: bool,
) {
    let is_free = |line: usize| line < text.count() && trim(text.content(line)).is_empty();
    for pair in asked.kept.windows(2) {
        let [before, after] = pair else { continue };
        let mut next = line_of.get(*before).copied().flatten().map_or(usize::MAX, |line| line + 1);
        for blank in before + 1..*after {
            if is_free(next)
                && let Some(slot) = line_of.get_mut(blank)
            {
                *slot = Some(next);
                next += 1;
            }
        }
    }
    let (first, last) = asked.span();
    let mut above = line_of.get(first).copied().flatten().unwrap_or(0);
    for blank in (0..first).rev() {
        if starts_within || above == 0 || !is_free(above - 1) {
            break;
        }
        above -= 1;
        if let Some(slot) = line_of.get_mut(blank) {
            *slot = Some(above);
        }
    }
    let below = line_of.get(last).copied().flatten().map_or(text.count(), |line| line + 1);
    for (slot, line) in line_of.iter_mut().skip(last + 1).zip(below..text.count()) {
        if ends_within || !is_free(line) {
            break;
        }
        *slot = Some(line);
    }
}

/// Lets the range cover the blank lines that were paired at the edges.
fn cover_blank_lines(text: &Lines<'_>, asked: &Asked<'_>, place: &mut Place) {
    let (first, last) = asked.span();
    let lines = place.lines();
    if place.line_of.iter().take(first).any(Option::is_some) {
        place.range.start = text.line(lines.start).start;
    }
    if place.line_of.iter().skip(last + 1).any(Option::is_some) {
        place.range.end = text.line(lines.end - 1).end;
    }
}

/// Whether the first line was copied without its indentation, while the others kept theirs.
fn is_fragment(text: &Lines<'_>, asked: &Asked<'_>, place: &Place, first_line: usize) -> bool {
    let (first, _) = asked.span();
    let there = indent(text.content(first_line));
    // What goes without a trace goes with its indentation.
    if asked.new.text().is_empty() {
        return false;
    }
    if first > 0 || there.is_empty() || !indent(asked.lines.content(0)).is_empty() {
        return false;
    }
    if asked.kept.len() == 1 {
        // With one line nothing but the new text tells.
        return hang("", there, &asked.new) != Hang::Shifted;
    }
    let rest = place.pairs().filter(|(asked_line, _)| *asked_line > 0);
    let mut rest = rest.map(|(old, new)| (asked.lines.content(old), place.content(text, new)));
    if rest.all(|(old, there)| likeness(old, there) <= Tier::LookAlikes) {
        return true;
    }
    !Shift::learn(text, asked, place).is_function()
}

/// Returns the tier that it takes to see the reading in a place.
fn tier(text: &Lines<'_>, asked: &Asked<'_>, place: &Place) -> Tier {
    let (first, last) = asked.span();
    let mut tier = Tier::LineEnds;
    for (old, line) in place.pairs() {
        let content = asked.lines.content(old);
        let content = if place.starts_within && old == first {
            content.trim_start_matches(is_blank)
        } else {
            content
        };
        tier = tier.max(likeness(content, place.content(text, line)));
    }
    if tier == Tier::Indentation && !Shift::learn(text, asked, place).is_function() {
        tier = Tier::Blanks;
    }
    let lone = |range: Range<usize>| {
        place.line_of.get(range).is_some_and(|lines| lines.iter().any(Option::is_none))
    };
    let lines = place.lines();
    let covered = place.pairs().count();
    if lone(first..last + 1) || covered < lines.len() {
        tier = tier.max(Tier::Blanks);
    }
    if lone(0..first) || lone(last + 1..asked.lines.count()) {
        tier = tier.max(Tier::BoundaryBlankLines);
    }
    tier
}

/// Returns the tier that it takes to see two lines as the same.
fn likeness(old: &str, there: &str) -> Tier {
    let (old, there) = (trim_end(old), trim_end(there));
    if old == there {
        Tier::LineEnds
    } else if fold(old) == fold(there) {
        Tier::LookAlikes
    } else if fold(trim(old)) == fold(trim(there)) {
        Tier::Indentation
    } else {
        Tier::Blanks
    }
}
