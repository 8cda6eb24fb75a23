//! `find`: where it looks, and what it does with what it finds.

use super::Walk;
use super::invocation::with_names;
use super::place::Touch;
use super::simple::Lookup;
use super::value::Field;
use crate::effect::{Certainty, Extent};
use crate::programs::options::Line;
use crate::syntax::Span;

/// Predicates without an operand.
const ALONE: &[&str] = &[
    "(",
    ")",
    "!",
    ",",
    "-a",
    "-and",
    "-o",
    "-or",
    "-not",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-ls",
    "-depth",
    "-d",
    "-mount",
    "-xdev",
    "-empty",
    "-executable",
    "-readable",
    "-writable",
    "-true",
    "-false",
    "-daystart",
    "-follow",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-noleaf",
    "-nouser",
    "-nogroup",
    "-warn",
    "-nowarn",
    "-help",
    "--help",
    "-version",
    "--version",
    "-H",
    "-L",
    "-P",
];
/// Predicates with one operand that does no harm.
const WITH_VALUE: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-regextype",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-atime",
    "-ctime",
    "-mmin",
    "-amin",
    "-cmin",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-links",
    "-inum",
    "-maxdepth",
    "-mindepth",
    "-newer",
    "-anewer",
    "-cnewer",
    "-samefile",
    "-lname",
    "-ilname",
    "-fstype",
    "-printf",
    "-used",
    "-context",
    "-newermt",
    "-newerct",
    "-newerat",
    "-D",
];

impl Walk<'_> {
    pub(super) fn find(&mut self, _operands: &[Field], line: &Line, span: Span) {
        // Its expression looks like options, so the words are needed as they stand.
        let words = line.raw.as_slice();
        let is_expression = |word: &Field| {
            word.prefix().starts_with(['-', '(', '!']) || word.literal() == Some(",")
        };
        let leading = words
            .iter()
            .take_while(|word| matches!(word.literal(), Some("-H" | "-L" | "-P")))
            .count();
        let words = words.get(leading..).unwrap_or_default();
        let count = words.iter().take_while(|word| !is_expression(word)).count();
        let (places, expression) = words.split_at(count);
        if places.iter().any(|place| place.may_be_option()) {
            self.doubt("a word may be a part of `find`'s expression that runs commands", span);
        }
        let own = [Field::text(".")];
        let places = if places.is_empty() { own.as_slice() } else { places };
        for place in places {
            self.touch(Touch::Read, place, Extent::Below, Certainty::Certain, span);
        }
        self.expression(places, expression, span);
    }

    fn expression(&mut self, places: &[Field], expression: &[Field], span: Span) {
        let mut rest = expression;
        while let Some((word, after)) = rest.split_first() {
            rest = after;
            match word.literal() {
                Some(name) if ALONE.contains(&name) || name.starts_with("-O") => {}
                Some(name) if WITH_VALUE.contains(&name) => {
                    rest = after.get(1..).unwrap_or_default();
                }
                Some("-delete") => {
                    for place in places {
                        self.touch(Touch::Delete, place, Extent::Below, Certainty::Certain, span);
                    }
                }
                Some("-fprint" | "-fprint0" | "-fls") => {
                    self.write(&after.first().cloned().unwrap_or_default(), span);
                    rest = after.get(1..).unwrap_or_default();
                }
                Some("-fprintf") => {
                    self.write(&after.first().cloned().unwrap_or_default(), span);
                    rest = after.get(2..).unwrap_or_default();
                }
                Some(name @ ("-exec" | "-execdir" | "-ok" | "-okdir")) => {
                    let end = end_of_command(after);
                    let command: Vec<Field> = after.iter().take(end).map(with_names).collect();
                    let elsewhere = name.ends_with("dir");
                    self.apart(|walk| {
                        if elsewhere {
                            walk.state.cwd.clear();
                        }
                        walk.run(&command, Lookup::WithoutFunctions, span);
                    });
                    rest = after.get(end + 1..).unwrap_or_default();
                }
                _ => self.doubt(
                    format!("`{}` in `find`'s expression is not understood", word.shown()),
                    span,
                ),
            }
        }
    }
}

/// Where a command in `find`'s expression ends: at `;`, or at a `+` right behind `{}`.
fn end_of_command(words: &[Field]) -> usize {
    let is_end = |at: usize, word: &Field| match word.literal() {
        Some(";") => true,
        Some("+") => {
            at.checked_sub(1).and_then(|before| words.get(before)).is_some_and(|it| it.may_be("{}"))
        }
        _ => false,
    };
    let end = words.iter().enumerate().position(|(at, word)| is_end(at, word));
    end.unwrap_or(words.len())
}
