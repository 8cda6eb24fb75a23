//! Options and operands: which word of a command line is what.

use super::{Act, Program};
use crate::walk::value::Field;

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

/// Takes the words after a program's name apart.
pub(crate) fn read(program: &Program, fields: &[Field]) -> Line {
    let mut line = Line { raw: fields.to_vec(), ..Line::default() };
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
                push(act, None, &mut rest, &mut line);
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

fn read_option<'f>(
    program: &Program,
    field: &Field,
    rest: &mut impl Iterator<Item = &'f Field>,
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
        push(act, attached, rest, line);
    } else if program.marks.wordy && prefix.starts_with("--") && prefix.len() > 2 {
        // Whoever takes long options after one dash takes them after two as well.
        read_option(program, &field.without_prefix(1), rest, line);
    } else if prefix.starts_with("--") {
        if !whole {
            line.doubts.push(format!("the option `{}` is not known", field.shown()));
            return;
        }
        match abbreviated(program, name) {
            Some(act) => push(act, attached, rest, line),
            None if program.marks.strict => unknown(name, line),
            None => {}
        }
    } else if program.marks.wordy {
        match longest(program, prefix) {
            Some((name, act)) => push(act, Some(field.without_prefix(name.len())), rest, line),
            None if program.marks.strict => unknown(prefix, line),
            None => {}
        }
    } else {
        read_cluster(program, field, rest, line);
    }
}

/// Options of one letter, joined: `-xzf`.
fn read_cluster<'f>(
    program: &Program,
    field: &Field,
    rest: &mut impl Iterator<Item = &'f Field>,
    line: &mut Line,
) {
    let prefix = field.prefix();
    for (at, letter) in prefix.char_indices().skip(1) {
        let name = format!("-{letter}");
        let end = at + letter.len_utf8();
        let attached = field.without_prefix(end);
        let has_more = end < prefix.len() || field.literal().is_none();
        match program.option(&name) {
            Some(act @ (Act::Flag | Act::ShellWords | Act::Here)) => line.options.push((act, None)),
            Some(act) => {
                push(act, has_more.then_some(attached), rest, line);
                return;
            }
            None if letter.is_ascii_digit() => {}
            None if program.marks.strict => unknown(&name, line),
            None => {}
        }
    }
    if field.literal().is_none() && program.is_risky() {
        line.doubts.push(format!("the option `{}` is not known", field.shown()));
    }
}

fn push<'f>(
    act: Act,
    attached: Option<Field>,
    rest: &mut impl Iterator<Item = &'f Field>,
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
            let value = rest.next().cloned();
            line.options.push((act, value));
        }
        _ => line.options.push((act, attached)),
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
