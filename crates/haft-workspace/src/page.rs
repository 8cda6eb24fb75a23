//! A window of lines out of a file of any size, in one pass and little memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use self::units::{Breaks, Counter};
use crate::text::{Encoding, LineEnds};
use crate::write::Hash;

mod units;

/// Large enough that the calls cost nothing, small enough to stay in the cache of one core; a
/// multiple of every code unit, so that no unit is ever cut.
const CHUNK: usize = 256 * 1024;
/// The largest file whose content is hashed: a larger one is not edited by a model, and hashing
/// would take longer than reading.
pub const HASHED: u64 = 32 * 1024 * 1024;
/// The most bytes that one character takes in any encoding.
const LONGEST_CHARACTER: usize = 4;

/// Which part of a file is wanted, and how much of it at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first line, counted from 1.
    pub from_line: u64,
    /// How many lines.
    pub lines: usize,
    /// How many characters of one line.
    pub line_chars: usize,
    /// How many bytes of text over all lines; at least one line is shown in any case.
    pub bytes: usize,
}

impl Default for Window {
    fn default() -> Self {
        Self { from_line: 1, lines: 2000, line_chars: 2000, bytes: 256 * 1024 }
    }
}

/// The lines of a window, and what is known of the file around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The lines, in order and without a gap.
    pub lines: Vec<Line>,
    /// How many lines the file has.
    pub total: Total,
    /// Whether [`Window::bytes`] ended the page before its last line.
    pub full: bool,
    /// Whether the last line of the file has an end; only known with an exact total.
    pub ends_with_newline: bool,
    /// How the shown lines end.
    pub line_ends: LineEnds,
    /// How many U+FFFD in the shown text stand for bytes that could not be decoded.
    pub invalid: usize,
    /// How many bytes were read; fewer than the length if the file shrank or the call was cancelled.
    pub bytes_read: u64,
    /// The hash of all that was read, if that is the whole file and it is not too large.
    pub content: Option<Hash>,
}

/// One line as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, counted from 1.
    pub number: u64,
    /// Its text without its end.
    pub text: String,
    /// How many characters were left out at its end, if any.
    pub cut: Option<usize>,
}

/// How many lines a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// All were counted.
    Exact(u64),
    /// So many were counted before the call was cancelled.
    AtLeast(u64),
}

/// Returns a window of lines of an opened file, and counts all its lines without decoding them.
///
/// `len` is the length when the file was opened: what is appended meanwhile is not read, and a
/// file that became shorter merely ends earlier. `cancelled` is asked once per chunk.
///
/// # Errors
///
/// What the system answers when the file cannot be read.
pub fn page(
    file: &File,
    len: u64,
    encoding: &Encoding,
    window: Window,
    cancelled: &dyn Fn() -> bool,
) -> io::Result<Page> {
    let mut buffer = vec![0; CHUNK.min(usize::try_from(len).unwrap_or(CHUNK))];
    let mut pager = Pager::new(*encoding, window);
    let mut hasher = (len <= HASHED).then(blake3::Hasher::new);
    let mut at = 0;
    let mut exact = true;
    while at < len {
        if cancelled() {
            exact = false;
            break;
        }
        let wanted = usize::try_from(len - at).unwrap_or(CHUNK).min(CHUNK);
        let chunk = buffer.get_mut(..wanted).unwrap_or_default();
        let read = read_up_to(file, chunk, at)?;
        let chunk = chunk.get(..read).unwrap_or_default();
        if let Some(hasher) = &mut hasher {
            hasher.update(chunk);
        }
        let body = match at {
            0 => pager.begin(chunk, len == read as u64),
            _ => chunk,
        };
        pager.take(body);
        at += read as u64;
        if read < wanted {
            break;
        }
    }
    let content = hasher.filter(|_| exact && at == len).map(|hasher| hasher.finalize());
    Ok(Page { content, ..pager.finish(exact, at) })
}

/// Reads until the buffer is full or the file ends, and returns how much there was.
pub(crate) fn read_up_to(file: &File, mut buffer: &mut [u8], mut at: u64) -> io::Result<usize> {
    let room = buffer.len();
    while !buffer.is_empty() {
        match file.read_at(buffer, at) {
            Ok(0) => break,
            Ok(read) => {
                buffer = buffer.get_mut(read..).unwrap_or_default();
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(room - buffer.len())
}

/// Takes a file chunk by chunk and keeps what the window shows.
struct Pager {
    encoding: Encoding,
    window: Window,
    /// How many bytes of a line are kept until it is decoded.
    keep: usize,
    breaks: Breaks,
    page: Page,
    text_bytes: usize,
    /// The number of the line that the next byte belongs to.
    line: u64,
    /// Whether that line has bytes already.
    open: bool,
    kept: Vec<u8>,
    /// Runs once a line is longer than what is kept of it.
    counter: Option<Counter>,
    /// Whether the last unit of the line so far is a carriage return.
    after_return: bool,
}

impl Pager {
    fn new(encoding: Encoding, window: Window) -> Self {
        let window = Window { from_line: window.from_line.max(1), ..window };
        let affordable = (window.bytes / LONGEST_CHARACTER).max(1) * LONGEST_CHARACTER;
        let big = matches!(encoding, Encoding::Utf16Be | Encoding::Utf32Be);
        Self {
            encoding,
            keep: window.line_chars.saturating_mul(LONGEST_CHARACTER).min(affordable),
            window,
            breaks: Breaks { unit: encoding.unit(), big, returns: false },
            page: Page {
                lines: Vec::new(),
                total: Total::Exact(0),
                full: false,
                ends_with_newline: false,
                line_ends: LineEnds::None,
                invalid: 0,
                bytes_read: 0,
                content: None,
            },
            text_bytes: 0,
            line: 1,
            open: false,
            kept: Vec::new(),
            counter: None,
            after_return: false,
        }
    }

    /// Looks at the first chunk for what ends a line, and returns it without its mark.
    fn begin<'a>(&mut self, chunk: &'a [u8], whole: bool) -> &'a [u8] {
        let body = chunk.strip_prefix(self.encoding.mark()).unwrap_or(chunk);
        // A return at the very end may have its line feed in the next chunk.
        let unsure = if whole { 0 } else { self.breaks.unit };
        let sample = body.get(..body.len().saturating_sub(unsure)).unwrap_or_default();
        let both = Breaks { returns: true, ..self.breaks };
        self.breaks.returns = self.breaks.count(body) == 0 && both.count(sample) > 0;
        body
    }

    fn take(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        if self.line < self.window.from_line {
            rest = self.skip(chunk);
        }
        while self.wants(self.line) && !rest.is_empty() {
            let Some(end) = self.breaks.first(rest) else {
                self.extend(rest);
                rest = &[];
                break;
            };
            let (line, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            self.extend(line);
            self.close_line(self.breaks.is_return(after));
            self.line += 1;
            rest = after.get(self.breaks.unit..).unwrap_or_default();
        }
        self.line += self.breaks.count(rest) as u64;
        if !chunk.is_empty() {
            self.open = !self.breaks.ends(chunk);
        }
    }

    /// Passes over lines before the window and returns what is left of the chunk then.
    fn skip<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let ends = self.breaks.count(chunk) as u64;
        if self.line.saturating_add(ends) < self.window.from_line {
            self.line += ends;
            return &[];
        }
        let mut rest = chunk;
        while self.line < self.window.from_line {
            let Some(end) = self.breaks.first(rest) else { break };
            rest = rest.get(end + self.breaks.unit..).unwrap_or_default();
            self.line += 1;
        }
        rest
    }

    fn wants(&self, line: u64) -> bool {
        line >= self.window.from_line
            && line - self.window.from_line < self.window.lines as u64
            && !self.page.full
    }

    fn extend(&mut self, piece: &[u8]) {
        if !piece.is_empty() {
            self.after_return = self.breaks.ends_in_return(piece);
        }
        let room = self.keep.saturating_sub(self.kept.len());
        let (keep, over) = piece.split_at_checked(room).unwrap_or((piece, &[]));
        self.kept.extend_from_slice(keep);
        if !over.is_empty() {
            let counter = self.counter.get_or_insert_with(|| {
                let mut counter = Counter::new(&self.encoding);
                counter.feed(&self.kept);
                counter
            });
            counter.feed(over);
        }
    }

    /// Adds the line that was gathered to the page; `cr` says that a lone return ended it.
    fn close_line(&mut self, cr: bool) {
        let counter = self.counter.take();
        let mut kept = std::mem::take(&mut self.kept);
        let crlf = std::mem::take(&mut self.after_return) && !cr;
        if crlf && counter.is_none() {
            kept.truncate(kept.len().saturating_sub(self.breaks.unit));
        }
        self.push(&kept, counter.map(|counter| counter.count - usize::from(crlf)));
        self.page.line_ends = self.page.line_ends.and(match (cr, crlf) {
            (true, _) => LineEnds::Cr,
            (false, true) => LineEnds::CrLf,
            (false, false) => LineEnds::Lf,
        });
        kept.clear();
        self.kept = kept;
    }

    /// Adds a line of which `kept` is the beginning and `all` the number of characters, if more.
    fn push(&mut self, kept: &[u8], all: Option<usize>) {
        let decoded = self.encoding.decode_part(kept);
        let (mut text, mut invalid) = (decoded.text.into_owned(), decoded.replaced);
        let mut wanted = self.window.line_chars;
        if all.is_some() && self.keep < wanted.saturating_mul(LONGEST_CHARACTER) {
            // Not room for all characters but for bytes ended it: the last may be a half one.
            wanted = wanted.min(text.chars().count().saturating_sub(1));
        }
        if text.len() > self.window.bytes {
            let affordable = text.floor_char_boundary(self.window.bytes);
            wanted = wanted.min(text.get(..affordable).unwrap_or_default().chars().count());
        }
        let mut cut = None;
        // No text has more characters than bytes, so most lines are not even counted.
        if text.len() > wanted || all.is_some() {
            let end = text.char_indices().nth(wanted).map_or(text.len(), |(at, _)| at);
            let left_out = text.get(end..).unwrap_or_default().chars().count();
            text.truncate(end);
            let shown = wanted.min(text.chars().count());
            cut = Some(all.map_or(left_out, |all| all.saturating_sub(shown)));
            if invalid > 0 {
                invalid = invalid.min(text.matches(char::REPLACEMENT_CHARACTER).count());
            }
        }
        let cost = text.len() + 1;
        if !self.page.lines.is_empty() && self.text_bytes + cost > self.window.bytes {
            self.page.full = true;
            return;
        }
        self.text_bytes += cost;
        self.page.invalid += invalid;
        let cut = cut.filter(|left_out| *left_out > 0);
        self.page.lines.push(Line { number: self.line, text, cut });
    }

    fn finish(mut self, exact: bool, bytes_read: u64) -> Page {
        // A line that was cancelled is shown if it is cut anyway, never as if it were whole.
        let showable = exact || self.counter.is_some();
        if self.open && showable && self.wants(self.line) {
            let counter = self.counter.take();
            let kept = std::mem::take(&mut self.kept);
            self.push(&kept, counter.map(|counter| counter.count));
        }
        let lines = if self.open { self.line } else { self.line - 1 };
        self.page.total = if exact { Total::Exact(lines) } else { Total::AtLeast(lines) };
        self.page.ends_with_newline = exact && lines > 0 && !self.open;
        self.page.bytes_read = bytes_read;
        self.page
    }
}

#[cfg(test)]
mod tests;
