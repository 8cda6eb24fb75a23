//! Options of the shell: of `set` and `shopt`, and those that another one is started with.

use super::Walk;
use super::value::Field;
use crate::syntax::Span;

/// Options of `set` that change nothing about which commands run.
const SET_LETTERS: &str = "euxvfbmhCET";
const SET_NAMES: [&str; 12] = [
    "errexit",
    "nounset",
    "xtrace",
    "verbose",
    "noglob",
    "notify",
    "monitor",
    "hashall",
    "noclobber",
    "errtrace",
    "functrace",
    "pipefail",
];
const SHOPT_NAMES: [&str; 8] = [
    "nullglob",
    "dotglob",
    "globstar",
    "nocaseglob",
    "inherit_errexit",
    "checkwinsize",
    "huponexit",
    "xpg_echo",
];
/// More letters that a shell is started with: none of them changes how it reads commands.
const START_LETTERS: &str = "lnptB";
/// Letters that the table of programs knows.
const TABLE_LETTERS: &str = "siD";

const REASON: &str = "an option of the shell changes how it reads commands";

impl Walk<'_> {
    pub(super) fn set_options(&mut self, operands: &[Field], span: Span) {
        let mut operands = operands.iter();
        while let Some(operand) = operands.next() {
            let Some(text) = operand.literal() else {
                return self.doubt("an option of the shell is not known", span);
            };
            if matches!(text, "--" | "-") {
                return;
            }
            let Some(letters) = text.strip_prefix(['-', '+']) else {
                return;
            };
            let named = letters.ends_with('o');
            let letters = letters.strip_suffix('o').unwrap_or(letters);
            let known = letters.chars().all(|letter| SET_LETTERS.contains(letter));
            let name = if named { operands.next() } else { None };
            if !known || !name.is_none_or(|name| is_among(name, &SET_NAMES)) {
                return self.doubt(REASON, span);
            }
        }
    }

    pub(super) fn shopt(&mut self, operands: &[Field], span: Span) {
        let mut names = operands.iter().filter(|operand| !operand.prefix().starts_with('-'));
        let known = names.all(|name| self.is_harmless(name));
        if !known || operands.iter().any(|operand| operand.may_be("-o")) {
            self.doubt(REASON, span);
        }
    }

    /// Whether an option of `shopt` changes nothing, or was reckoned with from the start.
    fn is_harmless(&self, name: &Field) -> bool {
        let is_foreseen = name.literal() != Some("nullglob") || self.patterns_vanish;
        is_among(name, &SHOPT_NAMES) && is_foreseen
    }

    /// Doubts a pattern among other words where it may be none of them.
    pub(super) fn check_patterns(&mut self, fields: &[Field], span: Span) {
        let mut rest = fields.iter().skip_while(|field| !field.is_pattern());
        if self.patterns_vanish && rest.any(|field| !field.is_pattern()) {
            self.doubt(
                "a pattern that matches nothing may leave the words after it another meaning",
                span,
            );
        }
    }

    /// The arguments that a shell is started with, without the options that change nothing.
    ///
    /// Shells read them in a way of their own: a `+` takes an option away, and the name of an option
    /// is always the next word, whatever letters stand beside the `o`.
    pub(super) fn started(&mut self, arguments: &[Field], span: Span) -> Vec<Field> {
        let mut kept = Vec::new();
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            let text = word.prefix();
            if text.len() > 2 && text.starts_with("--") {
                if word.may_be("--posix") {
                    self.doubt(REASON, span);
                }
                kept.push(word.clone());
                continue;
            }
            let letters = text.strip_prefix(['-', '+']);
            let Some(letters) = letters.filter(|_| !matches!(text, "-" | "--")) else {
                let is_end = matches!(word.literal(), Some("-" | "--"));
                // What is not known may be an option, which the table of programs doubts.
                if !is_end && word.literal().is_none() {
                    kept.push(word.clone());
                } else {
                    kept.push(Field::text("--"));
                    kept.extend((!is_end).then(|| word.clone()));
                }
                kept.extend(rest.cloned());
                return kept;
            };
            if word.literal().is_none() {
                self.doubt("an option of the shell is not known", span);
            }
            for letter in letters.chars() {
                let is_plain = SET_LETTERS.contains(letter) || START_LETTERS.contains(letter);
                let is_kept = match letter {
                    'o' => rest.next().is_none_or(|name| is_among(name, &SET_NAMES)),
                    'O' => rest.next().is_none_or(|name| self.is_harmless(name)),
                    'c' => {
                        kept.push(Field::text("-c"));
                        true
                    }
                    'B' => text.starts_with('-'),
                    _ if TABLE_LETTERS.contains(letter) => {
                        kept.push(Field::text(&format!("-{letter}")));
                        true
                    }
                    _ => is_plain,
                };
                if !is_kept {
                    self.doubt(REASON, span);
                }
            }
        }
        kept
    }
}

fn is_among(name: &Field, names: &[&str]) -> bool {
    name.literal().is_some_and(|name| names.contains(&name))
}
