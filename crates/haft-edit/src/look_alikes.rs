//! Characters that look alike: what a model takes for the same when it copies a text.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, char::canonical_combining_class};

/// Returns the plain form of a character that has one; characters without width become nothing.
pub(crate) fn plain(character: char) -> Option<&'static str> {
    Some(match character {
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{2032}' | '\u{2035}'
        | '\u{ff07}' | '\u{02bc}' => "'",
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' | '\u{2033}' | '\u{2036}'
        | '\u{ff02}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => "-",
        '\u{2026}' => "...",
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            " "
        }
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => "",
        _ => return None,
    })
}

/// Returns a text with every character in its plain form, and composed.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut folded = String::with_capacity(text.len());
    for cluster in clusters(text) {
        push_plain(cluster, &mut folded);
    }
    Cow::Owned(folded)
}

/// Appends the plain form of one cluster.
pub(crate) fn push_plain(cluster: &str, folded: &mut String) {
    if cluster.len() == 1 {
        folded.push_str(cluster);
        return;
    }
    for character in cluster.nfc() {
        match plain(character) {
            Some(plain) => folded.push_str(plain),
            None => folded.push(character),
        }
    }
}

/// Cuts a text into base characters with the marks that combine with them.
pub(crate) fn clusters(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let tail = rest.get(first.len_utf8()..)?;
        let marks: usize =
            tail.chars().take_while(|next| combines(*next)).map(char::len_utf8).sum();
        let (cluster, after) = rest.split_at_checked(first.len_utf8() + marks)?;
        rest = after;
        Some(cluster)
    })
}

/// Whether a character may become one with the character before it.
pub(crate) fn combines(character: char) -> bool {
    // The medial and final letters of Hangul compose although their class is zero.
    !character.is_ascii()
        && (canonical_combining_class(character) != 0
            || matches!(character, '\u{1160}'..='\u{11ff}'))
}

/// Whether a character belongs to a word.
pub(crate) fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric() || combines(character)
}
