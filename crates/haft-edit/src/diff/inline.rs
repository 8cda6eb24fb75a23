//! A change for a terminal: lines whose changed parts are marked.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::hunks::{Hunk, Lines, Step, compare_around, groups};
use super::{Bounds, Role};

/// Bytes of one line up to which its words are compared and it is shown whole.
const LONG_LINE: usize = 4096;

/// One line of a change. Where numbers of neighbours are not consecutive, unchanged lines are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What the line is.
    pub role: Role,
    /// Its number from one: in the old text if it was removed, else in the new one.
    pub number: usize,
    /// Its text without line end, in parts; a line that is too long is cut in the middle of what did not change.
    pub segments: Vec<Segment>,
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The text of the part.
    pub text: String,
    /// Whether the other side has something else here.
    pub changed: bool,
}

/// Compares two texts line by line, and lines that replace each other word by word.
#[must_use]
pub fn inline(old: &str, new: &str, bounds: &Bounds) -> Vec<Line> {
    let (lines, hunks) = compare_around(old, new, bounds.compared_lines, bounds.context);
    let mut out = Vec::new();
    let mut bytes = 0;
    for group in groups(&hunks, &lines, bounds.context) {
        for step in group.steps(&lines) {
            let line = emphasised(&step, &group.hunks, &lines);
            bytes += line.segments.iter().map(|segment| segment.text.len() + 1).sum::<usize>();
            if bytes > bounds.text_bytes {
                return out;
            }
            out.push(line);
        }
    }
    out
}

fn emphasised(step: &Step<'_>, hunks: &[Hunk], lines: &Lines<'_>) -> Line {
    let text = body(step.line);
    let segments = match (step.role, pair(step, hunks, lines)) {
        (Role::Context, _) => vec![segment(cut(text), false)],
        (_, None) => vec![segment(cut(text), true)],
        (_, Some(other)) => compare_line(text, body(other)),
    };
    Line { role: step.role, number: step.number, segments }
}

/// The line that stands in the place of this one on the other side.
fn pair<'t>(step: &Step<'_>, hunks: &[Hunk], lines: &Lines<'t>) -> Option<&'t str> {
    let index = step.index;
    let position = |hunk: &Hunk| match step.role {
        Role::Context | Role::Removed => hunk.old.start,
        Role::Added => hunk.new.start,
    };
    // The hunks are in order, so the last one that starts at or before the line holds it.
    let hunk = hunks.get(hunks.partition_point(|hunk| position(hunk) <= index).checked_sub(1)?)?;
    match step.role {
        Role::Context => None,
        Role::Removed => lines.new.get(hunk.new.clone())?.get(index - hunk.old.start).copied(),
        Role::Added => lines.old.get(hunk.old.clone())?.get(index - hunk.new.start).copied(),
    }
}

/// The parts of `text`, marked where `other` differs.
fn compare_line(text: &str, other: &str) -> Vec<Segment> {
    if text.len() > LONG_LINE || other.len() > LONG_LINE {
        return compare_ends(text, other);
    }
    let (mine, theirs) = (words(text), words(other));
    let ops = capture_diff_slices(Algorithm::Myers, &mine, &theirs);
    let mut segments: Vec<Segment> = Vec::new();
    for op in &ops {
        let part: String = mine.get(op.old_range()).unwrap_or_default().concat();
        let changed = !matches!(op, DiffOp::Equal { .. });
        match segments.last_mut() {
            _ if part.is_empty() => {}
            Some(last) if last.changed == changed => last.text.push_str(&part),
            _ => segments.push(segment(part, changed)),
        }
    }
    let kept: usize =
        segments.iter().filter(|part| !part.changed).map(|part| part.text.trim().len()).sum();
    if kept * 4 < text.trim().len() {
        return vec![segment(text.to_owned(), true)];
    }
    segments
}

/// The same for long lines: only the common head and tail are told apart from the rest.
fn compare_ends(text: &str, other: &str) -> Vec<Segment> {
    let head: usize = text
        .chars()
        .zip(other.chars())
        .take_while(|(a, b)| a == b)
        .map(|(c, _)| c.len_utf8())
        .sum();
    let (start, rest) = text.split_at_checked(head).unwrap_or((text, ""));
    let other_rest = other.split_at_checked(head).unwrap_or((other, "")).1;
    let same = rest.chars().rev().zip(other_rest.chars().rev()).take_while(|(a, b)| a == b);
    let tail: usize = same.map(|(c, _)| c.len_utf8()).sum();
    let (middle, end) = rest.split_at_checked(rest.len() - tail).unwrap_or((rest, ""));
    [(start, false), (middle, true), (end, false)]
        .into_iter()
        .filter(|(part, _)| !part.is_empty())
        .map(|(part, changed)| segment(cut(part), changed))
        .collect()
}

fn segment(text: String, changed: bool) -> Segment {
    Segment { text, changed }
}

/// A long text without its middle.
fn cut(text: &str) -> String {
    if text.len() <= LONG_LINE {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(LONG_LINE / 4);
    let tail = text.ceil_char_boundary(text.len() - LONG_LINE / 4);
    let start = text.get(..head).unwrap_or_default();
    let end = text.get(tail..).unwrap_or_default();
    format!("{start}… [{} bytes] …{end}", tail - head)
}

fn body(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Runs of word characters, runs of blanks, and every other character by itself.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = kind(first);
        let end = match kind {
            Kind::Other => first.len_utf8(),
            _ => rest.find(|c| self::kind(c) != kind).unwrap_or(rest.len()),
        };
        let Some((word, after)) = rest.split_at_checked(end) else { break };
        words.push(word);
        rest = after;
    }
    words
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Word,
    Blank,
    Other,
}

fn kind(c: char) -> Kind {
    if c.is_alphanumeric() || c == '_' {
        Kind::Word
    } else if c.is_whitespace() {
        Kind::Blank
    } else {
        Kind::Other
    }
}
