//! Commands: lists, pipelines, compound commands, redirections.

use super::cursor::{Reader, is_meta};
use super::word::Ends;
use super::{AndOr, Command, Fault, Joint, Kind, List, Piece, Pipeline, Word};

/// Words that cannot begin a simple command.
pub(super) const RESERVED: [&str; 22] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "in", "function", "select", "coproc", "time", "{", "}", "!", "[[", "]]",
];

/// Reads a script. What stands before a fault is still there: bash would run it.
pub(crate) fn parse(text: &str) -> (List, Option<Fault>) {
    let mut reader = Reader::new(text);
    let mut list = List::new();
    let fault = reader.items(&mut list, Closing::End).err();
    (list, fault)
}

/// What closes a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    /// The end of the text.
    End,
    /// `)`
    Bracket,
    /// A reserved word; whoever reads the list says which.
    Reserved,
    /// `;;` and its kin, or `esac`.
    Arm,
}

impl Reader {
    /// All of the text.
    pub(super) fn whole(&mut self) -> Result<List, Fault> {
        let mut list = List::new();
        self.items(&mut list, Closing::End)?;
        Ok(list)
    }

    /// A list that is substituted, and the `)` after it.
    ///
    /// bash writes it out again before it runs it, and loses what stands beside here-documents.
    pub(super) fn substituted(&mut self) -> Result<List, Fault> {
        let before = self.documents;
        let list = self.enclosed()?;
        if self.documents > before && !is_one_pipeline(&list) {
            return self.fault("a here-document stands beside other commands in a substitution");
        }
        Ok(list)
    }

    /// A list and the `)` after it.
    pub(super) fn enclosed(&mut self) -> Result<List, Fault> {
        let start = self.pos;
        let outer = std::mem::take(&mut self.awaited);
        let list = self.deeper(|reader| reader.list(Closing::Bracket))?;
        if !self.awaited.is_empty() {
            return self.fault("a here-document begins after the bracket that closes its command");
        }
        if !outer.is_empty() && self.spans_lines(start) {
            return self.fault("a here-document begins inside of brackets that came after it");
        }
        self.awaited = outer;
        self.expect(')', "a bracket is not closed")?;
        Ok(list)
    }

    pub(super) fn list(&mut self, closing: Closing) -> Result<List, Fault> {
        let mut list = List::new();
        self.items(&mut list, closing)?;
        Ok(list)
    }

    fn items(&mut self, list: &mut List, closing: Closing) -> Result<(), Fault> {
        loop {
            self.skip_lines()?;
            if self.is_closed(closing) {
                break;
            }
            let mut item = self.and_or()?;
            self.skip_blanks();
            match self.peek() {
                Some(';') if self.peek_second() == Some(';') => {}
                Some(';') if self.peek_second() == Some('&') => {}
                Some(';') => {
                    self.bump();
                }
                Some('&') if self.peek_second() != Some('&') => {
                    self.bump();
                    item.background = true;
                }
                Some('\n') => self.line_end()?,
                _ => {
                    list.push(item);
                    if self.is_closed(closing) {
                        break;
                    }
                    return self.fault("a command is followed by something that is not understood");
                }
            }
            list.push(item);
        }
        if closing == Closing::End && !self.awaited.is_empty() {
            return self.fault("a here-document is not ended");
        }
        Ok(())
    }

    fn is_closed(&mut self, closing: Closing) -> bool {
        match closing {
            Closing::End => self.peek().is_none(),
            Closing::Bracket => self.peek() == Some(')'),
            Closing::Reserved => self.upcoming().is_some_and(|word| {
                matches!(word.as_str(), "then" | "else" | "elif" | "fi" | "do" | "done" | "}")
            }),
            Closing::Arm => {
                (self.peek() == Some(';') && matches!(self.peek_second(), Some(';' | '&')))
                    || self.upcoming().as_deref() == Some("esac")
            }
        }
    }

    fn and_or(&mut self) -> Result<AndOr, Fault> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let joint = if self.eat_all("&&") {
                Joint::And
            } else if self.eat_all("||") {
                Joint::Or
            } else {
                return Ok(AndOr { first, rest, background: false });
            };
            self.skip_lines()?;
            let next = self.pipeline()?;
            rest.push((joint, next));
        }
    }

    fn pipeline(&mut self) -> Result<Pipeline, Fault> {
        let mut negated = false;
        loop {
            self.skip_blanks();
            if self.eat_reserved("!") {
                negated = !negated;
            } else if self.eat_reserved("time") {
                self.skip_blanks();
                if self.peek() == Some('-') {
                    self.time_options()?;
                }
            } else {
                break;
            }
        }
        let mut commands = Vec::new();
        loop {
            let command = self.deeper(Self::command)?;
            commands.push(command);
            self.skip_blanks();
            if self.peek() != Some('|') || self.peek_second() == Some('|') {
                return Ok(Pipeline { negated, commands });
            }
            self.bump();
            // `|&` also joins the errors, which changes nothing here.
            self.eat('&');
            self.skip_lines()?;
        }
    }

    /// `-p` after `time`; with anything else it is another program of that name.
    fn time_options(&mut self) -> Result<(), Fault> {
        if self.eat_all("-p") && self.peek().is_none_or(is_meta) {
            return Ok(());
        }
        self.fault("`time` has an option that is not understood")
    }

    pub(super) fn command(&mut self) -> Result<Command, Fault> {
        self.skip_blanks();
        let start = self.pos;
        let kind = match self.upcoming().as_deref() {
            _ if self.peek() == Some('(') => self.bracketed()?,
            Some("{") => {
                self.eat_reserved("{");
                let list = self.list(Closing::Reserved)?;
                self.expect_reserved("}", "a brace is not closed")?;
                Kind::Group(list)
            }
            Some("if") => self.conditional()?,
            Some(word @ ("while" | "until")) => {
                self.eat_reserved(word);
                let condition = self.list(Closing::Reserved)?;
                let body = self.loop_body()?;
                Kind::Loop { condition, body }
            }
            Some("for") => self.for_loop()?,
            Some("case") => self.case()?,
            Some("[[") => self.condition()?,
            Some("function") => {
                self.eat_reserved("function");
                self.skip_blanks();
                let name = self.word(Ends::Operator, false)?;
                self.skip_blanks();
                if self.eat('(') {
                    self.skip_blanks();
                    self.expect(')', "a function's name is followed by something else")?;
                }
                return self.function(&name, start);
            }
            Some("coproc") => self.coprocess()?,
            Some("select") => return self.fault("`select` waits for somebody to choose"),
            Some(word) if RESERVED.contains(&word) => {
                return self.fault("a reserved word stands where a command is expected");
            }
            _ => return self.simple(start),
        };
        let redirections = self.redirections()?;
        Ok(Command { kind, redirections, span: self.span_from(start) })
    }

    fn simple(&mut self, start: usize) -> Result<Command, Fault> {
        let (mut assignments, mut words) = (Vec::new(), Vec::new());
        let mut redirections = Vec::new();
        loop {
            self.skip_blanks();
            if let Some(redirection) = self.redirection()? {
                redirections.push(redirection);
            } else if words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                assignments.push(assignment);
            } else if self.peek() == Some('(') {
                let [name] = words.as_slice() else {
                    return self.fault("a bracket stands where none is expected");
                };
                if !assignments.is_empty() || !redirections.is_empty() {
                    return self.fault("a bracket stands where none is expected");
                }
                self.bump();
                self.skip_blanks();
                self.expect(')', "a bracket stands where none is expected")?;
                return self.function(name, start);
            } else if self.peek().is_none_or(is_meta)
                && !(matches!(self.peek(), Some('<' | '>')) && self.peek_second() == Some('('))
            {
                break;
            } else {
                let word = self.some_word()?;
                if matches!(self.peek(), Some('<' | '>')) && is_element(&word) {
                    return self.fault("a redirection sets an element of a list");
                }
                words.push(word);
            }
        }
        if assignments.is_empty() && words.is_empty() && redirections.is_empty() {
            return self.fault("a command is expected here");
        }
        let kind = Kind::Simple { assignments, words };
        Ok(Command { kind, redirections, span: self.span_from(start) })
    }

    pub(super) fn some_word(&mut self) -> Result<Word, Fault> {
        let word = self.word(Ends::Operator, false)?;
        if word.pieces.is_empty() { self.fault("a word is expected here") } else { Ok(word) }
    }
}

/// Whether a word is `{name[…]}`, which before a redirection names what is set to its number.
fn is_element(word: &Word) -> bool {
    fn bare(piece: Option<&Piece>) -> &str {
        match piece {
            Some(Piece::Text { text, quoted: false }) => text,
            _ => "",
        }
    }
    let (first, last) = (bare(word.pieces.first()), bare(word.pieces.last()));
    first.starts_with('{') && first.contains('[') && last.ends_with('}')
}

/// Whether a list is nothing but simple commands joined by `|`.
fn is_one_pipeline(list: &List) -> bool {
    let [AndOr { first, rest, background: false }] = list.as_slice() else {
        return false;
    };
    rest.is_empty()
        && first.commands.iter().all(|command| matches!(command.kind, Kind::Simple { .. }))
}
