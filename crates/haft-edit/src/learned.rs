//! What a match teaches about the characters that the model writes.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfd};

use crate::{
    asked::Asked,
    lines::{Lines, is_blank, trim, trim_end},
    look_alikes::plain,
    place::Place,
};

/// How new text is to be written so that it fits the place.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// The only fancy characters that are not written plain, because the text has them and the
    /// model did not write them amiss; `None` if it wrote none amiss.
    fancy: Option<Vec<char>>,
    form: Option<Form>,
    /// Whether the model ended lines in blanks where the text did not.
    adds_blanks: bool,
    /// Whether the model wrote several blanks between words where the text has one.
    widens_blanks: bool,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Composed,
    Decomposed,
}

impl Learned {
    pub(crate) fn new(text: &Lines<'_>, asked: &Asked<'_>, place: &Place) -> Self {
        let mut learned = Self::default();
        let pairs = || {
            place.pairs().map(|(old, line)| (asked.lines.content(old), place.content(text, line)))
        };
        learned.adds_blanks = pairs().any(|(old, there)| {
            trim_end(old).len() < old.len() && trim_end(there).len() == there.len()
        });
        let blanks = |line: &str| trim(line).chars().filter(|c| is_blank(*c)).count();
        let mut widths = pairs().map(|(old, there)| blanks(old).cmp(&blanks(there)));
        learned.widens_blanks = pairs().any(|(old, there)| blanks(old) > blanks(there))
            && widths.all(|width| width != Ordering::Less);
        let is_fancy = |character: &char| !character.is_ascii() && plain(*character).is_some();
        let amiss: Vec<char> = pairs()
            .filter(|(old, _)| !old.is_ascii())
            .flat_map(|(old, there)| surplus(old, there).filter(is_fancy))
            .collect();
        if !amiss.is_empty() {
            let known = text.text().chars().filter(|c| is_fancy(c) && !amiss.contains(c));
            learned.fancy = Some(known.collect::<BTreeSet<char>>().into_iter().collect());
        }
        let differ = || pairs().filter(|(old, there)| old != there);
        if differ().all(|(old, there)| is_nfc(old) && is_nfd(there))
            && differ().any(|(_, there)| !is_nfc(there))
        {
            learned.form = Some(Form::Decomposed);
        } else if differ().all(|(old, there)| is_nfd(old) && is_nfc(there))
            && differ().any(|(old, _)| !is_nfc(old))
        {
            learned.form = Some(Form::Composed);
        }
        learned
    }

    /// Returns a line of the model without blanks at its end that it has no reason for.
    pub(crate) fn trimmed<'l>(&self, new: &'l str) -> &'l str {
        if self.adds_blanks { trim_end(new) } else { new }
    }

    /// Writes what is new in a line with the characters and the blanks of the place.
    pub(crate) fn characters(&self, new: &str) -> String {
        let mut written = String::with_capacity(new.len());
        for character in new.chars() {
            let is_foreign = self.fancy.as_ref().is_some_and(|known| !known.contains(&character));
            match plain(character).filter(|_| is_foreign) {
                Some(plain) => written.push_str(plain),
                None => written.push(character),
            }
        }
        if self.widens_blanks {
            written = narrowed(&written);
        }
        match self.form {
            Some(Form::Composed) => written.nfc().collect(),
            Some(Form::Decomposed) => written.nfd().collect(),
            None => written,
        }
    }

    /// Writes a line that is new with the characters of the place.
    pub(crate) fn fresh(&self, new: &str) -> String {
        self.characters(self.trimmed(new))
    }
}

/// Returns the characters that a line has more often than another.
fn surplus(line: &str, other: &str) -> impl Iterator<Item = char> {
    let mut counts: BTreeMap<char, isize> = BTreeMap::new();
    for character in line.chars().filter(|c| !c.is_ascii()) {
        *counts.entry(character).or_default() += 1;
    }
    for character in other.chars().filter(|c| !c.is_ascii()) {
        *counts.entry(character).or_default() -= 1;
    }
    counts.into_iter().filter(|(_, count)| *count > 0).map(|(character, _)| character)
}

/// Makes one blank of two; more than two are a column.
fn narrowed(text: &str) -> String {
    let mut narrowed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("  ") {
        let (before, blanks) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let run = blanks.len() - blanks.trim_start_matches(' ').len();
        narrowed.push_str(before);
        narrowed.push_str(&" ".repeat(if run == 2 { 1 } else { run }));
        rest = blanks.get(run..).unwrap_or_default();
    }
    narrowed + rest
}
