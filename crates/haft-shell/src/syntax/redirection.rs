//! Redirections, and the here-documents they announce.

use std::cell::OnceCell;
use std::rc::Rc;

use super::cursor::{Awaited, Reader, is_name_start};
use super::{Fault, Piece, Redirection, RedirectionKind, Word};

impl Reader {
    pub(super) fn redirections(&mut self) -> Result<Vec<Redirection>, Fault> {
        let mut redirections = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirection()? {
                Some(redirection) => redirections.push(redirection),
                None => return Ok(redirections),
            }
        }
    }

    /// Reads a redirection if one comes next.
    pub(super) fn redirection(&mut self) -> Result<Option<Redirection>, Fault> {
        let start = self.pos;
        let variable = self.descriptor();
        let both = self.pos == start && self.eat_all("&>");
        let begins = matches!(self.peek(), Some('<' | '>')) && self.peek_second() != Some('(');
        if !both && !begins {
            self.pos = start;
            return Ok(None);
        }
        let kind = if both {
            self.eat('>');
            RedirectionKind::Write
        } else if self.eat_all("<<<") {
            RedirectionKind::Text
        } else if self.eat_all("<<") {
            let announced = self.announced(start)?;
            return Ok(Some(Redirection { variable, ..announced }));
        } else if self.eat_all("<>") {
            RedirectionKind::ReadWrite
        } else if self.eat_all("<&") || self.eat_all(">&") {
            RedirectionKind::Duplicate
        } else if self.eat('<') {
            RedirectionKind::Read
        } else {
            self.bump();
            let _ = self.eat('>') || self.eat('|');
            RedirectionKind::Write
        };
        self.skip_blanks();
        let target = self.some_word()?;
        let span = self.span_from(start);
        Ok(Some(Redirection { kind, target, document: None, variable, span }))
    }

    /// Passes over `2` or `{name}` before an operator; gives the name of the variable that is set.
    pub(super) fn descriptor(&mut self) -> Option<String> {
        let start = self.pos;
        let mut variable = None;
        if self.eat('{') {
            let name = self.name();
            if !name.starts_with(is_name_start) || !self.eat('}') {
                self.pos = start;
            }
            variable = Some(name);
        } else {
            while self.peek().is_some_and(|next| next.is_ascii_digit()) {
                self.pos += 1;
            }
        }
        if !matches!(self.peek(), Some('<' | '>')) {
            self.pos = start;
        }
        variable.filter(|_| self.pos != start)
    }

    /// A here-document, of which only the delimiter stands here.
    pub(super) fn announced(&mut self, start: usize) -> Result<Redirection, Fault> {
        let strips_tabs = self.eat('-');
        self.skip_blanks();
        let word = self.some_word()?;
        let mut delimiter = String::new();
        let mut expands = true;
        for piece in &word.pieces {
            let Piece::Text { text, quoted } = piece else {
                return self.fault("the end of a here-document is not a plain word");
            };
            expands &= !quoted;
            delimiter.push_str(text);
        }
        if delimiter.contains(['$', '`', '\n']) {
            return self.fault("the end of a here-document is not a plain word");
        }
        let body = Rc::new(OnceCell::new());
        let document = Some(Rc::clone(&body));
        self.awaited.push(Awaited { delimiter, strips_tabs, expands, body });
        let (kind, span) = (RedirectionKind::Text, self.span_from(start));
        Ok(Redirection { kind, target: Word::default(), document, variable: None, span })
    }
}
