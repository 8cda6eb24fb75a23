//! A span, the change that is meant, and both as the file has them and as the model writes them.

use super::{Asked, Case, Truth, random::Random, sources::Source};

/// A line of the new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NewLine {
    /// A line of the span, left alone.
    Kept(usize),
    /// A line of the span with something changed in it.
    Changed(usize, String),
    /// A line that was not there.
    Fresh(String),
}

/// A case in the making. Files and models are distorted apart from each other.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) before: Vec<String>,
    pub(crate) span: Vec<String>,
    pub(crate) after: Vec<String>,
    pub(crate) new: Vec<NewLine>,
    /// How lines of the file end; picked by line for a mixed file.
    pub(crate) ends: Vec<&'static str>,
    pub(crate) final_end: bool,
    pub(crate) old_text: Vec<String>,
    pub(crate) new_text: Vec<String>,
    /// Whether the span is meant with the end of its last line.
    pub(crate) is_whole: bool,
    /// Whether the model's texts end with a line end.
    pub(crate) old_closed: bool,
    pub(crate) new_closed: bool,
}

impl Draft {
    /// Picks a span and a change to it.
    pub(crate) fn new(random: &mut Random, source: &Source, most: usize) -> Option<Self> {
        let length = 1 + random.below(most);
        Self::with_length(random, source, length)
    }

    pub(crate) fn with_length(random: &mut Random, source: &Source, length: usize) -> Option<Self> {
        let lines = &source.lines;
        let start = random.below(lines.len().checked_sub(length)?);
        let span = &lines[start..start + length];
        let is_solid = |line: Option<&String>| line.is_some_and(|line| line.trim().len() > 1);
        if !is_solid(span.first()) || !is_solid(span.last()) || !is_unique(lines, span) {
            return None;
        }
        let new = change(random, span)?;
        let mut draft = Self {
            before: lines[..start].to_vec(),
            span: span.to_vec(),
            after: lines[start + length..].to_vec(),
            new,
            ends: vec!["\n"],
            final_end: true,
            old_text: Vec::new(),
            new_text: Vec::new(),
            is_whole: false,
            old_closed: false,
            new_closed: false,
        };
        draft.copy();
        let closed = random.chance(25);
        (draft.is_whole, draft.old_closed, draft.new_closed) = (closed, closed, closed);
        Some(draft)
    }

    /// Lets the model's texts be what the file has.
    pub(crate) fn copy(&mut self) {
        self.old_text = self.span.clone();
        self.new_text = self.new.iter().map(|line| self.content(line)).collect();
    }

    pub(crate) fn content(&self, line: &NewLine) -> String {
        match line {
            NewLine::Kept(index) => self.span[*index].clone(),
            NewLine::Changed(_, text) | NewLine::Fresh(text) => text.clone(),
        }
    }

    /// Whether a line of the span is left alone.
    pub(crate) fn is_kept(&self, index: usize) -> bool {
        self.new.contains(&NewLine::Kept(index))
    }

    /// Changes what the model wrote, in both texts alike.
    pub(crate) fn distort(&mut self, mut distortion: impl FnMut(&str) -> String) {
        for line in self.old_text.iter_mut().chain(&mut self.new_text) {
            *line = distortion(line);
        }
    }

    /// Changes all lines of the file that the model did not make up.
    pub(crate) fn distort_file(&mut self, mut distortion: impl FnMut(&str) -> String) {
        for line in self.before.iter_mut().chain(&mut self.span).chain(&mut self.after) {
            *line = distortion(line);
        }
        for line in &mut self.new {
            if let NewLine::Changed(_, text) = line {
                *text = distortion(text);
            }
        }
    }

    pub(crate) fn old(&self) -> String {
        self.old_text.join("\n") + if self.old_closed { "\n" } else { "" }
    }

    pub(crate) fn new_string(&self) -> String {
        let end = if self.new_closed && !self.new_text.is_empty() { "\n" } else { "" };
        self.new_text.join("\n") + end
    }

    /// Returns the file before and after.
    pub(crate) fn texts(&self) -> (String, String) {
        let fresh = self.ends[0];
        let mut ends = self.ends.iter().cycle();
        let mut numbered = |lines: &[String]| -> Vec<(String, &'static str)> {
            lines.iter().map(|line| (line.clone(), *ends.next().unwrap())).collect()
        };
        let (before, span, after) =
            (numbered(&self.before), numbered(&self.span), numbered(&self.after));
        let usual = span.first().map_or(fresh, |line| line.1);
        let new = self.new.iter().map(|line| match line {
            NewLine::Kept(index) => span[*index].clone(),
            NewLine::Changed(index, text) => (text.clone(), span[*index].1),
            NewLine::Fresh(text) => (text.clone(), usual),
        });
        let new: Vec<(String, &str)> = new.collect();
        let write = |middle: &[(String, &str)]| {
            let all: Vec<&(String, &str)> = before.iter().chain(middle).chain(&after).collect();
            let mut text: String = all.iter().map(|(line, end)| format!("{line}{end}")).collect();
            if let Some((_, end)) = all.last().filter(|_| !self.final_end) {
                text.truncate(text.len() - end.len());
            }
            text
        };
        let expected = write(&new);
        if new.is_empty() && !self.is_whole {
            // The line end of the last line was not asked to go.
            let kept: String =
                [("", span.last().unwrap().1)].map(|(a, b)| format!("{a}{b}")).concat();
            let head: String = before.iter().map(|(line, end)| format!("{line}{end}")).collect();
            return (write(&span), head.clone() + &kept + &expected[head.len()..]);
        }
        (write(&span), expected)
    }

    /// Makes the case; `None` if nothing was changed, or the wrong thing would match exactly.
    pub(crate) fn case(&self) -> Option<Case> {
        let (text, expected) = self.texts();
        let (old, new) = (self.old(), self.new_string());
        let is_fit = old != new && text != expected && !old.trim().is_empty();
        let edits = vec![Asked { old, new, replace_all: false }];
        is_fit.then_some(Case {
            class: "",
            file: String::new(),
            text,
            edits,
            truth: Truth::Becomes(expected),
        })
    }
}

/// Whether a span is there once, blanks aside.
pub(crate) fn is_unique(lines: &[String], span: &[String]) -> bool {
    let bare = |lines: &[String]| -> String {
        let solid = lines
            .iter()
            .map(|line| line.chars().filter(|c| !c.is_whitespace()).collect::<String>());
        solid.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    };
    let (all, span) = (bare(lines), bare(span));
    span.chars().filter(|c| c.is_alphanumeric()).count() >= 4 && all.matches(&span).count() == 1
}

pub(crate) fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Returns a change to a span, in the file's own style.
pub(crate) fn change(random: &mut Random, span: &[String]) -> Option<Vec<NewLine>> {
    let mut new: Vec<NewLine> = (0..span.len()).map(NewLine::Kept).collect();
    let solid: Vec<usize> =
        (0..span.len()).filter(|index| !span[*index].trim().is_empty()).collect();
    let at = *random.pick(&solid);
    match random.below(12) {
        0..=3 => new[at] = NewLine::Changed(at, renamed(random, &span[at])?),
        4 => {
            new[at] = NewLine::Changed(at, renamed(random, &span[at])?);
            let other = *random.pick(&solid);
            if other != at {
                new[other] = NewLine::Changed(other, renamed(random, &span[other])?);
            }
        }
        5 | 6 => new.insert(at + 1, NewLine::Fresh(fresh(random, indent(&span[at])))),
        7 => {
            let depth = indent(&span[at]);
            new.splice(
                at..at,
                [NewLine::Fresh(fresh(random, depth)), NewLine::Fresh(fresh(random, depth))],
            );
        }
        8 => {
            new.remove(at);
        }
        9 => {
            let depth = indent(&span[at]);
            let deeper = format!("{depth}{}", level(span)?);
            let block =
                [format!("{depth}if pending {{"), fresh(random, &deeper), format!("{depth}}}")];
            new.splice(at..at, block.map(NewLine::Fresh));
        }
        10 => {
            // A block is put around a line, which goes one level deeper.
            let (depth, more) = (indent(&span[at]).to_owned(), level(span)?);
            new[at] = NewLine::Changed(at, format!("{more}{}", span[at]));
            new.insert(at + 1, NewLine::Fresh(format!("{depth}}}")));
            new.insert(at, NewLine::Fresh(format!("{depth}while waiting {{")));
        }
        _ => new[at] = NewLine::Fresh(fresh(random, indent(&span[at]))),
    }
    Some(new)
}

/// Returns what one level of indentation is, if the lines show it.
fn level(span: &[String]) -> Option<String> {
    let solid = || span.iter().filter(|line| !line.trim().is_empty());
    if solid().any(|line| line.starts_with('\t')) {
        return solid().all(|line| !indent(line).contains(' ')).then(|| "\t".to_owned());
    }
    let mut widths: Vec<usize> = solid().map(|line| indent(line).len()).collect();
    widths.sort_unstable();
    widths.dedup();
    let step = widths.windows(2).map(|pair| pair[1] - pair[0]).min()?;
    [2, 4].contains(&step).then(|| " ".repeat(step))
}

/// Returns a line that stands nowhere else.
pub(crate) fn fresh(random: &mut Random, indent: &str) -> String {
    let number = random.below(10_000);
    let line = match random.below(6) {
        0 => format!("log_event(\"step {number}\", state);"),
        1 => format!("total_{number} = compute(total_{number}, {number})"),
        2 => format!("// keep entry {number} as it is"),
        3 => format!("result.push(value_{number}.clone());"),
        4 => format!("if (ready_{number}) {{ return; }}"),
        _ => format!("name_{number}: \"value {number}\""),
    };
    format!("{indent}{line}")
}

/// Returns a line with one of its words replaced.
fn renamed(random: &mut Random, line: &str) -> Option<String> {
    let words: Vec<(usize, &str)> = line
        .match_indices(|c: char| c.is_alphanumeric() || c == '_')
        .filter(|(at, _)| !line[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        .map(|(at, _)| {
            let rest = &line[at..];
            (
                at,
                &rest[..rest
                    .find(|c: char| !(c.is_alphanumeric() || c == '_'))
                    .unwrap_or(rest.len())],
            )
        })
        .filter(|(_, word)| word.len() > 1)
        .collect();
    if words.is_empty() {
        return None;
    }
    let (at, word) = *random.pick(&words);
    let other =
        format!("{}_{}", random.pick(&["updated", "other", "fresh", "next"]), random.below(1000));
    Some(format!("{}{other}{}", &line[..at], &line[at + word.len()..]))
}
