//! Text that came with its escapes written out, as when JSON was escaped twice.

use std::{borrow::Cow, collections::BTreeSet};

use crate::{Tier, asked::Reading, lines::trim_end};

/// Which escapes are taken for what they stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    All,
    Quotes,
    Breaks,
}

/// Returns the readings of a text without its escapes, the most thorough first.
pub(crate) fn readings(reading: &Reading<'_>) -> Vec<Reading<'static>> {
    if !reading.old.contains('\\') {
        return Vec::new();
    }
    let mut readings: Vec<Reading<'static>> = Vec::new();
    let mut doubtful = Vec::new();
    for style in [Style::All, Style::Quotes, Style::Breaks] {
        let old = unescaped(&reading.old, |kind| meaning(kind, style));
        if old == reading.old
            || readings.iter().any(|known| known.old == old)
            || doubtful.contains(&old)
        {
            continue;
        }
        let Some(new) = style.undone(&reading.old, &reading.new) else {
            doubtful.push(old);
            continue;
        };
        readings.push(Reading { old: old.into(), new: Cow::Owned(new), tier: Some(Tier::Escapes) });
    }
    readings
}

impl Style {
    /// Returns the new text without the escapes that it shares with the old one; `None` if it has
    /// some of a kind both ways, so that nobody can tell.
    fn undone(self, old: &str, new: &str) -> Option<String> {
        let (was, is) = (Marks::of(old), Marks::of(new));
        let is_json = was.escaped.contains(&'\\') || was.escaped.contains(&'n');
        let differs = |kind: char| is.bare.contains(&kind) && !was.bare.contains(&kind);
        // Escaped as the old text, the new one would have nothing bare that is escaped there.
        let is_raw_by_lines = is_json && differs('n');
        let is_raw = is_raw_by_lines || was.escaped.iter().any(|kind| differs(*kind));
        let mut undone = Vec::new();
        for kind in is.escaped.iter().copied().filter(|kind| meaning(*kind, self).is_some()) {
            let is_shared = was.escaped.contains(&kind);
            let is_break = matches!(kind, 'n' | 't' | 'r' | '\\');
            if is_shared && is_raw && !(is_raw_by_lines && is_break) {
                return None;
            }
            let has_bare = was.bare.contains(&kind) || is.bare.contains(&kind);
            if !is_raw && (is_shared || !has_bare) {
                undone.push(kind);
            }
        }
        let plain =
            unescaped(new, |kind| undone.contains(&kind).then(|| meaning(kind, self)).flatten());
        // The right one is the one that leaves more of the old text alone.
        let there = unescaped(old, |kind| meaning(kind, self));
        let is_unlikely = || {
            differs('"')
                || undone.iter().all(|kind| !was.escaped.contains(kind))
                || breaks_in_quotes(new)
                || (ends_in_blanks(&plain) && !ends_in_blanks(&there))
        };
        let (raw, undone) = (Kept::of(&there, new), Kept::of(&there, &plain));
        if raw.put_in < undone.put_in {
            return Some(new.to_owned());
        }
        let is_sure = plain == new || undone.kept > raw.kept || !is_unlikely();
        is_sure.then_some(plain)
    }
}

/// Whether a line has blanks at its end.
fn ends_in_blanks(text: &str) -> bool {
    text.lines().any(|line| trim_end(line).len() < line.len())
}

/// Whether a line end or a tab is written out between quotes, where code has it like that.
fn breaks_in_quotes(text: &str) -> bool {
    text.lines().any(|line| {
        let mut opened = None;
        let mut escaped = false;
        line.chars().any(|character| {
            let is_break = escaped && opened.is_some() && matches!(character, 'n' | 't' | 'r');
            if !escaped && matches!(character, '"' | '\'' | '`') {
                opened = match opened {
                    None => Some(character),
                    Some(quote) if quote == character => None,
                    other => other,
                };
            }
            escaped = character == '\\' && !escaped;
            is_break
        })
    })
}

/// How many bytes of a new text are at the start or at the end of the old one, and how many are not.
struct Kept {
    kept: usize,
    put_in: usize,
}

impl Kept {
    fn of(old: &str, new: &str) -> Self {
        let head = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        let most = old.len().min(new.len()) - head;
        let tails = old.bytes().rev().zip(new.bytes().rev()).take(most);
        let kept = head + tails.take_while(|(a, b)| a == b).count();
        Self { kept, put_in: new.len() - kept }
    }
}

/// Which kinds of characters that can be escaped a text has, by the letter of the escape.
#[derive(Debug, Default)]
struct Marks {
    escaped: BTreeSet<char>,
    bare: BTreeSet<char>,
}

impl Marks {
    fn of(text: &str) -> Self {
        let mut marks = Self::default();
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            let escape = characters
                .peek()
                .copied()
                .filter(|next| character == '\\' && meaning(*next, Style::All).is_some());
            match (escape, character) {
                (Some(escape), _) => {
                    marks.escaped.insert(escape);
                    characters.next();
                }
                (None, '\n') => drop(marks.bare.insert('n')),
                (None, '\t') => drop(marks.bare.insert('t')),
                (None, '"' | '\'' | '`' | '$' | '/') => drop(marks.bare.insert(character)),
                _ => {}
            }
        }
        marks
    }
}

/// Replaces escapes by what they mean.
fn unescaped(text: &str, meaning: impl Fn(char) -> Option<char>) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let meant = characters.peek().filter(|_| character == '\\').and_then(|next| meaning(*next));
        match meant {
            Some(meant) => {
                plain.push(meant);
                characters.next();
            }
            None => plain.push(character),
        }
    }
    plain
}

fn meaning(escape: char, style: Style) -> Option<char> {
    match (escape, style) {
        ('n', Style::All | Style::Breaks) => Some('\n'),
        ('t', Style::All | Style::Breaks) => Some('\t'),
        ('r', Style::All | Style::Breaks) => Some('\r'),
        ('"' | '\'' | '`', Style::All | Style::Quotes) => Some(escape),
        ('\\' | '$' | '/', Style::All) => Some(escape),
        _ => None,
    }
}
