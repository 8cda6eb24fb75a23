//! `trap`: commands that are run when the shell ends, or gets a signal.

use std::path::PathBuf;

use super::state::{Function, State};
use super::value::Field;
use super::{Source, Walk};
use crate::effect::Shell;
use crate::syntax::Span;

/// Commands that are kept to be run later.
pub(super) struct Trap {
    text: String,
    /// Whether they run at the end alone, so that nothing sees what they set.
    last: bool,
    /// The folder of the shell, and what it is.
    cwd: Vec<PathBuf>,
    shell: Shell,
    /// Where it stands.
    excerpt: String,
    line: usize,
}

impl Walk<'_> {
    pub(super) fn trapped(&mut self, operands: &[Field], span: Span) {
        let operands = operands.strip_prefix(&[Field::text("--")]).unwrap_or(operands);
        let words: Option<Vec<&str>> = operands.iter().map(Field::literal).collect();
        match words.as_deref() {
            None => self.doubt("a command is kept to be run later, and is not known", span),
            Some([] | ["" | "-" | "-l" | "-p", ..]) => {}
            Some([text, signals @ ..]) if !text.starts_with('-') => {
                let trap = Trap {
                    text: (*text).to_owned(),
                    last: signals.iter().all(|signal| matches!(*signal, "EXIT" | "0")),
                    cwd: self.state.cwd.clone(),
                    shell: self.shell,
                    excerpt: self.excerpt(span),
                    line: self.line(span),
                };
                if self.dry == 0 {
                    self.traps.push(trap);
                }
            }
            Some(_) => self.doubt("a command is kept to be run later", span),
        }
    }

    /// Walks what is kept to be run later, at the end of the shell that keeps it.
    pub(super) fn walk_traps(&mut self) {
        while let Some(trap) = self.traps.pop() {
            let cwd = if self.moves { Vec::new() } else { trap.cwd };
            let defined = self.defined.iter().cloned();
            let functions = defined.map(|name| (name, Function::Perhaps)).collect();
            self.state = State { cwd, functions, ..State::default() };
            self.assign_any();
            let within = Some((trap.excerpt, trap.line));
            let inner = Source::new(trap.text.chars().collect(), within);
            let source = std::mem::replace(&mut self.source, inner);
            let set = std::mem::take(&mut self.set);
            let shell = std::mem::replace(&mut self.shell, trap.shell);
            self.script(&trap.text);
            let changes = !std::mem::replace(&mut self.set, set).is_empty();
            if changes && !trap.last {
                self.doubt("a signal changes what later commands rely on", Span::default());
            }
            (self.source, self.shell) = (source, shell);
        }
    }
}
