//! Programs that are told what to do in a language of their own, or that run what follows them.

use super::Walk;
use super::builtin::is_plain_name;
use super::invocation::with_names;
use super::simple::Lookup;
use super::value::Field;
use crate::programs::options::Line;
use crate::programs::{Act, awk, sed};
use crate::syntax::Span;

impl Walk<'_> {
    /// `NAME=value` before a command; what is left is the answer.
    pub(super) fn assignments<'f>(
        &mut self,
        name: &str,
        operands: &'f [Field],
        span: Span,
    ) -> &'f [Field] {
        let mut rest = operands;
        let for_make = matches!(name, "make" | "gmake" | "bmake" | "ninja" | "just" | "task");
        while let Some((first, after)) = rest.split_first() {
            let Some((variable, value)) = first.prefix().split_once('=') else {
                if for_make && first.is_open() {
                    self.doubt("what is made is not known", span);
                }
                if !for_make {
                    return rest;
                }
                rest = after;
                continue;
            };
            if for_make {
                let switch = value.bytes().all(|byte| byte.is_ascii_digit())
                    || matches!(
                        value,
                        "y" | "n" | "yes" | "no" | "true" | "false" | "debug" | "release"
                    );
                if !switch || first.literal().is_none() {
                    self.doubt(format!("the variable `{variable}` can change what is run"), span);
                }
            } else {
                self.check_assigned(variable, true, span);
                // A shell that is run has it; that it is unknown holds here as well.
                if is_plain_name(variable) && !self.state.variables.contains_key(variable) {
                    self.assign(variable, Field::unknown(&format!("${variable}")));
                }
            }
            rest = after;
        }
        rest
    }

    /// The command of `env -S TEXT WORD…`: what the text is split into, and then the words.
    pub(super) fn split_words(
        &mut self,
        name: &str,
        line: &Line,
        operands: &[Field],
        span: Span,
    ) -> Vec<Field> {
        let texts = line.options.iter().filter(|(act, _)| *act == Act::Split).count();
        let is_last = line.options.last().is_some_and(|(act, _)| *act == Act::Split);
        let dashes = line.raw.iter().any(|word| word.literal() == Some("--"));
        // What follows the text is the command's, even what looks like an option.
        let mut is_clear = texts == 1 && is_last && !dashes;
        let mut words = Vec::new();
        for (_, value) in line.options.iter().filter(|(act, _)| *act == Act::Split) {
            match value.as_ref().and_then(Field::literal) {
                Some(text) if !text.contains(['\\', '\'', '"', '$', '#']) => {
                    words.extend(text.split_whitespace().map(Field::text));
                }
                _ => is_clear = false,
            }
        }
        // Options in the text are options of `env` again.
        is_clear &= !words.first().is_some_and(|word| word.prefix().starts_with('-'));
        if !is_clear {
            self.doubt("text is split into a command in a way that is not worked out", span);
        }
        words.extend_from_slice(operands);
        self.assignments(name, &words, span).to_vec()
    }

    pub(super) fn xargs(&mut self, line: &Line, span: Span) {
        let mark = line.options.iter().find(|(act, _)| matches!(act, Act::Replace | Act::Replaced));
        let mut command = line.operands.clone();
        let input = "what it reads";
        match mark {
            Some((_, mark)) => {
                let mark = mark.as_ref().and_then(Field::literal).unwrap_or("{}").to_owned();
                for word in &mut command {
                    if word.shown().contains(&mark) || mark.is_empty() {
                        *word = Field::unknown(&word.shown());
                    }
                }
            }
            None => command.push(Field::unknown_words(input)),
        }
        if line.operands.is_empty() {
            command.insert(0, Field::text("echo"));
        }
        self.run(&command, Lookup::WithoutFunctions, span);
    }

    /// Commands that end in `;`, with `{}` for names of files: of `fd -x`.
    pub(super) fn command_list(&mut self, words: &[Field], span: Span) {
        if words.is_empty() {
            return;
        }
        for command in words.split(|word| word.literal() == Some(";")) {
            let mut command: Vec<Field> = command.iter().map(with_names).collect();
            command.push(Field::unknown_words("{}"));
            self.run(&command, Lookup::WithoutFunctions, span);
        }
    }

    pub(super) fn sed(&mut self, line: &Line, span: Span) {
        let mut operands = line.operands.as_slice();
        let mut suffixes = line.options.iter().filter(|(act, _)| *act == Act::InPlace);
        if suffixes.any(|(_, suffix)| {
            suffix.as_ref().is_some_and(|it| it.literal().is_none_or(|it| it.contains('/')))
        }) {
            self.doubt("`sed` keeps the old file in a place that is not known", span);
        }
        if !line.has(Act::SedScript)
            && !line.has(Act::Script)
            && let Some((script, rest)) = operands.split_first()
        {
            self.sed_script(script, span);
            operands = rest;
        }
        for operand in operands {
            if operand.literal() == Some("-") {
                continue;
            }
            self.read(operand, span);
            if line.has(Act::InPlace) {
                self.write(operand, span);
            }
        }
    }

    pub(super) fn sed_script(&mut self, script: &Field, span: Span) {
        let Some(script) = script.literal() else {
            return self.doubt("what `sed` is told to do is not known", span);
        };
        for deed in sed::deeds(script) {
            match deed {
                sed::Deed::Reads(file) => self.read(&Field::text(&file), span),
                sed::Deed::Writes(file) => self.write(&Field::text(&file), span),
                sed::Deed::Unclear => {
                    self.doubt("a script for `sed` runs commands, or is not understood", span);
                }
            }
        }
    }

    pub(super) fn awk(&mut self, line: &Line, span: Span) {
        let mut operands = line.operands.as_slice();
        if !line.has(Act::Script)
            && let Some((program, rest)) = operands.split_first()
        {
            if !program.literal().is_some_and(awk::is_plain) {
                self.doubt("a program for `awk` may run commands or write files", span);
            }
            operands = rest;
        }
        for operand in operands {
            let assignment = operand.literal().is_some_and(|text| {
                text.split_once('=').is_some_and(|(name, _)| is_plain_name(name))
            });
            if !assignment && operand.literal() != Some("-") {
                self.read(operand, span);
            }
        }
    }
}
