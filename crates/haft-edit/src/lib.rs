//! Edits that land or explain: where a model's text stands in a file, and what takes its place.
//!
//! The engine is pure: text in, changes out. Matching goes through tiers, from exact to a block
//! with a slip of the pen. A tier that finds several places ends the search, and what is not sure
//! is refused with a [`Miss`] that says how the next try can be right.

mod align;
mod already;
mod asked;
pub mod diff;
mod elision;
mod escapes;
mod exact;
mod fold;
mod hanging;
mod indent;
mod learned;
mod line_numbers;
mod lines;
mod look_alikes;
mod merge;
mod miss;
mod near;
mod nearest;
pub mod patch;
mod place;
mod plan;
mod replacement;
mod search;
mod style;
mod typo;

use std::ops::{Range, RangeInclusive};

pub use miss::{Cause, Difference, DifferenceKind, Miss, Region};
pub use plan::{Refusal, apply, plan};

/// What a model asks for: this text, and what shall stand there instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edit<'a> {
    /// The text to be replaced.
    pub old: &'a str,
    /// The text that takes its place.
    pub new: &'a str,
    /// Whether every place is meant rather than the only one.
    pub replace_all: bool,
}

/// One stretch of the original and what takes its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The stretch, in bytes.
    pub range: Range<usize>,
    /// What takes its place, in the style of the place.
    pub replacement: String,
    /// What it took to find it.
    pub tier: Tier,
    /// The lines of the original that the range touches, counted from 1.
    pub lines: RangeInclusive<usize>,
    /// Which of the edits this is of, counted from 0.
    pub edit: usize,
}

/// What it takes to see a text in a place, the strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Tier {
    /// Every byte is the same.
    Exact,
    /// Line ends and blanks at the end of lines differ.
    LineEnds,
    /// Quotes, dashes, spaces or composed letters look the same but are not.
    LookAlikes,
    /// All lines are shifted, or tabs stand for spaces.
    Indentation,
    /// Blanks within lines and blank lines differ.
    Blanks,
    /// Escapes were written out.
    Escapes,
    /// Line numbers were copied along.
    LineNumbers,
    /// There are blank lines too many at the edges.
    BoundaryBlankLines,
    /// A few words have slips of the pen.
    Near,
}

impl Tier {
    /// Says in words, for a model, how its text differed from the file.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Exact => "exactly",
            Self::LineEnds => "except for line ends or trailing blanks",
            Self::LookAlikes => {
                "except for look-alike characters (quotes, dashes, spaces, accents)"
            }
            Self::Indentation => "except for indentation",
            Self::Blanks => "except for blanks within lines or blank lines",
            Self::Escapes => "after undoing written-out escapes",
            Self::LineNumbers => "after removing copied line numbers",
            Self::BoundaryBlankLines => "except for blank lines at the edges",
            Self::Near => "except for a slip in spelling",
        }
    }
}

/// Which part of a text may be matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Within {
    /// A match must lie in here.
    pub range: Range<usize>,
    /// Whether a match at the end of the text is preferred to others.
    pub at_end: bool,
}

impl Within {
    /// Allows the whole text.
    pub fn all(text: &str) -> Self {
        Self { range: 0..text.len(), at_end: false }
    }
}

/// Finds where one edit lands: one place, or with `replace_all` at least one.
///
/// # Errors
///
/// A [`Miss`] if there is no place, or several, or if it is not sure what the model meant.
pub fn locate(text: &str, edit: &Edit<'_>, within: &Within) -> Result<Vec<Change>, Miss> {
    if edit.old.is_empty() {
        return Err(Miss::from(Cause::EmptyOld));
    }
    if edit.old == edit.new {
        return Err(Miss::from(Cause::SameText));
    }
    if let Some(line) = elision::placeholder(edit.old, edit.new) {
        return Err(Miss::from(Cause::Placeholder { line }));
    }
    match exact::changes(text, edit, within)? {
        changes if changes.is_empty() => search::changes(text, edit, within),
        // The first line is there with more indentation, so what is exact is not the line.
        changes if exact::is_shifted(text, edit, &changes) => {
            match search::changes(text, edit, within) {
                Err(miss) if miss.is_absence() => Ok(changes),
                found => found,
            }
        }
        changes => Ok(changes),
    }
}
