//! Whose indentation the model's new text has: that of its old text, or the file's.

use std::collections::{BTreeSet, HashMap};

use crate::{
    align::{hunks, successors, words},
    asked::Asked,
    indent::{depths, unit},
    lines::{Lines, indent, is_blank, trim},
    look_alikes::is_word,
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

/// Tells how the new text is indented: by what it is indented with, else by the lines that live on in
/// it. Where those do not agree, or say too little, the depth that all of it stands at decides.
pub(crate) fn style(text: &Lines<'_>, asked: &Asked<'_>, place: &Place) -> Style {
    if !has_other_depths(text, asked, place) {
        return Style::Model;
    }
    let there = || place.lines().map(|line| text.content(line));
    let (old, new) = (|| asked.lines.contents(), || asked.new.contents());
    if let Some(style) = by_kind(Kind::of(old()), Kind::of(there()), Kind::of(new())) {
        return style;
    }
    let written = least(new());
    let model_step = unit(depths(old())).or_else(|| unit(depths(new())));
    let file_step = unit(depths(there())).or_else(|| unit(depths(text.contents().take(2_000))));
    let is_as_deep = written.is_none() || written == least(old());
    let fits_model = is_as_deep && is_natural(new(), old(), model_step);
    let fits_file = written >= least(there()) && is_natural(new(), there(), file_step);
    let Votes { model, file } = Votes::count(text, asked, place);
    let is_at_home = fits_file && written == least(there());
    let by_edges = by_edges(text, asked, place, (is_as_deep, is_at_home), fits_file);
    match (model, file) {
        (0, 0) => by_edges,
        // One line may be like another by chance.
        (1, 0) if !is_as_deep && is_at_home => Style::Unknown,
        (0, 1) if fits_file && (fits_model || by_edges != Style::File) => Style::Unknown,
        (_, 0) => Style::Model,
        (0, 1..) if fits_file => Style::File,
        (_, 1..) if fits_model => Style::Model,
        _ => Style::Unknown,
    }
}

/// What lines are indented with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nothing,
    Spaces,
    Tabs,
    Mixed,
}

impl Kind {
    fn of<'l>(lines: impl Iterator<Item = &'l str>) -> Self {
        let mut kind = Self::Nothing;
        for character in lines.filter(|line| !trim(line).is_empty()).flat_map(|l| indent(l).chars())
        {
            let next = match character {
                ' ' => Self::Spaces,
                '\t' => Self::Tabs,
                _ => Self::Mixed,
            };
            kind = if kind == Self::Nothing || kind == next { next } else { Self::Mixed };
        }
        kind
    }
}

/// Tells by tabs and spaces, where the model has one and the file has the other.
fn by_kind(model: Kind, file: Kind, written: Kind) -> Option<Style> {
    match (model, file) {
        (Kind::Spaces, Kind::Tabs) | (Kind::Tabs, Kind::Spaces) => match written {
            kind if kind == model => Some(Style::Model),
            kind if kind == file => Some(Style::File),
            Kind::Nothing => None,
            _ => Some(Style::Unknown),
        },
        _ => None,
    }
}

/// Tells where no line lives on: by how far out the new text stands, else by where it begins.
fn by_edges(
    text: &Lines<'_>,
    asked: &Asked<'_>,
    place: &Place,
    as_deep: (bool, bool),
    fits_file: bool,
) -> Style {
    let first = asked.new.contents().find(|line| !trim(line).is_empty()).map(indent);
    let known = depths_of(text, asked, place, asked.span().0);
    let begins_like_model = first.is_some() && first == known.map(|(was, _)| was);
    let begins_like_file = first.is_some() && first == known.map(|(_, is)| is);
    match as_deep {
        (true, false) if begins_like_model || !begins_like_file => Style::Model,
        (false, true) if !begins_like_model => Style::File,
        (true, true) | (false, false) if begins_like_model => Style::Model,
        (false, false) if begins_like_file && fits_file => Style::File,
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
        let (old_counts, new_counts) = (counts(&old), counts(&new));
        let (mut all, mut sure) = (Self::default(), Self::default());
        for (line, version) in living(&old, &new) {
            let Some((was, is)) = depths_of(text, asked, place, line) else { continue };
            let written = indent(asked.new.content(version));
            let vote =
                Self { model: usize::from(written == was), file: usize::from(written == is) };
            all.add(vote);
            // A line that is there again may be taken for another.
            let once = |counts: &HashMap<&str, usize>, lines: &[&str], line: usize| {
                lines.get(line).and_then(|line| counts.get(line)) == Some(&1)
            };
            if once(&old_counts, &old, line) && once(&new_counts, &new, version) {
                sure.add(vote);
            }
        }
        if sure.model + sure.file > 0 { sure } else { all }
    }

    fn add(&mut self, other: Self) {
        self.model += other.model;
        self.file += other.file;
    }
}

/// Counts how often each line is there.
fn counts<'l>(lines: &[&'l str]) -> HashMap<&'l str, usize> {
    let mut counts = HashMap::new();
    for line in lines {
        *counts.entry(*line).or_default() += 1;
    }
    counts
}

/// Returns the lines that live on, and those that they become.
fn living(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let mut living = Vec::new();
    for hunk in hunks(old, new) {
        let (was, is) = (old.get(hunk.old.clone()), new.get(hunk.new.clone()));
        let (was, is) = (was.unwrap_or_default(), is.unwrap_or_default());
        let pairs = if hunk.is_equal {
            (0..was.len()).map(|line| (line, line)).collect()
        } else {
            successors(was, is)
        };
        let is_version = |pair: &(usize, usize)| match (was.get(pair.0), is.get(pair.1)) {
            (Some(was), Some(is)) => was == is || says_the_same(was, is),
            _ => false,
        };
        let pairs = pairs.into_iter().filter(is_version);
        living
            .extend(pairs.map(|(line, version)| (hunk.old.start + line, hunk.new.start + version)));
    }
    living
}

/// Whether two lines share most of their words, signs aside.
fn says_the_same(was: &str, is: &str) -> bool {
    let said = |line| -> BTreeSet<&str> {
        words(line).into_iter().filter(|word| word.starts_with(is_word)).collect()
    };
    let size = |words: &BTreeSet<&str>| words.iter().map(|word| word.len()).sum::<usize>();
    let (was, is) = (said(was), said(is));
    let shared: BTreeSet<&str> = was.intersection(&is).copied().collect();
    shared.len() > 1 && size(&shared) * 2 > size(&was).min(size(&is))
}

/// Returns the indentation of a line in the old text and in the file, where they differ.
fn depths_of<'a>(
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
    (0..asked.lines.count()).any(|line| depths_of(text, asked, place, line).is_some())
}

/// Returns how far in the outermost of some lines stands.
fn least<'l>(lines: impl Iterator<Item = &'l str>) -> Option<usize> {
    lines.filter(|line| !trim(line).is_empty()).map(|line| indent(line).len()).min()
}

/// Whether every line is indented as one of the others is, or by whole levels more or less.
fn is_natural<'l>(
    lines: impl Iterator<Item = &'l str>,
    others: impl Iterator<Item = &'l str>,
    step: Option<usize>,
) -> bool {
    let known: Vec<&str> = others.filter(|line| !trim(line).is_empty()).map(indent).collect();
    lines.filter(|line| !trim(line).is_empty()).map(indent).all(|indent| {
        let is_whole = |other: &&str| {
            step.is_none_or(|step| indent.len().abs_diff(other.len()).is_multiple_of(step))
        };
        known.contains(&indent)
            || (known.iter().any(is_whole)
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
