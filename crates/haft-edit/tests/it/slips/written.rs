//! What a model sends for a piece of work, with the slips that are made in copying.

use super::{
    Maker,
    pool::Pool,
    work::{Origin, Work, depth},
};
use crate::corpus::{Asked, Case, random::Random};

/// The old and the new text as the model has them in mind.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) old: Vec<String>,
    pub(crate) new: Vec<String>,
    pub(crate) old_end: &'static str,
    pub(crate) new_end: &'static str,
}

impl Written {
    /// Copies without a slip.
    pub(crate) fn of(work: &Work) -> Self {
        let end = if work.is_closed { "\n" } else { "" };
        let new_end = if work.outcome.is_empty() { "" } else { end };
        Self { old: work.stretch().to_vec(), new: work.outcome_lines(), old_end: end, new_end }
    }

    pub(crate) fn asked(&self) -> Asked {
        let (old, new) = (self.old.join("\n"), self.new.join("\n"));
        Asked { old: old + self.old_end, new: new + self.new_end, replace_all: false }
    }

    /// Makes a slip in every line of both texts.
    pub(crate) fn slip(&mut self, slip: impl Fn(&str) -> String) {
        for line in self.old.iter_mut().chain(&mut self.new) {
            *line = slip(line);
        }
    }

    /// Makes a slip in the lines of both texts that are not blank.
    pub(crate) fn slip_solid(&mut self, slip: impl Fn(&str) -> String) {
        self.slip(|line| if line.trim().is_empty() { line.to_owned() } else { slip(line) });
    }

    fn solid(&self) -> impl Iterator<Item = &String> {
        self.old.iter().chain(&self.new).filter(|line| !line.trim().is_empty())
    }
}

pub(crate) type Slip = fn(&mut Random, &Work, &mut Written) -> Option<()>;

pub(crate) const CLASSES: [(&str, Maker); 29] = [
    ("as it is", |random, pool| copied(random, pool, 14, |_, _, _| Some(()))),
    ("dedented in full", |random, pool| copied(random, pool, 10, dedented)),
    ("dedented by some", |random, pool| copied(random, pool, 10, dedented_by_some)),
    ("one line, dedented in full", |random, pool| copied(random, pool, 1, dedented)),
    ("one line, dedented by some", |random, pool| copied(random, pool, 1, dedented_by_some)),
    ("indented more", |random, pool| copied(random, pool, 10, indented)),
    ("tabs as spaces", |random, pool| copied(random, pool, 10, tabs_as_spaces)),
    ("spaces as tabs", |random, pool| copied(random, pool, 10, spaces_as_tabs)),
    ("levels of another width", |random, pool| copied(random, pool, 10, other_levels)),
    ("first line bare", |random, pool| copied(random, pool, 8, first_bare)),
    ("trailing blanks", |random, pool| copied(random, pool, 10, trailing)),
    ("trailing tab", |random, pool| copied(random, pool, 10, trailing_tab)),
    ("carriage returns", |random, pool| copied(random, pool, 10, returns)),
    ("blank lines before", |random, pool| copied(random, pool, 10, blank_before)),
    ("blank lines behind", |random, pool| copied(random, pool, 10, blank_behind)),
    ("a blank line too many", |random, pool| copied(random, pool, 10, blank_inside)),
    ("a blank line too many in old", |random, pool| copied(random, pool, 10, blank_in_old)),
    ("a blank line left out", |random, pool| copied(random, pool, 12, blank_left_out)),
    ("blank lines with blanks", |random, pool| copied(random, pool, 12, blank_with_blanks)),
    ("end of new left out", |random, pool| copied(random, pool, 8, end_left_out)),
    ("end of old left out", |random, pool| copied(random, pool, 8, old_end_left_out)),
    ("a blank doubled", |random, pool| copied(random, pool, 8, blank_doubled)),
    ("blanks left out beside signs", |random, pool| copied(random, pool, 8, blanks_left_out)),
    ("numbers as read shows them", |random, pool| {
        copied(random, pool, 10, |r, w, t| numbers(r, w, t, |n| format!("{n:>6}→")))
    }),
    ("numbers as cat shows them", |random, pool| {
        copied(random, pool, 10, |r, w, t| numbers(r, w, t, |n| format!("{n:>6}\t")))
    }),
    ("numbers as grep shows them", |random, pool| {
        copied(random, pool, 10, |r, w, t| numbers(r, w, t, |n| format!("{n}:")))
    }),
    ("numbers with a bar", |random, pool| {
        copied(random, pool, 10, |r, w, t| numbers(r, w, t, |n| format!("{n:>4} | ")))
    }),
    ("only old dedented", |random, pool| only_old(random, pool, dedented)),
    ("only old as spaces", |random, pool| only_old(random, pool, tabs_as_spaces)),
];

/// Makes a case of work that was copied with a slip.
pub(crate) fn copied(random: &mut Random, pool: &Pool, most: usize, slip: Slip) -> Option<Case> {
    let work = Work::pick(random, pool, most)?;
    let mut written = Written::of(&work);
    slip(random, &work, &mut written)?;
    work.lands(&written)
}

/// The same where only the old text is off.
pub(crate) fn only_old(random: &mut Random, pool: &Pool, slip: Slip) -> Option<Case> {
    let work = Work::pick(random, pool, 8)?;
    let mut written = Written::of(&work);
    let new = (written.new.clone(), written.new_end);
    slip(random, &work, &mut written)?;
    (written.new, written.new_end) = new;
    // What stands within a line, and at no other depth, is an exact edit.
    let old = &written.asked().old;
    (!work.before().contains(old)).then(|| work.lands(&written)).flatten()
}

/// Returns the indentation that all lines share.
fn shared(written: &Written) -> Option<String> {
    let least = written.solid().map(|line| depth(line)).min_by_key(|depth| depth.len())?;
    written.solid().all(|line| line.starts_with(least)).then(|| least.to_owned())
}

fn taken_off(written: &mut Written, shared: &str) -> Option<()> {
    written.slip(|line| line.strip_prefix(shared).unwrap_or(line.trim_start()).to_owned());
    (!shared.is_empty()).then_some(())
}

pub(crate) fn dedented(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let shared = shared(written)?;
    is_told(work, &shared)?;
    taken_off(written, &shared)
}

fn dedented_by_some(random: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let shared = shared(written)?;
    let some = 1 + random.below(shared.len().checked_sub(2)?);
    let some = if shared.contains('\t') { some } else { some.next_multiple_of(2) };
    is_told(work, shared.get(..some)?)?;
    taken_off(written, shared.get(..some)?)
}

/// With one line of old text it must show in the new one that it was dedented too: something stands
/// further out than the line in the file, or there is but one line.
fn is_told(work: &Work, off: &str) -> Option<()> {
    if work.count > 1 || work.outcome.len() == 1 {
        return Some(());
    }
    if work.outcome.is_empty() {
        // What is left of the line is an exact edit's own affair.
        return None;
    }
    let here = depth(&work.stretch()[0]).len();
    let follow = || work.outcome.iter().skip(1).filter(|line| !line.text.trim().is_empty());
    let is_out = follow().any(|line| depth(&line.text).len() < here + off.len());
    // A line at the margin behind a blank one may well be meant to stand there.
    let has_gap = work.outcome.iter().any(|line| line.text.is_empty());
    (is_out && !has_gap).then_some(())
}

fn indented(random: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let level = work.level()?;
    let more = level.repeat(1 + random.below(2));
    written.slip_solid(|line| more.clone() + line);
    Some(())
}

pub(crate) fn tabs_as_spaces(
    random: &mut Random,
    work: &Work,
    written: &mut Written,
) -> Option<()> {
    let width = *random.pick(&[2, 4, 8]);
    if work.level()? != "\t" || written.old.iter().all(|line| depth(line).is_empty()) {
        return None;
    }
    written.slip(|line| " ".repeat(width * depth(line).len()) + line.trim_start_matches('\t'));
    Some(())
}

fn spaces_as_tabs(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let level = work.level().filter(|level| level != "\t")?;
    if written.old.iter().all(|line| depth(line).is_empty()) {
        return None;
    }
    written
        .slip(|line| "\t".repeat(depth(line).len() / level.len()) + line.trim_start_matches(' '));
    Some(())
}

fn other_levels(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let level = work.level().filter(|level| level != "\t")?;
    let other = if level.len() == 2 { 4 } else { 2 };
    if written.old.iter().all(|line| depth(line).is_empty()) || work.count < 3 {
        return None;
    }
    written.slip(|line| {
        " ".repeat(depth(line).len() / level.len() * other) + line.trim_start_matches(' ')
    });
    Some(())
}

/// The first line is copied from its first letter on.
fn first_bare(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let here = depth(&work.stretch()[0]).to_owned();
    let old = written.old.first_mut()?;
    *old = old.strip_prefix(&here)?.to_owned();
    let new = written.new.first_mut()?;
    *new = new.strip_prefix(&here)?.to_owned();
    // With one line, the lines that follow must be written in full to tell.
    let is_full = || work.outcome.iter().skip(1).all(|line| line.text.starts_with(&here));
    let opens = |line: &String| line.trim_end().ends_with(['{', ':', '(', '[']);
    let is_told = work.count > 1 || (is_full() && !opens(new));
    (!here.is_empty() && is_told).then_some(())
}

pub(crate) fn trailing(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    if work.stretch().iter().any(|line| line.trim_end() != line) {
        return None;
    }
    written.slip(|line| if line.len() % 4 == 0 { line.to_owned() } else { format!("{line} ") });
    written.old.iter().any(|line| line.ends_with(' ')).then_some(())
}

fn trailing_tab(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let last = written.old.last_mut()?;
    last.push('\t');
    let was = work.stretch().last()?;
    for line in written.new.iter_mut().filter(|line| *line == was) {
        line.push('\t');
    }
    (was.trim_end() == was).then_some(())
}

fn returns(_: &mut Random, _: &Work, written: &mut Written) -> Option<()> {
    for (lines, end) in
        [(&mut written.old, &mut written.old_end), (&mut written.new, &mut written.new_end)]
    {
        let count = lines.len();
        for line in lines.iter_mut().take(count.saturating_sub(1)) {
            line.push('\r');
        }
        if !end.is_empty() {
            *end = "\r\n";
        }
    }
    Some(())
}

fn blank_before(random: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let is_beside = work.at.checked_sub(1).is_some_and(|line| work.lines[line].trim().is_empty());
    if is_beside || written.new.is_empty() || written.new[0].trim().is_empty() {
        return None;
    }
    for _ in 0..1 + random.below(2) {
        written.old.insert(0, String::new());
        written.new.insert(0, String::new());
    }
    Some(())
}

fn blank_behind(random: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let next = work.lines.get(work.at + work.count);
    if next.is_some_and(|line| line.trim().is_empty()) || written.new.last()?.trim().is_empty() {
        return None;
    }
    for _ in 0..1 + random.below(2) {
        written.old.push(String::new());
        written.new.push(String::new());
    }
    (written.old_end, written.new_end) = ("\n", "\n");
    Some(())
}

/// Picks two lines that stay neighbours; returns where the second stands in old and new.
fn neighbours(random: &mut Random, work: &Work) -> Option<(usize, usize)> {
    let stretch = work.stretch();
    let solid = |line: &str| line.trim().len() > 1;
    let pairs: Vec<usize> = (1..stretch.len())
        .filter(|line| solid(&stretch[*line]) && solid(&stretch[*line - 1]))
        .collect();
    let old = *pairs.get(random.below(pairs.len()))?;
    let is_pair = |pair: &[String]| pair[0] == stretch[old - 1] && pair[1] == stretch[old];
    let new = work.outcome_lines();
    let is_once = stretch.windows(2).filter(|pair| is_pair(pair)).count() == 1
        && new.windows(2).filter(|pair| is_pair(pair)).count() == 1;
    let new = new.windows(2).position(is_pair)? + 1;
    is_once.then_some((old, new))
}

fn blank_inside(random: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let (old, new) = neighbours(random, work)?;
    written.old.insert(old, String::new());
    written.new.insert(new, String::new());
    Some(())
}

fn blank_in_old(random: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let (old, _) = neighbours(random, work)?;
    written.old.insert(old, String::new());
    Some(())
}

fn blank_left_out(random: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let stretch = work.stretch();
    let blanks: Vec<usize> =
        (1..stretch.len()).filter(|line| stretch[*line].trim().is_empty()).collect();
    let old = *blanks.get(random.below(blanks.len()))?;
    let around = |lines: &[String]| {
        lines[0] == stretch[old - 1]
            && lines[1].trim().is_empty()
            && lines[2] == *stretch.get(old + 1).unwrap_or(&String::new())
    };
    let mut new = written.new.windows(3).enumerate().filter(|(_, lines)| around(lines));
    let at = new.next()?.0 + 1;
    let is_once = stretch.windows(3).filter(|lines| around(lines)).count() == 1;
    if new.next().is_some() || !is_once {
        return None;
    }
    written.old.remove(old);
    written.new.remove(at);
    Some(())
}

fn blank_with_blanks(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let stretch = work.stretch();
    let here = depth(stretch.first()?).to_owned() + "  ";
    let has_blank = stretch.iter().any(|line| line.is_empty());
    // A blank line that is new is written as it was meant.
    let is_old =
        work.outcome.iter().all(|line| !line.text.is_empty() || line.origin == Origin::Same);
    written.slip(|line| if line.is_empty() { here.clone() } else { line.to_owned() });
    (has_blank && is_old).then_some(())
}

fn end_left_out(random: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    trailing(random, work, written)?;
    (written.old_end, written.new_end) = ("\n", "");
    written.new.last().filter(|line| !line.trim().is_empty()).map(|_| ())
}

/// The new text ends its last line and the old one does not: nothing is meant by it.
fn old_end_left_out(random: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    trailing(random, work, written)?;
    let next = work.lines.get(work.at + work.count)?;
    let is_same_last = written.old.last() == written.new.last();
    (written.old_end, written.new_end) = ("\n", "\n");
    (is_same_last && !next.trim().is_empty()).then_some(())
}

fn blank_doubled(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    if work
        .stretch()
        .iter()
        .chain(&work.outcome_lines())
        .any(|line| line.trim_start().contains("  "))
    {
        return None;
    }
    written.slip(|line| depth(line).to_owned() + &line[depth(line).len()..].replacen(' ', "  ", 2));
    written.old.iter().any(|line| line.trim().contains("  ")).then_some(())
}

/// `a = b` becomes `a=b`, in the lines that stay.
fn blanks_left_out(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let tight = |line: &str| {
        let body = &line[depth(line).len()..];
        depth(line).to_owned() + &body.replace(" = ", "=").replace(", ", ",").replace(" + ", "+")
    };
    let same: Vec<&String> = work
        .outcome
        .iter()
        .filter(|line| line.origin == Origin::Same)
        .map(|line| &line.text)
        .collect();
    let before = written.old.clone();
    for line in written.old.iter_mut().chain(&mut written.new) {
        if same.contains(&&*line) {
            *line = tight(line);
        }
    }
    (before != written.old).then_some(())
}

/// Numbers are copied along: in both texts counted on, or in the old one only.
fn numbers(
    random: &mut Random,
    work: &Work,
    written: &mut Written,
    number: fn(usize) -> String,
) -> Option<()> {
    let first = work.at + 1;
    let write = |lines: &mut Vec<String>| {
        for (index, line) in lines.iter_mut().enumerate() {
            *line = number(first + index) + line;
        }
    };
    // A number and a colon on one line may be text.
    if written.old.len() < 2 && number(1) == "1:" {
        return None;
    }
    write(&mut written.old);
    if random.chance(60) {
        write(&mut written.new);
    }
    Some(())
}
