//! What models do to the text they copy: the file is as it is, the call is off.

use super::{
    Case, Maker,
    draft::{Draft, NewLine, indent},
    random::Random,
    sources::Source,
};

pub(crate) const CLASSES: [(&str, Maker); 31] = [
    ("exact", |random, source| Draft::new(random, source, 12)?.case()),
    ("model: crlf", |random, source| off(random, source, 10, crlf)),
    ("model: trailing blanks", |random, source| off(random, source, 10, trailing_blanks)),
    ("model: smart quotes", |random, source| off(random, source, 8, smart)),
    ("model: no-break spaces", |random, source| off(random, source, 8, no_break)),
    ("model: dedented", |random, source| off(random, source, 10, dedent)),
    ("model: indented more", |random, source| off(random, source, 10, indent_more)),
    ("model: spaces for tabs", |random, source| off(random, source, 10, spaces_for_tabs)),
    ("model: tabs for spaces", |random, source| off(random, source, 10, tabs_for_spaces)),
    ("model: other width", |random, source| off(random, source, 10, other_width)),
    ("model: first line bare", |random, source| off(random, source, 10, bare_first)),
    ("model: extra inner blanks", |random, source| off(random, source, 8, inner_blanks)),
    ("model: extra blank lines", |random, source| off(random, source, 10, extra_blank_lines)),
    ("model: missing blank lines", |random, source| off(random, source, 14, missing_blank_lines)),
    ("model: boundary blank lines", |random, source| off(random, source, 10, boundary)),
    ("model: escaped line ends", |random, source| off(random, source, 8, escaped_ends)),
    ("model: escaped quotes", |random, source| off(random, source, 8, escaped_quotes)),
    ("model: escaped twice", |random, source| off(random, source, 8, escaped_twice)),
    ("model: numbers with arrow", |random, source| {
        off(random, source, 10, |r, d| numbered(r, d, "→"))
    }),
    ("model: numbers with colon", |random, source| {
        off(random, source, 10, |r, d| numbered(r, d, ": "))
    }),
    ("model: numbers with bar", |random, source| {
        off(random, source, 10, |r, d| numbered(r, d, "| "))
    }),
    ("model: numbers with tab", |random, source| {
        off(random, source, 10, |r, d| numbered(r, d, "\t"))
    }),
    ("model: typo in context", |random, source| off(random, source, 12, typo_in_code)),
    ("model: typo in comment", |random, source| off(random, source, 12, typo_in_comment)),
    ("model: last line end", |random, source| off(random, source, 10, last_end)),
    ("model: only old dedented", |random, source| only_old(random, source, dedent)),
    ("model: only old with smart quotes", |random, source| only_old(random, source, smart)),
    ("model: only old with trailing blanks", |random, source| {
        only_old(random, source, trailing_blanks)
    }),
    ("model: only old escaped", |random, source| only_old(random, source, escaped_quotes)),
    ("model: typo in a changed line", |random, source| off(random, source, 12, typo_in_changed)),
    ("model: two at once", two),
];

type Distortion = fn(&mut Random, &mut Draft) -> Option<()>;

fn off(random: &mut Random, source: &Source, most: usize, distortion: Distortion) -> Option<Case> {
    let mut draft = Draft::new(random, source, most)?;
    distortion(random, &mut draft)?;
    is_off(&draft).then(|| draft.case()).flatten()
}

/// The old text is off and the new one is not.
fn only_old(random: &mut Random, source: &Source, distortion: Distortion) -> Option<Case> {
    let mut draft = Draft::new(random, source, 10)?;
    let new = draft.new_text.clone();
    distortion(random, &mut draft)?;
    draft.new_text = new;
    is_off(&draft).then(|| draft.case()).flatten()
}

/// Whether the text is not there as it was written: then it would be a case of exact editing.
pub(crate) fn is_off(draft: &Draft) -> bool {
    !draft.texts().0.contains(&draft.old())
}

fn two(random: &mut Random, source: &Source) -> Option<Case> {
    const PAIRS: [(Distortion, Distortion); 9] = [
        (dedent, trailing_blanks),
        (dedent, smart),
        (dedent, typo_in_code),
        (spaces_for_tabs, boundary),
        (trailing_blanks, typo_in_code),
        (boundary, smart),
        (dedent, extra_blank_lines),
        (dedent, escaped_quotes),
        (trailing_blanks, |random, draft| numbered(random, draft, "→")),
    ];
    let mut draft = Draft::new(random, source, 10)?;
    let (first, second) = random.pick(&PAIRS);
    first(random, &mut draft)?;
    second(random, &mut draft)?;
    is_off(&draft).then(|| draft.case()).flatten()
}

pub(crate) fn crlf(_: &mut Random, draft: &mut Draft) -> Option<()> {
    draft.distort(|line| format!("{line}\r"));
    let last_ends = |lines: &mut Vec<String>, closed: bool| {
        if let Some(last) = lines.last_mut().filter(|_| !closed) {
            last.pop();
        }
    };
    last_ends(&mut draft.old_text, draft.old_closed);
    last_ends(&mut draft.new_text, draft.new_closed);
    Some(())
}

pub(crate) fn trailing_blanks(_: &mut Random, draft: &mut Draft) -> Option<()> {
    let is_clean = |line: &String| line.trim_end() == line;
    if !draft.span.iter().all(is_clean) {
        return None;
    }
    draft.distort(|line| if line.len() % 3 == 0 { line.to_owned() } else { format!("{line}  ") });
    draft.old_text.iter().any(|line| line.ends_with(' ')).then_some(())
}

pub(crate) fn smart(_: &mut Random, draft: &mut Draft) -> Option<()> {
    let is_plain = draft.span.iter().all(|line| line.is_ascii());
    draft.distort(smart_quotes);
    (is_plain && draft.old_text.iter().any(|line| !line.is_ascii())).then_some(())
}

/// Turns straight quotes into curly ones, and a dash between blanks into a long one.
pub(crate) fn smart_quotes(line: &str) -> String {
    let mut open = true;
    let mut smart = String::new();
    for character in line.chars() {
        match character {
            '"' => {
                smart.push(if open { '\u{201c}' } else { '\u{201d}' });
                open = !open;
            }
            '\'' => smart.push('\u{2019}'),
            other => smart.push(other),
        }
    }
    let body = smart.trim_start();
    indent(&smart).to_owned() + &body.replace(" - ", " \u{2013} ")
}

fn no_break(_: &mut Random, draft: &mut Draft) -> Option<()> {
    draft.distort(|line| {
        let body = line.trim_start();
        indent(line).to_owned() + &body.replacen(' ', "\u{a0}", 1)
    });
    Some(())
}

pub(crate) fn dedent(_: &mut Random, draft: &mut Draft) -> Option<()> {
    let solid =
        || draft.old_text.iter().chain(&draft.new_text).filter(|line| !line.trim().is_empty());
    let least = solid().map(|line| indent(line).len()).min()?;
    let shared = solid().next().map(|line| line[..least].to_owned())?;
    if least == 0 || !solid().all(|line| line.starts_with(&shared)) || draft.old_text.len() < 2 {
        return None;
    }
    draft.distort(|line| line.strip_prefix(&shared).unwrap_or("").to_owned());
    Some(())
}

fn indent_more(random: &mut Random, draft: &mut Draft) -> Option<()> {
    let uses_tabs = draft.span.iter().any(|line| line.starts_with('\t'));
    let more = if uses_tabs { "\t" } else { random.pick(&["    ", "  "]) };
    draft.distort(
        |line| if line.trim().is_empty() { String::new() } else { format!("{more}{line}") },
    );
    Some(())
}

fn spaces_for_tabs(random: &mut Random, draft: &mut Draft) -> Option<()> {
    let width = *random.pick(&[2, 4, 8]);
    let is_tabbed = draft.span.iter().all(|line| indent(line).chars().all(|c| c == '\t'));
    draft.distort(|line| " ".repeat(width * indent(line).len()) + line.trim_start());
    is_tabbed.then_some(())
}

fn tabs_for_spaces(_: &mut Random, draft: &mut Draft) -> Option<()> {
    let width = level(draft)?;
    draft.distort(|line| "\t".repeat(indent(line).len() / width) + line.trim_start());
    Some(())
}

fn other_width(_: &mut Random, draft: &mut Draft) -> Option<()> {
    let width = level(draft)?;
    let other = if width == 2 { 4 } else { 2 };
    draft.distort(|line| " ".repeat(indent(line).len() / width * other) + line.trim_start());
    Some(())
}

/// Returns how wide a level of spaces is, if all lines of the file keep to it.
fn level(draft: &Draft) -> Option<usize> {
    let all = || {
        draft
            .before
            .iter()
            .chain(&draft.span)
            .chain(&draft.after)
            .filter(|line| !line.trim().is_empty())
    };
    let is_even = |width: usize| {
        all().all(|line| {
            indent(line).chars().all(|c| c == ' ') && indent(line).len().is_multiple_of(width)
        })
    };
    [4, 2].into_iter().find(|width| is_even(*width))
}

fn bare_first(random: &mut Random, draft: &mut Draft) -> Option<()> {
    let depth = indent(draft.old_text.first()?).to_owned();
    trailing_blanks(random, draft)?;
    let new = draft.new_text.first_mut()?;
    *new = new.strip_prefix(&depth)?.to_owned();
    let old = draft.old_text.first_mut()?;
    *old = old.strip_prefix(&depth)?.to_owned();
    (draft.old_text.len() > 1).then_some(())
}

fn inner_blanks(_: &mut Random, draft: &mut Draft) -> Option<()> {
    if draft.span.iter().any(|line| line.trim_end() != line) {
        return None;
    }
    draft.distort(|line| {
        let body = line.trim_start();
        indent(line).to_owned() + &body.replacen(' ', "  ", 1)
    });
    Some(())
}

fn extra_blank_lines(random: &mut Random, draft: &mut Draft) -> Option<()> {
    // Between two lines that stay neighbours, in both texts.
    let pairs = || draft.old_text.windows(2).enumerate();
    let apart: Vec<usize> = pairs()
        .filter(|(_, pair)| draft.new_text.windows(2).filter(|new| new == pair).count() == 1)
        .filter(|(_, pair)| draft.old_text.windows(2).filter(|old| old == pair).count() == 1)
        .map(|(index, _)| index)
        .collect();
    let at = *apart.get(random.below(apart.len()))?;
    let pair = [draft.old_text[at].clone(), draft.old_text[at + 1].clone()];
    let new_at = draft.new_text.windows(2).position(|new| new == pair)?;
    draft.old_text.insert(at + 1, String::new());
    draft.new_text.insert(new_at + 1, String::new());
    Some(())
}

fn missing_blank_lines(_: &mut Random, draft: &mut Draft) -> Option<()> {
    let blanks = draft.old_text.iter().filter(|line| line.trim().is_empty()).count();
    draft.old_text.retain(|line| !line.trim().is_empty());
    draft.new_text.retain(|line| !line.trim().is_empty());
    (blanks > 0 && !draft.new_text.is_empty()).then_some(())
}

fn boundary(random: &mut Random, draft: &mut Draft) -> Option<()> {
    let leads = random.chance(60);
    for lines in [&mut draft.old_text, &mut draft.new_text] {
        if leads {
            lines.insert(0, String::new());
        } else {
            lines.push(String::new());
            lines.push(String::new());
        }
    }
    if draft.new.is_empty() {
        return None;
    }
    let is_bare = if leads { draft.before.last() } else { draft.after.first() };
    is_bare.is_none_or(|line| !line.trim().is_empty()).then_some(())
}

/// Turns a text into one line, and leaves it at that.
fn one_line(draft: &mut Draft, write: impl Fn(&str) -> String) {
    let old = write(&draft.old());
    let new = write(&draft.new_string());
    (draft.old_text, draft.new_text) = (vec![old], vec![new]);
    (draft.old_closed, draft.new_closed) = (false, false);
}

fn escaped_ends(_: &mut Random, draft: &mut Draft) -> Option<()> {
    if draft.span.len() < 2 || draft.span.iter().any(|line| line.contains('\\')) {
        return None;
    }
    one_line(draft, |text| text.replace('\n', "\\n").replace('\t', "\\t"));
    Some(())
}

fn escaped_quotes(_: &mut Random, draft: &mut Draft) -> Option<()> {
    if draft.span.iter().any(|line| line.contains('\\')) {
        return None;
    }
    draft.distort(|line| line.replace('"', "\\\""));
    draft.old_text.iter().any(|line| line.contains('"')).then_some(())
}

fn escaped_twice(_: &mut Random, draft: &mut Draft) -> Option<()> {
    one_line(draft, |text| {
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        quoted.replace('\n', "\\n").replace('\t', "\\t")
    });
    Some(())
}

fn numbered(random: &mut Random, draft: &mut Draft, mark: &str) -> Option<()> {
    let first = draft.before.len() + 1;
    let write = |lines: &mut Vec<String>| {
        for (index, line) in lines.iter_mut().enumerate() {
            *line = format!("{:>6}{mark}{line}", first + index);
        }
    };
    write(&mut draft.old_text);
    if random.chance(70) {
        write(&mut draft.new_text);
    }
    // A colon behind a lone number may be text; without a second sign of it nobody can tell.
    (draft.old_text.len() > 1 || !mark.starts_with(':')).then_some(())
}

fn typo_in_code(random: &mut Random, draft: &mut Draft) -> Option<()> {
    typo(random, draft, |line| !is_comment(line))
}

fn typo_in_comment(random: &mut Random, draft: &mut Draft) -> Option<()> {
    typo(random, draft, is_comment)
}

/// Makes a slip in a line that gets something more behind it.
fn typo_in_changed(random: &mut Random, draft: &mut Draft) -> Option<()> {
    draft.new = (0..draft.span.len()).map(NewLine::Kept).collect();
    draft.copy();
    typo_in_code(random, draft)?;
    let at = (0..draft.span.len()).find(|at| draft.old_text[*at] != draft.span[*at])?;
    let more = format!(" more_{}", random.below(1000));
    draft.new[at] = NewLine::Changed(at, draft.span[at].clone() + &more);
    draft.new_text[at].push_str(&more);
    Some(())
}

fn is_comment(line: &str) -> bool {
    ["//", "# ", "* ", "/*", "<!--"].iter().any(|mark| line.trim_start().starts_with(mark))
}

/// Makes a slip in a longer word of a line that stays as it is.
fn typo(random: &mut Random, draft: &mut Draft, fits: fn(&str) -> bool) -> Option<()> {
    if draft.old_text.len() < 3 {
        return None;
    }
    let candidates: Vec<usize> = (0..draft.old_text.len())
        .filter(|index| fits(&draft.old_text[*index]))
        .filter(|index| {
            draft.old_text.iter().filter(|line| **line == draft.old_text[*index]).count() == 1
        })
        .filter(|index| {
            draft.new_text.iter().filter(|line| **line == draft.old_text[*index]).count() == 1
        })
        .collect();
    let at = *candidates.get(random.below(candidates.len()))?;
    let line = draft.old_text[at].clone();
    let words = line.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() >= 6);
    let words: Vec<&str> = words.collect();
    let word = *words.get(random.below(words.len()))?;
    let wrong = slip(random, word);
    let (text, _) = draft.texts();
    let is_name =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|known| known.contains(&wrong));
    let off = line.replacen(word, &wrong, 1);
    if wrong == word || is_name {
        return None;
    }
    for lines in [&mut draft.old_text, &mut draft.new_text] {
        let place = lines.iter_mut().find(|other| **other == line)?;
        place.clone_from(&off);
    }
    Some(())
}

/// Swaps, drops or doubles a letter within a word.
fn slip(random: &mut Random, word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let at = 1 + random.below(letters.len() - 3);
    match random.below(3) {
        0 => letters.swap(at, at + 1),
        1 => {
            letters.remove(at);
        }
        _ => letters.insert(at, letters[at]),
    }
    letters.into_iter().collect()
}

/// Leaves out the line end behind the new text only.
fn last_end(random: &mut Random, draft: &mut Draft) -> Option<()> {
    (draft.old_closed, draft.new_closed) = (true, false);
    if draft.new_text.last().is_none_or(|line| line.trim().is_empty()) {
        return None;
    }
    trailing_blanks(random, draft)
}
