//! Stands in for the matching engine: exact places only.

use std::fmt;
use std::ops::{Range, RangeInclusive};

/// One replacement.
#[derive(Clone, Copy, Debug)]
pub struct Edit<'a> {
    /// What is there.
    pub old: &'a str,
    /// What shall be.
    pub new: &'a str,
    /// All places.
    pub replace_all: bool,
}

/// A change of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The bytes.
    pub range: Range<usize>,
    /// What replaces them.
    pub replacement: String,
    /// How it was found.
    pub tier: Tier,
    /// Lines from one.
    pub lines: RangeInclusive<usize>,
    /// Which edit.
    pub edit: usize,
}

/// How a place was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Byte by byte.
    Exact,
    /// But for line ends.
    LineEnds,
}

/// Where to look.
#[derive(Clone, Debug)]
pub struct Within {
    /// The bytes.
    pub range: Range<usize>,
    /// Only at the end.
    pub at_end: bool,
}

impl Within {
    /// Everywhere.
    #[must_use]
    pub const fn all(text: &str) -> Self {
        Self { range: 0..text.len(), at_end: false }
    }
}

/// Nothing found.
#[derive(Clone, Debug)]
pub struct Miss {
    /// How many places.
    pub places: usize,
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found at {} places", self.places)
    }
}

/// Finds the one place.
///
/// # Errors
///
/// None or several.
pub fn locate(text: &str, edit: &Edit<'_>, within: &Within) -> Result<Vec<Change>, Miss> {
    let part = text.get(within.range.clone()).unwrap_or_default();
    let places: Vec<usize> = if edit.old.is_empty() {
        Vec::new()
    } else {
        part.match_indices(edit.old).map(|(at, _)| at).collect()
    };
    let [at] = places.as_slice() else { return Err(Miss { places: places.len() }) };
    let start = within.range.start + at;
    let range = start..start + edit.old.len();
    let line = 1 + text.get(..start).unwrap_or_default().matches('\n').count();
    let last = line + edit.old.matches('\n').count();
    Ok(vec![Change {
        range,
        replacement: edit.new.to_owned(),
        tier: Tier::Exact,
        lines: line..=last,
        edit: 0,
    }])
}

/// Puts changes in order on a text.
#[must_use]
pub fn apply(text: &str, changes: &[Change]) -> String {
    let mut out = String::new();
    let mut from = 0;
    for change in changes {
        out.push_str(text.get(from..change.range.start).unwrap_or_default());
        out.push_str(&change.replacement);
        from = change.range.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}
