//! What can be wrong with a patch, and with putting it on a file.

use std::fmt;

use thiserror::Error;

use crate::Miss;

/// Why a text is not a patch.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ParseError {
    /// The line of the patch, from one.
    pub line: usize,
    /// The file that was being read.
    pub file: Option<String>,
    /// The chunk of that file, from one.
    pub chunk: Option<usize>,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with the text of a patch.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// There is no patch in the text.
    #[error(
        "there is no patch here; begin with `*** Begin Patch`, or with `--- a/FILE` and `+++ b/FILE` of a unified diff"
    )]
    NoPatch,
    /// The patch names no file.
    #[error(
        "the patch names no file; write `*** Update File: PATH`, `*** Add File: PATH` or `*** Delete File: PATH`"
    )]
    NoFile,
    /// The text stops before the patch is whole.
    #[error("the patch is cut off: {expected}. Send all of it again; nothing was applied")]
    CutOff {
        /// What should have come.
        expected: String,
    },
    /// A line that cannot stand where it does.
    #[error("found `{found}`, but expected {expected}")]
    Unexpected {
        /// The start of the line.
        found: String,
        /// What could stand there.
        expected: &'static str,
    },
    /// A chunk that changes nothing.
    #[error(
        "this chunk has no line that begins with `+` or `-`, so it changes nothing; leave it out or add the change"
    )]
    NothingChanges,
    /// An update without chunks.
    #[error(
        "there is nothing to change in this file; write at least one chunk with `-` or `+` lines, or `*** Move to: PATH`"
    )]
    EmptyUpdate,
    /// A file for which two different things are asked.
    #[error("{path} was already named on line {first}, {why}")]
    Twice {
        /// The path.
        path: String,
        /// The line of the patch that named it before.
        first: usize,
        /// Why both cannot be.
        why: &'static str,
    },
    /// Something that exists, but is not taken.
    #[error("{0}")]
    Unsupported(&'static str),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the patch", self.line)?;
        match (&self.file, self.chunk) {
            (Some(file), Some(chunk)) => write!(f, " ({}, chunk {chunk})", excerpt(file))?,
            (Some(file), None) => write!(f, " ({})", excerpt(file))?,
            (None, _) => {}
        }
        write!(f, ": {}", self.fault)
    }
}

/// Why a chunk cannot be put on a file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct PatchError {
    /// The file.
    pub file: String,
    /// The chunk of that file, from one.
    pub chunk: usize,
    /// The line of the patch, from one, where the chunk starts.
    pub patch_line: usize,
    /// What is wrong.
    pub trouble: Trouble,
}

/// What keeps a chunk from being applied.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Trouble {
    /// Its lines were not found, or not at one place only.
    #[error("{}", in_words_of_a_patch(.0))]
    Miss(Miss),
    /// Its lines stand at several places.
    #[error("its lines stand at {count} places, lines {}; {advice}", list(.lines))]
    Several {
        /// How many there are.
        count: usize,
        /// The first few, from one.
        lines: Vec<usize>,
        /// What settles it.
        advice: &'static str,
    },
    /// No line of the file is what follows `@@`.
    #[error("no line `{header}` was found{}; copy a whole line of the file after `@@`, or add lines around the change",
        if *.nested { " below the `@@` line before it" } else { "" })]
    NoHeader {
        /// The text after `@@`.
        header: String,
        /// Whether it was looked for under another one.
        nested: bool,
    },
    /// Its lines were only found inside of a line.
    #[error(
        "its lines are only a part of line {line}; a patch is made of whole lines, so copy that line as it is"
    )]
    PartOfLine {
        /// That line, from one.
        line: usize,
    },
    /// Lines to add, and nothing that says where.
    #[error(
        "it only adds lines and nothing says where; add the lines before or after as context, an `@@` line, or `*** End of File`"
    )]
    Nowhere,
    /// Its lines stand somewhere, but not at the end of the file.
    #[error(
        "it says that it reaches the end of the file, but its lines do not stand there; read the end of the file again"
    )]
    NotAtEnd,
    /// It changes what another chunk changes.
    #[error(
        "it changes the same lines as chunk {other} (lines {first} to {last}); make one chunk of both"
    )]
    Overlap {
        /// The other chunk, from one.
        other: usize,
        /// The first line of both, from one.
        first: usize,
        /// The last line of both.
        last: usize,
    },
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, chunk, patch_line, trouble } = self;
        write!(f, "{}, chunk {chunk} (line {patch_line} of the patch): {trouble}", excerpt(file))
    }
}

/// The start of a text, for a message.
pub(super) fn excerpt(text: &str) -> String {
    const MOST: usize = 120;
    match text.char_indices().nth(MOST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// A miss speaks of the strings of an edit; a patch has chunks instead. Only the first line is ours, the rest may quote
/// the file.
fn in_words_of_a_patch(miss: &Miss) -> String {
    let text = miss.to_string();
    let (first, rest) = text.split_at(text.find('\n').unwrap_or(text.len()));
    let first = first
        .replace("old_string", "the chunk's old text (its ` ` and `-` lines)")
        .replace("new_string", "the chunk's new text (its ` ` and `+` lines)");
    format!("{first}{rest}")
}

fn list(lines: &[usize]) -> String {
    let numbers: Vec<String> = lines.iter().map(usize::to_string).collect();
    numbers.join(", ")
}
