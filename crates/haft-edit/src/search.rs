//! The tiers beyond exact: all readings of the model's text, one after the other.

use crate::{
    Cause, Change, Edit, Miss, Tier, Within, already,
    asked::{Asked, Reading},
    elision, escapes,
    fold::Keys,
    line_numbers,
    lines::{Lines, part},
    near::{Near, near},
    nearest,
    place::{Found, Place, places},
    replacement::{Doubt, replacement},
};

/// As many places are listed when there are several.
const MOST_LISTED: usize = 12;

/// Returns the changes for a text that is not there byte by byte.
pub(crate) fn changes(text: &str, edit: &Edit<'_>, within: &Within) -> Result<Vec<Change>, Miss> {
    let lines = Lines::new(text);
    let keys = Keys::new(&lines);
    let search = Search { text: lines, keys, edit, within };
    let readings = readings(edit, &search.text);
    for reading in &readings {
        if let Some(changes) = search.read(reading)? {
            return Ok(changes);
        }
    }
    if let Some(line) = elision::elided(edit.old) {
        return Err(search.absent(Cause::Elided { line }));
    }
    if let Some(lines) = already::lines(&search.text, &search.keys, edit, within) {
        return Err(Miss::from(Cause::AlreadyApplied { lines }));
    }
    for reading in &readings {
        match near(&search.text, &search.keys, reading) {
            Near::Corrected(corrected) => {
                if let Some(changes) = search.read(&corrected)? {
                    return Ok(changes);
                }
            }
            Near::TooMuch => return Err(Miss::from(Cause::TooMuchWork)),
            Near::Nothing => {}
        }
    }
    Err(search.absent(Cause::Absent))
}

/// Returns all readings, the most literal first.
fn readings<'a>(edit: &Edit<'a>, file: &Lines<'_>) -> Vec<Reading<'a>> {
    let literal = Reading::literal(edit.old, edit.new);
    let bare = line_numbers::reading(&literal, file);
    let mut readings = escapes::readings(&literal);
    readings.extend(bare.iter().cloned());
    readings.extend(bare.iter().flat_map(escapes::readings));
    std::iter::once(literal).chain(readings).collect()
}

struct Search<'a> {
    text: Lines<'a>,
    keys: Keys,
    edit: &'a Edit<'a>,
    within: &'a Within,
}

impl Search<'_> {
    /// Tries one reading; `None` if it is nowhere.
    fn read(&self, reading: &Reading<'_>) -> Result<Option<Vec<Change>>, Miss> {
        let Some(asked) = Asked::new(reading) else { return Ok(None) };
        match places(&self.text, &self.keys, &asked, self.within) {
            Found::TooMany => Err(Miss::from(Cause::TooMuchWork)),
            Found::Places(places) if places.is_empty() => Ok(None),
            Found::Places(places) => self.settle(reading, &asked, places).map(Some),
        }
    }

    /// Turns places into changes, if there are as many as asked for and the outcome is sure.
    fn settle(
        &self,
        reading: &Reading<'_>,
        asked: &Asked<'_>,
        places: Vec<Place>,
    ) -> Result<Vec<Change>, Miss> {
        if places.len() > 1 && !self.edit.replace_all {
            let lines =
                places.iter().take(MOST_LISTED).map(|place| self.text.numbers(&place.range));
            let tier =
                places.first().map_or(Tier::Blanks, |place| reading.tier.unwrap_or(place.tier));
            let cause = Cause::Several { tier, places: places.len(), lines: lines.collect() };
            return Err(Miss::from(cause));
        }
        let mut changes: Vec<Change> = Vec::new();
        for place in places {
            let is_free = changes.last().is_none_or(|last| last.range.end <= place.range.start);
            if is_free {
                changes.push(self.change(reading, asked, &place)?);
            }
        }
        Ok(changes)
    }

    fn change(
        &self,
        reading: &Reading<'_>,
        asked: &Asked<'_>,
        place: &Place,
    ) -> Result<Change, Miss> {
        let lines = self.text.numbers(&place.range);
        let there = part(self.text.text(), place.range.clone());
        let miss = |cause| Err(nearest::at_place(&self.text, asked, place, cause));
        if Lines::new(there).contents().eq(asked.new.contents()) {
            return miss(Cause::AlreadyApplied { lines });
        }
        if place.tier > Tier::LookAlikes && is_only_about_blanks(asked, reading) {
            return miss(Cause::OnlyBlanks { lines });
        }
        match replacement(&self.text, asked, place) {
            Ok(replacement) if replacement == there => miss(Cause::AlreadyApplied { lines }),
            Ok(replacement) => {
                let tier = reading.tier.unwrap_or(place.tier);
                Ok(Change { range: place.range.clone(), replacement, tier, lines, edit: 0 })
            }
            Err(Doubt::Indentation) => miss(Cause::Indentation { lines }),
            Err(Doubt::BlankLines) => miss(Cause::BlankLines { lines }),
        }
    }

    fn absent(&self, cause: Cause) -> Miss {
        nearest::miss(&self.text, &self.keys, self.edit.old, cause)
    }
}

/// Whether the edit changes nothing but blanks, of which the match has just shown that the model
/// does not see them right.
fn is_only_about_blanks(asked: &Asked<'_>, reading: &Reading<'_>) -> bool {
    let new = Reading::literal(&reading.new, "");
    Asked::new(&new).is_some_and(|new| new.key == asked.key)
}
