//! `[[ … ]]`, `[ … ]` and `test`, some of whose operators evaluate their operands.

use super::Walk;
use super::value::Field;
use crate::syntax::{Span, Word};

const SUBSCRIPT: &str =
    "a test looks at a variable whose name is not plain, which can run commands";
const NUMBERS: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

impl Walk<'_> {
    /// `[[ … ]]`
    pub(super) fn condition(&mut self, words: &[Word]) {
        let values: Vec<Field> = words.iter().map(|word| self.unsplit(word)).collect();
        for (index, word) in words.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|before| values.get(before));
            let after = values.get(index + 1);
            match word.bare() {
                Some("-v" | "-R")
                    if after.is_none_or(|name| name.may_contain('[') || name.is_open()) =>
                {
                    self.doubt(SUBSCRIPT, word.span);
                }
                Some(operator) if NUMBERS.contains(&operator) => {
                    for side in [before, after].into_iter().flatten() {
                        self.compared(side, word.span);
                    }
                }
                _ => {}
            }
        }
    }

    fn compared(&mut self, side: &Field, span: Span) {
        if side.is_number() {
            return;
        }
        match side.literal() {
            Some(text) => self.arithmetic_text(text, span),
            None => self.doubt(
                "a comparison evaluates text that is not known to be a number, which can run commands",
                span,
            ),
        }
    }

    /// `test …` and `[ … ]`: only `-v` and `-R` evaluate, but any unknown word may be one of them.
    pub(super) fn tested(&mut self, operands: &[Field], span: Span) {
        if operands.iter().any(|operand| operand.many) {
            self.doubt("a test has words that are not known", span);
            return;
        }
        for pair in operands.windows(2) {
            let [operator, name] = pair else {
                continue;
            };
            let evaluates = operator.may_be("-v") || operator.may_be("-R");
            if evaluates && name.may_contain('[') {
                self.doubt(SUBSCRIPT, span);
            }
        }
    }
}
