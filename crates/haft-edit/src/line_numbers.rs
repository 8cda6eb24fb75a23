//! Text that was copied together with the line numbers that it was shown with.

use std::collections::HashSet;

use crate::{
    Tier,
    asked::Reading,
    lines::{Lines, is_blank, trim, trim_end},
};

/// What may stand between a line's number and its text.
const MARKS: [char; 5] = ['→', '\t', '|', '│', ':'];

/// A line that opens with a number.
#[derive(Clone, Copy, Debug)]
struct Numbered<'l> {
    number: usize,
    mark: char,
    rest: &'l str,
}

/// Returns the text without line numbers; `None` unless every line that is not blank has one, they
/// count up, and the file has so many lines.
pub(crate) fn reading(reading: &Reading<'_>, file: &Lines<'_>) -> Option<Reading<'static>> {
    let old = Lines::new(&reading.old);
    let new = Lines::new(&reading.new);
    let numbered: Vec<Numbered<'_>> = old
        .contents()
        .filter(|content| !trim(content).is_empty())
        .map(numbered)
        .collect::<Option<_>>()?;
    let (first, last) = (numbered.first()?, numbered.last()?);
    let counts_up = numbered.iter().zip(first.number..).all(|(line, number)| line.number == number);
    let one_mark = numbered.iter().all(|line| line.mark == first.mark);
    let is_known = last.number <= file.count() || (numbered.len() > 1 && first.mark != ':');
    if !counts_up || !one_mark || !is_known || !(numbered.len() > 1 || is_sure_alone(first, &new)) {
        return None;
    }
    let most = last.number + new.count() + 1;
    let is_near = |line: &Numbered<'_>| {
        line.mark == first.mark && (first.number..=most).contains(&line.number)
    };
    let is_numbered = is_numbered(&numbered, &new, is_near);
    let is_ours = |line: &Numbered<'_>| is_near(line) && is_numbered;
    let in_new = new.contents().filter_map(|content| self::numbered(content).filter(is_ours));
    let mut texts =
        numbered.iter().copied().chain(in_new).filter(|line| !trim(line.rest).is_empty());
    // A space behind the mark belongs to it, unless the line is in the file with that space.
    let is_line = |text: &str| file.contents().any(|line| trim_end(line) == trim_end(text));
    let is_spaced = matches!(first.mark, ':' | '|' | '│')
        && texts.all(|line| line.rest.starts_with(' '))
        && !is_line(first.rest);
    let bare = |line: &Numbered<'_>| {
        let rest =
            if is_spaced { line.rest.strip_prefix(' ').unwrap_or(line.rest) } else { line.rest };
        rest.to_owned()
    };
    let strip = |lines: &Lines<'_>, is_ours: &dyn Fn(&Numbered<'_>) -> bool| {
        let mut stripped = String::with_capacity(lines.text().len());
        for (index, content) in lines.contents().enumerate() {
            match self::numbered(content).filter(is_ours) {
                Some(line) => stripped.push_str(&bare(&line)),
                None => stripped.push_str(content),
            }
            stripped.push_str(lines.ending(index));
        }
        stripped
    };
    let (old, new) = (strip(&old, &is_near), strip(&new, &is_ours));
    Some(Reading { old: old.into(), new: new.into(), tier: Some(Tier::LineNumbers) })
}

/// Whether the new text has line numbers too: most lines have, or one that lives on, and none lives on
/// without.
fn is_numbered(
    old: &[Numbered<'_>],
    new: &Lines<'_>,
    is_near: impl Fn(&Numbered<'_>) -> bool,
) -> bool {
    let texts: HashSet<&str> = old.iter().map(|line| trim(line.rest)).collect();
    let solid = || new.contents().filter(|content| !trim(content).is_empty());
    let with = || solid().filter_map(numbered).filter(&is_near);
    let without =
        || solid().filter(|content| !numbered(content).is_some_and(|line| is_near(&line)));
    let is_most = with().count() >= without().count();
    (is_most || with().any(|line| texts.contains(trim(line.rest))))
        && !without().any(|content| texts.contains(trim(content)))
}

/// With one line, a colon after a number may well be part of the text, unless the new text has it too.
fn is_sure_alone(line: &Numbered<'_>, new: &Lines<'_>) -> bool {
    let again = numbered(new.content(0));
    line.mark != ':' || again.is_some_and(|new| new.number == line.number && new.mark == line.mark)
}

fn numbered(content: &str) -> Option<Numbered<'_>> {
    let text = content.trim_start_matches(is_blank);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text.get(..digits)?.parse().ok().filter(|_| digits <= 7)?;
    let rest = text.get(digits..)?;
    let rest =
        rest.strip_prefix(' ').filter(|rest| rest.starts_with(['|', '│', '→'])).unwrap_or(rest);
    let mark = rest.chars().next().filter(|mark| MARKS.contains(mark))?;
    Some(Numbered { number, mark, rest: rest.get(mark.len_utf8()..)? })
}
