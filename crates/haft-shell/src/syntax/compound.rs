//! Compound commands: groups, branches, loops, conditions, functions.

use std::rc::Rc;

use super::command::{Closing, RESERVED};
use super::cursor::{Reader, is_meta, is_name};
use super::word::Ends;
use super::{Arm, Command, Fault, Kind, List, Piece, Word};

impl Reader {
    pub(super) fn bracketed(&mut self) -> Result<Kind, Fault> {
        self.bump();
        if self.peek() != Some('(') {
            return self.enclosed().map(Kind::Subshell);
        }
        self.bump();
        let pieces = self.arithmetic(')')?;
        self.expect(')', "two brackets begin neither arithmetic nor a clear group")?;
        Ok(Kind::Arithmetic(pieces))
    }

    pub(super) fn conditional(&mut self) -> Result<Kind, Fault> {
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

    pub(super) fn loop_body(&mut self) -> Result<List, Fault> {
        self.expect_reserved("do", "a loop has no `do`")?;
        let body = self.list(Closing::Reserved)?;
        self.expect_reserved("done", "a loop has no `done`")?;
        Ok(body)
    }

    pub(super) fn for_loop(&mut self) -> Result<Kind, Fault> {
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

    pub(super) fn case(&mut self) -> Result<Kind, Fault> {
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
    pub(super) fn condition(&mut self) -> Result<Kind, Fault> {
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
            let ends = if after_match { Ends::OuterOperator } else { Ends::Operator };
            let word = self.word(ends, false)?;
            if word.pieces.is_empty() {
                return self.fault("a condition is written in a way that is not understood");
            }
            words.push(word);
        }
    }

    pub(super) fn coprocess(&mut self) -> Result<Kind, Fault> {
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

    pub(super) fn function(&mut self, name: &Word, start: usize) -> Result<Command, Fault> {
        let Some(name) = name.bare().filter(|name| is_plain_function(name)) else {
            return self.fault("a function's name is made in a way that is not understood");
        };
        self.skip_lines()?;
        let body = self.deeper(Self::command)?;
        if matches!(body.kind, Kind::Simple { .. } | Kind::Function { .. } | Kind::Coprocess { .. })
        {
            return self.fault("a function has no body in braces");
        }
        let kind = Kind::Function { name: name.to_owned(), body: Rc::new(body) };
        Ok(Command { kind, redirections: Vec::new(), span: self.span_from(start) })
    }
}

fn is_plain_function(name: &str) -> bool {
    let plain = |character: char| is_name(character) || "-.:+@".contains(character);
    !name.is_empty() && name.chars().all(plain) && !RESERVED.contains(&name)
}
