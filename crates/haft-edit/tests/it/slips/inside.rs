//! Parts of lines, several edits at once, every place at once, and what stands at the ends of a file.

use super::{
    Maker,
    pool::{Pool, bare},
    spelling::curled,
    work::{Work, depth},
    written::Written,
};
use crate::corpus::{Asked, Case, Truth, random::Random};

pub(crate) const CLASSES: [(&str, Maker); 11] = [
    ("one token", |random, pool| fragment(random, pool, 1, str::to_owned)),
    ("a few tokens", |random, pool| fragment(random, pool, 5, str::to_owned)),
    ("a few tokens, curly quotes", |random, pool| fragment(random, pool, 6, curled)),
    ("a few tokens, quotes escaped", |random, pool| {
        fragment(random, pool, 6, |text| text.replace('"', "\\\""))
    }),
    ("a few tokens, no-break spaces", |random, pool| {
        fragment(random, pool, 6, |text| text.replace(' ', "\u{a0}"))
    }),
    ("from within a line into another", across),
    ("every place of a name", every_name),
    ("every place of a line, dedented", every_line),
    ("several edits with slips", several),
    ("put before the first line", |random, pool| at_edge(random, pool, true)),
    ("put behind the last line", |random, pool| at_edge(random, pool, false)),
];

fn text_of(lines: &[String]) -> String {
    lines.join("\n") + "\n"
}

fn landing(name: &str, text: String, edits: Vec<Asked>, expected: String) -> Option<Case> {
    let truth = Truth::Becomes(expected);
    Some(Case { class: "", file: name.to_owned(), text, edits, truth })
}

/// Changes some tokens of a line, of which the old text is all.
fn fragment(
    random: &mut Random,
    pool: &Pool,
    most: usize,
    write: fn(&str) -> String,
) -> Option<Case> {
    let source = pool.source(random);
    let text = text_of(&source.lines);
    let line = random.pick(&source.lines);
    let tokens: Vec<&str> = line.trim().split(' ').filter(|token| !token.is_empty()).collect();
    let count = 1 + random.below(most);
    let first = random.below(tokens.len().checked_sub(count)? + 1);
    let old = tokens.get(first..first + count)?.join(" ");
    let letters = old.chars().filter(|c| c.is_alphanumeric()).count();
    let is_off = write(&old) != old;
    let least = if is_off { 9 } else { 3 };
    if letters < least
        || text.matches(&old).count() != 1
        || bare(&text).matches(&bare(&old)).count() != 1
    {
        return None;
    }
    if write("\"' ") != "\"' " && (!is_off || !old.is_ascii() || old.contains('\\') || count < 2) {
        return None;
    }
    let last = tokens[first + count - 1];
    let new = match random.below(3) {
        0 => format!("{old} and_{}", random.below(900)),
        1 => format!("{}changed{}", old.strip_suffix(last)?, random.below(900)),
        _ => format!("swapped{} {old}", random.below(900)),
    };
    let expected = text.replacen(&old, &new, 1);
    let asked = Asked { old: write(&old), new: write(&new), replace_all: false };
    // What was written so that it is there exactly is another case.
    (!is_off || !text.contains(&asked.old))
        .then(|| landing(&source.name, text, vec![asked], expected))
        .flatten()
}

/// The old text begins in the middle of a line and ends in the middle of a later one.
fn across(random: &mut Random, pool: &Pool) -> Option<Case> {
    let work = Work::of_lines(random, pool, 3)?;
    let stretch = work.stretch();
    let cut = |line: &str| {
        let spaces: Vec<usize> = line
            .trim_end()
            .match_indices(' ')
            .map(|(at, _)| at)
            .filter(|at| *at > depth(line).len())
            .collect();
        spaces.first().copied()
    };
    let (start, end) = (cut(&stretch[0])? + 1, cut(&stretch[2])?);
    let old = format!("{}\n{}\n{}", &stretch[0][start..], stretch[1], &stretch[2][..end]);
    let new = format!(
        "{}\n{}{}\n{}",
        &stretch[0][start..],
        depth(&stretch[1]),
        pool.line(random, &work.lines)?,
        &stretch[2][..end]
    );
    let text = text_of(&work.lines);
    let expected = text.replacen(&old, &new, 1);
    let off =
        |text: &str| if random_bit(&old) { text.replace('\n', " \n") } else { text.to_owned() };
    let asked = Asked { old: off(&old), new: off(&new), replace_all: false };
    let is_once =
        text.matches(&old).count() == 1 && stretch.iter().all(|line| line.trim_end() == line);
    (is_once && old != new).then(|| landing(&work.name, text, vec![asked], expected)).flatten()
}

fn random_bit(text: &str) -> bool {
    text.len().is_multiple_of(2)
}

fn every_name(random: &mut Random, pool: &Pool) -> Option<Case> {
    let source = pool.source(random);
    let text = text_of(&source.lines);
    let words: Vec<&str> = random
        .pick(&source.lines)
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.len() > 2)
        .collect();
    let old = (*words.get(random.below(words.len()))?).to_owned();
    let new = format!("renamed_{}", random.below(900));
    let expected = text.replace(&old, &new);
    landing(&source.name, text, vec![Asked { old, new, replace_all: true }], expected)
}

/// Lines that are there in several depths, given without any.
fn every_line(random: &mut Random, pool: &Pool) -> Option<Case> {
    let source = pool.source(random);
    let first = pool.line(random, &source.lines)?;
    let second = pool.line(random, &source.lines)?;
    let (new, at) = (pool.line(random, &source.lines)?, random.below(source.lines.len()));
    let other = random.below(source.lines.len());
    let is_fit =
        bare(&first) != bare(&second) && bare(&new) != bare(&first) && bare(&new) != bare(&second);
    let write = |second: &str| {
        let mut lines = Vec::new();
        for (index, line) in source.lines.iter().enumerate() {
            let depths = [(at, "  "), (other, "      ")];
            for (_, depth) in depths.iter().filter(|(at, _)| *at == index) {
                lines.push(format!("{depth}{first}"));
                lines.push(format!("{depth}{second}"));
            }
            lines.push(line.clone());
        }
        text_of(&lines)
    };
    let (before, after) = (write(&second), write(&new));
    let edit = Asked {
        old: format!("{first}\n{second}"),
        new: format!("{first}\n{new}"),
        replace_all: true,
    };
    is_fit.then(|| landing(&source.name, before, vec![edit], after)).flatten()
}

/// Two places apart in one call, both off.
fn several(random: &mut Random, pool: &Pool) -> Option<Case> {
    let file = pool.file(random);
    let counts = (1 + random.below(5), 1 + random.below(5));
    let first = Work::of_file(random, pool, file, counts.0)?;
    let mut second = Work::of_file(random, pool, file, counts.1)?;
    second.end = first.end;
    second.has_last_end = true;
    let mut first = Work { has_last_end: true, ..first };
    if first.at + first.count >= second.at {
        return None;
    }
    let text = first.before();
    let mut edits = Vec::new();
    for work in [&second, &first] {
        let mut written = Written::of(work);
        if work.stretch().iter().any(|line| line.trim_end() != line) || work.outcome.is_empty() {
            return None;
        }
        written
            .slip(|line| if line.len() % 2 == 0 { format!("{line}  ") } else { line.to_owned() });
        let asked = written.asked();
        if asked.old == asked.new || written.old == work.stretch() {
            return None;
        }
        edits.push(asked);
    }
    // The second first, so that the places of the first stay.
    let mut lines = second.lines.clone();
    lines.splice(second.at..second.at + second.count, second.outcome_lines());
    first.lines = lines;
    let expected = first.after();
    landing(&first.name, text, edits, expected)
}

/// The first or the last line of a file gets company.
fn at_edge(random: &mut Random, pool: &Pool, before: bool) -> Option<Case> {
    let source = pool.source(random);
    let lines = &source.lines;
    let line = if before { lines.first()? } else { lines.last()? };
    let text = text_of(lines);
    if text.matches(line.as_str()).count() != 1
        || line.chars().filter(|c| c.is_alphanumeric()).count() < 4
        || !depth(line).is_empty()
    {
        return None;
    }
    let new = pool.line(random, lines)?;
    let mut expected = lines.clone();
    expected.insert(if before { 0 } else { lines.len() }, new.clone());
    let end = if random.chance(40) { "\n" } else { "" };
    let (old, new) = if before {
        (line.clone(), format!("{new}\n{line}"))
    } else {
        (line.clone(), format!("{line}\n{new}"))
    };
    let edit = Asked { old: old + end, new: new + end, replace_all: false };
    landing(&source.name, text, vec![edit], text_of(&expected))
}
