//! What the shell's own commands do.

use super::Walk;
use super::simple::Lookup;
use super::state::below;
use super::value::Field;
use crate::effect::Standing;
use crate::syntax::Span;

/// Builtins that do nothing beyond what is among the effects anyway.
const QUIET: [&str; 15] = [
    ":", "true", "false", "cd", "pushd", "popd", "shift", "return", "exit", "break", "continue",
    "unset", "wait", "set", "shopt",
];

/// Builtins that only take words and print, or change nothing that matters here.
const PLAIN: [&str; 18] = [
    "echo", "pwd", "umask", "ulimit", "times", "jobs", "fg", "bg", "disown", "kill", "suspend",
    "logout", "dirs", "caller", "type", "help", "getopts", "hash",
];

/// Builtins with a meaning of their own below.
const OTHER: [&str; 24] = [
    "printf",
    "test",
    "[",
    "read",
    "mapfile",
    "readarray",
    "let",
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "eval",
    "source",
    ".",
    "exec",
    "command",
    "builtin",
    "trap",
    "alias",
    "unalias",
    "enable",
    "compgen",
    "complete",
];

/// Builtins that are not worked out.
const OBSCURE: [&str; 5] = ["bind", "fc", "history", "compopt", "coproc"];

pub(super) fn is_builtin(name: &str) -> bool {
    QUIET.contains(&name)
        || PLAIN.contains(&name)
        || OTHER.contains(&name)
        || OBSCURE.contains(&name)
}

impl Walk<'_> {
    pub(super) fn builtin(&mut self, name: &str, fields: &[Field], span: Span) {
        let operands = fields.get(1..).unwrap_or_default();
        let prints = matches!(name, "set" | "export" | "declare" | "typeset" | "readonly")
            && operands.iter().all(|operand| operand.may_be_option());
        let declares = matches!(name, "export" | "declare" | "typeset" | "local" | "readonly");
        let sets = name == "set" && !operands.is_empty();
        let quiet = (QUIET.contains(&name) && name != "set") || sets || (declares && !prints);
        let wraps = matches!(name, "command" | "builtin" | "exec" | "eval");
        let decides = matches!(name, "test" | "[");
        let standing =
            if quiet || wraps || decides { Standing::Mentioned } else { Standing::Asked };
        self.note_run(fields, standing, span);
        self.check_builtin(name, span);
        match name {
            "cd" | "pushd" => self.change_folder(operands, name == "pushd", span),
            "popd" => self.moved(Vec::new()),
            "test" => self.tested(operands, span),
            "[" => self.tested(operands.split_last().map_or(&[], |(_, rest)| rest), span),
            "printf" => self.print_into(operands, span),
            "let" => {
                for operand in operands {
                    match operand.literal() {
                        Some(text) => self.arithmetic_text(text, span),
                        None => self.doubt("arithmetic is not known before it is evaluated", span),
                    }
                }
            }
            "read" => {
                self.names_set(operands, "adinNptu", "a", span);
                self.arrays.extend(operands.iter().filter_map(Field::literal).map(str::to_owned));
                self.set_by_itself("REPLY");
            }
            "mapfile" | "readarray" => {
                if operands
                    .iter()
                    .any(|operand| operand.may_be_option() && operand.may_contain('C'))
                {
                    self.doubt("a command is run for each line that is read", span);
                }
                self.names_set(operands, "dnOsucC", "", span);
                self.set_by_itself("MAPFILE");
                self.arrays.extend(operands.iter().filter_map(Field::literal).map(str::to_owned));
            }
            "unset" => self.unset(operands, span),
            "wait" => self.names_set(operands, "", "p", span),
            "getopts" => {
                self.names_set(operands.get(1..).unwrap_or_default(), "", "", span);
                self.set_by_itself("OPTARG");
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                self.declare(name, operands, span);
            }
            "eval" => self.evaluate(operands, span),
            "source" | "." => self.sourced(operands, span),
            "exec" => self.replaced(operands, span),
            "command" => self.commanded(operands, span),
            "builtin" => self.run(operands, Lookup::WithoutFunctions, span),
            "trap" => self.trapped(operands, span),
            "set" => self.set_options(operands, span),
            "shopt" => self.shopt(operands, span),
            "jobs" if operands.iter().any(|it| it.may_be_option() && it.may_contain('x')) => {
                self.doubt("`jobs -x` runs the command that follows", span);
            }
            "hash" if operands.iter().any(|operand| operand.literal() != Some("-r")) => {
                self.doubt("`hash` can make a name stand for another program", span);
            }
            "alias" | "unalias" if !operands.is_empty() => {
                self.doubt("an alias makes a name stand for something else", span);
            }
            "enable" | "compgen" | "complete" => {
                self.doubt(format!("`{name}` can run commands or replace builtins"), span);
            }
            _ if OBSCURE.contains(&name) => self.doubt(format!("`{name}` is not worked out"), span),
            _ => {}
        }
    }

    fn change_folder(&mut self, operands: &[Field], pushes: bool, span: Span) {
        let mut logical = true;
        let mut target = None;
        for operand in operands {
            match operand.literal() {
                Some("-P") => logical = false,
                // Only the list of folders is changed.
                Some("-n") if pushes => return,
                Some("-L" | "-e" | "--") => {}
                Some(text) if text.starts_with(['-', '+']) => return self.moved(Vec::new()),
                _ if target.is_some() => {}
                _ => target = Some(operand.clone()),
            }
        }
        let home = || self.state.variables.get("HOME").cloned();
        let Some(target) = target.or_else(|| home().filter(|_| !pushes)) else {
            return self.moved(Vec::new());
        };
        if target.literal() == Some("") {
            return;
        }
        self.read(&target, span);
        let folders = match target.literal() {
            Some(text) if text.starts_with('/') => vec![below("/".as_ref(), text, logical)],
            Some(text) => {
                self.state.cwd.iter().map(|folder| below(folder, text, logical)).collect()
            }
            None => Vec::new(),
        };
        self.moved(folders);
    }

    fn print_into(&mut self, operands: &[Field], span: Span) {
        let Some((first, rest)) = operands.split_first() else {
            return;
        };
        let attached = first.literal().and_then(|text| text.strip_prefix("-v"));
        let rest = match attached {
            Some("") => {
                let (name, rest) = rest.split_at(rest.len().min(1));
                self.names_set(name, "", "", span);
                rest
            }
            Some(name) => {
                self.names_set(&[Field::text(name)], "", "", span);
                rest
            }
            None if first.many || (first.is_open() && first.may_be("-v") && !rest.is_empty()) => {
                return self.doubt("`printf` may set a variable whose name is not plain", span);
            }
            None => operands,
        };
        let rest = rest.strip_prefix(&[Field::text("--")]).unwrap_or(rest);
        let Some((format, values)) = rest.split_first() else {
            return;
        };
        // `%n` sets the variable that its value names.
        if format.literal().is_none_or(counts) {
            for value in values.iter().filter(|value| value.literal() != Some("")) {
                let is_sure = format.literal().is_some();
                let is_name = value.literal().is_none_or(is_plain_name);
                if is_sure || is_name {
                    self.name_set(value, span);
                }
            }
        }
    }

    /// Sets the variables that operands name. `valued` are the letters of options that have a value,
    /// `naming` of those whose value is a name.
    fn names_set(&mut self, operands: &[Field], valued: &str, naming: &str, span: Span) {
        let mut operands = operands.iter();
        let mut ended = false;
        while let Some(operand) = operands.next() {
            let text = operand.literal().map(str::to_owned);
            match text.as_deref() {
                Some("--") if !ended => ended = true,
                Some(text) if !ended && text.len() > 1 && text.starts_with('-') => {
                    let letters = text.get(1..).unwrap_or_default();
                    let Some(at) =
                        letters.find(|letter| valued.contains(letter) || naming.contains(letter))
                    else {
                        continue;
                    };
                    let (_, from) = letters.split_at(at);
                    let attached = from.get(1..).unwrap_or_default();
                    let value = if attached.is_empty() {
                        operands.next().cloned()
                    } else {
                        Some(Field::text(attached))
                    };
                    if from.starts_with(|letter| naming.contains(letter)) {
                        self.name_set(&value.unwrap_or_default(), span);
                    }
                }
                _ => {
                    ended = true;
                    self.name_set(operand, span);
                }
            }
        }
    }

    /// A variable that the shell may set without being told its name.
    fn set_by_itself(&mut self, name: &str) {
        self.assign(name, Field::unknown(&format!("${name}")));
    }

    pub(super) fn name_set(&mut self, name: &Field, span: Span) {
        match name.literal() {
            Some(text) if text.is_empty() || text.starts_with('%') => {}
            Some(text) if is_plain_name(text) => {
                let text = text.to_owned();
                self.check_assigned(&text, false, span);
                self.assign(&text, Field::unknown(&format!("${text}")));
            }
            _ if name.is_number() => {}
            _ => {
                self.doubt(
                    "a variable is set whose name is not plain, which can run commands",
                    span,
                );
                self.assign_any();
            }
        }
    }

    fn unset(&mut self, operands: &[Field], span: Span) {
        if operands.iter().any(|operand| operand.may_be("-f") || operand.may_be("-n")) {
            self.doubt("a function or a reference is removed", span);
        }
        let names = operands.iter().filter(|operand| !operand.prefix().starts_with('-'));
        for name in names {
            // A name without `-v` may also be that of a function.
            let function =
                name.literal().is_some_and(|name| self.state.functions.contains_key(name));
            if function {
                self.doubt("a function may be removed", span);
            }
            self.name_set(name, span);
        }
    }

    fn evaluate(&mut self, operands: &[Field], span: Span) {
        let words: Option<Vec<&str>> = operands.iter().map(Field::literal).collect();
        match words {
            Some(words) => {
                let words = words.strip_prefix(&["--"]).unwrap_or(&words);
                let script = words.join(" ");
                self.inner_script(&script, span);
            }
            None => {
                self.doubt("`eval` runs text that is not known", span);
                self.assign_any();
                self.moved(Vec::new());
            }
        }
    }

    fn sourced(&mut self, operands: &[Field], span: Span) {
        if let Some(file) = operands.first() {
            self.script_file(file, span);
        }
        self.doubt("the commands of another file are run in this shell", span);
        self.assign_any();
        self.moved(Vec::new());
    }

    fn replaced(&mut self, operands: &[Field], span: Span) {
        let mut rest = operands;
        while let Some((first, after)) = rest.split_first() {
            match first.literal() {
                Some("-a") => rest = after.get(1..).unwrap_or_default(),
                Some("-c" | "-l" | "-cl" | "-lc" | "--") => rest = after,
                Some(text) if text.starts_with('-') => {
                    return self.doubt("`exec` has an option that is not understood", span);
                }
                _ => break,
            }
        }
        self.run(rest, Lookup::WithoutFunctions, span);
    }

    fn commanded(&mut self, operands: &[Field], span: Span) {
        let mut rest = operands;
        while let Some((first, after)) = rest.split_first() {
            match first.literal() {
                Some("-p" | "--") => rest = after,
                Some("-v" | "-V" | "-pv" | "-pV") => return,
                Some(text) if text.starts_with('-') => {
                    return self.doubt("`command` has an option that is not understood", span);
                }
                _ => break,
            }
        }
        self.run(rest, Lookup::WithoutFunctions, span);
    }
}

/// Whether a format of `printf` has a `%n` in it.
fn counts(format: &str) -> bool {
    let mut conversions = format.split('%').skip(1);
    conversions.any(|after| {
        let kind = after.trim_start_matches(|mark: char| {
            mark.is_ascii_digit() || "-+ #'.*lhjztL".contains(mark)
        });
        kind.starts_with('n')
    })
}

pub(super) fn is_plain_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
}
