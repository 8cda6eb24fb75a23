//! Commands: lists, pipelines, compound commands, redirections.

use std::cell::OnceCell;
use std::rc::Rc;

use super::cursor::{Awaited, Reader, is_meta, is_name, is_name_start};
use super::word::Ends;
use super::{
    AndOr, Arm, Command, Fault, Joint, Kind, List, Pipeline, Piece, Redirection, RedirectionKind, Word,
};

/// Words that cannot begin a simple command.
const RESERVED: [&str; 22] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
    "function", "select", "coproc", "time", "{", "}", "!", "[[", "]]",
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
enum Closing {
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

    fn list(&mut self, closing: Closing) -> Result<List, Fault> {
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

    fn command(&mut self) -> Result<Command, Fault> {
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
                let name = self.word(Ends::AtMeta, false)?;
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

    fn bracketed(&mut self) -> Result<Kind, Fault> {
        self.bump();
        if self.peek() != Some('(') {
            return self.enclosed().map(Kind::Subshell);
        }
        self.bump();
        let pieces = self.arithmetic(')')?;
        self.expect(')', "two brackets begin neither arithmetic nor a clear group")?;
        Ok(Kind::Arithmetic(pieces))
    }

    fn conditional(&mut self) -> Result<Kind, Fault> {
        self.eat_reserved("if");
        let mut arms = Vec::new();
        loop {
            let condition = self.list(Closing::Reserved)?;
            self.expect_reserved("then", "an `if` has no `then`")?;
            let body = self.list(Closing::Reserved)?;
            arms.push((condition, body));
            if !self.eat_reserved("elif") {
                break;
            }
        }
        let otherwise =
            if self.eat_reserved("else") { self.list(Closing::Reserved)? } else { List::new() };
        self.expect_reserved("fi", "an `if` has no `fi`")?;
        Ok(Kind::If { arms, otherwise })
    }

    fn loop_body(&mut self) -> Result<List, Fault> {
        self.expect_reserved("do", "a loop has no `do`")?;
        let body = self.list(Closing::Reserved)?;
        self.expect_reserved("done", "a loop has no `done`")?;
        Ok(body)
    }

    fn for_loop(&mut self) -> Result<Kind, Fault> {
        self.eat_reserved("for");
        self.skip_blanks();
        if self.eat_all("((") {
            let mut steps = Vec::new();
            for close in [';', ';', ')'] {
                steps.push(self.arithmetic(close)?);
            }
            self.expect(')', "a counted loop is not closed")?;
            self.skip_blanks();
            self.eat(';');
            self.skip_lines()?;
            return Ok(Kind::CountedFor { steps, body: self.loop_body()? });
        }
        let name = self.name();
        if name.is_empty() || !self.peek().is_some_and(is_meta) {
            return self.fault("a loop's variable has no plain name");
        }
        self.skip_lines()?;
        let words = if self.eat_reserved("in") {
            let mut words = Vec::new();
            loop {
                self.skip_blanks();
                match self.peek() {
                    Some(';') => {
                        self.bump();
                        break;
                    }
                    Some('\n') => {
                        self.line_end()?;
                        break;
                    }
                    _ => words.push(self.some_word()?),
                }
            }
            Some(words)
        } else {
            self.eat(';');
            None
        };
        self.skip_lines()?;
        Ok(Kind::For { name, words, body: self.loop_body()? })
    }

    fn case(&mut self) -> Result<Kind, Fault> {
        self.eat_reserved("case");
        self.skip_blanks();
        let word = self.some_word()?;
        self.skip_lines()?;
        self.expect_reserved("in", "a `case` has no `in`")?;
        let mut arms = Vec::new();
        loop {
            self.skip_lines()?;
            if self.eat_reserved("esac") {
                return Ok(Kind::Case { word, arms });
            }
            self.eat('(');
            let mut patterns = Vec::new();
            loop {
                self.skip_blanks();
                patterns.push(self.some_word()?);
                self.skip_blanks();
                if self.eat(')') {
                    break;
                }
                self.expect('|', "a pattern of `case` is not understood")?;
            }
            let body = self.list(Closing::Arm)?;
            arms.push(Arm { patterns, body });
            if self.eat_all(";;") || self.eat_all(";&") {
                self.eat('&');
            } else if self.upcoming().as_deref() != Some("esac") {
                return self.fault("a `case` has no `esac`");
            }
        }
    }

    /// `[[ … ]]`, as the words in it.
    fn condition(&mut self) -> Result<Kind, Fault> {
        self.eat_reserved("[[");
        let mut words: Vec<Word> = Vec::new();
        loop {
            self.skip_lines()?;
            if self.eat_reserved("]]") {
                return Ok(Kind::Condition(words));
            }
            let start = self.pos;
            let operator = ["&&", "||", "(", ")", "<", ">"].into_iter().find(|operator| {
                let process = self.peek_second() == Some('(') && matches!(*operator, "<" | ">");
                !process && self.eat_all(operator)
            });
            if let Some(operator) = operator {
                let pieces = vec![Piece::Text { text: operator.to_owned(), quoted: true }];
                words.push(Word { pieces, span: self.span_from(start) });
                continue;
            }
            let after_match = words.last().and_then(Word::bare) == Some("=~");
            let ends = if after_match { Ends::AtMetaAsPattern } else { Ends::AtMeta };
            let word = self.word(ends, false)?;
            if word.pieces.is_empty() {
                return self.fault("a condition is written in a way that is not understood");
            }
            words.push(word);
        }
    }

    fn coprocess(&mut self) -> Result<Kind, Fault> {
        self.eat_reserved("coproc");
        self.skip_blanks();
        let start = self.pos;
        let mut name = self.name();
        self.skip_blanks();
        let compound = self.peek() == Some('(')
            || self.upcoming().is_some_and(|word| {
                matches!(word.as_str(), "{" | "if" | "for" | "while" | "until" | "case" | "[[")
            });
        if name.is_empty() || !compound {
            self.pos = start;
            "COPROC".clone_into(&mut name);
        }
        let body = Box::new(self.deeper(Self::command)?);
        Ok(Kind::Coprocess { name, body })
    }

    fn function(&mut self, name: &Word, start: usize) -> Result<Command, Fault> {
        let Some(name) = name.bare().filter(|name| is_plain_function(name)) else {
            return self.fault("a function's name is made in a way that is not understood");
        };
        self.skip_lines()?;
        let body = self.deeper(Self::command)?;
        if matches!(body.kind, Kind::Simple { .. } | Kind::Function { .. } | Kind::Coprocess { .. }) {
            return self.fault("a function has no body in braces");
        }
        let kind = Kind::Function { name: name.to_owned(), body: Rc::new(body) };
        Ok(Command { kind, redirections: Vec::new(), span: self.span_from(start) })
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
                words.push(self.some_word()?);
            }
        }
        if assignments.is_empty() && words.is_empty() && redirections.is_empty() {
            return self.fault("a command is expected here");
        }
        let kind = Kind::Simple { assignments, words };
        Ok(Command { kind, redirections, span: self.span_from(start) })
    }

    fn some_word(&mut self) -> Result<Word, Fault> {
        let word = self.word(Ends::AtMeta, false)?;
        if word.pieces.is_empty() { self.fault("a word is expected here") } else { Ok(word) }
    }

    fn redirections(&mut self) -> Result<Vec<Redirection>, Fault> {
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
    fn redirection(&mut self) -> Result<Option<Redirection>, Fault> {
        let start = self.pos;
        self.descriptor();
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
            return self.announced(start).map(Some);
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
        Ok(Some(Redirection { kind, target, document: None, span: self.span_from(start) }))
    }

    /// Passes over `2` or `{name}` before an operator.
    fn descriptor(&mut self) {
        let start = self.pos;
        if self.eat('{') {
            let name = self.name();
            if !name.starts_with(is_name_start) || !self.eat('}') {
                self.pos = start;
            }
        } else {
            while self.peek().is_some_and(|next| next.is_ascii_digit()) {
                self.pos += 1;
            }
        }
        if !matches!(self.peek(), Some('<' | '>')) {
            self.pos = start;
        }
    }

    /// A here-document, of which only the delimiter stands here.
    fn announced(&mut self, start: usize) -> Result<Redirection, Fault> {
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
        Ok(Redirection { kind, target: Word::default(), document, span })
    }
}

fn is_plain_function(name: &str) -> bool {
    let plain = |character: char| is_name(character) || "-.:+@".contains(character);
    !name.is_empty() && name.chars().all(plain) && !RESERVED.contains(&name)
}
