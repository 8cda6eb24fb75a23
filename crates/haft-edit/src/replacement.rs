//! The text that takes the place of a match: the model's intent in the style of the place.

use crate::{
    align::{Hunk, hunks, is_version, successors},
    asked::{Asked, Reading},
    indent::Shift,
    learned::Learned,
    lines::{Lines, indent, is_blank, trim, trim_end},
    merge::merge,
    place::Place,
    style::{Style, at_home, style},
};

/// Why a match is certain, but what is to take its place is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// New lines are indented in a way that the match says nothing about.
    Indentation,
    /// New lines stand where the text has blank lines that the model left out.
    BlankLines,
}

/// What becomes of a line of the old text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    /// Turned into a line of the new text.
    Becomes(usize),
    Gone,
}

/// Makes the replacement for a place.
pub(crate) fn replacement(
    text: &Lines<'_>,
    asked: &Asked<'_>,
    place: &Place,
) -> Result<String, Doubt> {
    if asked.new.text().is_empty() {
        return Ok(String::new());
    }
    match style(text, asked, place) {
        Style::Model => write(text, asked, place),
        Style::Unknown => Err(Doubt::Indentation),
        Style::File => {
            let old = at_home(text, asked, place);
            let reading = Reading::literal(&old, asked.new.text());
            let asked = Asked::new(&reading).ok_or(Doubt::Indentation)?;
            write(text, &asked, place)
        }
    }
}

fn write(text: &Lines<'_>, asked: &Asked<'_>, place: &Place) -> Result<String, Doubt> {
    let writer = Writer {
        text,
        asked,
        place,
        shift: Shift::learn(text, asked, place),
        learned: Learned::new(text, asked, place),
        fates: vec![Fate::Gone; asked.lines.count()],
        written: Vec::new(),
    };
    writer.write()
}

/// Returns how lines end around a place; as a line feed if there are no lines.
pub(crate) fn line_end<'t>(text: &Lines<'t>, line: usize) -> &'t str {
    let near = (line..line + 2).chain((0..line).rev().take(1)).map(|line| text.ending(line));
    let far = std::iter::once(0).map(|line| text.ending(line));
    near.chain(far).find(|ending| !ending.is_empty()).unwrap_or("\n")
}

/// A line on its way out: what is on it, and its own end if it has one.
struct Written<'t> {
    content: String,
    ending: Option<&'t str>,
}

struct Writer<'p, 't> {
    text: &'p Lines<'t>,
    asked: &'p Asked<'p>,
    place: &'p Place,
    shift: Shift<'p>,
    learned: Learned,
    fates: Vec<Fate>,
    written: Vec<Written<'t>>,
}

impl Writer<'_, '_> {
    fn write(mut self) -> Result<String, Doubt> {
        let old: Vec<&str> = self.asked.lines.contents().map(trim_end).collect();
        let mut new: Vec<&str> = self.asked.new.contents().map(trim_end).collect();
        if self.opens_line() {
            new.push("");
        }
        let hunks = hunks(&old, &new);
        self.decide_fates(&hunks, &old, &new);
        for hunk in &hunks {
            if hunk.is_equal {
                hunk.old.clone().for_each(|line| self.keep(line));
            } else {
                self.replace(hunk)?;
            }
        }
        Ok(self.joined())
    }

    /// Whether the new text ends by opening a line, which the end of the place's last line closes.
    fn opens_line(&self) -> bool {
        self.asked.new_is_closed && !self.asked.is_closed
    }

    fn decide_fates(&mut self, hunks: &[Hunk], old: &[&str], new: &[&str]) {
        for hunk in hunks {
            let pairs = if hunk.is_equal {
                Vec::new()
            } else {
                let old = old.get(hunk.old.clone()).unwrap_or_default();
                successors(old, new.get(hunk.new.clone()).unwrap_or_default())
            };
            let becomes =
                pairs.iter().map(|(a, b)| (hunk.old.start + a, Fate::Becomes(hunk.new.start + b)));
            let kept = hunk.old.clone().filter(|_| hunk.is_equal).map(|line| (line, Fate::Kept));
            for (line, fate) in kept.chain(becomes) {
                if let Some(slot) = self.fates.get_mut(line) {
                    *slot = fate;
                }
            }
        }
    }

    fn fate(&self, line: usize) -> Fate {
        self.fates.get(line).copied().unwrap_or(Fate::Gone)
    }

    fn there(&self, line: usize) -> Option<usize> {
        self.place.line_of.get(line).copied().flatten()
    }

    /// Writes a line that the model left alone, as it is there.
    fn keep(&mut self, line: usize) {
        // A blank line that the model has and the text has not is left alone by leaving it out.
        if let Some(there) = self.there(line) {
            let content = self.place.content(self.text, there).to_owned();
            self.written.push(Written { content, ending: Some(self.text.ending(there)) });
        }
        self.keep_blank_lines_after(line);
    }

    /// Writes the blank lines that only the text has behind a line, if one of its neighbours stays.
    fn keep_blank_lines_after(&mut self, line: usize) {
        let stays = self.fate(line) != Fate::Gone
            || self.next_there(line).is_some_and(|(next, _)| self.fate(next) != Fate::Gone);
        if stays {
            for blank in self.blank_lines_after(line) {
                let content = self.text.content(blank).to_owned();
                self.written.push(Written { content, ending: Some(self.text.ending(blank)) });
            }
        }
    }

    fn blank_lines_after(&self, line: usize) -> std::ops::Range<usize> {
        match (self.there(line), self.next_there(line)) {
            (Some(there), Some((_, next))) => there + 1..next,
            _ => 0..0,
        }
    }

    /// Returns the next line of the old text that has a counterpart, and that.
    fn next_there(&self, line: usize) -> Option<(usize, usize)> {
        self.place.pairs().find(|(asked, _)| *asked > line)
    }

    /// Writes the new side of a hunk, each line over the one that it is a version of.
    fn replace(&mut self, hunk: &Hunk) -> Result<(), Doubt> {
        let mut next = hunk.new.start;
        if next < hunk.new.end && !self.new_starts_with_version(hunk) {
            let before = hunk.old.start.checked_sub(1);
            if before.is_some_and(|before| !self.blank_lines_after(before).is_empty()) {
                return Err(Doubt::BlankLines);
            }
        }
        for line in hunk.old.clone() {
            if let Fate::Becomes(version) = self.fate(line) {
                for inserted in next..version {
                    self.insert(inserted)?;
                }
                self.turn(line, version)?;
                next = version + 1;
            }
            let is_last_version =
                !(line + 1..hunk.old.end).any(|later| matches!(self.fate(later), Fate::Becomes(_)));
            if is_last_version && next < hunk.new.end && line + 1 == hunk.old.end {
                if !self.blank_lines_after(line).is_empty() {
                    return Err(Doubt::BlankLines);
                }
                for inserted in next..hunk.new.end {
                    self.insert(inserted)?;
                }
                next = hunk.new.end;
            }
            self.keep_blank_lines_after(line);
        }
        (next..hunk.new.end).try_for_each(|inserted| self.insert(inserted))
    }

    fn new_starts_with_version(&self, hunk: &Hunk) -> bool {
        hunk.old.clone().any(|line| self.fate(line) == Fate::Becomes(hunk.new.start))
    }

    /// Writes a new line in the stead of one that is there.
    fn turn(&mut self, line: usize, version: usize) -> Result<(), Doubt> {
        let Some(there) = self.there(line) else { return self.insert(version) };
        let old = self.asked.lines.content(line);
        let new = self.asked.new.content(version);
        let content = self.place.content(self.text, there);
        let there_indent = indent(content);
        let new_indent = if indent(old) == indent(new) {
            there_indent.to_owned()
        } else {
            self.indentation(new)?
        };
        let bare = |content: &str| content.trim_start_matches(is_blank).to_owned();
        let body = if is_version(old, new) {
            merge(&bare(content), &bare(old), self.learned.trimmed(&bare(new)), |new| {
                self.learned.characters(new)
            })
        } else {
            self.learned.fresh(&bare(new))
        };
        let content = if trim(&body).is_empty() { String::new() } else { new_indent + &body };
        self.written.push(Written { content, ending: Some(self.text.ending(there)) });
        Ok(())
    }

    /// Writes a line that is new.
    fn insert(&mut self, line: usize) -> Result<(), Doubt> {
        let content = self.asked.new.content(line);
        let body = self.learned.fresh(content.trim_start_matches(is_blank));
        let content = if trim(content).is_empty() {
            String::new()
        } else {
            self.indentation(content)? + &body
        };
        self.written.push(Written { content, ending: None });
        Ok(())
    }

    fn indentation(&self, content: &str) -> Result<String, Doubt> {
        let model = indent(content);
        if self.written.is_empty() && self.place.starts_within {
            // The indentation is there already, before the match.
            let first = indent(self.asked.lines.content(0));
            return model.strip_prefix(first).map(str::to_owned).ok_or(Doubt::Indentation);
        }
        self.shift.apply(model).ok_or(Doubt::Indentation)
    }

    /// Puts the lines together: every line but the last has an end, the last as the place had it.
    fn joined(self) -> String {
        let lines = self.place.lines();
        let usual = line_end(self.text, lines.start);
        let covers_end = self.text.line(lines.end - 1).end <= self.place.range.end;
        let has_end = !self.text.ending(lines.end - 1).is_empty() && covers_end;
        let closes = self.asked.is_closed && has_end;
        let mut joined = String::with_capacity(self.asked.new.text().len());
        let count = self.written.len();
        for (index, line) in self.written.into_iter().enumerate() {
            joined.push_str(&line.content);
            if index + 1 < count || closes {
                joined.push_str(line.ending.filter(|ending| !ending.is_empty()).unwrap_or(usual));
            }
        }
        joined
    }
}
