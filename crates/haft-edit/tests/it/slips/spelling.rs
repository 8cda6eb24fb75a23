//! Slips in the characters themselves: quotes, dashes, accents, escapes, letters.

use unicode_normalization::UnicodeNormalization;

use super::{
    Maker,
    in_file::has_replaced,
    pool::{Pool, bare},
    work::{Origin, Work, bare_lines, depth},
    written::{Slip, Written, copied, dedented, only_old, tabs_as_spaces, trailing},
};
use crate::corpus::{Case, random::Random};

pub(crate) const CLASSES: [(&str, Maker); 19] = [
    ("curly quotes", |random, pool| copied(random, pool, 8, curly)),
    ("long dashes", |random, pool| copied(random, pool, 8, long_dashes)),
    ("no-break spaces", |random, pool| copied(random, pool, 8, no_break)),
    ("zero-width characters", |random, pool| copied(random, pool, 8, zero_width)),
    ("straight quotes for curly", |random, pool| of_fancy(random, pool, straight)),
    ("accents in the other form", |random, pool| of_fancy(random, pool, other_form)),
    ("line ends written out", |random, pool| copied(random, pool, 8, line_ends)),
    ("quotes escaped", |random, pool| copied(random, pool, 8, quotes)),
    ("single quotes escaped", |random, pool| copied(random, pool, 8, single_quotes)),
    ("tabs written out", |random, pool| copied(random, pool, 8, tabs)),
    ("escaped as JSON", |random, pool| copied(random, pool, 8, as_json)),
    ("letters swapped", |random, pool| {
        copied(random, pool, 12, |r, w, t| misspelt(r, w, t, swapped))
    }),
    ("letter left out", |random, pool| {
        copied(random, pool, 12, |r, w, t| misspelt(r, w, t, left_out))
    }),
    ("letter doubled", |random, pool| {
        copied(random, pool, 12, |r, w, t| misspelt(r, w, t, doubled))
    }),
    ("another letter", |random, pool| {
        copied(random, pool, 12, |r, w, t| misspelt(r, w, t, another))
    }),
    ("only old with curly quotes", |random, pool| only_old(random, pool, curly)),
    ("only old as JSON", |random, pool| only_old(random, pool, as_json)),
    ("only old misspelt", |random, pool| {
        only_old(random, pool, |r, w, t| misspelt(r, w, t, swapped))
    }),
    ("two slips", two),
];

fn two(random: &mut Random, pool: &Pool) -> Option<Case> {
    const SLIPS: [Slip; 7] = [
        dedented,
        trailing,
        curly,
        no_break,
        tabs_as_spaces,
        |random, work, written| misspelt(random, work, written, swapped),
        quotes,
    ];
    let work = Work::pick(random, pool, 8)?;
    let mut written = Written::of(&work);
    let first = random.below(SLIPS.len());
    let second = first + 1 + random.below(SLIPS.len() - first);
    // A quote is curled or escaped, not both.
    if (first, second) == (2, 6) {
        return None;
    }
    // Spelling is looked at line by line, so it comes first.
    for slip in [SLIPS.get(second)?, &SLIPS[first]] {
        let before = written.old.clone();
        slip(random, &work, &mut written)?;
        if written.old == before {
            return None;
        }
    }
    work.lands(&written)
}

/// Makes a case of a file that has more than plain characters.
fn of_fancy(random: &mut Random, pool: &Pool, slip: Slip) -> Option<Case> {
    let (file, count) = (pool.fancy_file(random), 1 + random.below(8));
    let work = Work::of_file(random, pool, file, count)?;
    let mut written = Written::of(&work);
    slip(random, &work, &mut written)?;
    work.lands(&written)
}

fn is_plain(work: &Work) -> bool {
    work.lines.iter().all(|line| line.is_ascii())
}

pub(crate) fn curled(line: &str) -> String {
    let mut curled = String::new();
    for character in line.chars() {
        let opens = curled.is_empty() || curled.ends_with([' ', '(', '[', '{', '=', '\t']);
        curled.push(match character {
            '"' if opens => '\u{201c}',
            '"' => '\u{201d}',
            '\'' if opens => '\u{2018}',
            '\'' => '\u{2019}',
            other => other,
        });
    }
    curled
}

fn changes_old(written: &Written, work: &Work) -> Option<()> {
    (written.old != work.stretch()).then_some(())
}

pub(crate) fn curly(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let same = |line: &str| line.contains(['"', '\'']);
    let teaches = written.old.iter().any(|line| same(line));
    written.slip(curled);
    (teaches && is_plain(work)).then_some(())
}

fn long_dashes(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    written.slip_solid(|line| {
        depth(line).to_owned() + &line[depth(line).len()..].replace(" - ", " \u{2014} ")
    });
    changes_old(written, work)?;
    is_plain(work).then_some(())
}

fn no_break(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    written.slip_solid(|line| {
        depth(line).to_owned() + &line[depth(line).len()..].replace(' ', "\u{a0}")
    });
    is_plain(work).then_some(())?;
    changes_old(written, work)
}

fn zero_width(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let first = work.stretch().first()?.clone();
    let off = format!("\u{feff}{first}");
    for line in written.old.iter_mut().chain(&mut written.new).filter(|line| **line == first) {
        line.clone_from(&off);
    }
    (is_plain(work) && depth(&first).is_empty()).then_some(())
}

/// The file has curly quotes and long dashes, and the model writes plain ones, in the lines that stay.
fn straight(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let plain = |line: &str| {
        let line = line.replace(['\u{2018}', '\u{2019}'], "'");
        let line = line.replace(['\u{201c}', '\u{201d}'], "\"");
        line.replace(['\u{2013}', '\u{2014}'], "-")
            .replace('\u{2026}', "...")
            .replace('\u{a0}', " ")
    };
    let is_put = |line: &String| line.contains(", extra");
    if work.outcome_lines().iter().any(is_put) || has_replaced(work) {
        // Which of two commas is the new one cannot be seen.
        return None;
    }
    written.slip(plain);
    changes_old(written, work)
}

fn other_form(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    let is_composed = work.stretch().iter().all(|line| line.nfc().eq(line.chars()));
    let other = |line: &str| -> String {
        if is_composed { line.nfd().collect() } else { line.nfc().collect() }
    };
    written.slip(other);
    changes_old(written, work)
}

fn has_backslash(work: &Work) -> bool {
    work.stretch().iter().chain(&work.outcome_lines()).any(|line| line.contains('\\'))
}

/// Puts a text on one line.
fn on_one_line(written: &mut Written, write: impl Fn(&str) -> String) {
    let asked = written.asked();
    (written.old, written.new) = (vec![write(&asked.old)], vec![write(&asked.new)]);
    (written.old_end, written.new_end) = ("", "");
}

fn line_ends(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    on_one_line(written, |text| text.replace('\n', "\\n"));
    (work.count > 1 && !has_backslash(work)).then_some(())
}

fn quotes(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    written.slip(|line| line.replace('"', "\\\""));
    (!has_backslash(work)).then(|| changes_old(written, work)).flatten()
}

fn single_quotes(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    written.slip(|line| line.replace('\'', "\\'"));
    (!has_backslash(work)).then(|| changes_old(written, work)).flatten()
}

fn tabs(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    written.slip(|line| line.replace('\t', "\\t"));
    (!has_backslash(work)).then(|| changes_old(written, work)).flatten()
}

fn as_json(_: &mut Random, work: &Work, written: &mut Written) -> Option<()> {
    on_one_line(written, |text| {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        text.replace('\n', "\\n").replace('\t', "\\t")
    });
    let has_any = work.count > 1 || work.stretch()[0].contains(['"', '\t', '\\']);
    // Without a sign of it in the old text, the new one is as good as it stands.
    has_any.then_some(())
}

/// Misspells a word of a line that stays, in both texts.
fn misspelt(
    random: &mut Random,
    work: &Work,
    written: &mut Written,
    misspell: fn(&mut Random, &str) -> Option<String>,
) -> Option<()> {
    let same = || work.outcome.iter().filter(|line| line.origin == Origin::Same);
    let is_once = |text: &str| {
        same().filter(|line| line.text == text).count() == 1
            && work.stretch().iter().filter(|line| *line == text).count() == 1
    };
    let lines: Vec<String> = written.old.iter().filter(|line| is_once(line)).cloned().collect();
    let line = lines.get(random.below(lines.len()))?;
    let words: Vec<&str> =
        line.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() > 4).collect();
    let word = *words.get(random.below(words.len()))?;
    let wrong = misspell(random, word)?;
    let off = line.replacen(word, &wrong, 1);
    let has_word = |text: &str| bare(text).contains(&bare(&wrong));
    if work.lines.iter().any(|line| has_word(line)) || work.count < 3 || bare(&off) == bare(line) {
        return None;
    }
    for other in written.old.iter_mut().chain(&mut written.new).filter(|other| *other == line) {
        other.clone_from(&off);
    }
    (!bare_lines(&work.lines).contains(&bare_lines(&written.old))).then_some(())
}

fn swapped(random: &mut Random, word: &str) -> Option<String> {
    let mut letters: Vec<char> = word.chars().collect();
    let at = random.below(letters.len() - 1);
    letters.swap(at, at + 1);
    Some(letters.into_iter().collect())
}

fn left_out(random: &mut Random, word: &str) -> Option<String> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.remove(1 + random.below(letters.len() - 2));
    Some(letters.into_iter().collect())
}

fn doubled(random: &mut Random, word: &str) -> Option<String> {
    let mut letters: Vec<char> = word.chars().collect();
    let at = random.below(letters.len() - 1);
    letters.insert(at, letters[at]);
    Some(letters.into_iter().collect())
}

fn another(random: &mut Random, word: &str) -> Option<String> {
    let mut letters: Vec<char> = word.chars().collect();
    let at = 1 + random.below(letters.len() - 2);
    letters[at] = char::from(b'a' + random.below(26) as u8);
    Some(letters.into_iter().collect())
}
