//! `export`, `declare`, `local`, `readonly`: assignments with attributes.

use super::Walk;
use super::builtin::is_plain_name;
use super::value::{Atom, Field};
use crate::syntax::Span;

impl Walk<'_> {
    pub(super) fn declare(&mut self, builtin: &str, operands: &[Field], span: Span) {
        let mut exports = builtin == "export";
        let (mut numeric, mut lists) = (false, false);
        let mut fixed = builtin == "readonly";
        for operand in operands {
            let text = operand.prefix().to_owned();
            if text.starts_with(['-', '+']) && text.len() > 1 {
                let Some(letters) = operand.literal().and_then(|text| text.get(1..)) else {
                    self.doubt("an option is not known", span);
                    continue;
                };
                exports |= letters.contains('x');
                numeric |= letters.contains('i');
                fixed |= letters.contains('r');
                lists |= letters.contains(['a', 'A']);
                if letters.contains('n') && builtin != "export" {
                    self.doubt("a variable is made to stand for another one", span);
                }
                if letters.contains('f') && !operands.is_empty() && builtin == "export" {
                    self.doubt("a function is handed to the programs that are run", span);
                }
                continue;
            }
            self.declared(operand, exports, numeric, lists, span);
        }
        if fixed {
            // From now on setting them fails, so what they hold is no longer followed.
            self.assign_any();
        }
    }

    fn declared(&mut self, operand: &Field, exports: bool, numeric: bool, lists: bool, span: Span) {
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
        let Some(value) = value else {
            // Its value stays what it was, whatever that is.
            let kept = self.state.variables.get(&name).cloned();
            self.assign(&name, kept.unwrap_or_else(|| Field::unknown(&format!("${name}"))));
            return;
        };
        if numeric && !value.is_number() {
            match value.literal() {
                Some(text) => self.arithmetic_text(text, span),
                None => {
                    self.doubt("arithmetic evaluates text that is not known to be a number", span);
                }
            }
        }
        if lists && value.prefix().starts_with('(') {
            self.doubt("a list of values is read from text, which can run commands", span);
        }
        let value = match (numeric, appends) {
            (true, _) => Field { atoms: vec![Atom::Number(format!("${name}"))], many: false },
            (false, true) => Field::unknown(&format!("${name}")),
            (false, false) => value,
        };
        self.assign(&name, value);
    }
}
