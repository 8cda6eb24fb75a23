//! Slips of the pen, told apart from words that are different words.
//!
//! A slip in a line that stays as it is does no harm. A name that differs because the model means
//! another place does, so whatever may be a real name is no slip.

use rapidfuzz::distance::osa;

use crate::look_alikes::is_word;

/// Letters that make another form of a word when they are put behind it.
const ENDINGS: [char; 6] = ['s', 'd', 'r', 'y', 'n', 't'];

/// How a word is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// A name or keyword, where a letter can make another name.
    Code,
    /// A comment or other prose.
    Prose,
}

/// Returns how a word of a line is read, by the key of the line. What looks like a name is one, also
/// in a comment.
pub(crate) fn manner(key: &str, word: &str) -> Manner {
    const OPENINGS: [&str; 7] = ["//", "/*", "*", "--", "<!--", ";", "%"];
    const DIRECTIVES: [&str; 10] =
        ["[", "!", "include", "if", "define", "undef", "endif", "else", "elif", "pragma"];
    let is_name = word.contains(|c: char| c == '_' || c.is_ascii_digit())
        || word.chars().skip(1).any(char::is_uppercase);
    let is_hash_comment = key
        .strip_prefix('#')
        .is_some_and(|rest| !DIRECTIVES.iter().any(|directive| rest.starts_with(directive)));
    let is_comment = is_hash_comment || OPENINGS.iter().any(|opening| key.starts_with(opening));
    let words = key.split(' ').count();
    let is_sentence = words >= 6 && !key.contains(['(', '{', '[', '=', ';', '<']);
    if !is_name && (is_comment || is_sentence) { Manner::Prose } else { Manner::Code }
}

/// Whether `written` is `meant` with a slip.
pub(crate) fn is_slip(written: &str, meant: &str, manner: Manner) -> bool {
    let digits = |word: &str| word.chars().filter(char::is_ascii_digit).collect::<String>();
    if written == meant || digits(written) != digits(meant) || !meant.chars().all(is_word) {
        return false;
    }
    let most = if manner == Manner::Prose && meant.len() > 7 { 2 } else { 1 };
    let bound = osa::Args::default().score_cutoff(most);
    if osa::distance_with_args(written.chars(), meant.chars(), &bound).is_none() {
        return false;
    }
    let slip = Slip::new(written, meant);
    match manner {
        Manner::Prose => slip.is_harmless(),
        Manner::Code => slip.makes_no_name(),
    }
}

/// What differs between two words, and the part of the meant word that it lies in.
struct Slip {
    written: Vec<char>,
    meant: Vec<char>,
    /// The part between underscores and capitals.
    part: Vec<char>,
    /// Where in that part the difference begins.
    at: usize,
}

impl Slip {
    fn new(written: &str, meant: &str) -> Self {
        let (a, b): (Vec<char>, Vec<char>) = (written.chars().collect(), meant.chars().collect());
        let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        let most = a.len().min(b.len()) - head;
        let tail =
            a.iter().rev().zip(b.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
        let middle = |word: &[char]| word.get(head..word.len() - tail).unwrap_or_default().to_vec();
        let is_edge = |index: &usize| {
            let at = |index: usize| b.get(index).copied().unwrap_or('_');
            at(*index) == '_'
                || (at(*index).is_uppercase() && !at(index.wrapping_sub(1)).is_uppercase())
        };
        let start = (0..=head.min(b.len().saturating_sub(1))).rev().find(is_edge).unwrap_or(0);
        let start = if b.get(start) == Some(&'_') { (start + 1).min(head) } else { start };
        let end = (head.max(start + 1)..b.len()).find(is_edge).unwrap_or(b.len());
        let part = b.get(start..end.max(start)).unwrap_or_default().to_vec();
        Self { written: middle(&a), meant: middle(&b), part, at: head - start }
    }

    /// Whether the word is still the same word to a reader: nothing was put behind it.
    fn is_harmless(&self) -> bool {
        let is_letters =
            self.written.iter().chain(&self.meant).all(|letter| letter.is_alphabetic());
        let is_swap = matches!(
            (self.written.as_slice(), self.meant.as_slice()),
            ([a, b], [c, d]) if a == d && b == c
        );
        is_letters
            && !self.is_another_case()
            && !self.is_another_form()
            && !self.is_another_word()
            && (self.part.len() > 3 || (self.part.len() == 3 && is_swap))
    }

    /// Whether another letter makes another word: at the start, or in a short one.
    fn is_another_word(&self) -> bool {
        matches!((self.written.as_slice(), self.meant.as_slice()), ([_], [_]))
            && (self.at == 0 || self.part.len() < 5)
    }

    fn is_another_case(&self) -> bool {
        let lower = |letters: &[char]| letters.iter().flat_map(|c| c.to_lowercase()).collect();
        let (written, meant): (String, String) = (lower(&self.written), lower(&self.meant));
        written == meant
    }

    /// Whether something was put before or behind the word, or taken from it.
    fn is_another_form(&self) -> bool {
        let adds = self.meant.is_empty()
            && (self.at == 0 || self.at >= self.part.len() || self.written.len() > 1);
        let is_ending = |lost: &char| ENDINGS.contains(lost) && self.at + 1 == self.part.len();
        let takes = self.written.is_empty()
            && (self.at == 0 || self.meant.len() > 1 || self.meant.iter().any(is_ending));
        adds || takes
    }

    /// Whether the slip cannot have made another likely name: plurals, other forms of a verb, other
    /// initials and other cases are names.
    fn makes_no_name(&self) -> bool {
        let letters = |slip: &[char]| slip.iter().all(|letter| letter.is_alphabetic());
        if !letters(&self.written) || !letters(&self.meant) || self.part.len() < 4 {
            return false;
        }
        let last = self.part.len() - 1;
        match (self.written.as_slice(), self.meant.as_slice()) {
            ([_, _], [_, _]) => true,
            ([a], [b]) if a.to_lowercase().eq(b.to_lowercase()) => false,
            // `get` and `set`, `lseek` and `fseek`, `execve` and `execvp`.
            ([_], [_]) => self.at > 0 && self.at < last && self.part.len() > 4,
            ([], [_]) if self.at == 0 => false,
            ([], [lost]) => self.at < last || (self.part.len() > 4 && !ENDINGS.contains(lost)),
            ([_], []) => self.at > 0 && self.at <= last,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
