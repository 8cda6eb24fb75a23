//! Edits that were made before: the new text is there and the old one is not, or only inside it.

use std::ops::RangeInclusive;

use crate::{
    Edit, Within,
    asked::{Asked, Reading},
    fold::Keys,
    lines::{Lines, part, trim},
    place::{Found, places},
};

/// New text shorter than this may be there by chance.
const LEAST_LETTERS: usize = 12;

/// Whether an exact place of the old text is part of the new text, which stands there already.
pub(crate) fn surrounds(text: &str, edit: &Edit<'_>, start: usize) -> bool {
    let Some(before) = edit.new.find(edit.old) else { return false };
    let added =
        [part(edit.new, 0..before), part(edit.new, before + edit.old.len()..edit.new.len())];
    let letters = added.iter().flat_map(|part| part.chars()).filter(|c| !c.is_whitespace()).count();
    letters >= LEAST_LETTERS
        && start
            .checked_sub(before)
            .and_then(|start| text.get(start..))
            .is_some_and(|text| text.starts_with(edit.new))
}

/// Returns the lines where the new text stands, give or take blanks, if it says enough.
pub(crate) fn lines(
    text: &Lines<'_>,
    keys: &Keys,
    edit: &Edit<'_>,
    within: &Within,
) -> Option<RangeInclusive<usize>> {
    if trim(edit.new).len() < LEAST_LETTERS {
        return None;
    }
    let reading = Reading::literal(edit.new, "");
    let asked = Asked::new(&reading)?;
    match places(text, keys, &asked, within) {
        Found::Places(places) => places.first().map(|place| text.numbers(&place.range)),
        Found::TooMany => None,
    }
}
