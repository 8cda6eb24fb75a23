//! The tree of a script: only what is understood as bash understands it.
//!
//! The reader is strict. Whatever it does not know, or knows bash to read in a surprising way, is a
//! [`Fault`], and a fault makes the script unproven. Nesting is bounded, so neither the reader nor
//! whoever walks the tree can run out of stack.

mod command;
mod compound;
mod cursor;
mod parameter;
mod quoting;
mod redirection;
mod word;

use std::cell::OnceCell;
use std::rc::Rc;

pub(crate) use command::parse;

/// A run of characters of the source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Why a script could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) reason: &'static str,
    pub(crate) at: usize,
}

/// Commands in sequence.
pub(crate) type List = Vec<AndOr>;

/// Pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub(crate) struct AndOr {
    pub(crate) first: Pipeline,
    pub(crate) rest: Vec<(Joint, Pipeline)>,
    /// Whether it ends in `&`.
    pub(crate) background: bool,
}

/// What stands between two pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joint {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Commands joined by `|`.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) negated: bool,
    pub(crate) commands: Vec<Command>,
}

/// A command with its redirections.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) kind: Kind,
    pub(crate) redirections: Vec<Redirection>,
    pub(crate) span: Span,
}

/// What a command is.
#[derive(Debug)]
pub(crate) enum Kind {
    Simple { assignments: Vec<Assignment>, words: Vec<Word> },
    Group(List),
    Subshell(List),
    If { arms: Vec<(List, List)>, otherwise: List },
    Loop { condition: List, body: List },
    For { name: String, words: Option<Vec<Word>>, body: List },
    CountedFor { steps: Vec<Vec<Piece>>, body: List },
    Case { word: Word, arms: Vec<Arm> },
    Condition(Vec<Word>),
    Arithmetic(Vec<Piece>),
    Function { name: String, body: Rc<Command> },
    Coprocess { name: String, body: Box<Command> },
}

/// One arm of a `case`.
#[derive(Debug)]
pub(crate) struct Arm {
    pub(crate) patterns: Vec<Word>,
    pub(crate) body: List,
}

/// `name=value`, `name+=value`, `name[subscript]=value`.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) subscript: Option<Vec<Piece>>,
    pub(crate) appends: bool,
    pub(crate) value: Word,
}

/// A word as it is written.
#[derive(Debug, Default)]
pub(crate) struct Word {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) span: Span,
}

/// A part of a word.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Characters that stand for themselves; unquoted ones may be wildcards or braces.
    Text { text: String, quoted: bool },
    /// `$x`, `${x…}`.
    Parameter { parameter: Box<Parameter>, quoted: bool },
    /// `$(…)` and backquotes.
    Substitution { list: List, quoted: bool },
    /// `$((…))`.
    Arithmetic(Vec<Self>),
    /// `<(…)`, `>(…)`.
    Process(List),
    /// `(…)` after `name=`.
    Array(Vec<Word>),
}

/// A parameter and what is done with its value.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) subscript: Option<Vec<Piece>>,
    pub(crate) change: Change,
    pub(crate) span: Span,
}

/// What is done with a parameter's value.
#[derive(Debug)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// `${#x}`
    Length,
    /// `${!x*}`, `${!x[@]}`
    Names,
    /// `${!x}`
    Indirect,
    /// `${x:-word}`, and with `-`, `+`, `?`.
    Default(Word),
    /// `${x:=word}`
    AssignDefault(Word),
    /// `${x#…}`, `${x/…/…}`, `${x^…}`: the words are patterns.
    Edit(Vec<Word>),
    /// `${x:offset:length}`
    Slice(Vec<Piece>),
    /// `${x@Q}`, by its letter.
    Transform(char),
}

/// A redirection.
#[derive(Debug)]
pub(crate) struct Redirection {
    pub(crate) kind: RedirectionKind,
    pub(crate) target: Word,
    /// The body of a here-document, once the reader has come to it.
    pub(crate) document: Option<Rc<OnceCell<Word>>>,
    /// The variable that gets its number: `{name}>file`.
    pub(crate) variable: Option<String>,
    pub(crate) span: Span,
}

/// What a redirection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectionKind {
    /// `<`
    Read,
    /// `>`, `>>`, `>|`, `&>`, `&>>`
    Write,
    /// `<>`
    ReadWrite,
    /// `<&`, `>&`
    Duplicate,
    /// `<<`, `<<<`: the target is the text.
    Text,
}

impl Word {
    /// Its text, if it is one unquoted run of characters: the only form of a reserved word.
    pub(crate) fn bare(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }
}
