//! Several edits of one text: all matched against the original, all or nothing.

use crate::{Change, Edit, Miss, Within, lines::part, locate};

/// Why a list of edits is refused as a whole. Nothing of it is applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// There is nothing to do.
    #[error("There are no edits in the list; give at least one.")]
    NoEdits,
    /// One edit does not land.
    #[error("{}", at_edit(*edit, *of, miss))]
    Miss {
        /// Which edit, counted from 0.
        edit: usize,
        /// How many there are.
        of: usize,
        /// Why.
        miss: Miss,
    },
    /// Two edits want the same text.
    #[error(
        "Edits {} and {} overlap on line {line}; nothing was changed. Join them into one edit, or let each \
         cover only the lines that it changes.",
        first + 1,
        second + 1
    )]
    Overlap {
        /// The edit that comes first in the text.
        first: usize,
        /// The edit that reaches into it.
        second: usize,
        /// Where they meet, counted from 1.
        line: usize,
    },
}

fn at_edit(edit: usize, of: usize, miss: &Miss) -> String {
    if of == 1 {
        miss.render()
    } else {
        format!("Edit {} of {of}, so nothing was changed: {}", edit + 1, miss.render())
    }
}

/// Finds where all edits land, each matched against the original, sorted by place.
///
/// # Errors
///
/// A [`Refusal`] if any of them does not land, or two of them overlap.
pub fn plan(text: &str, edits: &[Edit<'_>]) -> Result<Vec<Change>, Refusal> {
    if edits.is_empty() {
        return Err(Refusal::NoEdits);
    }
    let mut changes = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let found = locate(text, edit, &Within::all(text));
        let found = found.map_err(|miss| Refusal::Miss { edit: index, of: edits.len(), miss })?;
        changes.extend(found.into_iter().map(|change| Change { edit: index, ..change }));
    }
    changes.sort_by_key(|change| (change.range.start, change.range.end));
    for pair in changes.windows(2) {
        if let [first, second] = pair
            && second.range.start < first.range.end
        {
            let (first, second, line) = (first.edit, second.edit, *second.lines.start());
            return Err(Refusal::Overlap { first, second, line });
        }
    }
    Ok(changes)
}

/// Applies changes that are sorted by place and do not overlap.
pub fn apply(text: &str, changes: &[Change]) -> String {
    let added: usize = changes.iter().map(|change| change.replacement.len()).sum();
    let mut applied = String::with_capacity(text.len() + added);
    let mut done = 0;
    for change in changes {
        applied.push_str(part(text, done..change.range.start));
        applied.push_str(&change.replacement);
        done = change.range.end;
    }
    applied.push_str(part(text, done..text.len()));
    applied
}
