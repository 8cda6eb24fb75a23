//! `export`, `declare`, `local`, `readonly`: assignments with attributes.

use super::Walk;
use super::builtin::is_plain_name;
use super::value::{Atom, Field};
use crate::syntax::Span;

/// What a variable's attribute makes of what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alters {
    /// A number: the text is evaluated.
    Number,
    /// The same letters, large or small.
    Case,
}

/// Lists that the shell has from the start.
const SHELLS_OWN: [&str; 5] = ["PIPESTATUS", "DIRSTACK", "FUNCNAME", "GROUPS", "COPROC"];

impl Walk<'_> {
    /// What a variable may hold after it was given `value`.
    ///
    /// Whether it has its attribute by then is not followed: it may be what it was given, or what the
    /// attribute makes of that.
    pub(super) fn altered(&mut self, name: &str, value: Field) -> Field {
        let Some(alters) = self.altering.get(name).copied() else { return value };
        if matches!(value.atoms.as_slice(), [Atom::Number(_)]) {
            return value;
        }
        if alters == Alters::Number && !value.is_number() {
            self.evaluated(&value, Span::default());
        }
        Field::unknown(&format!("${name}"))
    }

    /// Text that is taken for arithmetic.
    fn evaluated(&mut self, value: &Field, span: Span) {
        match value.literal() {
            Some(text) => self.arithmetic_text(text, span),
            None => {
                self.doubt("arithmetic evaluates text that is not known to be a number", span);
            }
        }
    }

    pub(super) fn declare(&mut self, builtin: &str, operands: &[Field], span: Span) {
        let mut exports = builtin == "export";
        let (mut alters, mut lists) = (None, false);
        let mut fixed = builtin == "readonly";
        let mut functions = false;
        for (index, operand) in operands.iter().enumerate() {
            let text = operand.prefix().to_owned();
            if text.starts_with(['-', '+']) && text.len() > 1 {
                let Some(letters) = operand.literal().and_then(|text| text.get(1..)) else {
                    self.doubt("an option is not known", span);
                    continue;
                };
                exports |= letters.contains('x');
                // Both at once are a number in the end; and one that is taken away may have been there.
                alters = match letters.contains('i') {
                    true if text.starts_with('-') => Some(Alters::Number),
                    false if !letters.contains(['l', 'u', 'c']) => alters,
                    _ => alters.or(Some(Alters::Case)),
                };
                fixed |= letters.contains('r');
                lists |= letters.contains(['a', 'A']);
                if letters.contains('n') && builtin != "export" {
                    self.doubt("a variable is made to stand for another one", span);
                }
                functions |= letters.contains('f');
                continue;
            }
            let is_list = self.lists.contains(&(index + 1));
            self.listed(operand, lists, is_list, span);
            self.declared(operand, exports, alters, span);
            // In a function it is another one of that name, and holds nothing yet.
            let is_new = !self.calls.is_empty() && !matches!(builtin, "export" | "readonly");
            if is_new && is_plain_name(&text) {
                self.assign(&text, Field::unknown(&format!("${text}")));
            }
        }
        if functions && (exports || fixed) {
            self.doubt("a function is handed to the programs that are run, or kept as it is", span);
        }
        if fixed {
            // From now on setting them fails, so what they hold is no longer followed.
            self.assign_any();
        }
    }

    /// Doubts text that a list is read from, as commands in it are run. A list that is written as such
    /// has been walked already.
    fn listed(&mut self, operand: &Field, lists: bool, is_list: bool, span: Span) {
        let text = operand.prefix();
        let end = text.find('=');
        let name = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
        let name = name.trim_end_matches('+').to_owned();
        let value = end.filter(|_| !is_list).map(|end| operand.without_prefix(end + 1));
        if lists || is_list {
            self.arrays.insert(name.clone());
        }
        let is_array = self.arrays.contains(&name) || SHELLS_OWN.contains(&name.as_str());
        let may_be_text = |value: Field| {
            let is_known = value.is_number() || value.literal() == Some("");
            value.prefix().starts_with('(') || (value.prefix().is_empty() && !is_known)
        };
        if is_array && value.is_some_and(may_be_text) {
            self.doubt("a list of values is read from text, which can run commands", span);
        }
    }

    fn declared(&mut self, operand: &Field, exports: bool, alters: Option<Alters>, span: Span) {
        let text = operand.prefix();
        let (name, value) = match text.split_once('=') {
            Some((name, _)) => (name.to_owned(), Some(operand.without_prefix(name.len() + 1))),
            None => (text.to_owned(), None),
        };
        let appends = name.ends_with('+');
        let name = name.trim_end_matches('+').to_owned();
        let named = value.is_some() || operand.literal().is_some();
        if !named || !is_plain_name(&name) || operand.many {
            self.doubt("a variable is set whose name is not plain, which can run commands", span);
            self.assign_any();
            return;
        }
        self.check_assigned(&name, exports, span);
        let unknown = || Field::unknown(&format!("${name}"));
        let Some(value) = value else {
            // Its value stays what it was, whatever that is.
            let kept = self.state.variables.get(&name).cloned();
            self.assign(&name, kept.unwrap_or_else(unknown));
            self.alter(&name, alters);
            return;
        };
        self.alter(&name, alters);
        if alters == Some(Alters::Number) && !value.is_number() {
            self.evaluated(&value, span);
        }
        let value = match (alters, appends) {
            (Some(Alters::Number), _) => {
                Field { atoms: vec![Atom::Number(format!("${name}"))], many: false }
            }
            (_, true) => unknown(),
            (_, false) => value,
        };
        self.assign(&name, value);
    }

    /// Notes that a variable alters what it is given from now on. What was said before stays true.
    fn alter(&mut self, name: &str, alters: Option<Alters>) {
        let Some(alters) = alters else { return };
        let noted = self.altering.entry(name.to_owned()).or_insert(alters);
        if alters == Alters::Number {
            *noted = alters;
        }
    }
}
