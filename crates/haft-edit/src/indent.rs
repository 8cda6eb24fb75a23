//! How the indentation of the model's text becomes that of the place.

use crate::{
    asked::Asked,
    lines::{Lines, indent, trim},
    place::Place,
};

/// What the matched lines say about indentation.
#[derive(Debug)]
pub(crate) struct Shift<'p> {
    /// The model's indentation, the text's, and how many lines say so.
    pairs: Vec<(&'p str, &'p str, usize)>,
    text: &'p Lines<'p>,
    asked: &'p Asked<'p>,
}

/// Indentation of one kind of character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Even {
    /// `None` where there is no indentation, which fits either kind.
    character: Option<char>,
    width: usize,
}

impl<'p> Shift<'p> {
    /// Learns from the lines of a place, without a first one that was copied from its middle.
    pub(crate) fn learn(text: &'p Lines<'p>, asked: &'p Asked<'p>, place: &Place) -> Self {
        let mut pairs: Vec<(&str, &str, usize)> = Vec::new();
        for (old, line) in place.pairs() {
            let content = asked.lines.content(old);
            if trim(content).is_empty() || (place.starts_within && old == 0) {
                continue;
            }
            let (model, file) = (indent(content), indent(text.content(line)));
            match pairs.iter_mut().find(|pair| pair.0 == model && pair.1 == file) {
                Some(pair) => pair.2 += 1,
                None => pairs.push((model, file, 1)),
            }
        }
        Self { pairs, text, asked }
    }

    /// Whether each indentation of the model stands for one of the text.
    pub(crate) fn is_function(&self) -> bool {
        self.pairs
            .iter()
            .all(|pair| self.pairs.iter().all(|other| pair.0 != other.0 || pair.1 == other.1))
    }

    /// Returns the text's form of an indentation in the model's new text; `None` if it is not sure.
    pub(crate) fn apply(&self, model: &str) -> Option<String> {
        if let Some(known) = self.known(model) {
            return known;
        }
        if self.pairs.iter().all(|pair| pair.0 == pair.1) {
            return Some(model.to_owned());
        }
        let steps = self.points()?;
        let asked = Even::of(model)?;
        match steps.as_slice() {
            [] => None,
            [(old, file)] => self.extended(*old, *file, asked),
            [(old, file), rest @ ..] => from_many((*old, *file), rest, asked),
        }
    }

    /// Returns the answer where a matched line has the same indentation. Where they disagree, only
    /// a clear majority that left it as it was is believed.
    #[expect(clippy::option_option, reason = "not seen and seen but unsure are different")]
    fn known(&self, model: &str) -> Option<Option<String>> {
        let all: usize = self.pairs.iter().filter(|pair| pair.0 == model).map(|pair| pair.2).sum();
        let most = self.pairs.iter().filter(|pair| pair.0 == model).max_by_key(|pair| pair.2)?;
        let is_sure = most.2 == all || (most.0 == most.1 && most.2 * 4 >= all * 3);
        Some(is_sure.then(|| most.1.to_owned()))
    }

    /// Returns the pairs as widths; `None` if one indentation mixes tabs and spaces, or
    /// has other blanks.
    fn points(&self) -> Option<Vec<(Even, Even)>> {
        self.pairs.iter().map(|pair| Some((Even::of(pair.0)?, Even::of(pair.1)?))).collect()
    }

    /// Extends what a single pair says to another indentation.
    fn extended(&self, old: Even, file: Even, asked: Even) -> Option<String> {
        let model_character = old.character.or(asked.character)?;
        let file_character = file.character.unwrap_or(model_character);
        let (model_unit, file_unit) = match (model_character, file_character) {
            ('\t', ' ') if old.width > 0 => (1, file.width / old.width),
            ('\t', ' ') => (1, self.file_unit()?),
            (' ', '\t') if old.width > 0 && file.width > 0 => (old.width / file.width, 1),
            (' ', '\t') => (self.model_unit()?, 1),
            _ => self.units_of_same_kind(old.width, file.width)?,
        };
        let deeper = asked.width as isize - old.width as isize;
        scaled(file.width, deeper, model_unit, file_unit, file_character)
    }

    /// Returns one level in the model's text, in characters, where that can be seen.
    fn model_unit(&self) -> Option<usize> {
        unit(depths(self.asked.lines.contents()))
            .or_else(|| unit(depths(self.asked.new.contents())))
    }

    /// Returns one level in the file, in characters, where that can be seen.
    fn file_unit(&self) -> Option<usize> {
        unit(depths(self.text.contents().take(2_000)))
    }

    /// With the same characters it is a shift, unless it is another width of a level. `None` where it
    /// could as well be either, because the file has both widths.
    fn units_of_same_kind(&self, old: usize, file: usize) -> Option<(usize, usize)> {
        let (Some(model_unit), Some(file_unit)) = (self.model_unit(), self.file_unit()) else {
            return Some((1, 1));
        };
        if old == 0 || file == 0 || model_unit == file_unit {
            Some((1, 1))
        } else {
            const LEVELS: [usize; 4] = [2, 3, 4, 8];
            let is_scaled = old * file_unit == file * model_unit
                && LEVELS.contains(&model_unit)
                && LEVELS.contains(&file_unit)
                && !has_step(depths(self.text.contents().take(2_000)), model_unit);
            is_scaled.then_some((model_unit, file_unit))
        }
    }
}

impl Even {
    fn of(indent: &str) -> Option<Self> {
        let character = indent.chars().next();
        let is_even = indent.chars().all(|other| Some(other) == character)
            && matches!(character, None | Some(' ' | '\t'));
        is_even.then_some(Self { character, width: indent.len() })
    }
}

/// Extends what several pairs say, if they lie on one line.
fn from_many(first: (Even, Even), rest: &[(Even, Even)], asked: Even) -> Option<String> {
    let far = rest.iter().max_by_key(|(old, _)| old.width.abs_diff(first.0.width))?;
    let signed = |from: usize, to: usize| to as isize - from as isize;
    let (run, rise) = (signed(first.0.width, far.0.width), signed(first.1.width, far.1.width));
    let on_line = |(old, file): &(Even, Even)| {
        signed(first.1.width, file.width) * run == signed(first.0.width, old.width) * rise
    };
    let all = || std::iter::once(&first).chain(rest);
    let one_kind = |pick: fn(&(Even, Even)) -> Even| {
        let mut kinds = all().filter_map(|pair| pick(pair).character);
        let kind = kinds.next();
        kinds.all(|other| Some(other) == kind).then_some(kind).flatten()
    };
    if run == 0 || run.signum() != rise.signum() || !rest.iter().all(on_line) {
        return None;
    }
    let (model, file) = (one_kind(|pair| pair.0), one_kind(|pair| pair.1));
    if asked.character.is_some() && asked.character != model {
        return None;
    }
    let deeper = signed(first.0.width, asked.width);
    scaled(first.1.width, deeper, run.unsigned_abs(), rise.unsigned_abs(), file.unwrap_or(' '))
}

/// Returns an indentation so much deeper than a known one, in the text's units.
fn scaled(
    from: usize,
    deeper: isize,
    model: usize,
    file: usize,
    character: char,
) -> Option<String> {
    let (model, file) = (isize::try_from(model).ok()?, isize::try_from(file).ok()?);
    if model == 0 || file == 0 || (deeper * file) % model != 0 {
        return None;
    }
    let width = usize::try_from(from as isize + deeper * file / model).ok()?;
    Some(String::from(character).repeat(width))
}

/// Returns what one level seems to be: the most common step inwards from one line to the next.
pub(crate) fn unit(depths: impl Iterator<Item = usize>) -> Option<usize> {
    let counts = steps(depths);
    let most = counts.iter().copied().max().filter(|most| *most > 0)?;
    counts.iter().position(|count| *count == most)
}

/// Whether a step of this width is not rare.
fn has_step(depths: impl Iterator<Item = usize>, width: usize) -> bool {
    let counts = steps(depths);
    counts.get(width).is_some_and(|count| count * 10 > counts.iter().sum())
}

/// Counts the steps inwards from one line to the next, by their width.
fn steps(depths: impl Iterator<Item = usize>) -> [usize; 9] {
    let mut counts = [0_usize; 9];
    // The first line may stand anywhere: it is no step.
    let mut before = usize::MAX;
    for depth in depths {
        let step = depth.checked_sub(before).filter(|step| *step > 0);
        if let Some(count) = step.and_then(|step| counts.get_mut(step)) {
            *count += 1;
        }
        before = depth;
    }
    counts
}

/// Returns how far in the lines stand that are not blank.
pub(crate) fn depths<'l>(contents: impl Iterator<Item = &'l str>) -> impl Iterator<Item = usize> {
    contents.filter(|content| !trim(content).is_empty()).map(|content| indent(content).len())
}
