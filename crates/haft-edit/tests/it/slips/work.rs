//! What is to be done: a stretch of a file and what it becomes, both in the file's own style.

use super::{
    pool::{File, Pool, bare},
    written::Written,
};
use crate::corpus::{Asked, Case, Truth, random::Random};

/// Where a line of the outcome comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A line of the stretch as it is.
    Same,
    /// A line of the stretch with something changed in it.
    Edited,
    /// From elsewhere.
    New,
}

/// A line of the outcome.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) origin: Origin,
    pub(crate) text: String,
}

/// A file, a stretch of it, and the outcome.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) name: String,
    pub(crate) lines: Vec<String>,
    pub(crate) at: usize,
    pub(crate) count: usize,
    pub(crate) outcome: Vec<Outcome>,
    pub(crate) end: &'static str,
    pub(crate) has_last_end: bool,
    /// Whether the stretch is taken with its last line end.
    pub(crate) is_closed: bool,
}

impl Work {
    /// Picks some lines of some file, and something to do with them.
    pub(crate) fn pick(random: &mut Random, pool: &Pool, most: usize) -> Option<Self> {
        let count = 1 + random.below(most);
        Self::of_lines(random, pool, count)
    }

    pub(crate) fn of_lines(random: &mut Random, pool: &Pool, count: usize) -> Option<Self> {
        let file = pool.file(random);
        Self::of_file(random, pool, file, count)
    }

    /// Picks so many lines of a file.
    pub(crate) fn of_file(
        random: &mut Random,
        pool: &Pool,
        file: &File,
        count: usize,
    ) -> Option<Self> {
        let lines = &file.source.lines;
        // The first and the last stretch of a file are as likely as all others together.
        let most = lines.len().checked_sub(count)?;
        let at = match random.below(12) {
            0 => 0,
            1 => most,
            _ => random.below(most + 1),
        };
        let stretch = &lines[at..at + count];
        let is_solid = |line: &String| line.trim().len() > 1;
        let wanted = bare_lines(stretch);
        let is_fit = is_solid(&stretch[0])
            && is_solid(&stretch[count - 1])
            && wanted.chars().filter(|c| c.is_alphanumeric()).count() > 3
            && file.bare.matches(&wanted).count() == 1;
        if !is_fit {
            return None;
        }
        let outcome = outcome(random, pool, lines, stretch)?;
        // Which of two blank lines is the new one cannot be seen.
        let is_new = |line: &Outcome| line.origin == Origin::New && line.text.is_empty();
        if outcome.iter().any(is_new)
            && stretch.iter().any(|line| !line.is_empty() && line.trim().is_empty())
        {
            return None;
        }
        let end = if random.chance(15) { "\r\n" } else { "\n" };
        let is_closed = random.chance(30);
        let (name, lines) = (file.source.name.clone(), lines.clone());
        let has_last_end = random.chance(90);
        Some(Self { name, lines, at, count, outcome, end, has_last_end, is_closed })
    }

    pub(crate) fn stretch(&self) -> &[String] {
        &self.lines[self.at..self.at + self.count]
    }

    pub(crate) fn outcome_lines(&self) -> Vec<String> {
        self.outcome.iter().map(|line| line.text.clone()).collect()
    }

    /// Changes the file, and with it what of it lives on. Blank lines stay.
    pub(crate) fn change_file(&mut self, change: impl Fn(&str) -> String) {
        for line in self.lines.iter_mut().filter(|line| !line.trim().is_empty()) {
            *line = change(line);
        }
        for line in self.outcome.iter_mut().filter(|line| line.origin != Origin::New) {
            line.text = change(&line.text);
        }
    }

    /// Returns the file before.
    pub(crate) fn before(&self) -> String {
        self.file(&self.lines)
    }

    /// Returns the file as it is to become.
    pub(crate) fn after(&self) -> String {
        let mut lines = self.lines.clone();
        let mut outcome = self.outcome_lines();
        if outcome.is_empty() && !self.is_closed {
            outcome.push(String::new());
        }
        lines.splice(self.at..self.at + self.count, outcome);
        self.file(&lines)
    }

    fn file(&self, lines: &[String]) -> String {
        let text = lines.join(self.end);
        text + if self.has_last_end && !lines.is_empty() { self.end } else { "" }
    }

    /// Makes the case for what the model has written.
    pub(crate) fn lands(&self, written: &Written) -> Option<Case> {
        let (before, after) = (self.before(), self.after());
        let asked = written.asked();
        // Whether the last line goes with its end is another question at the end of a file.
        let is_open_end = !self.has_last_end && self.at + self.count == self.lines.len();
        let is_fit = before != after
            && asked.old != asked.new
            && !(is_open_end && self.outcome.is_empty())
            && asked.old.chars().any(char::is_alphanumeric);
        is_fit.then(|| self.case(before, vec![asked], Truth::Becomes(after)))
    }

    pub(crate) fn refused(&self, asked: Asked) -> Option<Case> {
        (asked.old != asked.new).then(|| self.case(self.before(), vec![asked], Truth::Refused))
    }

    pub(crate) fn case(&self, text: String, edits: Vec<Asked>, truth: Truth) -> Case {
        Case { class: "", file: self.name.clone(), text, edits, truth }
    }

    /// Returns one level of indentation in this file, if it keeps to one.
    pub(crate) fn level(&self) -> Option<String> {
        level(&self.lines)
    }
}

pub(crate) fn bare_lines(lines: &[String]) -> String {
    lines
        .iter()
        .map(|line| bare(line))
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

pub(crate) fn depth(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns one level of indentation, if all lines keep to it.
pub(crate) fn level(lines: &[String]) -> Option<String> {
    let depths: Vec<&str> =
        lines.iter().filter(|line| !line.trim().is_empty()).map(|line| depth(line)).collect();
    if depths.iter().all(|depth| depth.is_empty()) {
        return None;
    }
    if depths.iter().all(|depth| !depth.contains(' ')) {
        return Some("\t".to_owned());
    }
    let width = [4, 2].into_iter().find(|width| {
        depths.iter().all(|depth| !depth.contains('\t') && depth.len().is_multiple_of(*width))
    })?;
    // A few lines in between make no level.
    let odd = depths.iter().filter(|depth| (depth.len() / width) % 2 == 1).count();
    if odd * 4 < depths.iter().filter(|depth| !depth.is_empty()).count() {
        return None;
    }
    Some(" ".repeat(width))
}

/// Decides what becomes of a stretch.
fn outcome(
    random: &mut Random,
    pool: &Pool,
    lines: &[String],
    stretch: &[String],
) -> Option<Vec<Outcome>> {
    let same = |text: &String| Outcome { origin: Origin::Same, text: text.clone() };
    let mut outcome: Vec<Outcome> = stretch.iter().map(same).collect();
    let solid: Vec<usize> =
        (0..stretch.len()).filter(|line| !stretch[*line].trim().is_empty()).collect();
    let at = *random.pick(&solid);
    let here = depth(&stretch[at]).to_owned();
    let deeper = level(lines).map(|level| here.clone() + &level);
    let new = |random: &mut Random, depth: &str| -> Option<Outcome> {
        let text = depth.to_owned() + &pool.line(random, lines)?;
        Some(Outcome { origin: Origin::New, text })
    };
    let head = |random: &mut Random, depth: &str| {
        let (number, end) = (random.below(900), random.pick(&[" {", ":"]));
        Outcome { origin: Origin::New, text: format!("{depth}while waiting({number}){end}") }
    };
    let brace = || Outcome { origin: Origin::New, text: here.clone() + "}" };
    match random.below(14) {
        0..=2 => outcome[at] = edited(random, &stretch[at])?,
        3 => {
            for line in &solid {
                outcome[*line] = edited(random, &stretch[*line])?;
            }
        }
        4 => outcome.insert(at + 1, new(random, &here)?),
        5 => outcome.insert(at, new(random, &here)?),
        6 => {
            let deeper = deeper?;
            let block = [head(random, &here), new(random, &deeper)?, new(random, &deeper)?];
            outcome.splice(at + 1..at + 1, block);
        }
        7 => {
            let block = [head(random, &here), new(random, &deeper?)?, brace()];
            outcome.splice(at..at, block);
        }
        8 => {
            outcome.remove(at);
        }
        9 => outcome.clear(),
        10 => {
            // All of it goes one level deeper, under a new head.
            let level = level(lines)?;
            let outer =
                stretch.iter().filter(|line| !line.trim().is_empty()).map(|line| depth(line));
            let outer = outer.min_by_key(|depth| depth.len())?.to_owned();
            for line in outcome.iter_mut().filter(|line| !line.text.trim().is_empty()) {
                *line = Outcome { origin: Origin::Edited, text: level.clone() + &line.text };
            }
            outcome.insert(0, head(random, &outer));
            if random.chance(50) {
                outcome.push(Outcome { origin: Origin::New, text: outer + "}" });
            }
        }
        11 => {
            // A line moves out to where the one before it stands.
            let before = depth(stretch.get(at.checked_sub(1)?)?);
            if before.len() >= here.len() || stretch[at - 1].trim().is_empty() {
                return None;
            }
            let text = before.to_owned() + stretch[at].trim_start();
            outcome[at] = Outcome { origin: Origin::Edited, text };
        }
        12 => {
            let count = 1 + random.below(3);
            outcome = (0..count).map(|_| new(random, depth(&stretch[0]))).collect::<Option<_>>()?;
        }
        _ => {
            let blank = Outcome { origin: Origin::New, text: String::new() };
            let block =
                [blank, new(random, &here)?, new(random, deeper.as_ref().unwrap_or(&here))?];
            outcome.splice(at + 1..at + 1, block);
        }
    }
    Some(outcome)
}

/// Changes a line as an author would: a name, a number, something behind it.
fn edited(random: &mut Random, line: &str) -> Option<Outcome> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let starts: Vec<usize> = line
        .char_indices()
        .filter(|(at, c)| is_word(*c) && !line[..*at].ends_with(is_word))
        .map(|(at, _)| at)
        .collect();
    let at = *starts.get(random.below(starts.len()))?;
    let word = &line[at..at + line[at..].find(|c| !is_word(c)).unwrap_or(line.len() - at)];
    let (head, tail) = (&line[..at], &line[at + word.len()..]);
    let number = random.below(900);
    let text = match random.below(5) {
        0 => format!("{head}{word}_{number}{tail}"),
        1 => format!("{head}{number}{tail}"),
        2 => format!("{head}{word}, extra{number}{tail}"),
        3 => format!("{line} /* {number} */"),
        _ => format!("{head}replacement{number}{tail}"),
    };
    Some(Outcome { origin: Origin::Edited, text })
}
