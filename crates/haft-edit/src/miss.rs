//! Why an edit does not land, in data for programs and in words for models.

use std::ops::RangeInclusive;

use crate::{
    Tier,
    fold::key,
    lines::{indent, trim, trim_end},
    look_alikes::fold,
};

/// A rendered miss is never longer, in bytes.
const LONGEST: usize = 2_048;

/// As much of a line is shown, in characters.
const WIDEST: usize = 120;

/// Why an edit does not land.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.render())]
pub struct Miss {
    /// What is wrong.
    pub cause: Cause,
    /// What may have been meant, the likeliest first; at most three.
    pub nearest: Vec<Region>,
}

/// What is wrong with an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// There is no text to look for.
    EmptyOld,
    /// Old and new are the same.
    SameText,
    /// The text is there more than once.
    Several {
        /// What it takes to see it there.
        tier: Tier,
        /// How many places there are.
        places: usize,
        /// Where the first of them are, counted from 1.
        lines: Vec<RangeInclusive<usize>>,
    },
    /// A line of the old text stands for others that were left out.
    Elided {
        /// The line of the old text, counted from 1.
        line: usize,
    },
    /// A line of the new text stands for code that would be lost.
    Placeholder {
        /// The line of the new text, counted from 1.
        line: usize,
    },
    /// The new text is there and the old one is not.
    AlreadyApplied {
        /// Where, counted from 1.
        lines: RangeInclusive<usize>,
    },
    /// The place is known, but not how new lines are to be indented.
    Indentation {
        /// Where, counted from 1.
        lines: RangeInclusive<usize>,
    },
    /// The place is known, but not on which side of its blank lines new lines belong.
    BlankLines {
        /// Where, counted from 1.
        lines: RangeInclusive<usize>,
    },
    /// Only blanks shall change, and the blanks of the old text are not those of the file.
    OnlyBlanks {
        /// Where, counted from 1.
        lines: RangeInclusive<usize>,
    },
    /// The first and last lines are there, but what lies between is not as written.
    StaleMiddle {
        /// The first line that differs, counted from 1.
        line: usize,
    },
    /// The text repeats itself so often that the search was given up.
    TooMuchWork,
    /// The text is not there.
    Absent,
}

/// A stretch of the text that may have been meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Where, counted from 1.
    pub lines: RangeInclusive<usize>,
    /// The first line that is not as written.
    pub difference: Option<Difference>,
}

/// A line that is not as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What kind of difference it is.
    pub kind: DifferenceKind,
    /// The line of the text, counted from 1.
    pub line: usize,
    /// What stands there, cut around the difference.
    pub there: String,
    /// What was written, cut around the difference.
    pub written: String,
}

/// What kind a difference is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DifferenceKind {
    /// The text has tabs where spaces were written.
    TabsForSpaces,
    /// The text has spaces where tabs were written.
    SpacesForTabs,
    /// The line is indented more or less.
    Indentation,
    /// Blanks at the end of the line differ.
    TrailingBlanks,
    /// Characters only look the same.
    LookAlikes,
    /// Blanks within the line differ.
    Blanks,
    /// The same but for backslashes.
    Escapes,
    /// The words are others.
    Words,
}

impl From<Cause> for Miss {
    fn from(cause: Cause) -> Self {
        Self { cause, nearest: Vec::new() }
    }
}

impl Miss {
    /// Whether there is no place at all.
    pub(crate) fn is_absence(&self) -> bool {
        matches!(self.cause, Cause::Absent | Cause::StaleMiddle { .. } | Cause::TooMuchWork)
    }

    /// Says in words, for a model, what is wrong and what to do; at most 2 KB.
    pub fn render(&self) -> String {
        let mut text = self.cause.sentence();
        for (index, region) in self.nearest.iter().enumerate() {
            text.push_str(if index == 0 { "\nNearest: " } else { "\nAlso near: " });
            text.push_str(&region.sentence());
        }
        bounded(text)
    }
}

impl Cause {
    fn sentence(&self) -> String {
        match self {
            Self::EmptyOld => {
                "old_string is empty. Give the text to be replaced; an empty old_string \
                               only creates a file that does not exist yet."
                    .to_owned()
            }
            Self::SameText => {
                "old_string and new_string are the same, so there is nothing to change.".to_owned()
            }
            Self::Several { tier, places, lines } => {
                let seen = if *tier == Tier::Exact {
                    String::new()
                } else {
                    format!(", {}", tier.describe())
                };
                format!(
                    "old_string is there {places} times{seen}: {}{}. Add lines before or after it until it is \
                     unique, or set replace_all to change every place.",
                    listed(lines),
                    if lines.len() < *places { " and more" } else { "" }
                )
            }
            Self::Elided { line } => format!(
                "Line {line} of old_string stands for lines that were left out. Give all lines as they are in \
                 the file, or only a part without a gap."
            ),
            Self::Placeholder { line } => format!(
                "Line {line} of new_string is a placeholder; the code that it stands for would be lost. Write \
                 out every line, or make old_string smaller."
            ),
            Self::AlreadyApplied { lines } => format!(
                "Already applied: new_string stands on {} and old_string is not there any more. Nothing needs \
                 to be done.",
                spoken(lines)
            ),
            Self::Indentation { lines } => format!(
                "old_string is on {}, but indented otherwise, and how the new lines are to be indented is not \
                 sure. Copy the indentation exactly.",
                spoken(lines)
            ),
            Self::BlankLines { lines } => format!(
                "old_string is on {}, but there are blank lines that it leaves out just where new lines shall \
                 go. Copy the blank lines too.",
                spoken(lines)
            ),
            Self::OnlyBlanks { lines } => format!(
                "The edit changes only blanks, but the blanks in old_string are not those on {}. Copy them \
                 exactly.",
                spoken(lines)
            ),
            Self::StaleMiddle { line } => format!(
                "old_string begins and ends as the file does, but line {line} is not as written: it has changed \
                 or was left out. Read the lines again."
            ),
            Self::TooMuchWork => {
                "old_string was not found exactly, and the file repeats itself too often to \
                                  look for something near. Copy the text exactly."
                    .to_owned()
            }
            Self::Absent => {
                "old_string is not in the file. Read the place again and copy it exactly."
                    .to_owned()
            }
        }
    }
}

impl Region {
    fn sentence(&self) -> String {
        let place = spoken(&self.lines);
        let Some(first) = &self.difference else { return place };
        format!(
            "{place}; {}, line {}:\n  in the file: {}\n  you wrote:   {}",
            first.kind.describe(),
            first.line,
            first.there,
            first.written
        )
    }
}

impl DifferenceKind {
    /// Says in words what differs.
    pub fn describe(self) -> &'static str {
        match self {
            Self::TabsForSpaces => "tabs where you wrote spaces",
            Self::SpacesForTabs => "spaces where you wrote tabs",
            Self::Indentation => "another indentation",
            Self::TrailingBlanks => "other blanks at the end",
            Self::LookAlikes => "characters that only look the same",
            Self::Blanks => "other blanks",
            Self::Escapes => "other backslashes",
            Self::Words => "first difference",
        }
    }
}

/// Tells how a line differs from what was written.
pub(crate) fn difference(old: &str, there: &str, line: usize) -> Difference {
    let bare = |text: &str| text.replace('\\', "");
    let kind = if trim_end(old) == trim_end(there) {
        DifferenceKind::TrailingBlanks
    } else if trim(old) == trim(there) {
        return difference_of_indent(old, there, line);
    } else if fold(trim(old)) == fold(trim(there)) {
        DifferenceKind::LookAlikes
    } else if key(old) == key(there) {
        DifferenceKind::Blanks
    } else if key(&bare(old)) == key(&bare(there)) {
        DifferenceKind::Escapes
    } else {
        DifferenceKind::Words
    };
    marked(kind, trim_end(old), trim_end(there), line)
}

/// Tells how the indentation of a line differs from what was written.
pub(crate) fn difference_of_indent(old: &str, there: &str, line: usize) -> Difference {
    let kind = match (indent(old).contains('\t'), indent(there).contains('\t')) {
        (false, true) if !indent(old).is_empty() => DifferenceKind::TabsForSpaces,
        (true, false) if !indent(there).is_empty() => DifferenceKind::SpacesForTabs,
        _ => DifferenceKind::Indentation,
    };
    marked(kind, old, there, line)
}

fn marked(kind: DifferenceKind, old: &str, there: &str, line: usize) -> Difference {
    let same = old.chars().zip(there.chars()).take_while(|(a, b)| a == b).count();
    Difference { kind, line, there: cut(there, same), written: cut(old, same) }
}

/// Cuts a line around the first difference and marks that with `⟦`, blanks made visible there.
fn cut(line: &str, same: usize) -> String {
    let start = if line.chars().count() <= WIDEST { 0 } else { same.saturating_sub(WIDEST / 3) };
    let shown: String = line.chars().skip(start).take(WIDEST).collect();
    let before: String = shown.chars().take(same - start.min(same)).collect();
    let after = shown.get(before.len()..).unwrap_or_default().replace('\t', "⇥");
    let head = if start > 0 { "…" } else { "" };
    let tail = if line.chars().count() > start + WIDEST { "…" } else { "" };
    format!("{head}{}⟦{after}{tail}", before.replace('\t', "⇥"))
}

fn listed(lines: &[RangeInclusive<usize>]) -> String {
    lines.iter().map(spoken).collect::<Vec<_>>().join(", ")
}

fn spoken(lines: &RangeInclusive<usize>) -> String {
    if lines.start() == lines.end() {
        format!("line {}", lines.start())
    } else {
        format!("lines {}-{}", lines.start(), lines.end())
    }
}

fn bounded(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST - '…'.len_utf8()));
        text.push('…');
    }
    text
}
