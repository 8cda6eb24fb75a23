//! The patch that has been read so far.

use std::collections::HashMap;

use super::error::{Fault, ParseError, excerpt};
use super::stream::{Action, Event};
use super::{Chunk, FilePatch, Kind, Patch, PatchLine};
use crate::diff::Role;

/// Collects files, chunks and lines, and refuses what does not fit together.
#[derive(Clone, Debug, Default)]
pub(super) struct Builder {
    pub(super) patch: Patch,
    /// Where each file stands in the patch.
    by_path: HashMap<String, usize>,
    /// The file being read.
    current: Option<usize>,
    /// The chunk being read.
    chunk: Option<Chunk>,
    /// Empty lines that are context only if more of the chunk follows.
    blanks: usize,
    pub(super) events: Vec<Event>,
    /// The line of the patch being read, from one.
    pub(super) line: usize,
}

impl Builder {
    pub(super) fn fail(&self, fault: Fault) -> ParseError {
        let file = self.current.and_then(|index| self.patch.files.get(index));
        let done = match file.map(|file| &file.kind) {
            Some(Kind::Update { chunks, .. }) => chunks.len(),
            _ => 0,
        };
        ParseError {
            line: self.line,
            file: file.map(|file| excerpt(&file.path)),
            chunk: self.chunk.as_ref().map(|_| done + 1),
            fault,
        }
    }

    pub(super) fn unexpected(&self, found: &str, expected: &'static str) -> ParseError {
        self.fail(Fault::Unexpected { found: excerpt(found), expected })
    }

    /// Ends the file before this one and starts another, or goes on with one that was named before.
    pub(super) fn begin_file(&mut self, path: &str, kind: Kind) -> Result<(), ParseError> {
        self.end_file()?;
        if path.is_empty() {
            return Err(self.unexpected("", "the path of a file"));
        }
        let action = match kind {
            Kind::Add { .. } => Action::Add,
            Kind::Delete => Action::Delete,
            Kind::Update { .. } => Action::Update,
        };
        match self.by_path.get(&plain(path)).copied() {
            None => {
                self.by_path.insert(plain(path), self.patch.files.len());
                let path = path.to_owned();
                self.patch.files.push(FilePatch { path, kind, mode: None, patch_line: self.line });
                self.current = Some(self.patch.files.len() - 1);
            }
            Some(index) => self.resume(index, &kind)?,
        }
        self.events.push(Event::File { path: path.to_owned(), action });
        Ok(())
    }

    /// The same file again: more chunks are welcome, anything else contradicts what was said.
    fn resume(&mut self, index: usize, kind: &Kind) -> Result<(), ParseError> {
        let Some(file) = self.patch.files.get(index) else { return Ok(()) };
        let why = match (&file.kind, kind) {
            (Kind::Update { .. }, Kind::Update { .. }) => {
                self.current = Some(index);
                return Ok(());
            }
            (Kind::Add { .. }, Kind::Update { .. }) => {
                "as a new file; write its final text there instead of updating it"
            }
            (Kind::Delete, Kind::Add { .. }) | (Kind::Add { .. }, Kind::Delete) => {
                "and a file cannot be both added and deleted; use `*** Update File:` to replace its text"
            }
            _ => "with something else to be done; name each file once",
        };
        let fault = Fault::Twice { path: excerpt(&file.path), first: file.patch_line, why };
        self.current = None;
        Err(self.fail(fault))
    }

    pub(super) fn move_to(&mut self, path: &str) -> Result<(), ParseError> {
        if path.is_empty() {
            return Err(self.unexpected("", "the path to move the file to"));
        }
        let first = self.file().map_or(0, |file| file.patch_line);
        let has_chunk = self.chunk.is_some();
        match self.file().map(|file| &mut file.kind) {
            Some(Kind::Update { move_to, .. }) if !has_chunk => match move_to {
                Some(other) if plain(other) != plain(path) => {
                    let path = excerpt(other);
                    let why = "as the place this file moves to; it can move to one place only";
                    return Err(self.fail(Fault::Twice { path, first, why }));
                }
                Some(_) => {}
                None => *move_to = Some(path.to_owned()),
            },
            _ => {
                let found = format!("*** Move to: {path}");
                return Err(
                    self.unexpected(&found, "`*** Move to:` directly after `*** Update File:`")
                );
            }
        }
        self.events.push(Event::MoveTo { path: path.to_owned() });
        Ok(())
    }

    pub(super) fn set_mode(&mut self, mode: u32) {
        if let Some(file) = self.file() {
            file.mode = Some(mode);
        }
    }

    /// Ends the chunk before this one and starts another.
    pub(super) fn begin_chunk(
        &mut self,
        header: Option<&str>,
        hint_line: Option<usize>,
    ) -> Result<(), ParseError> {
        // A new or deleted file has lines, but no place to look for.
        if !matches!(self.file().map(|file| &file.kind), Some(Kind::Update { .. })) {
            return Ok(());
        }
        // Lines of `@@` that follow each other lead into one chunk, from outer to inner.
        if let Some(open) =
            self.chunk.as_mut().filter(|open| open.lines.is_empty() && hint_line.is_none())
        {
            open.headers.extend(header.map(str::to_owned));
            self.blanks = 0;
            return Ok(());
        }
        self.end_chunk()?;
        let headers = header.map(str::to_owned).into_iter().collect();
        self.chunk = Some(Chunk { headers, hint_line, patch_line: self.line, ..Chunk::default() });
        self.events.push(Event::Chunk { patch_line: self.line });
        Ok(())
    }

    pub(super) const fn has_chunk(&self) -> bool {
        self.chunk.is_some()
    }

    pub(super) fn blank(&mut self) {
        self.blanks += 1;
    }

    /// Adds a line to what is being read.
    pub(super) fn body(&mut self, role: Role, text: &str) -> Result<(), ParseError> {
        let blanks = std::mem::take(&mut self.blanks);
        match self.file().map(|file| &mut file.kind) {
            Some(Kind::Add { content }) if role == Role::Added => {
                content.push_str(&"\n".repeat(blanks));
                content.push_str(text);
                content.push('\n');
            }
            Some(Kind::Add { .. }) => {
                return Err(self.unexpected(text, "a line of the new file, which begins with `+`"));
            }
            // What is deleted is not compared: the file goes as a whole.
            Some(Kind::Delete) if role == Role::Removed => {}
            Some(Kind::Delete) => {
                return Err(self
                    .unexpected(text, "only lines that begin with `-` in a file that is deleted"));
            }
            Some(Kind::Update { .. }) => {
                let line = self.line.saturating_sub(blanks);
                let chunk = self
                    .chunk
                    .get_or_insert_with(|| Chunk { patch_line: line, ..Chunk::default() });
                if chunk.lines.is_empty() && chunk.patch_line == line && chunk.headers.is_empty() {
                    self.events.push(Event::Chunk { patch_line: line });
                }
                let empty = PatchLine { role: Role::Context, text: String::new() };
                chunk.lines.extend(std::iter::repeat_n(empty, blanks));
                chunk.lines.push(PatchLine { role, text: text.to_owned() });
            }
            None => return Err(self.unexpected(text, "the name of a file first")),
        }
        self.events.push(Event::Line(PatchLine { role, text: text.to_owned() }));
        Ok(())
    }

    /// `\ No newline at end of file`: the line before it ends bare.
    pub(super) fn no_newline(&mut self) {
        if let Some(chunk) = &mut self.chunk
            && let Some(last) = chunk.lines.last()
        {
            chunk.no_newline.old |= last.role != Role::Added;
            chunk.no_newline.new |= last.role != Role::Removed;
        } else if let Some(Kind::Add { content }) = self.file().map(|file| &mut file.kind)
            && content.ends_with('\n')
        {
            content.pop();
        }
    }

    pub(super) fn at_end(&mut self) -> Result<(), ParseError> {
        match &mut self.chunk {
            Some(chunk) => {
                chunk.at_end = true;
                self.end_chunk()
            }
            None => Err(self.unexpected("*** End of File", "the lines of a chunk before it")),
        }
    }

    pub(super) fn end_chunk(&mut self) -> Result<(), ParseError> {
        self.blanks = 0;
        let Some(chunk) = &self.chunk else { return Ok(()) };
        if chunk.lines.iter().all(|line| line.role == Role::Context) {
            return Err(self.fail(Fault::NothingChanges));
        }
        let chunk = self.chunk.take().unwrap_or_default();
        if let Some(Kind::Update { chunks, .. }) = self.file().map(|file| &mut file.kind) {
            chunks.push(chunk);
        }
        Ok(())
    }

    pub(super) fn end_file(&mut self) -> Result<(), ParseError> {
        self.end_chunk()?;
        let empty = self.file().is_some_and(|file| {
            file.mode.is_none()
                && matches!(&file.kind, Kind::Update { move_to: None, chunks } if chunks.is_empty())
        });
        if empty {
            return Err(self.fail(Fault::EmptyUpdate));
        }
        self.current = None;
        Ok(())
    }

    /// The whole patch, if its files do not end up in each other's place.
    pub(super) fn finish(&mut self) -> Result<Patch, ParseError> {
        self.end_file()?;
        if self.patch.files.is_empty() {
            return Err(self.fail(Fault::NoFile));
        }
        let mut results: HashMap<String, usize> = HashMap::new();
        for file in &self.patch.files {
            let result = match &file.kind {
                Kind::Delete => continue,
                Kind::Update { move_to: Some(target), .. } => target,
                Kind::Add { .. } | Kind::Update { .. } => &file.path,
            };
            if let Some(first) = results.insert(plain(result), file.patch_line) {
                let why =
                    "and two files cannot end up in the same place; choose another path for one";
                let fault = Fault::Twice { path: excerpt(result), first, why };
                return Err(ParseError { line: file.patch_line, file: None, chunk: None, fault });
            }
        }
        Ok(std::mem::take(&mut self.patch))
    }

    fn file(&mut self) -> Option<&mut FilePatch> {
        self.patch.files.get_mut(self.current?)
    }
}

/// A path without parts that say nothing, to see whether two are the same.
fn plain(path: &str) -> String {
    let parts: Vec<&str> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    format!("{}{}", if path.starts_with('/') { "/" } else { "" }, parts.join("/"))
}
