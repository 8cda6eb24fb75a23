//! Files that are not as plain as models write: the call is clean.

use super::{
    Maker,
    pool::Pool,
    spelling::curled,
    work::{Origin, Work, depth},
    written::Written,
};
use crate::corpus::{Case, random::Random};

type Change = fn(&mut Random, &mut Work) -> Option<()>;

pub(crate) const CLASSES: [(&str, Maker); 7] = [
    ("file with carriage returns", |random, pool| odd(random, pool, returns)),
    ("file with curly quotes", |random, pool| odd(random, pool, quotes)),
    ("file with no-break spaces", |random, pool| odd(random, pool, no_break)),
    ("file with trailing blanks", |random, pool| odd(random, pool, trailing)),
    ("file with columns", |random, pool| odd(random, pool, columns)),
    ("file without a last line end", |random, pool| odd(random, pool, open_end)),
    ("file with blanks on blank lines", |random, pool| odd(random, pool, blank_lines)),
];

fn odd(random: &mut Random, pool: &Pool, change: Change) -> Option<Case> {
    let mut work = Work::pick(random, pool, 10)?;
    let written = Written::of(&work);
    change(random, &mut work)?;
    let is_exact = work.before().contains(&written.asked().old);
    (!is_exact || work.end == "\r\n" || !work.has_last_end).then(|| work.lands(&written)).flatten()
}

/// A line in the stead of another may be read as that line, changed: then it has its blanks and quotes.
pub(crate) fn has_replaced(work: &Work) -> bool {
    let gone = work.count > work.outcome.iter().filter(|line| line.origin != Origin::New).count();
    gone && work.outcome.iter().any(|line| line.origin == Origin::New)
}

/// Whether blanks were put into a line: those are as the model writes them.
fn has_new_blanks(work: &Work) -> bool {
    let edited = || work.outcome.iter().filter(|line| line.origin == Origin::Edited);
    edited().any(|line| line.text.contains(", extra") || line.text.ends_with("*/"))
}

fn returns(_: &mut Random, work: &mut Work) -> Option<()> {
    work.end = "\r\n";
    Some(())
}

fn quotes(_: &mut Random, work: &mut Work) -> Option<()> {
    let before = work.stretch().to_vec();
    work.change_file(curled);
    (before != work.stretch() && !has_replaced(work)).then_some(())
}

fn no_break(_: &mut Random, work: &mut Work) -> Option<()> {
    if has_new_blanks(work) {
        return None;
    }
    let before = work.stretch().to_vec();
    work.change_file(|line| {
        depth(line).to_owned() + &line[depth(line).len()..].replacen(' ', "\u{a0}", 1)
    });
    (before != work.stretch() && !has_replaced(work)).then_some(())
}

/// Blanks stand behind the lines that stay.
fn trailing(random: &mut Random, work: &mut Work) -> Option<()> {
    let more = *random.pick(&[" ", "   ", "\t"]);
    let same: Vec<String> = work
        .outcome
        .iter()
        .filter(|line| line.origin == Origin::Same)
        .map(|line| line.text.clone())
        .collect();
    let range = work.at..work.at + work.count;
    for line in work.lines[range].iter_mut().filter(|line| same.contains(line)) {
        line.push_str(more);
    }
    for line in work.outcome.iter_mut().filter(|line| line.origin == Origin::Same) {
        line.text.push_str(more);
    }
    // Which of two blank lines is the new one cannot be seen.
    let has_new =
        work.outcome.iter().any(|line| line.origin == Origin::New && line.text.is_empty());
    let lines = || work.stretch().iter().map(|line| line.trim_end());
    let is_once = |text: &String| lines().filter(|other| *other == text.trim_end()).count() == 1;
    let is_clear = same.iter().all(is_once) && work.count > 1;
    (!same.is_empty() && !has_new && is_clear).then_some(())
}

fn columns(_: &mut Random, work: &mut Work) -> Option<()> {
    if has_new_blanks(work) {
        return None;
    }
    let before = work.stretch().to_vec();
    work.change_file(|line| {
        depth(line).to_owned()
            + &line[depth(line).len()..].replace(" = ", "    = ").replace(": ", ":   ")
    });
    (before != work.stretch() && !has_replaced(work)).then_some(())
}

/// The stretch is the last of a file that ends without a line end, which the model adds.
fn open_end(_: &mut Random, work: &mut Work) -> Option<()> {
    work.lines.truncate(work.at + work.count);
    if work.lines.len() < 2 {
        // A file of one line without an end does not tell how lines end.
        return None;
    }
    work.has_last_end = false;
    Some(())
}

fn blank_lines(_: &mut Random, work: &mut Work) -> Option<()> {
    let range = work.at..work.at + work.count;
    let blanks = "    ";
    let mut any = false;
    for line in work.lines[range].iter_mut().filter(|line| line.is_empty()) {
        line.push_str(blanks);
        any = true;
    }
    for line in
        work.outcome.iter_mut().filter(|line| line.origin == Origin::Same && line.text.is_empty())
    {
        line.text.push_str(blanks);
    }
    // Which of two blank lines is the new one cannot be seen.
    let has_new =
        work.outcome.iter().any(|line| line.origin == Origin::New && line.text.is_empty());
    (any && !has_new).then_some(())
}
