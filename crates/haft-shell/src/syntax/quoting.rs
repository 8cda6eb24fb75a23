//! Quotes: single, double, `$'…'`, backquotes, and the bodies of here-documents.

use super::cursor::{Awaited, Reader};
use super::{Fault, Piece, Word};

impl Reader {
    /// The rest of `'…'`.
    pub(super) fn single_quoted(&mut self) -> Result<Piece, Fault> {
        let mut text = String::new();
        loop {
            match self.bump_raw() {
                Some('\'') => return Ok(Piece::Text { text, quoted: true }),
                Some(character) => text.push(character),
                None => return self.fault("a quote is not closed"),
            }
        }
    }

    /// The rest of `"…"`.
    pub(super) fn double_quoted(&mut self, pieces: &mut Vec<Piece>) -> Result<(), Fault> {
        // An empty pair of quotes is still a word.
        pieces.push(Piece::Text { text: String::new(), quoted: true });
        loop {
            match self.peek() {
                None => return self.fault("a quote is not closed"),
                Some('"') => {
                    self.pos += 1;
                    return Ok(());
                }
                Some(_) => self.quoted_step(pieces, true)?,
            }
        }
    }

    /// One step through text in which only `$`, backquotes and backslashes mean something.
    fn quoted_step(&mut self, pieces: &mut Vec<Piece>, in_quotes: bool) -> Result<(), Fault> {
        match self.peek() {
            Some('$') => {
                let piece = self.deeper(|reader| reader.dollar(true))?;
                pieces.push(piece);
            }
            Some('`') => {
                let piece = self.backquoted(true)?;
                pieces.push(piece);
            }
            Some('\\') => {
                self.pos += 1;
                match self.raw(0) {
                    Some(next @ ('$' | '`' | '\\')) => {
                        self.pos += 1;
                        push_quoted(pieces, next);
                    }
                    Some('"') if in_quotes => {
                        self.pos += 1;
                        push_quoted(pieces, '"');
                    }
                    _ => push_quoted(pieces, '\\'),
                }
            }
            Some(character) => {
                self.pos += 1;
                push_quoted(pieces, character);
            }
            None => {}
        }
        Ok(())
    }

    /// The rest of `$'…'`.
    pub(super) fn ansi_quoted(&mut self) -> Result<Piece, Fault> {
        let mut text = String::new();
        loop {
            match self.bump_raw() {
                Some('\'') => return Ok(Piece::Text { text, quoted: true }),
                Some('\\') => self.ansi_escape(&mut text)?,
                Some(character) => text.push(character),
                None => return self.fault("a quote is not closed"),
            }
        }
    }

    fn ansi_escape(&mut self, text: &mut String) -> Result<(), Fault> {
        let Some(letter) = self.bump_raw() else {
            return self.fault("a quote is not closed");
        };
        let decoded = match letter {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '?' => letter,
            '0'..='7' => {
                self.pos -= 1;
                self.coded(8, 3, 0x7f)?
            }
            'x' => self.coded(16, 2, 0x7f)?,
            'u' => self.coded(16, 4, u32::from(char::MAX))?,
            'U' => self.coded(16, 8, u32::from(char::MAX))?,
            'c' => return self.fault("it holds a control character written as an escape"),
            other => {
                text.push('\\');
                other
            }
        };
        text.push(decoded);
        Ok(())
    }

    /// A character by its number. Zero ends the string in bash, and single bytes above ASCII are no
    /// characters: neither is worked out here.
    fn coded(&mut self, radix: u32, most: usize, highest: u32) -> Result<char, Fault> {
        let mut code = 0_u32;
        let mut digits = 0;
        while digits < most {
            let Some(digit) = self.raw(0).and_then(|character| character.to_digit(radix)) else {
                break;
            };
            code = code.saturating_mul(radix).saturating_add(digit);
            self.pos += 1;
            digits += 1;
        }
        match char::from_u32(code).filter(|_| digits > 0 && code > 0 && code <= highest) {
            Some(character) => Ok(character),
            None => self.fault("it holds an escape that stands for no plain character"),
        }
    }

    /// Backquotes, from the first on.
    pub(super) fn backquoted(&mut self, quoted: bool) -> Result<Piece, Fault> {
        let start = self.pos;
        self.bump();
        let mut text = String::new();
        loop {
            match self.bump_raw() {
                None => return self.fault("a backquote is not closed"),
                Some('`') => break,
                Some('\\') => match self.raw(0) {
                    Some(next @ ('$' | '`' | '\\')) => {
                        self.pos += 1;
                        text.push(next);
                    }
                    // bash joins lines here even between single quotes.
                    Some('\n') => return self.fault("lines are joined inside of backquotes"),
                    Some('"') if quoted => {
                        self.pos += 1;
                        text.push('"');
                    }
                    _ => text.push('\\'),
                },
                Some(character) => text.push(character),
            }
        }
        if !self.awaited.is_empty() && self.spans_lines(start) {
            return self.fault("a here-document begins inside of backquotes that came after it");
        }
        let mut inner = self.within(&text, self.span_from(start));
        let list = self.deeper(|_| inner.deeper(Self::whole))?;
        Ok(Piece::Substitution { list, quoted })
    }

    /// The body of a here-document.
    pub(super) fn document(&mut self, awaited: Awaited) -> Result<(), Fault> {
        let start = self.pos;
        let (text, end) = self.document_lines(&awaited)?;
        let mut pieces = Vec::new();
        if awaited.expands {
            if text.contains("\\\n") {
                return self.fault("lines of a here-document are joined by a backslash");
            }
            let mut inner = self.within(&text, self.span_from(start));
            while inner.peek().is_some() {
                inner.quoted_step(&mut pieces, false)?;
            }
        } else {
            pieces.push(Piece::Text { text, quoted: true });
        }
        self.pos = end;
        self.documents += 1;
        // It is announced once and read once, so the cell is empty.
        let _already_read = awaited.body.set(Word { pieces, span: self.span_from(start) });
        Ok(())
    }

    /// The lines up to the delimiter, and where the script goes on.
    fn document_lines(&mut self, awaited: &Awaited) -> Result<(String, usize), Fault> {
        let start = self.pos;
        let mut text = String::new();
        loop {
            let mut line = String::new();
            let mut ended = false;
            while let Some(character) = self.bump_raw() {
                if character == '\n' {
                    ended = true;
                    break;
                }
                line.push(character);
            }
            let shown = if awaited.strips_tabs { line.trim_start_matches('\t') } else { &line };
            if shown == awaited.delimiter {
                let end = self.pos;
                self.pos = start;
                return Ok((text, end));
            }
            if !ended {
                return self.fault("a here-document is not ended");
            }
            text.push_str(shown);
            text.push('\n');
        }
    }
}

fn push_quoted(pieces: &mut Vec<Piece>, character: char) {
    match pieces.last_mut() {
        Some(Piece::Text { text, quoted: true }) => text.push(character),
        _ => pieces.push(Piece::Text { text: character.to_string(), quoted: true }),
    }
}
