//! Arithmetic, which evaluates the text of variables, and so can run what it holds.

use super::Walk;
use super::value::{Atom, Field};
use crate::syntax::{Piece, Span};

const REASON: &str =
    "arithmetic evaluates text that is not known to be a number, which can run commands";

impl Walk<'_> {
    /// Walks arithmetic that is written as such.
    pub(super) fn arithmetic(&mut self, pieces: &[Piece], span: Span) {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Text { text: plain, .. } => text.push_str(plain),
                Piece::Arithmetic(inner) => {
                    self.arithmetic(inner, span);
                    text.push('0');
                }
                other => {
                    let value = self.quoted_piece(other, span);
                    if !value.is_number() {
                        self.doubt(REASON, span);
                    }
                    text.push('0');
                }
            }
        }
        self.arithmetic_text(&text, span);
    }

    /// Checks arithmetic whose text is known: names in it must stand for numbers.
    pub(super) fn arithmetic_text(&mut self, text: &str, span: Span) {
        let plain = |character: char| {
            character.is_ascii_alphanumeric() || " \t\n_+-*/%<>=!&|^~?:,()[]#".contains(character)
        };
        if !text.chars().all(plain) {
            self.doubt(REASON, span);
            return;
        }
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let mut rest = text;
        while let Some(at) = rest.find(|character: char| is_name(character)) {
            let from = rest.get(at..).unwrap_or_default();
            let length = from.find(|character: char| !is_name(character)).unwrap_or(from.len());
            let (name, after) = from.split_at(length);
            rest = after;
            if name.starts_with(|first: char| first.is_ascii_digit()) {
                // `16#ff` and `0x1f` are numbers; the digits after `#` are no name.
                if let Some(digits) = rest.strip_prefix('#') {
                    rest = digits.trim_start_matches(|character: char| {
                        is_name(character) || character == '@'
                    });
                }
                continue;
            }
            self.arithmetic_name(name, after, span);
        }
    }

    fn arithmetic_name(&mut self, name: &str, after: &str, span: Span) {
        match self.state.variables.get(name) {
            Some(value) if !value.is_number() && value.literal() != Some("") => {
                self.doubt(REASON, span);
            }
            None if self.state.any_variable => self.doubt(REASON, span),
            // What the script has not set comes from outside and is not its doing.
            _ => {}
        }
        let operators = after.trim_start();
        let assigns = operators.starts_with('=') && !operators.starts_with("==");
        let changes = ["++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="];
        if assigns || changes.iter().any(|change| operators.starts_with(change)) {
            self.check_assigned(name, false, span);
            let number = Field { atoms: vec![Atom::Number(format!("${name}"))], many: false };
            self.assign(name, number);
        }
    }

    /// What a piece becomes inside quotes.
    fn quoted_piece(&mut self, piece: &Piece, span: Span) -> Field {
        let mut field = Field::default();
        self.append(&mut field, piece, span);
        field
    }
}
