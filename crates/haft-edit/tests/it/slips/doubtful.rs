//! Edits that must be refused: the place is not there, not sure, or not what the model takes it for.

use super::{
    Maker,
    pool::{Pool, bare},
    spelling::curled,
    work::{Work, bare_lines, depth},
    written::Written,
};
use crate::corpus::{Case, random::Random};

pub(crate) const CLASSES: [(&str, Maker); 18] = [
    ("refused: there twice", |random, pool| twice(random, pool, |_, line| line.to_owned())),
    ("refused: there twice, off", |random, pool| {
        twice(random, pool, |_, line| line.to_owned() + " ")
    }),
    ("refused: there twice, quotes off", |random, pool| {
        twice(random, pool, |_, line| curled(line))
    }),
    ("refused: there in two depths", two_depths),
    ("refused: between two twins", twins),
    ("refused: twin in another file", |random, pool| renamed(random, pool)),
    ("refused: another case", |random, pool| one_word(random, pool, other_case)),
    ("refused: another number", |random, pool| one_word(random, pool, other_number)),
    ("refused: another ending", |random, pool| one_word(random, pool, other_ending)),
    ("refused: another word", |random, pool| one_word(random, pool, other_word)),
    ("refused: negated", |random, pool| one_word(random, pool, negated)),
    ("refused: line left out", left_out),
    ("refused: line made up", made_up),
    ("refused: lines in another order", reordered),
    ("refused: dots for lines", dots),
    ("refused: not in this file", not_here),
    ("refused: done before", done_before),
    ("refused: lines left out of new", dots_in_new),
];

/// Makes the case unless the old text is there after all, blanks and quotes aside.
fn doubtful(work: &Work, written: &Written) -> Option<Case> {
    let asked = written.asked();
    let is_there = bare(&work.before()).contains(&bare(&asked.old));
    (!is_there).then(|| work.refused(asked)).flatten()
}

fn twice(random: &mut Random, pool: &Pool, off: fn(&mut Random, &str) -> String) -> Option<Case> {
    let mut work = Work::pick(random, pool, 6)?;
    work.has_last_end = true;
    let mut written = Written::of(&work);
    let again = work.stretch().to_vec();
    let at = if random.chance(50) { work.lines.len() } else { work.at + work.count };
    work.lines.splice(at..at, again);
    for line in written.old.iter_mut().chain(&mut written.new) {
        *line = off(random, line);
    }
    let is_clean = work.stretch().iter().all(|line| line.trim_end() == line && line.is_ascii());
    is_clean.then(|| work.refused(written.asked())).flatten()
}

/// The lines are there in two depths, and in neither as written.
fn two_depths(random: &mut Random, pool: &Pool) -> Option<Case> {
    let mut work = Work::pick(random, pool, 5)?;
    work.has_last_end = true;
    let written = Written::of(&work);
    let shift = |line: &String, by: &str| {
        if line.trim().is_empty() { line.clone() } else { by.to_owned() + line }
    };
    let (near, far): (Vec<String>, Vec<String>) =
        work.stretch().iter().map(|line| (shift(line, "  "), shift(line, "     "))).unzip();
    let range = work.at..work.at + work.count;
    work.lines.splice(range, near);
    work.lines.extend(far);
    work.refused(written.asked())
}

/// Two blocks differ in one word, and the old text is as far from one as from the other.
fn twins(random: &mut Random, pool: &Pool) -> Option<Case> {
    let mut work = Work::pick(random, pool, 6)?;
    let word = long_word(random, work.stretch())?;
    let (one, other) = (format!("{word}a"), format!("{word}b"));
    let written = Written::of(&work);
    let with = |lines: &[String], name: &str| -> Vec<String> {
        lines.iter().map(|line| line.replace(&word, name)).collect()
    };
    let (first, second) = (with(work.stretch(), &one), with(work.stretch(), &other));
    let range = work.at..work.at + work.count;
    work.lines.splice(range, first);
    work.lines.extend(second);
    let is_fit = !text_has(&work, &written);
    is_fit.then(|| work.refused(written.asked())).flatten()
}

fn text_has(work: &Work, written: &Written) -> bool {
    bare(&work.before()).contains(&bare(&written.asked().old))
}

fn long_word(random: &mut Random, lines: &[String]) -> Option<String> {
    let text = lines.join("\n");
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 4 && word.is_ascii())
        .collect();
    words.get(random.below(words.len())).map(|word| (*word).to_owned())
}

/// The model has another block in mind, which has another name throughout.
fn renamed(random: &mut Random, pool: &Pool) -> Option<Case> {
    let work = Work::pick(random, pool, 8)?;
    let mut written = Written::of(&work);
    let word = long_word(random, work.stretch())?;
    let prefix = random.pick(&["get", "set", "new_", "my", "x"]);
    if word.starts_with(prefix) {
        // A letter that is there twice is a slip.
        return None;
    }
    let name = match random.below(3) {
        0 => format!("{prefix}{word}"),
        1 => format!("{word}{}", random.pick(&["1", "s", "_old", "Ex", "ed"])),
        _ => (*random.pick(&["account", "session", "buffer", "widget"])).to_owned(),
    };
    written.slip(|line| line.replace(&word, &name));
    doubtful(&work, &written)
}

type Choice = fn(&mut Random, &str) -> Option<(String, String)>;

/// One word of the old text is another one than in the file.
fn one_word(random: &mut Random, pool: &Pool, choose: Choice) -> Option<Case> {
    let work = Work::pick(random, pool, 7)?;
    let mut written = Written::of(&work);
    let line = random.pick(&written.old).clone();
    let (word, other) = choose(random, &line)?;
    let off = with_word(&line, &word, &other)?;
    for text in written.old.iter_mut().chain(&mut written.new).filter(|text| **text == line) {
        text.clone_from(&off);
    }
    doubtful(&work, &written)
}

/// Puts a word in the stead of another where that is a whole word.
fn with_word(line: &str, word: &str, other: &str) -> Option<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_whole = |at: usize| {
        !word.starts_with(is_word)
            || (!line[..at].ends_with(is_word) && !line[at + word.len()..].starts_with(is_word))
    };
    let at = line.match_indices(word).map(|(at, _)| at).find(|at| is_whole(*at))?;
    Some(format!("{}{other}{}", &line[..at], &line[at + word.len()..]))
}

fn words(line: &str) -> Vec<&str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect()
}

fn other_case(random: &mut Random, line: &str) -> Option<(String, String)> {
    let words: Vec<&str> = words(line).into_iter().filter(|word| word.len() > 2).collect();
    let word = *words.get(random.below(words.len()))?;
    let (lower, upper) = (word.to_lowercase(), word.to_uppercase());
    let first = word.chars().next()?;
    let capital = first.to_uppercase().collect::<String>() + &word[first.len_utf8()..];
    let others: Vec<String> =
        [lower, upper, capital].into_iter().filter(|other| other != word).collect();
    Some((word.to_owned(), others.get(random.below(others.len()))?.clone()))
}

fn other_number(random: &mut Random, line: &str) -> Option<(String, String)> {
    let numbers: Vec<&str> =
        words(line).into_iter().filter(|word| word.chars().all(|c| c.is_ascii_digit())).collect();
    let number = *numbers.get(random.below(numbers.len()))?;
    let other = match random.below(3) {
        0 => format!("{number}0"),
        1 => format!("{}", number.parse::<u64>().ok()?.checked_add(1)?),
        _ => format!("{}{number}", 1 + random.below(8)),
    };
    Some((number.to_owned(), other))
}

fn other_ending(random: &mut Random, line: &str) -> Option<(String, String)> {
    let words: Vec<&str> = words(line).into_iter().filter(|word| word.len() > 2).collect();
    let word = *words.get(random.below(words.len()))?;
    let other = format!("{word}{}", random.pick(&["s", "_", "2", "x", "er", "ed", "_id", "Id"]));
    Some((word.to_owned(), other))
}

fn other_word(random: &mut Random, line: &str) -> Option<(String, String)> {
    let words: Vec<&str> = words(line).into_iter().filter(|word| word.len() > 2).collect();
    let word = *words.get(random.below(words.len()))?;
    let other = random.pick(&["value", "thing", "left", "right", "None", "true", "key"]);
    (word != *other).then(|| (word.to_owned(), (*other).to_owned()))
}

fn negated(random: &mut Random, line: &str) -> Option<(String, String)> {
    const PAIRS: [(&str, &str); 8] = [
        ("true", "false"),
        ("if", "if not"),
        ("==", "!="),
        ("<", "<="),
        ("and", "or"),
        ("&&", "||"),
        (">", ">="),
        ("!", ""),
    ];
    let (there, other) = random.pick(&PAIRS);
    line.contains(there).then(|| ((*there).to_owned(), (*other).to_owned()))
}

fn left_out(random: &mut Random, pool: &Pool) -> Option<Case> {
    let count = 3 + random.below(8);
    let work = Work::of_lines(random, pool, count)?;
    let mut written = Written::of(&work);
    let line = written.old.remove(1 + random.below(count - 2));
    written.new.retain(|other| *other != line);
    (bare(&line).len() > 1).then(|| doubtful(&work, &written)).flatten()
}

fn made_up(random: &mut Random, pool: &Pool) -> Option<Case> {
    let count = 2 + random.below(6);
    let work = Work::of_lines(random, pool, count)?;
    let mut written = Written::of(&work);
    let at = 1 + random.below(count - 1);
    let line = depth(&written.old[at]).to_owned() + &pool.line(random, &work.lines)?;
    written.old.insert(at, line.clone());
    written.new.insert(at.min(written.new.len()), line);
    doubtful(&work, &written)
}

fn reordered(random: &mut Random, pool: &Pool) -> Option<Case> {
    let count = 2 + random.below(6);
    let work = Work::of_lines(random, pool, count)?;
    let mut written = Written::of(&work);
    let at = 1 + random.below(count - 1);
    written.old.swap(at, at - 1);
    let is_other = bare_lines(&written.old) != bare_lines(work.stretch());
    is_other.then(|| doubtful(&work, &written)).flatten()
}

const MARKS: [&str; 7] = [
    "...",
    "\u{2026}",
    "// ...",
    "# ...",
    "// ... rest of the function ...",
    "    ...",
    "/* ... */",
];

fn dots(random: &mut Random, pool: &Pool) -> Option<Case> {
    let count = 4 + random.below(10);
    let work = Work::of_lines(random, pool, count)?;
    let mut written = Written::of(&work);
    let (first, last) = (1 + random.below(count / 2), count - 1 - random.below(count / 4));
    let mark = depth(&written.old[first]).to_owned() + *random.pick(&MARKS);
    written.old.splice(first..last, [mark]);
    written.new = written.old.clone();
    written.new[0].push_str(" changed");
    doubtful(&work, &written)
}

fn not_here(random: &mut Random, pool: &Pool) -> Option<Case> {
    let mut work = Work::pick(random, pool, 8)?;
    let written = Written::of(&work);
    let range = work.at..work.at + work.count;
    work.lines.drain(range);
    work.at = 0;
    work.count = 0;
    doubtful(&work, &written)
}

fn done_before(random: &mut Random, pool: &Pool) -> Option<Case> {
    let mut work = Work::pick(random, pool, 6)?;
    let written = Written::of(&work);
    let (range, outcome) = (work.at..work.at + work.count, work.outcome_lines());
    work.lines.splice(range, outcome);
    let says = bare_lines(&written.new).len() > 12;
    says.then(|| doubtful(&work, &written)).flatten()
}

/// The new text would lose lines that a comment stands for.
fn dots_in_new(random: &mut Random, pool: &Pool) -> Option<Case> {
    let count = 4 + random.below(6);
    let work = Work::of_lines(random, pool, count)?;
    let mut written = Written::of(&work);
    let mark = *random.pick(&[
        "// ... existing code ...",
        "# ... rest unchanged ...",
        "/* ... same as before ... */",
    ]);
    written.new = vec![
        written.old[0].clone() + " changed",
        depth(&written.old[1]).to_owned() + mark,
        written.old[count - 1].clone(),
    ];
    work.refused(written.asked())
}
