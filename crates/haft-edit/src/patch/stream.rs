//! Reading a patch in pieces, as a model writes it.

use super::builder::Builder;
use super::envelope::{self, Inside};
use super::error::{Fault, ParseError};
use super::unified::{self, At, GitHeader};
use super::{Patch, PatchLine};

/// Something a host can show while the patch is still being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A file was named.
    File {
        /// Its path.
        path: String,
        /// What is to be done to it.
        action: Action,
    },
    /// The file is to be moved.
    MoveTo {
        /// Where it goes.
        path: String,
    },
    /// A chunk began.
    Chunk {
        /// The line of the patch, from one.
        patch_line: usize,
    },
    /// A line of the chunk, or of the new file. Empty context lines that stood without their space are not told.
    Line(PatchLine),
}

/// What is done to a file, before all of it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is created.
    Add,
    /// It is removed.
    Delete,
    /// It is changed or moved.
    Update,
}

/// Reads a patch piece by piece. However it is cut, the result is that of [`parse`](super::parse).
#[derive(Clone, Debug, Default)]
pub struct Parser {
    builder: Builder,
    /// The last line, as far as it has come.
    partial: String,
    state: State,
    wrapper: Wrapper,
    line_ends: LineEnds,
    failed: Option<ParseError>,
}

#[derive(Clone, Debug, Default)]
enum State {
    /// Nothing of the patch was seen yet.
    #[default]
    Outside,
    /// A line that may be the first name of a unified diff.
    MaybeName(String),
    Envelope(Inside),
    Unified(At),
    /// The wrapper around a unified diff was closed.
    Closed,
}

/// What stands around the patch.
#[derive(Clone, Debug, Default)]
struct Wrapper {
    fence: Option<String>,
    heredoc: Option<String>,
}

/// Whether the text of the patch itself, not that of the files, has `\r\n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LineEnds {
    #[default]
    Lf,
    CrLf,
}

impl Parser {
    /// A parser that has read nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes more of the text and tells what it completed.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong; every later call gives it again.
    pub fn push(&mut self, text: &str) -> Result<Vec<Event>, ParseError> {
        for piece in text.split_inclusive('\n') {
            self.partial.push_str(piece);
            if piece.ends_with('\n') {
                self.take_partial();
            }
        }
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => Ok(std::mem::take(&mut self.builder.events)),
        }
    }

    /// What has been read so far; the chunk that is still open is not in it.
    #[must_use]
    pub const fn so_far(&self) -> &Patch {
        &self.builder.patch
    }

    /// Ends the text and gives the whole patch.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, or that the patch is cut off.
    pub fn finish(mut self) -> Result<Patch, ParseError> {
        if !self.partial.is_empty() {
            self.take_partial();
        }
        if let Some(error) = self.failed {
            return Err(error);
        }
        let builder = &mut self.builder;
        match self.state {
            State::Outside | State::MaybeName(_) => return Err(builder.fail(Fault::NoPatch)),
            State::Envelope(Inside::Closed) | State::Closed => {}
            State::Envelope(_) => {
                let expected = "there is no `*** End Patch`".to_owned();
                return Err(builder.fail(Fault::CutOff { expected }));
            }
            State::Unified(at) => unified::finish(builder, at)?,
        }
        builder.finish()
    }

    fn take_partial(&mut self) {
        let whole = std::mem::take(&mut self.partial);
        self.builder.line += 1;
        if self.failed.is_some() {
            return;
        }
        let line = whole.strip_suffix('\n').unwrap_or(&whole);
        match self.take(line) {
            Ok(state) => self.state = state,
            Err(error) => self.failed = Some(error),
        }
    }

    fn take(&mut self, raw: &str) -> Result<State, ParseError> {
        let bare = raw.strip_suffix('\r').unwrap_or(raw);
        let line = if self.line_ends == LineEnds::CrLf { bare } else { raw };
        match std::mem::take(&mut self.state) {
            State::Outside => self.take_outside(raw, bare),
            State::MaybeName(old) => {
                if bare.starts_with("+++ ") {
                    let old = old.strip_prefix("--- ").unwrap_or(&old);
                    let at =
                        unified::both_names(&mut self.builder, GitHeader::default(), old, bare)?;
                    return Ok(State::Unified(at));
                }
                self.line_ends = LineEnds::Lf;
                self.take_outside(raw, bare)
            }
            State::Envelope(Inside::Closed) => self.take_after(
                raw,
                bare,
                &["*** ", "@@", "diff --git "],
                State::Envelope(Inside::Closed),
            ),
            State::Envelope(inside) => {
                envelope::take(&mut self.builder, inside, line).map(State::Envelope)
            }
            State::Unified(at) if self.wrapper.closes(bare) => {
                unified::close(&mut self.builder, at)?;
                Ok(State::Closed)
            }
            State::Unified(at) => unified::take(&mut self.builder, at, line).map(State::Unified),
            // A fence that is a part of a hunk must not hide the rest of it.
            State::Closed => self.take_after(
                raw,
                bare,
                &["*** ", "@@", "diff --git ", "+", "-", " "],
                State::Closed,
            ),
        }
    }

    /// Text before the patch: prose, a fence, a shell command with a heredoc.
    fn take_outside(&mut self, raw: &str, line: &str) -> Result<State, ParseError> {
        let starts = |ends: &mut LineEnds| {
            *ends = if raw.len() > line.len() { LineEnds::CrLf } else { LineEnds::Lf };
        };
        if line.trim() == "*** Begin Patch" {
            starts(&mut self.line_ends);
            return Ok(State::Envelope(Inside::Between));
        }
        if envelope::names_file(line) {
            starts(&mut self.line_ends);
            return envelope::take(&mut self.builder, Inside::Between, line).map(State::Envelope);
        }
        if let Some(at) = unified::git_line(line) {
            starts(&mut self.line_ends);
            return Ok(State::Unified(at));
        }
        if line.starts_with("--- ") {
            starts(&mut self.line_ends);
            return Ok(State::MaybeName(line.to_owned()));
        }
        if line.starts_with("@@") {
            return Err(self.builder.unexpected(line, "the name of the file first: `*** Update File: PATH`, or `--- a/PATH` and `+++ b/PATH`"));
        }
        self.wrapper.note(line).map_err(|fault| self.builder.fail(fault))?;
        Ok(State::Outside)
    }

    /// Text after the patch: the wrapper's end, prose, or another patch.
    fn take_after(
        &mut self,
        raw: &str,
        line: &str,
        lost: &[&str],
        state: State,
    ) -> Result<State, ParseError> {
        if line.trim() == "*** Begin Patch" {
            return self.take_outside(raw, line);
        }
        if lost.iter().any(|start| line.starts_with(start)) {
            return Err(self.builder.unexpected(line, "nothing more of the patch after its end"));
        }
        Ok(state)
    }
}

impl Wrapper {
    /// Remembers what a line before the patch opens.
    fn note(&mut self, line: &str) -> Result<(), Fault> {
        let line = line.trim();
        let fence: String = line.chars().take_while(|c| *c == '`' || *c == '~').collect();
        if fence.len() >= 3 {
            self.fence = Some(fence);
        } else if let Some((command, delimiter)) = line.split_once("<<") {
            if command.split_whitespace().any(|word| word == "cd" || word == "pushd") {
                return Err(Fault::Unsupported(
                    "the patch is wrapped in a command that changes the folder; send the patch alone, with paths from the workspace",
                ));
            }
            let word = delimiter
                .trim_start_matches('-')
                .trim_start()
                .split([' ', '\t', '|', '>', ';', '&'])
                .next();
            let word = word.unwrap_or_default().trim_matches(['\'', '"', '\\']);
            self.heredoc = (!word.is_empty()).then(|| word.to_owned());
        }
        Ok(())
    }

    /// Whether a line ends the wrapper.
    fn closes(&self, line: &str) -> bool {
        let heredoc = self.heredoc.as_deref().is_some_and(|delimiter| line.trim_end() == delimiter);
        let fence = self.fence.as_deref().is_some_and(|fence| {
            let line = line.trim_end();
            line.starts_with(fence) && line.chars().all(|c| fence.starts_with(c))
        });
        heredoc || fence
    }
}
