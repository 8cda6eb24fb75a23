//! The lines of an envelope: `*** Begin Patch` and what follows it.

use super::Kind;
use super::builder::Builder;
use super::error::ParseError;
use super::unified::hunk_header;
use crate::diff::{NO_NEWLINE, Role};

/// What may follow inside an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// The name of a file.
    Between,
    /// Lines of a new file.
    Adding,
    /// Chunks of a changed file.
    Updating,
    /// Nothing: the envelope was closed.
    Closed,
}

const BETWEEN: &str =
    "`*** Add File: PATH`, `*** Update File: PATH`, `*** Delete File: PATH` or `*** End Patch`";
const MARKER: &str = "a line of a chunk (beginning with a space, `-` or `+`), `@@`, or one of `*** Add File:`, \
                      `*** Update File:`, `*** Delete File:`, `*** Move to:`, `*** End of File`, `*** End Patch`";
const ADDING: &str = "a line of the new file, which begins with `+`";

/// Whether a line names a file in an envelope.
pub(super) fn names_file(line: &str) -> bool {
    matches!(marker(line), Some(Marker::Add(_) | Marker::Update(_) | Marker::Delete(_)))
}

/// Takes one line and says what may follow it.
pub(super) fn take(
    builder: &mut Builder,
    inside: Inside,
    line: &str,
) -> Result<Inside, ParseError> {
    if line.starts_with("***") {
        return match marker(line) {
            Some(marker) => take_marker(builder, inside, marker, line),
            None => {
                Err(builder
                    .unexpected(line, if inside == Inside::Between { BETWEEN } else { MARKER }))
            }
        };
    }
    match inside {
        Inside::Between | Inside::Closed if line.trim().is_empty() => Ok(inside),
        Inside::Between | Inside::Closed => Err(builder.unexpected(line, BETWEEN)),
        Inside::Adding => take_added(builder, line),
        Inside::Updating => take_chunk_line(builder, line),
    }
}

enum Marker<'a> {
    Add(&'a str),
    Update(&'a str),
    Delete(&'a str),
    MoveTo(&'a str),
    EndOfFile,
    EndPatch,
    BeginPatch,
}

fn marker(line: &str) -> Option<Marker<'_>> {
    let rest = line.strip_prefix("*** ")?.trim_end();
    let after = |name: &str| {
        let (head, tail) = rest.split_at_checked(name.len())?;
        head.eq_ignore_ascii_case(name).then(|| tail.trim())
    };
    if let Some(path) = after("Add File:") {
        Some(Marker::Add(path))
    } else if let Some(path) = after("Update File:") {
        Some(Marker::Update(path))
    } else if let Some(path) = after("Delete File:") {
        Some(Marker::Delete(path))
    } else if let Some(path) = after("Move to:") {
        Some(Marker::MoveTo(path))
    } else if rest.eq_ignore_ascii_case("End of File") {
        Some(Marker::EndOfFile)
    } else if rest.eq_ignore_ascii_case("End Patch") {
        Some(Marker::EndPatch)
    } else if rest.eq_ignore_ascii_case("Begin Patch") {
        Some(Marker::BeginPatch)
    } else {
        None
    }
}

fn take_marker(
    builder: &mut Builder,
    inside: Inside,
    marker: Marker<'_>,
    line: &str,
) -> Result<Inside, ParseError> {
    match marker {
        Marker::Add(path) => {
            builder.begin_file(path, Kind::Add { content: String::new() })?;
            Ok(Inside::Adding)
        }
        Marker::Update(path) => {
            builder.begin_file(path, Kind::Update { move_to: None, chunks: Vec::new() })?;
            Ok(Inside::Updating)
        }
        Marker::Delete(path) => {
            builder.begin_file(path, Kind::Delete)?;
            Ok(Inside::Between)
        }
        Marker::MoveTo(path) if inside == Inside::Updating => {
            builder.move_to(path)?;
            Ok(inside)
        }
        Marker::EndOfFile if inside == Inside::Updating => {
            builder.at_end()?;
            Ok(inside)
        }
        // A new file ends where its lines end; saying so changes nothing.
        Marker::EndOfFile if inside == Inside::Adding => Ok(Inside::Between),
        Marker::EndPatch => {
            builder.end_file()?;
            Ok(Inside::Closed)
        }
        Marker::BeginPatch | Marker::MoveTo(_) | Marker::EndOfFile => {
            Err(builder.unexpected(line, BETWEEN))
        }
    }
}

fn take_added(builder: &mut Builder, line: &str) -> Result<Inside, ParseError> {
    match line.strip_prefix('+') {
        Some(text) => builder.body(Role::Added, text)?,
        None if line.trim().is_empty() => builder.blank(),
        None if line == NO_NEWLINE => builder.no_newline(),
        None => return Err(builder.unexpected(line, ADDING)),
    }
    Ok(Inside::Adding)
}

fn take_chunk_line(builder: &mut Builder, line: &str) -> Result<Inside, ParseError> {
    if let Some(header) = line.strip_prefix("@@") {
        match hunk_header(line) {
            Some(hunk) => builder.begin_chunk(None, Some(hunk.old_start))?,
            None => builder.begin_chunk(header_text(header), None)?,
        }
    } else if line == NO_NEWLINE {
        builder.no_newline();
    } else if line.is_empty() {
        // Before the first chunk an empty line is only air; inside one it lost its space.
        if builder.has_chunk() {
            builder.blank();
        }
    } else {
        let (role, text) = signed(line);
        builder.body(role, text)?;
    }
    Ok(Inside::Updating)
}

/// The text after `@@`, without an `@@` that closes it.
pub(super) fn header_text(after: &str) -> Option<&str> {
    let text = after.trim_end();
    let text = text.strip_suffix("@@").unwrap_or(text).trim_end();
    let text = text.strip_prefix(' ').unwrap_or(text);
    (!text.trim().is_empty()).then_some(text)
}

/// What a line of a chunk is; one that begins with nothing known is context that lost its space.
pub(super) fn signed(line: &str) -> (Role, &str) {
    if let Some(text) = line.strip_prefix('+') {
        (Role::Added, text)
    } else if let Some(text) = line.strip_prefix('-') {
        (Role::Removed, text)
    } else {
        (Role::Context, line.strip_prefix(' ').unwrap_or(line))
    }
}
