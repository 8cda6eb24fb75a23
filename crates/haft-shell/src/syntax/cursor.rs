//! A place in the source, and how bash joins lines there.

use std::cell::OnceCell;
use std::rc::Rc;

use super::{Fault, Span, Word};

/// How deep commands and words may be nested.
const DEEPEST: usize = 100;

/// Reads a script from front to back.
pub(super) struct Reader {
    chars: Vec<char>,
    pub(super) pos: usize,
    depth: usize,
    /// Set while the text of backquotes is read: where they stand in the script itself.
    fixed: Option<Span>,
    /// Here-documents whose bodies begin after the next line end.
    pub(super) awaited: Vec<Awaited>,
    /// How many here-documents have been read.
    pub(super) documents: usize,
}

/// A here-document that has been announced.
pub(super) struct Awaited {
    pub(super) delimiter: String,
    pub(super) strips_tabs: bool,
    pub(super) expands: bool,
    pub(super) body: Rc<OnceCell<Word>>,
}

/// What ends a word or begins an operator.
pub(super) fn is_meta(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '|' | '&' | ';' | '(' | ')' | '<' | '>')
}

pub(super) fn is_name_start(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_'
}

pub(super) fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Whether it shows as nothing, or as a blank that the shell does not take for one.
fn is_invisible(character: char) -> bool {
    (character.is_control() && !matches!(character, '\t' | '\n'))
        || (character.is_whitespace() && !character.is_ascii())
        || matches!(character, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}')
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(character, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
        || matches!(character, '\u{e0000}'..='\u{e0fff}')
}

impl Reader {
    pub(super) fn new(text: &str) -> Self {
        let chars = text.chars().collect();
        Self { chars, pos: 0, depth: 0, fixed: None, awaited: Vec::new(), documents: 0 }
    }

    /// A reader for the text inside backquotes at `span` of this one.
    pub(super) fn within(&self, text: &str, span: Span) -> Self {
        let mut inner = Self::new(text);
        inner.depth = self.depth;
        inner.fixed = Some(self.fixed.unwrap_or(span));
        inner
    }

    pub(super) fn fault<T>(&self, reason: &'static str) -> Result<T, Fault> {
        Err(Fault { reason, at: self.fixed.map_or(self.pos, |span| span.start) })
    }

    pub(super) fn span_from(&self, start: usize) -> Span {
        self.fixed.unwrap_or(Span { start, end: self.pos })
    }

    /// Runs `read` one level deeper.
    pub(super) fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.depth >= DEEPEST {
            return self.fault("it is nested too deep to be worked out");
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// The character `ahead` of here, as it is written.
    pub(super) fn raw(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.pos.checked_add(ahead)?).copied()
    }

    /// The next character, after lines that end in a backslash have been joined.
    pub(super) fn peek(&mut self) -> Option<char> {
        while self.raw(0) == Some('\\') && self.raw(1) == Some('\n') {
            self.pos += 2;
        }
        self.raw(0)
    }

    /// The character after the next one, joined likewise.
    pub(super) fn peek_second(&mut self) -> Option<char> {
        self.peek()?;
        let mut ahead = 1;
        while self.raw(ahead) == Some('\\') && self.raw(ahead + 1) == Some('\n') {
            ahead += 2;
        }
        self.raw(ahead)
    }

    /// Takes the next character as [`Self::peek`] shows it.
    pub(super) fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.pos += 1;
        Some(next)
    }

    /// Takes the next character as it is written.
    pub(super) fn bump_raw(&mut self) -> Option<char> {
        let next = self.raw(0)?;
        self.pos += 1;
        Some(next)
    }

    pub(super) fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.pos += 1;
        }
        found
    }

    /// Takes `wanted` if all of it comes next.
    pub(super) fn eat_all(&mut self, wanted: &str) -> bool {
        let start = self.pos;
        let found = wanted.chars().all(|character| self.eat(character));
        if !found {
            self.pos = start;
        }
        found
    }

    pub(super) fn expect(&mut self, wanted: char, reason: &'static str) -> Result<(), Fault> {
        if self.eat(wanted) { Ok(()) } else { self.fault(reason) }
    }

    /// Refuses what a person who reads the script could not see.
    pub(super) fn visible(&self, character: char) -> Result<char, Fault> {
        if is_invisible(character) {
            return self.fault("it holds a character that cannot be seen");
        }
        Ok(character)
    }

    /// Passes over blanks and a comment.
    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.pos += 1;
        }
        if self.peek() == Some('#') {
            // A comment ends with its line, whatever the line ends in.
            while self.raw(0).is_some_and(|character| character != '\n') {
                self.pos += 1;
            }
        }
    }

    /// Passes over blanks, comments and line ends; here-documents are read on the way.
    pub(super) fn skip_lines(&mut self) -> Result<(), Fault> {
        loop {
            self.skip_blanks();
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.line_end()?;
        }
    }

    /// Takes a line end and the bodies of the here-documents that were announced before it.
    pub(super) fn line_end(&mut self) -> Result<(), Fault> {
        self.expect('\n', "a line should end here")?;
        for awaited in std::mem::take(&mut self.awaited) {
            self.document(awaited)?;
        }
        Ok(())
    }

    /// What was read since `start`, as it is written.
    pub(super) fn since(&self, start: usize) -> &[char] {
        self.chars.get(start..self.pos).unwrap_or_default()
    }

    /// Whether a line ended between `start` and here.
    pub(super) fn spans_lines(&self, start: usize) -> bool {
        self.since(start).contains(&'\n')
    }

    /// The bare word that comes next, without taking it: letters or one of `{ } ! [[ ]]`.
    pub(super) fn upcoming(&mut self) -> Option<String> {
        let start = self.pos;
        let mut word = String::new();
        while let Some(next) = self.peek().filter(|next| !is_meta(*next)) {
            if word.len() > 8 || !(next.is_ascii_lowercase() || "{}![]".contains(next)) {
                self.pos = start;
                return None;
            }
            word.push(next);
            self.pos += 1;
        }
        self.pos = start;
        Some(word).filter(|word| !word.is_empty())
    }

    /// Takes the reserved word `wanted` if it comes next.
    pub(super) fn eat_reserved(&mut self, wanted: &str) -> bool {
        let found = self.upcoming().as_deref() == Some(wanted);
        if found {
            self.eat_all(wanted);
        }
        found
    }

    pub(super) fn expect_reserved(
        &mut self,
        wanted: &str,
        reason: &'static str,
    ) -> Result<(), Fault> {
        if self.eat_reserved(wanted) { Ok(()) } else { self.fault(reason) }
    }
}
