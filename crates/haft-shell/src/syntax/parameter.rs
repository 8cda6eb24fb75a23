//! What a `$` begins: parameters, substitutions, arithmetic.

use super::cursor::{Reader, is_name, is_name_start};
use super::word::Ends;
use super::{Change, Fault, Parameter, Piece, Word};

/// Parameters of one special character.
const SPECIAL: &str = "@*#?-$!";

/// What may stand in arithmetic beside expansions. Everything else is refused.
fn is_arithmetic(character: char) -> bool {
    character.is_ascii_alphanumeric() || " \t\n_+-*/%<>=!&|^~?:,()[]#".contains(character)
}

impl Reader {
    /// What follows a `$`.
    pub(super) fn dollar(&mut self, quoted: bool) -> Result<Piece, Fault> {
        let start = self.pos;
        self.bump();
        match self.peek() {
            Some('(') if self.peek_second() == Some('(') => {
                self.bump();
                self.bump();
                let pieces = self.arithmetic(')')?;
                self.expect(')', "arithmetic is not closed, or is a command after all")?;
                Ok(Piece::Arithmetic(pieces))
            }
            Some('(') => {
                self.bump();
                let list = self.substituted()?;
                Ok(Piece::Substitution { list, quoted })
            }
            Some('{') => {
                self.bump();
                let mut parameter = self.braced(quoted)?;
                parameter.span = self.span_from(start);
                Ok(Piece::Parameter { parameter: Box::new(parameter), quoted })
            }
            Some('[') => self.fault("`$[…]` is an old form of arithmetic that can run commands"),
            Some('\'') if !quoted => {
                self.bump();
                self.ansi_quoted()
            }
            Some('"') if !quoted => self.fault("`$\"…\"` may be translated into something else"),
            Some(first) if is_name_start(first) => {
                let name = self.name();
                Ok(self.plain(name, start, quoted))
            }
            Some(first) if first.is_ascii_digit() || SPECIAL.contains(first) => {
                self.bump();
                Ok(self.plain(first.to_string(), start, quoted))
            }
            _ => Ok(Piece::Text { text: "$".to_owned(), quoted: true }),
        }
    }

    fn plain(&self, name: String, start: usize, quoted: bool) -> Piece {
        let span = self.span_from(start);
        let parameter = Parameter { name, subscript: None, change: Change::None, span };
        Piece::Parameter { parameter: Box::new(parameter), quoted }
    }

    pub(super) fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(next) = self.peek().filter(|next| is_name(*next)) {
            name.push(next);
            self.pos += 1;
        }
        name
    }

    /// The rest of `${…}`.
    fn braced(&mut self, quoted: bool) -> Result<Parameter, Fault> {
        if self.peek() == Some('#') && !matches!(self.peek_second(), Some('}' | ':' | '-' | '=')) {
            self.bump();
            let (name, subscript) = self.subject()?;
            self.expect('}', "a parameter is written in a way that is not understood")?;
            return Ok(parameter(name, subscript, Change::Length));
        }
        let indirect = self.peek() == Some('!')
            && self.peek_second().is_some_and(|next| is_name(next) || SPECIAL.contains(next));
        if indirect {
            self.bump();
        }
        let (name, subscript) = self.subject()?;
        let change =
            if indirect { self.indirection(subscript.is_some())? } else { self.change(quoted)? };
        self.expect('}', "a parameter is written in a way that is not understood")?;
        Ok(parameter(name, subscript, change))
    }

    /// A parameter's name, and what stands in brackets after it.
    fn subject(&mut self) -> Result<(String, Option<Vec<Piece>>), Fault> {
        let name = match self.peek() {
            Some(first) if is_name_start(first) => self.name(),
            Some(first) if first.is_ascii_digit() => {
                let mut digits = String::new();
                while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
                    digits.push(digit);
                    self.pos += 1;
                }
                return Ok((digits, None));
            }
            Some(first) if SPECIAL.contains(first) => {
                self.bump();
                return Ok((first.to_string(), None));
            }
            _ => return self.fault("a parameter is written in a way that is not understood"),
        };
        let subscript = if self.eat('[') { Some(self.subscript()?) } else { None };
        Ok((name, subscript))
    }

    /// The rest of `[…]` after a name.
    pub(super) fn subscript(&mut self) -> Result<Vec<Piece>, Fault> {
        if matches!(self.peek(), Some('@' | '*')) && self.peek_second() == Some(']') {
            self.bump();
            self.bump();
            return Ok(Vec::new());
        }
        self.arithmetic(']')
    }

    fn indirection(&mut self, has_subscript: bool) -> Result<Change, Fault> {
        match self.peek() {
            Some('*' | '@') if self.peek_second() == Some('}') => {
                self.bump();
                Ok(Change::Names)
            }
            Some('}') if has_subscript => Ok(Change::Names),
            Some('}') => Ok(Change::Indirect),
            _ => self.fault("a parameter is written in a way that is not understood"),
        }
    }

    fn change(&mut self, quoted: bool) -> Result<Change, Fault> {
        let colon = self.peek() == Some(':');
        let operator = if colon { self.peek_second() } else { self.peek() };
        match operator {
            Some('}') if !colon => Ok(Change::None),
            Some(operator @ ('-' | '=' | '+' | '?')) => {
                if colon {
                    self.bump();
                }
                self.bump();
                let word = self.operand(quoted, Ends::Brace)?;
                let assigns = operator == '=';
                Ok(if assigns { Change::AssignDefault(word) } else { Change::Default(word) })
            }
            _ if colon => {
                self.bump();
                self.arithmetic('}').map(|pieces| {
                    // The brace belongs to the parameter.
                    self.pos -= 1;
                    Change::Slice(pieces)
                })
            }
            Some('#' | '%' | '^' | ',') => {
                let mark = self.bump();
                if self.peek() == mark {
                    self.bump();
                }
                Ok(Change::Edit(vec![self.operand(quoted, Ends::Brace)?]))
            }
            Some('/') => {
                self.bump();
                if matches!(self.peek(), Some('/' | '#' | '%')) {
                    self.bump();
                }
                let mut words = vec![self.operand(quoted, Ends::Slash)?];
                if self.eat('/') {
                    words.push(self.operand(quoted, Ends::Brace)?);
                }
                Ok(Change::Edit(words))
            }
            Some('@') => {
                self.bump();
                match self.bump() {
                    Some(letter) if letter.is_ascii_alphabetic() => Ok(Change::Transform(letter)),
                    _ => self.fault("a parameter is written in a way that is not understood"),
                }
            }
            _ => self.fault("a parameter is written in a way that is not understood"),
        }
    }

    /// The word after an operator inside `${…}`. Quotes mean different things there inside and
    /// outside double quotes, so inside them they are refused.
    fn operand(&mut self, quoted: bool, ends: Ends) -> Result<Word, Fault> {
        let start = self.pos;
        let word = self.deeper(|reader| reader.word(ends, quoted))?;
        Ok(Word { span: self.span_from(start), ..word })
    }

    /// Arithmetic up to `close`, which is taken.
    pub(super) fn arithmetic(&mut self, close: char) -> Result<Vec<Piece>, Fault> {
        let mut pieces = Vec::new();
        let mut open = Vec::new();
        loop {
            match self.peek() {
                None => return self.fault("arithmetic is not closed"),
                Some(next) if next == close && open.is_empty() => {
                    self.bump();
                    return Ok(pieces);
                }
                Some('$') => {
                    let piece = self.deeper(|reader| reader.dollar(true))?;
                    pieces.push(piece);
                }
                Some('`') => {
                    let piece = self.backquoted(true)?;
                    pieces.push(piece);
                }
                Some(next) if is_arithmetic(next) => {
                    match next {
                        '(' => open.push(')'),
                        '[' => open.push(']'),
                        ')' | ']' if open.pop() != Some(next) => {
                            return self
                                .fault("arithmetic is written in a way that is not understood");
                        }
                        _ => {}
                    }
                    self.bump();
                    push_plain(&mut pieces, next);
                }
                Some(_) => {
                    return self.fault("arithmetic is written in a way that is not understood");
                }
            }
        }
    }
}

fn parameter(name: String, subscript: Option<Vec<Piece>>, change: Change) -> Parameter {
    Parameter { name, subscript, change, span: super::Span::default() }
}

pub(super) fn push_plain(pieces: &mut Vec<Piece>, character: char) {
    match pieces.last_mut() {
        Some(Piece::Text { text, quoted: false }) => text.push(character),
        _ => pieces.push(Piece::Text { text: character.to_string(), quoted: false }),
    }
}
