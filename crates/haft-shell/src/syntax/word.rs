//! Words, and the assignments that stand before a command.

use super::cursor::{Reader, is_meta, is_name, is_name_start};
use super::parameter::push_plain;
use super::{Assignment, Fault, Piece, Word};

/// Where a word ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// At a blank or an operator.
    Operator,
    /// Like that, but round brackets and bars belong to it: after `=~`.
    OuterOperator,
    /// At the brace that closes a parameter.
    Brace,
    /// At that brace or at a slash before it.
    Slash,
}

impl Reader {
    /// Reads one word, which may be empty only inside `${…}`.
    ///
    /// `quoted` says that it stands inside double quotes, as a part of `"${…}"`.
    pub(super) fn word(&mut self, ends: Ends, quoted: bool) -> Result<Word, Fault> {
        let start = self.pos;
        let mut pieces = Vec::new();
        let mut open = 0_usize;
        while let Some(next) = self.peek() {
            match next {
                '}' if matches!(ends, Ends::Brace | Ends::Slash) => break,
                '/' if ends == Ends::Slash && !pieces.is_empty() => break,
                '<' | '>' if !quoted && self.peek_second() == Some('(') => {
                    if ends != Ends::Operator {
                        return self.fault("a process substitution stands where none is expected");
                    }
                    self.bump();
                    self.bump();
                    let list = self.substituted()?;
                    pieces.push(Piece::Process(list));
                }
                '(' if ends == Ends::OuterOperator => {
                    open += 1;
                    self.bump();
                    push_plain(&mut pieces, next);
                }
                ')' if ends == Ends::OuterOperator && open > 0 => {
                    open -= 1;
                    self.bump();
                    push_plain(&mut pieces, next);
                }
                '|' if ends == Ends::OuterOperator && open > 0 => {
                    self.bump();
                    push_plain(&mut pieces, next);
                }
                '(' if ends == Ends::Operator && names_array(&pieces) => {
                    self.bump();
                    let words = self.deeper(Self::array)?;
                    pieces.push(Piece::Array(words));
                    break;
                }
                _ if is_meta(next) && matches!(ends, Ends::Operator | Ends::OuterOperator) => break,
                '\'' | '"' | '\\' if quoted => {
                    return self.fault("quotes are nested in a way that is not understood");
                }
                '\\' => {
                    self.bump();
                    let character = self.bump_raw().unwrap_or('\\');
                    pieces
                        .push(Piece::Text { text: self.visible(character)?.into(), quoted: true });
                }
                '\'' => {
                    self.bump();
                    let piece = self.single_quoted()?;
                    pieces.push(piece);
                }
                '"' => {
                    self.bump();
                    self.deeper(|reader| reader.double_quoted(&mut pieces))?;
                }
                '$' if !quoted && self.peek_second() == Some('"') => {
                    return self.fault("`$\"…\"` may be translated into something else");
                }
                '$' => {
                    let piece = self.deeper(|reader| reader.dollar(quoted))?;
                    pieces.push(piece);
                }
                '`' => {
                    let piece = self.backquoted(quoted)?;
                    pieces.push(piece);
                }
                _ => {
                    let character = self.visible(next)?;
                    self.bump();
                    push_plain(&mut pieces, character);
                }
            }
        }
        if open > 0 {
            return self.fault("a pattern holds blanks between brackets");
        }
        Ok(Word { pieces, span: self.span_from(start) })
    }

    /// The rest of `(…)` after `name=`.
    fn array(&mut self) -> Result<Vec<Word>, Fault> {
        let mut words = Vec::new();
        loop {
            self.skip_lines()?;
            if self.eat(')') {
                return Ok(words);
            }
            let start = self.pos;
            let word = self.word(Ends::Operator, false)?;
            // Inside of a substitution bash loses such a backslash, fails, and goes on with the next line.
            let mut pairs = self.since(start).windows(2);
            if pairs.any(|pair| matches!(pair, ['\\', ';' | '&' | '|' | '(' | ')' | '<' | '>'])) {
                return self.fault("a list of values is written in a way that is not understood");
            }
            // `[subscript]=value` evaluates its subscript.
            let subscripted = matches!(word.pieces.first(),
                Some(Piece::Text { text, quoted: false }) if text.starts_with('['));
            if word.pieces.is_empty() || subscripted {
                return self.fault("a list of values is written in a way that is not understood");
            }
            words.push(word);
        }
    }

    /// Reads an assignment if one comes next.
    pub(super) fn assignment(&mut self) -> Result<Option<Assignment>, Fault> {
        let start = self.pos;
        if !self.peek().is_some_and(is_name_start) {
            return Ok(None);
        }
        let name = self.name();
        let subscript = if self.peek() == Some('[') {
            self.bump();
            match self.subscript() {
                Ok(pieces) => Some(pieces),
                // Then it is a word with a wildcard, or it is refused as one.
                Err(_) => {
                    self.pos = start;
                    return self.refuse_subscript();
                }
            }
        } else {
            None
        };
        let appends = self.peek() == Some('+') && self.peek_second() == Some('=');
        if appends {
            self.bump();
        }
        if !self.eat('=') {
            self.pos = start;
            return Ok(None);
        }
        let value = if self.eat('(') {
            let words = self.deeper(Self::array)?;
            Word { pieces: vec![Piece::Array(words)], span: self.span_from(start) }
        } else {
            self.word(Ends::Operator, false)?
        };
        Ok(Some(Assignment { name, subscript, appends, value }))
    }

    /// `name[` at the beginning of a command, where what follows is not arithmetic.
    fn refuse_subscript(&mut self) -> Result<Option<Assignment>, Fault> {
        self.fault("a subscript is written in a way that is not understood")
    }
}

/// Whether what was read so far is `name=` or `name+=`, so that a list of values may follow.
fn names_array(pieces: &[Piece]) -> bool {
    let [Piece::Text { text, quoted: false }] = pieces else {
        return false;
    };
    let Some(name) = text.strip_suffix('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    name.starts_with(is_name_start) && name.chars().all(is_name)
}
