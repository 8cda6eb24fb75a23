//! Text that came with its escapes written out, as when JSON was escaped twice.

use std::borrow::Cow;

use crate::{Tier, asked::Reading};

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
    for style in [Style::All, Style::Quotes, Style::Breaks] {
        let old = unescaped(&reading.old, style);
        if old == reading.old || readings.iter().any(|known| known.old == old) {
            continue;
        }
        let Some(new) = style.undone(&reading.old, &reading.new) else { continue };
        readings.push(Reading { old: old.into(), new: Cow::Owned(new), tier: Some(Tier::Escapes) });
    }
    readings
}

impl Style {
    /// Returns the new text without those escapes that it shares with the old one: it is as it shall
    /// be where it has real line ends and the old text has none, and with quotes likewise. `None` if
    /// it may be either.
    fn undone(self, old: &str, new: &str) -> Option<String> {
        let is_like = |mark: char| has_bare(old, mark) || !has_bare(new, mark);
        let has_quotes = old.contains("\\\"");
        let style = match (is_like('\n'), is_like('"')) {
            (true, true) => Some(self),
            (false, true) if has_quotes && self != Self::Breaks => Some(Self::Quotes),
            (true, false) if has_quotes && unescaped(new, Self::Breaks) != new => return None,
            (true, false) if self != Self::Quotes => Some(Self::Breaks),
            _ => None,
        };
        Some(style.map_or_else(|| new.to_owned(), |style| unescaped(new, style)))
    }
}

/// Whether a character stands somewhere without a backslash before it.
fn has_bare(text: &str, mark: char) -> bool {
    let mut escaped = false;
    text.chars().any(|character| {
        let found = character == mark && !escaped;
        escaped = character == '\\' && !escaped;
        found
    })
}

fn unescaped(text: &str, style: Style) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let meant =
            characters.peek().filter(|_| character == '\\').and_then(|next| meaning(*next, style));
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
