//! Simple commands: assignments, redirections, and finding out what their name stands for.

use super::Walk;
use super::builtin::is_builtin;
use super::links::Follows;
use super::state::Function;
use super::value::Field;
use crate::effect::{Action, Certainty, Standing};
use crate::syntax::{Assignment, Command, Redirection, RedirectionKind, Span, Word};

/// Builtins whose arguments may be assignments, which are not split.
pub(super) const DECLARING: [&str; 5] = ["export", "declare", "typeset", "local", "readonly"];

/// Builtins whose assignments outlast them, unless it is bash in its own way that runs them.
const SPECIAL: [&str; 16] = [
    ":", ".", "source", "break", "continue", "eval", "exec", "exit", "export", "readonly",
    "return", "set", "shift", "times", "trap", "unset",
];

/// Whether functions come before builtins and programs of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    /// As the shell does it.
    All,
    /// As `command` and other programs do it.
    WithoutFunctions,
}

impl Walk<'_> {
    pub(super) fn simple(&mut self, command: &Command, assignments: &[Assignment], words: &[Word]) {
        let declares =
            words.first().and_then(Word::bare).is_some_and(|name| DECLARING.contains(&name));
        let (mut fields, mut lists) = (Vec::new(), Vec::new());
        for word in words {
            if has_array(word) && !declares {
                self.doubt("a list of values stands where none is expected", word.span);
            }
            if declares && is_assignment(word) {
                if has_array(word) {
                    lists.push(fields.len());
                }
                fields.push(self.unsplit_assignment(word));
            } else {
                fields.extend(self.fields(word));
            }
        }
        self.check_patterns(&fields, command.span);
        self.redirections(&command.redirections);
        let handed_over = !fields.is_empty();
        let mut values = Vec::new();
        for assignment in assignments {
            let value = self.assigned(assignment, command.span);
            let reads = fields.first().and_then(Field::literal) == Some("read");
            if !(reads && assignment.name == "IFS") {
                self.check_assigned(&assignment.name, handed_over, command.span);
            }
            values.push((assignment.name.clone(), value));
        }
        if !handed_over {
            for (name, value) in values {
                self.assign(&name, value);
            }
            return;
        }
        // They hold while the command runs, which matters for functions and `eval`.
        let names: Vec<String> = values.iter().map(|(name, _)| name.clone()).collect();
        let own_separators = self.state.own_separators;
        let before: Vec<_> =
            names.iter().map(|name| self.state.variables.get(name).cloned()).collect();
        for (name, value) in values {
            self.assign(&name, value);
        }
        self.lists = lists;
        self.run(&fields, Lookup::All, command.span);
        let called = fields.first().and_then(Field::literal).unwrap_or_default();
        let may_last = SPECIAL.contains(&called) || self.state.functions.contains_key(called);
        for (name, value) in names.into_iter().zip(before) {
            let unknown = || Some(Field::unknown(&format!("${name}")));
            let value = if may_last { unknown() } else { value };
            match value {
                Some(value) => self.state.variables.insert(name, value),
                None => self.state.variables.remove(&name),
            };
        }
        self.state.own_separators |= own_separators;
        if names_only_separators(assignments) {
            self.state.own_separators = own_separators;
        }
    }

    /// The value of an assignment.
    fn assigned(&mut self, assignment: &Assignment, span: Span) -> Field {
        let value = self.unsplit(&assignment.value);
        if let Some(subscript) = &assignment.subscript {
            self.arithmetic(subscript, span);
        }
        if assignment.subscript.is_some() || has_array(&assignment.value) {
            self.arrays.insert(assignment.name.clone());
        }
        if assignment.subscript.is_some() || assignment.appends {
            return Field::unknown(&format!("${}", assignment.name));
        }
        value
    }

    pub(super) fn redirections(&mut self, redirections: &[Redirection]) {
        for redirection in redirections {
            if let Some(name) = &redirection.variable {
                self.check_assigned(name, false, redirection.span);
                self.assign(name, Field::unknown(&format!("${name}")));
            }
            if let Some(document) = redirection.document.as_ref().and_then(|cell| cell.get()) {
                self.unsplit(document);
                continue;
            }
            if redirection.kind == RedirectionKind::Text {
                self.unsplit(&redirection.target);
                continue;
            }
            let fields = self.fields(&redirection.target);
            let [target] = fields.as_slice() else {
                self.doubt("a redirection's target is not known", redirection.span);
                continue;
            };
            self.redirected(redirection.kind, target, redirection.span);
        }
    }

    fn redirected(&mut self, kind: RedirectionKind, target: &Field, span: Span) {
        if let Some(host) = network(target.prefix()) {
            let host = if target.literal().is_some() { host } else { String::new() };
            if host.is_empty() {
                self.doubt("a connection's host is not known", span);
            } else {
                self.note(Action::Connect(host), Certainty::Certain, span);
            }
            return;
        }
        match kind {
            RedirectionKind::Read => self.read(target, span),
            RedirectionKind::Write => self.write(target, span),
            RedirectionKind::ReadWrite => {
                self.read(target, span);
                self.write(target, span);
            }
            RedirectionKind::Duplicate => {
                let number = target.is_number()
                    || target.literal().is_some_and(|text| {
                        text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
                    });
                if !number {
                    self.write(target, span);
                }
            }
            RedirectionKind::Text => {}
        }
    }

    /// Runs a command whose words are expanded.
    pub(super) fn run(&mut self, fields: &[Field], lookup: Lookup, span: Span) {
        self.deeper(span, |walk| walk.run_here(fields, lookup, span));
    }

    fn run_here(&mut self, fields: &[Field], lookup: Lookup, span: Span) {
        let Some(first) = fields.first() else {
            return;
        };
        let Some(name) = first.literal().filter(|name| !name.is_empty()).map(str::to_owned) else {
            self.note_run(fields, Standing::Asked, span);
            self.doubt("the name of a command is not certain before it runs", span);
            return;
        };
        if name.starts_with('-') {
            self.doubt("an option stands where the name of a command is expected", span);
        }
        if lookup == Lookup::All {
            match self.state.functions.get(&name).cloned() {
                Some(Function::Body(body)) => {
                    self.note_run(fields, Standing::Mentioned, span);
                    return self.call(&name, &body, span);
                }
                Some(Function::Perhaps) => {
                    self.doubt(format!("`{name}` may be a function"), span);
                }
                None => {}
            }
        }
        let outer = std::mem::replace(&mut self.follows, Follows::of(&name));
        if is_builtin(&name) {
            self.builtin(&name, fields, span);
        } else {
            self.program(&name, fields, span);
        }
        self.follows = outer;
    }
}

/// The host of a path that bash opens as a connection.
fn network(path: &str) -> Option<String> {
    let rest = path.strip_prefix("/dev/tcp/").or_else(|| path.strip_prefix("/dev/udp/"))?;
    Some(rest.split('/').next().unwrap_or_default().to_owned())
}

fn has_array(word: &Word) -> bool {
    word.pieces.iter().any(|piece| matches!(piece, crate::syntax::Piece::Array(_)))
}

/// Whether a word begins with `name=`, unquoted.
fn is_assignment(word: &Word) -> bool {
    let Some(crate::syntax::Piece::Text { text, quoted: false }) = word.pieces.first() else {
        return false;
    };
    text.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
    })
}

fn names_only_separators(assignments: &[Assignment]) -> bool {
    assignments.iter().any(|assignment| assignment.name == "IFS")
}
