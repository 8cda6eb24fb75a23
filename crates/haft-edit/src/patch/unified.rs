//! The lines of a unified diff, with what git writes above it.

use super::Kind;
use super::builder::Builder;
use super::envelope::{header_text, signed};
use super::error::{Fault, ParseError};
use super::names::{self, Name};
use crate::diff::Role;

/// Where in a unified diff we are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// Below `diff --git`, before the names.
    GitHeader(GitHeader),
    /// Below `--- NAME`.
    OldName(GitHeader, String),
    /// Below the names, or between hunks.
    Hunks,
    /// In a hunk that still wants lines.
    Hunk(Left),
    /// In a hunk whose lines are all there, or were not counted.
    Open(Counted),
    /// In such a hunk, below a line that may be `--- NAME` or a removed line.
    Held(Counted, String),
    /// Below text that belongs to no hunk.
    Prose,
}

/// How many lines a hunk still wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    old: usize,
    new: usize,
}

/// Whether the header of a hunk said how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    Yes,
    No,
}

/// What git says above a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GitHeader {
    path: Option<String>,
    is_new: bool,
    is_deleted: bool,
    mode: Option<u32>,
    from: Option<String>,
    to: Option<String>,
}

/// The numbers of `@@ -a,b +c,d @@`.
pub(super) struct HunkHeader {
    pub(super) old_start: usize,
    left: Left,
}

const NEW_NAME: &str = "`+++ NAME` after `--- NAME`";
const HUNK: &str = "a hunk, which begins with `@@ -FIRST,COUNT +FIRST,COUNT @@`";
const LINE: &str = "a line of the hunk, which begins with a space, `-` or `+`; the hunk's header promises more of them";

/// Reads `@@ -a,b +c,d @@`.
pub(super) fn hunk_header(line: &str) -> Option<HunkHeader> {
    let rest = line.strip_prefix("@@ -")?;
    let (numbers, _) = rest.split_once(" @@")?;
    let (old, new) = numbers.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        match text.split_once(',') {
            Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let ((old_start, old_count), (_, new_count)) = (range(old)?, range(new)?);
    Some(HunkHeader { old_start, left: Left { old: old_count, new: new_count } })
}

/// Starts at a line that only a unified diff has: `diff --git`.
pub(super) fn git_line(line: &str) -> Option<At> {
    let rest = line.strip_prefix("diff --git ")?;
    Some(At::GitHeader(GitHeader { path: names::of_git_line(rest), ..GitHeader::default() }))
}

/// Starts at `--- NAME`, once `+++ NAME` was seen below it.
pub(super) fn both_names(
    builder: &mut Builder,
    header: GitHeader,
    old: &str,
    new: &str,
) -> Result<At, ParseError> {
    let new = new.strip_prefix("+++ ").ok_or_else(|| builder.unexpected(new, NEW_NAME))?;
    if let (Some(_), Some(_)) = (&header.from, &header.to) {
        begin_without_names(builder, header)?;
        return Ok(At::Hunks);
    }
    let update = Kind::Update { move_to: None, chunks: Vec::new() };
    let (path, kind) = match (names::name(old), names::name(new)) {
        (Name::Nothing, Name::Path(path)) => {
            (names::alone(&path), Kind::Add { content: String::new() })
        }
        (Name::Path(path), Name::Nothing) => (names::alone(&path), Kind::Delete),
        (Name::Path(old), Name::Path(new)) => match names::common(&old, &new) {
            Some(path) => (path, update),
            None => {
                return Err(builder.unexpected(
                    &format!("{old} and {new}"),
                    "the same file after `---` and `+++`; to move a file, use `rename from` and `rename to`",
                ));
            }
        },
        (Name::Nothing, Name::Nothing) => {
            return Err(builder.unexpected("/dev/null", "the name of a file"));
        }
    };
    builder.begin_file(&path, kind)?;
    if let Some(mode) = header.mode {
        builder.set_mode(mode);
    }
    Ok(At::Hunks)
}

/// Takes one line and says where we are then.
pub(super) fn take(builder: &mut Builder, at: At, line: &str) -> Result<At, ParseError> {
    match at {
        At::GitHeader(header) => take_git_header(builder, header, line),
        At::OldName(header, old) => both_names(builder, header, &old, line),
        At::Hunks => take_between(builder, line),
        At::Hunk(left) => take_counted(builder, left, line),
        At::Open(counted) => take_open(builder, counted, line),
        At::Held(counted, held) => take_held(builder, counted, &held, line),
        At::Prose => take_prose(builder, line),
    }
}

/// What is missing when the text ends here.
pub(super) fn finish(builder: &mut Builder, at: At) -> Result<(), ParseError> {
    match at {
        At::GitHeader(header) => begin_without_names(builder, header),
        At::OldName(..) => {
            Err(builder.fail(Fault::CutOff { expected: format!("there is no {NEW_NAME}") }))
        }
        At::Hunk(Left { old, new }) => {
            let expected =
                format!("the last hunk's header promises {old} more old and {new} more new lines");
            Err(builder.fail(Fault::CutOff { expected }))
        }
        At::Held(_, held) => {
            let (role, text) = signed(&held);
            builder.body(role, text)
        }
        At::Hunks | At::Open(_) | At::Prose => Ok(()),
    }
}

/// The same when the wrapper around the patch was closed, so that nothing can be missing.
pub(super) fn close(builder: &mut Builder, at: At) -> Result<(), ParseError> {
    match at {
        At::Hunk(_) => {}
        at => finish(builder, at)?,
    }
    builder.end_file()
}

fn take_git_header(
    builder: &mut Builder,
    mut header: GitHeader,
    line: &str,
) -> Result<At, ParseError> {
    if let Some(old) = line.strip_prefix("--- ") {
        return Ok(At::OldName(header, old.to_owned()));
    }
    let field = |name: &str| line.strip_prefix(name);
    if let Some(mode) = field("new file mode ") {
        header.is_new = true;
        header.mode = Some(file_mode(builder, mode)?);
    } else if let Some(mode) = field("deleted file mode ") {
        header.is_deleted = true;
        file_mode(builder, mode)?;
    } else if let Some(mode) = field("new mode ") {
        header.mode = Some(file_mode(builder, mode)?);
    } else if let Some(path) = field("rename from ") {
        header.from = Some(names::whole(path));
    } else if let Some(path) = field("rename to ") {
        header.to = Some(names::whole(path));
    } else if line.starts_with("copy ") {
        return Err(builder.fail(Fault::Unsupported(
            "a patch cannot copy a file here; add the new file with its text",
        )));
    } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
        return Err(builder
            .fail(Fault::Unsupported("binary patches are not taken; only text can be patched")));
    } else if !["old mode ", "index ", "similarity ", "dissimilarity "]
        .iter()
        .any(|name| line.starts_with(name))
    {
        begin_without_names(builder, header)?;
        return take_prose(builder, line);
    }
    Ok(At::GitHeader(header))
}

/// A file without hunks: moved, emptily new, emptily deleted, or with another mode.
fn begin_without_names(builder: &mut Builder, header: GitHeader) -> Result<(), ParseError> {
    let GitHeader { path, is_new, is_deleted, mode, from, to } = header;
    let (path, move_to) = match (from, to) {
        (Some(from), Some(to)) => (from, Some(to)),
        _ => match path {
            Some(path) => (path, None),
            None => {
                return Err(builder.unexpected(
                    "diff --git",
                    "the same file after `a/` and `b/`, or `rename from`",
                ));
            }
        },
    };
    let kind = match (is_new, is_deleted) {
        (true, _) => Kind::Add { content: String::new() },
        (_, true) => Kind::Delete,
        _ => Kind::Update { move_to: None, chunks: Vec::new() },
    };
    builder.begin_file(&path, kind)?;
    if let Some(mode) = mode {
        builder.set_mode(mode);
    }
    move_to.map_or(Ok(()), |to| builder.move_to(&to))
}

fn file_mode(builder: &Builder, written: &str) -> Result<u32, ParseError> {
    match u32::from_str_radix(written.trim(), 8) {
        Ok(mode) if mode & 0o170_000 == 0o100_000 => Ok(mode & 0o777),
        Ok(_) => Err(builder.fail(Fault::Unsupported(
            "links and submodules cannot be patched; only plain files can",
        ))),
        Err(_) => Err(builder.unexpected(written, "a file mode such as 100644")),
    }
}

fn take_between(builder: &mut Builder, line: &str) -> Result<At, ParseError> {
    if line.starts_with("@@") { take_header(builder, line) } else { take_prose(builder, line) }
}

fn take_header(builder: &mut Builder, line: &str) -> Result<At, ParseError> {
    match hunk_header(line) {
        Some(HunkHeader { old_start, left }) => {
            builder.begin_chunk(None, Some(old_start))?;
            Ok(after_counting(left))
        }
        None => {
            builder.begin_chunk(header_text(line.strip_prefix("@@").unwrap_or_default()), None)?;
            Ok(At::Open(Counted::No))
        }
    }
}

/// Goes on to another hunk or file, if this line starts one.
fn take_start(builder: &mut Builder, line: &str) -> Option<Result<At, ParseError>> {
    if line.starts_with("@@") {
        Some(take_header(builder, line))
    } else {
        let at = git_line(line)?;
        Some(builder.end_file().map(|()| at))
    }
}

fn take_counted(builder: &mut Builder, left: Left, line: &str) -> Result<At, ParseError> {
    if let Some(next) = take_start(builder, line) {
        return next; // The count was wrong, but the hunk is whole: something follows it.
    }
    if line.starts_with('\\') {
        builder.no_newline();
        return Ok(At::Hunk(left));
    }
    let (role, text) = signed(line);
    if role == Role::Context && (left.old == 0 || left.new == 0) && !line.starts_with(' ') {
        return Err(builder.unexpected(line, LINE));
    }
    builder.body(role, text)?;
    Ok(after_counting(Left {
        old: left.old.saturating_sub(usize::from(role != Role::Added)),
        new: left.new.saturating_sub(usize::from(role != Role::Removed)),
    }))
}

const fn after_counting(left: Left) -> At {
    if left.old == 0 && left.new == 0 { At::Open(Counted::Yes) } else { At::Hunk(left) }
}

fn take_open(builder: &mut Builder, counted: Counted, line: &str) -> Result<At, ParseError> {
    if let Some(next) = take_start(builder, line) {
        return next;
    }
    // The line under which a mail program puts a signature; git writes one.
    if counted == Counted::Yes && line.trim_end() == "--" {
        return builder.end_file().map(|()| At::Prose);
    }
    if line.starts_with("--- ") {
        return Ok(At::Held(counted, line.to_owned()));
    }
    if line.starts_with('\\') {
        builder.no_newline();
    } else if line.is_empty() {
        builder.blank();
    } else if counted == Counted::No || line.starts_with([' ', '+', '-']) {
        let (role, text) = signed(line);
        builder.body(role, text)?;
    } else {
        builder.end_file()?;
        return take_prose(builder, line);
    }
    Ok(At::Open(counted))
}

fn take_held(
    builder: &mut Builder,
    counted: Counted,
    held: &str,
    line: &str,
) -> Result<At, ParseError> {
    if line.starts_with("+++ ") {
        builder.end_file()?;
        return both_names(
            builder,
            GitHeader::default(),
            held.strip_prefix("--- ").unwrap_or(held),
            line,
        );
    }
    let (role, text) = signed(held);
    builder.body(role, text)?;
    take_open(builder, counted, line)
}

/// Text between files says nothing, unless it looks like a part of a patch that lost its place.
fn take_prose(builder: &mut Builder, line: &str) -> Result<At, ParseError> {
    if let Some(at) = git_line(line) {
        return builder.end_file().map(|()| at);
    }
    match line.strip_prefix("--- ") {
        Some(old) => Ok(At::OldName(GitHeader::default(), old.to_owned())),
        None if line.starts_with("@@") || line.starts_with(['+', '-']) => {
            Err(builder.unexpected(line, HUNK))
        }
        None => Ok(At::Prose),
    }
}
