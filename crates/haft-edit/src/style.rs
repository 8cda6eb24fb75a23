//! Whose indentation the model's new text has: that of its old text, or the file's.

use crate::{
    align::hunks,
    asked::Asked,
    indent::unit,
    lines::{Lines, indent, is_blank, trim},
    place::Place,
};

/// Whose indentation the new text has, where the old text's is not the file's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// As the old text: it is shifted like that.
    Model,
    /// As the file: it is right already.
    File,
    Unknown,
}

/// Tells by the lines that live on in the new text how that is indented: like the old text or like
/// the file. Where they do not agree, or say too little, the depth that all of it stands at decides.
pub(crate) fn style(text: &Lines<'_>, asked: &Asked<'_>, place: &Place) -> Style {
    if !has_other_depths(text, asked, place) {
        return Style::Model;
    }
    let Votes { model, file } = Votes::count(text, asked, place);
    let there = || place.lines().map(|line| text.content(line));
    let written = least(asked.new.contents());
    let is_as_deep = written.is_none() || written == least(asked.lines.contents());
    let fits_model = is_as_deep && is_natural(asked.new.contents(), asked.lines.contents());
    let fits_file = written >= least(there()) && is_natural(asked.new.contents(), there());
    match (model, file) {
        (_, 0) if model > 0 || is_as_deep => Style::Model,
        (0, 1) if fits_file && fits_model => Style::Unknown,
        (0, 1..) if fits_file => Style::File,
        (_, 1..) if fits_model => Style::Model,
        (_, 1..) if fits_file && written == least(there()) => Style::File,
        _ => Style::Unknown,
    }
}

/// Lines that live on in the new text and are indented there as in the old text, or as in the file,
/// where those two differ.
#[derive(Clone, Copy, Debug, Default)]
struct Votes {
    model: usize,
    file: usize,
}

impl Votes {
    fn count(text: &Lines<'_>, asked: &Asked<'_>, place: &Place) -> Self {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (asked.lines.contents().map(trim).collect(), asked.new.contents().map(trim).collect());
        let (mut all, mut sure) = (Self::default(), Self::default());
        for hunk in hunks(&old, &new).iter().filter(|hunk| hunk.is_equal) {
            for (line, version) in hunk.old.clone().zip(hunk.new.clone()) {
                let Some((was, is)) = depths(text, asked, place, line) else { continue };
                let written = indent(asked.new.content(version));
                let vote =
                    Self { model: usize::from(written == was), file: usize::from(written == is) };
                all.add(vote);
                // A line that is there again may be taken for another.
                let once = |lines: &[&str]| {
                    lines.iter().filter(|other| old.get(line) == Some(other)).count() == 1
                };
                if once(&old) && once(&new) {
                    sure.add(vote);
                }
            }
        }
        if sure.model + sure.file > 0 { sure } else { all }
    }

    fn add(&mut self, other: Self) {
        self.model += other.model;
        self.file += other.file;
    }
}

/// Returns the indentation of a line in the old text and in the file, where they differ.
fn depths<'a>(
    text: &Lines<'a>,
    asked: &Asked<'a>,
    place: &Place,
    line: usize,
) -> Option<(&'a str, &'a str)> {
    let there = place.line_of.get(line).copied().flatten()?;
    let content = asked.lines.content(line);
    let (was, is) = (indent(content), indent(text.content(there)));
    let is_within = place.starts_within && line == 0;
    (!is_within && !trim(content).is_empty() && was != is).then_some((was, is))
}

fn has_other_depths(text: &Lines<'_>, asked: &Asked<'_>, place: &Place) -> bool {
    (0..asked.lines.count()).any(|line| depths(text, asked, place, line).is_some())
}

/// Returns how far in the outermost of some lines stands.
fn least<'l>(lines: impl Iterator<Item = &'l str>) -> Option<usize> {
    lines.filter(|line| !trim(line).is_empty()).map(|line| indent(line).len()).min()
}

/// Whether every line is indented as one of the others is, or by whole levels more or less.
fn is_natural<'l>(
    lines: impl Iterator<Item = &'l str>,
    others: impl Iterator<Item = &'l str>,
) -> bool {
    let known: Vec<&str> = others.filter(|line| !trim(line).is_empty()).map(indent).collect();
    let step = unit(known.iter().map(|indent| indent.len()));
    lines.filter(|line| !trim(line).is_empty()).map(indent).all(|indent| {
        let is_whole = |other: &&str| {
            step.is_none_or(|step| indent.len().abs_diff(other.len()).is_multiple_of(step))
        };
        known.contains(&indent)
            || (known.iter().any(|known| is_whole(known))
                && known.iter().all(|known| {
                    let kinds = |text: &str| (text.contains(' '), text.contains('\t'));
                    known.is_empty() || indent.is_empty() || kinds(known) == kinds(indent)
                }))
    })
}

/// Returns the old text with the indentation of the place.
pub(crate) fn at_home(text: &Lines<'_>, asked: &Asked<'_>, place: &Place) -> String {
    let mut old = String::with_capacity(asked.lines.text().len());
    for (index, content) in asked.lines.contents().enumerate() {
        match place.line_of.get(index).copied().flatten() {
            Some(there) if !(place.starts_within && index == 0) => {
                old.push_str(indent(text.content(there)));
                old.push_str(content.trim_start_matches(is_blank));
            }
            _ => old.push_str(content),
        }
        old.push_str(asked.lines.ending(index));
    }
    old
}
