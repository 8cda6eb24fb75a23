//! The text that takes the place of a match: the model's intent in the style of the place.

use crate::{
    align::{Hunk, is_version, living_steps, neighbours, successors},
    asked::{Asked, Reading},
    hanging::{Hang, hang},
    indent::Shift,
    learned::Learned,
    lines::{Lines, indent, trim, trim_end, trim_start},
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
    /// Left alone, as this line of the new text.
    Kept(usize),
    /// Turned into this line of the new text.
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
        // What stands before the match is never joined with the next line.
        let joins = asked.is_closed && place.starts_within;
        return if joins { Err(Doubt::Indentation) } else { Ok(String::new()) };
    }
    if hangs_unsure(text, asked, place) {
        return Err(Doubt::Indentation);
    }
    match style(text, asked, place) {
        Style::Model => write(text, asked, place),
        Style::File => write_as_file(text, asked, place),
        // It does not matter where both come to the same.
        Style::Unknown => write(text, asked, place)
            .ok()
            .filter(|written| write_as_file(text, asked, place).as_ref() == Ok(written))
            .ok_or(Doubt::Indentation),
    }
}

/// Writes new text that has the file's indentation, although the old text has not.
fn write_as_file(text: &Lines<'_>, asked: &Asked<'_>, place: &Place) -> Result<String, Doubt> {
    let old = at_home(text, asked, place);
    let reading = Reading::literal(&old, asked.new.text());
    let asked = Asked::new(&reading).ok_or(Doubt::Indentation)?;
    write(text, &asked, place)
}

fn write(text: &Lines<'_>, asked: &Asked<'_>, place: &Place) -> Result<String, Doubt> {
    let writer = Writer {
        text,
        asked,
        place,
        shift: Shift::learn(text, asked, place),
        learned: Learned::new(text, asked, place),
        next: next_there(place),
        fates: vec![Fate::Gone; asked.lines.count()],
        written: Vec::new(),
    };
    writer.write()
}

/// Whether one line was written without all of its indentation, and nothing tells how the lines in
/// its stead are indented.
fn hangs_unsure(text: &Lines<'_>, asked: &Asked<'_>, place: &Place) -> bool {
    let (&[line], Some(there)) = (asked.kept.as_slice(), place.line_of.iter().flatten().next())
    else {
        return false;
    };
    let (written, there) = (indent(asked.lines.content(line)), indent(text.content(*there)));
    written.len() < there.len()
        && there.ends_with(written)
        && hang(written, there, &asked.new) == Hang::Unsure
}

/// Returns for each line of the old text the next one that has a counterpart, and that.
fn next_there(place: &Place) -> Vec<Option<(usize, usize)>> {
    let mut after = vec![None; place.line_of.len()];
    let mut next = None;
    for (index, (line, slot)) in place.line_of.iter().zip(&mut after).enumerate().rev() {
        *slot = next;
        next = line.map(|line| (index, line)).or(next);
    }
    after
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
    /// For each line of the old text, the next one that has a counterpart, and that.
    next: Vec<Option<(usize, usize)>>,
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
        let hunks = self.steps(&old, &new);
        self.decide_fates(&hunks, &old, &new);
        if !self.lone_blanks_stay(&old, &new) {
            return Err(Doubt::BlankLines);
        }
        for hunk in &hunks {
            if !hunk.is_equal {
                self.replace(hunk)?;
                continue;
            }
            for line in hunk.old.clone() {
                match self.fate(line) {
                    Fate::Becomes(version) => {
                        self.turn(line, version)?;
                        self.keep_blank_lines_after(line);
                    }
                    _ => self.keep(line),
                }
            }
        }
        Ok(self.joined())
    }

    /// Compares old and new without the blank lines at the edges that both have and the file has not.
    fn steps(&self, old: &[&str], new: &[&str]) -> Vec<Hunk> {
        let is_lone = |line: usize| {
            self.there(line).is_none() && old.get(line).is_some_and(|line| line.is_empty())
        };
        let is_blank = |line: usize| new.get(line).is_some_and(|line| line.is_empty());
        let most = old.len().min(new.len());
        let head = (0..most).take_while(|line| is_lone(*line) && is_blank(*line)).count();
        let tail = (0..most - head)
            .take_while(|line| is_lone(old.len() - 1 - line) && is_blank(new.len() - 1 - line))
            .count();
        let inner = |lines: usize| head..lines - tail;
        let (old, new) = (old.get(inner(old.len())), new.get(inner(new.len())));
        let mut hunks = living_steps(old.unwrap_or_default(), new.unwrap_or_default());
        for hunk in &mut hunks {
            hunk.old = hunk.old.start + head..hunk.old.end + head;
            hunk.new = hunk.new.start + head..hunk.new.end + head;
        }
        hunks
    }

    /// Whether every blank line that the file has not, and that lives on, has the same neighbours in
    /// the new text: else it may be one that was put in there.
    fn lone_blanks_stay(&self, old: &[&str], new: &[&str]) -> bool {
        let (around_old, around_new) = (neighbours(old), neighbours(new));
        let version = |line: usize| match self.fate(line) {
            Fate::Kept(version) | Fate::Becomes(version) => Some(version),
            Fate::Gone => None,
        };
        let is_same = |old: Option<usize>, new: Option<usize>| match old {
            Some(old) => new.is_some() && version(old) == new,
            None => new.is_none(),
        };
        (0..old.len())
            .filter(|line| self.there(*line).is_none())
            .filter_map(|line| version(line).map(|version| (line, version)))
            .filter(|(_, version)| new.get(*version).is_some_and(|line| line.is_empty()))
            .all(|(line, version)| {
                let around = around_old.get(line).zip(around_new.get(version));
                around.is_none_or(|(old, new)| is_same(old.0, new.0) && is_same(old.1, new.1))
            })
    }

    /// Whether the new text ends by opening a line, which the end of the place's last line closes.
    fn opens_line(&self) -> bool {
        self.asked.new_is_closed && !self.asked.is_closed
    }

    fn decide_fates(&mut self, hunks: &[Hunk], old: &[&str], new: &[&str]) {
        for hunk in hunks {
            let pairs = if hunk.is_equal {
                (0..hunk.old.len()).map(|line| (line, line)).collect()
            } else {
                let old = old.get(hunk.old.clone()).unwrap_or_default();
                successors(old, new.get(hunk.new.clone()).unwrap_or_default())
            };
            for (line, version) in pairs {
                let (line, version) = (hunk.old.start + line, hunk.new.start + version);
                let is_same = hunk.is_equal && old.get(line) == new.get(version);
                if let Some(slot) = self.fates.get_mut(line) {
                    *slot = if is_same { Fate::Kept(version) } else { Fate::Becomes(version) };
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
        self.next.get(line).copied().flatten()
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
            if next < hunk.new.end && line + 1 == hunk.old.end {
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
        let new_indent = if indent(old) == indent(new) && !trim(content).is_empty() {
            there_indent.to_owned()
        } else {
            self.indentation(new)?
        };
        // Blanks at the end of the old line are no blanks between words of the new one, unless the
        // file has them.
        let ends_blank = |line: &str| trim_end(line).len() < line.len();
        let (old, new) = if ends_blank(old) && !ends_blank(content) {
            (trim_end(old), trim_end(new))
        } else {
            (old, new)
        };
        let body = if is_version(old, new) {
            let new = if ends_blank(content) { new } else { self.learned.trimmed(new) };
            let new = trim_start(new);
            merge(trim_start(content), trim_start(old), new, |new| self.learned.characters(new))
        } else {
            let is_blank_of_file =
                ends_blank(content) && !ends_blank(old) && !trim(content).is_empty();
            let blanks = content.get(trim_end(content).len()..).filter(|_| is_blank_of_file);
            self.learned.fresh(trim_start(new)) + blanks.unwrap_or_default()
        };
        let content = if trim(&body).is_empty() { String::new() } else { new_indent + &body };
        self.written.push(Written { content, ending: Some(self.text.ending(there)) });
        Ok(())
    }

    /// Writes a line that is new.
    fn insert(&mut self, line: usize) -> Result<(), Doubt> {
        let content = self.asked.new.content(line);
        let body = self.learned.fresh(trim_start(content));
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
