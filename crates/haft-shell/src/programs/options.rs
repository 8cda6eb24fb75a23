//! Options and operands: which word of a command line is what.

use super::{Act, Program};
use crate::walk::value::{Atom, Field};

/// A command line, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// Options in order, with their values.
    pub(crate) options: Vec<(Act, Option<Field>)>,
    /// All that is no option.
    pub(crate) operands: Vec<Field>,
    /// The words as they stand.
    pub(crate) raw: Vec<Field>,
    /// How many of the operands came before `--`.
    pub(crate) before_dashes: usize,
    /// Options that are not known, or words that may be one.
    pub(crate) doubts: Vec<String>,
    reading: Reading,
    /// Whether what looks like an option was found where a value is expected.
    is_ambiguous: bool,
}

/// What becomes of a word that looks like an option where the one before it takes a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Reading {
    #[default]
    AsValue,
    AsOption,
}

impl Line {
    /// Whether an option says what is to be run.
    pub(crate) fn is_told(&self) -> bool {
        [Act::Code, Act::Module, Act::Script, Act::Shell].iter().any(|act| self.has(*act))
    }

    pub(crate) fn has(&self, act: Act) -> bool {
        self.options.iter().any(|(found, _)| *found == act)
    }
}

/// Whether an option takes the next word for its value.
fn takes_value(act: Act) -> bool {
    !matches!(
        act,
        Act::Flag
            | Act::Attached
            | Act::Mode
            | Act::Replaced
            | Act::InPlace
            | Act::Here
            | Act::Doubt
            | Act::ShellWords
            | Act::CommandList
    )
}

/// The old way to write options, without a dash (`tar xzf a.tar`), in the new way.
pub(crate) fn dashed(program: &Program, fields: &[Field]) -> Vec<Field> {
    let bundle = fields.first().and_then(Field::literal).filter(|first| !first.starts_with('-'));
    let (Some(bundle), Some(rest)) = (bundle, fields.get(1..)) else {
        return fields.to_vec();
    };
    let mut rest = rest.iter();
    let mut dashed = Vec::new();
    for letter in bundle.chars() {
        let name = format!("-{letter}");
        let valued = program.option(&name).is_some_and(takes_value);
        dashed.push(Field::text(&name));
        if valued {
            dashed.extend(rest.next().cloned());
        }
    }
    dashed.extend(rest.cloned());
    dashed
}

/// Takes the words after a program's name apart, in every way that they may be meant.
///
/// Names that share a line of the table, and versions of one program, do not agree on which of their options
/// take a value. So a value that looks like an option is read as one too, for what that would do.
pub(crate) fn readings(program: &Program, fields: &[Field]) -> Vec<Line> {
    let line = read(program, fields, Reading::AsValue);
    if !line.is_ambiguous {
        return vec![line];
    }
    let mut other = read(program, fields, Reading::AsOption);
    other.doubts.clear();
    vec![line, other]
}

fn read(program: &Program, fields: &[Field], reading: Reading) -> Line {
    let mut line = Line { raw: fields.to_vec(), reading, ..Line::default() };
    let mut rest = fields.iter();
    let mut dashes = false;
    while let Some(field) = rest.next() {
        let prefix = field.prefix();
        if dashes || prefix == "-" && field.literal().is_some() {
            line.operands.push(field.clone());
        } else if field.literal() == Some("--") {
            dashes = true;
            line.before_dashes = line.operands.len();
        } else if !field.may_be_option() {
            let plus = prefix
                .starts_with('+')
                .then(|| program.option(prefix).or_else(|| program.option("+")));
            if let Some(act) = plus.flatten() {
                push(program, act, None, &mut rest, &mut line);
                continue;
            }
            line.operands.push(field.clone());
            if program.marks.first || program.marks.sub {
                line.operands.extend(rest.by_ref().cloned());
            }
        } else if prefix.is_empty() || field.many {
            if program.is_risky() {
                line.doubts
                    .push(format!("`{}` may be an option that does something else", field.shown()));
            }
            line.operands.push(field.clone());
            if program.marks.first || program.marks.sub {
                line.operands.extend(rest.by_ref().cloned());
            }
        } else {
            read_option(program, field, &mut rest, &mut line);
        }
    }
    if !dashes {
        line.before_dashes = line.operands.len();
    }
    line
}

fn read_option(
    program: &Program,
    field: &Field,
    rest: &mut std::slice::Iter<'_, Field>,
    line: &mut Line,
) {
    let prefix = field.prefix();
    let (name, attached) = match prefix.split_once('=') {
        Some((name, _)) => (name, Some(field.without_prefix(name.len() + 1))),
        None => (prefix, None),
    };
    let whole = attached.is_some() || field.literal().is_some();
    let exact = if whole { program.option(name) } else { None };
    if let Some(act) = exact.filter(|_| name.len() > 2 || attached.is_none()) {
        push(program, act, attached, rest, line);
    } else if program.marks.wordy && prefix.starts_with("--") && prefix.len() > 2 {
        // Whoever takes long options after one dash takes them after two as well.
        let single = field.without_prefix(1);
        match attached {
            Some(value) if program.option(name.get(1..).unwrap_or_default()).is_none() => {
                passed_over(program, name, Some(value), line);
            }
            _ => read_option(program, &single, rest, line),
        }
    } else if prefix.starts_with("--") {
        if !whole {
            line.doubts.push(format!("the option `{}` is not known", field.shown()));
            return;
        }
        match abbreviated(program, name) {
            Some(act) => push(program, act, attached, rest, line),
            None => passed_over(program, name, attached, line),
        }
    } else if program.marks.wordy {
        if let Some((name, act)) = longest(program, prefix) {
            push(program, act, Some(field.without_prefix(name.len())), rest, line);
            // The name of another option may begin like that of this one.
            if let Some(value) = attached {
                line.options.push((Act::Perhaps, Some(value)));
            }
        } else {
            passed_over(program, prefix, attached, line);
        }
    } else {
        read_cluster(program, field, rest, line);
    }
}

/// Options of one letter, joined: `-xzf`.
fn read_cluster(
    program: &Program,
    field: &Field,
    rest: &mut std::slice::Iter<'_, Field>,
    line: &mut Line,
) {
    let prefix = field.prefix();
    for (at, letter) in prefix.char_indices().skip(1) {
        let name = format!("-{letter}");
        let end = at + letter.len_utf8();
        let attached = field.without_prefix(end);
        let has_more = end < prefix.len() || field.literal().is_none();
        match program.option(&name) {
            Some(act @ (Act::Flag | Act::Mode | Act::ShellWords | Act::Here)) => {
                line.options.push((act, None));
            }
            Some(act) => {
                push(program, act, has_more.then_some(attached), rest, line);
                return;
            }
            None if letter == '=' => {
                passed_over(program, prefix, Some(attached), line);
                return;
            }
            None if letter.is_ascii_digit() => {}
            None => passed_over(program, &name, None, line),
        }
    }
    if field.literal().is_none() && program.is_risky() {
        line.doubts.push(format!("the option `{}` is not known", field.shown()));
    }
}

fn push(
    program: &Program,
    act: Act,
    attached: Option<Field>,
    rest: &mut std::slice::Iter<'_, Field>,
    line: &mut Line,
) {
    match act {
        Act::CommandList => {
            // Everything up to `;` is a command; whoever reads the line takes it apart.
            let words: Vec<Field> = attached.into_iter().chain(rest.cloned()).collect();
            line.options.extend(words.into_iter().map(|word| (Act::CommandList, Some(word))));
        }
        Act::Pair => {
            rest.next();
            let value = rest.next().cloned();
            line.options.push((act, value));
        }
        _ if attached.is_none() && takes_value(act) => {
            let next = rest.as_slice().first();
            let is_dashed = |next: &&Field| {
                next.prefix().starts_with('-') && !matches!(next.literal(), Some("-" | "--"))
            };
            if act == Act::Value && next.is_some_and(|next| is_dashed(&next)) {
                line.is_ambiguous = true;
                if line.reading == Reading::AsOption {
                    line.options.push((Act::Flag, None));
                    return;
                }
            }
            let is_several = |next: &Field| {
                let wild = next.atoms.iter().any(|atom| matches!(atom, Atom::Wild(_)));
                next.may_be_option() && (next.many || wild)
            };
            if program.is_risky() && next.is_some_and(is_several) {
                line.doubts.push("a value may be several words, and options among them".to_owned());
            }
            line.options.push((act, rest.next().cloned()));
        }
        _ => line.options.push((act, attached)),
    }
}

/// An option that the table does not have. What is joined to it may be a place.
fn passed_over(program: &Program, name: &str, value: Option<Field>, line: &mut Line) {
    if program.marks.strict {
        return unknown(name, line);
    }
    if let Some(value) = value {
        if value.literal().is_none() && program.is_risky() {
            unknown(name, line);
        }
        line.options.push((Act::Perhaps, Some(value)));
    }
}

fn unknown(name: &str, line: &mut Line) {
    line.doubts.push(format!("what the option `{name}` does is not known"));
}

/// What a long option does that may be cut short. Where several fit, the one that does most counts.
fn abbreviated(program: &Program, name: &str) -> Option<Act> {
    let fitting = || program.options.iter().filter(|(option, _)| option.starts_with(name));
    let harmful = fitting().map(|(_, act)| *act).find(|act| !matches!(act, Act::Flag | Act::Value));
    harmful.or_else(|| fitting().map(|(_, act)| *act).next())
}

/// The longest option that `text` begins with, for programs with long options after one dash.
fn longest(program: &Program, text: &str) -> Option<(&'static str, Act)> {
    let fitting = program.options.iter().filter(|(option, _)| text.starts_with(option));
    fitting.max_by_key(|(option, _)| option.len()).copied()
}
