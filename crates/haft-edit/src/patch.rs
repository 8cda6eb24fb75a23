//! Patches: what a model writes to change several files at once, read whole or while it is being written.
//!
//! Two formats are taken: the envelope (`*** Begin Patch`) and the unified diff, either of them also inside a Markdown
//! fence or a shell heredoc. [`parse`] and [`Parser`] read them, [`apply_chunks`] finds where the chunks of one file go.

mod builder;
mod envelope;
mod error;
mod names;
mod place;
mod stream;
mod unified;
mod write;

pub use error::{Fault, ParseError, PatchError, Trouble};
pub use place::apply_chunks;
pub use stream::{Action, Event, Parser};
pub use write::write_patch;

use crate::diff::Role;

/// A whole patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The files in the order in which they were first named; none is named twice.
    pub files: Vec<FilePatch>,
}

/// What becomes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch {
    /// The path as it was written, without the `a/` and `b/` of a unified diff.
    pub path: String,
    /// What is done.
    pub kind: Kind,
    /// The file mode, if a unified diff sets one.
    pub mode: Option<u32>,
    /// The line of the patch, from one, that names the file.
    pub patch_line: usize,
}

/// What is done to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is created.
    Add {
        /// All of its text.
        content: String,
    },
    /// It is removed.
    Delete,
    /// It is changed, moved, or both. Without chunks it is only moved, or its mode is set.
    Update {
        /// Where it goes; this may be where it is.
        move_to: Option<String>,
        /// The changes, in the order of the patch.
        chunks: Vec<Chunk>,
    },
}

/// One change to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// The texts after `@@`, from outer to inner: lines that stand somewhere above the change.
    pub headers: Vec<String>,
    /// The lines.
    pub lines: Vec<PatchLine>,
    /// Whether the chunk claims to reach the end of the file.
    pub at_end: bool,
    /// Which sides were said to end without a line end.
    pub no_newline: NoNewline,
    /// The first line of the old text, from one, as a unified diff has it.
    pub hint_line: Option<usize>,
    /// The line of the patch, from one, where the chunk starts.
    pub patch_line: usize,
}

/// One line of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchLine {
    /// What the line is.
    pub role: Role,
    /// Its text without line end; a `\r` that the patch has is kept.
    pub text: String,
}

/// Which sides of a chunk end without a line end, by `\ No newline at end of file`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoNewline {
    /// The old text does.
    pub old: bool,
    /// The new text does.
    pub new: bool,
}

impl NoNewline {
    /// Whether anything was said about the end of the file.
    #[must_use]
    pub const fn is_said(self) -> bool {
        self.old || self.new
    }
}

/// Reads a whole patch.
///
/// # Errors
///
/// What is wrong with the text, with the line of the patch, the file and the chunk.
pub fn parse(text: &str) -> Result<Patch, ParseError> {
    let mut parser = Parser::new();
    parser.push(text)?;
    parser.finish()
}
