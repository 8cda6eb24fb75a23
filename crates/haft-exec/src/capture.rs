//! The output of a command: all of it in a file, its beginning and its end at hand, everything counted.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};

/// Where a piece of output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output, or a terminal.
    Output,
    /// Standard error.
    Errors,
}

/// How much of an output is at hand, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtHand {
    /// Of its beginning.
    pub head: usize,
    /// Of its end.
    pub tail: usize,
}

/// Takes output as it comes. Uses the same memory for a line and for a terabyte.
#[derive(Debug)]
pub struct Capture {
    at_hand: AtHand,
    head: Vec<u8>,
    /// The end, and up to as much again before it, so that it is moved rarely.
    tail: Vec<u8>,
    runs: Runs,
    total: u64,
    newlines: u64,
    from_errors: u64,
    spill: Option<Spill>,
}

#[derive(Debug)]
struct Spill {
    file: File,
    room: u64,
    written: u64,
}

/// Consecutive bytes of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Whose they are.
    pub stream: Stream,
    /// Where in the whole output they begin.
    pub start: u64,
    /// How many they are.
    pub length: u64,
}

/// The beginning and the end of an output as text, cut on lines, and what lies between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The beginning; all of it if there is no gap.
    pub head: String,
    /// What is not shown.
    pub gap: Option<Gap>,
    /// The end; empty if there is no gap.
    pub tail: String,
}

/// What is not shown of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// Bytes left out.
    pub bytes: u64,
    /// Line ends left out.
    pub lines: u64,
}

impl Capture {
    /// Keeps `at_hand` in memory and nothing else.
    #[must_use]
    pub fn new(at_hand: AtHand) -> Self {
        let (head, tail) = (Vec::new(), Vec::new());
        let runs = Runs::default();
        Self { at_hand, head, tail, runs, total: 0, newlines: 0, from_errors: 0, spill: None }
    }

    /// Also writes every byte to `file`, up to `room`; what is beyond is counted, see
    /// [`unkept`](Self::unkept).
    #[must_use]
    pub fn spilling(mut self, file: File, room: u64) -> Self {
        self.spill = Some(Spill { file, room, written: 0 });
        self
    }

    /// Takes the next piece.
    ///
    /// # Errors
    /// If it cannot be written to the file. It is counted and at hand all the same.
    pub fn push(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let length = bytes.len() as u64;
        self.runs.push(stream, self.total, length);
        self.total += length;
        self.newlines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        if stream == Stream::Errors {
            self.from_errors += length;
        }
        let room = self.at_hand.head - self.head.len();
        let (to_head, to_tail) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(to_head);
        self.push_tail(to_tail);
        self.write(bytes)
    }

    /// How many bytes came.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// How many of them came from standard error.
    #[must_use]
    pub const fn from_errors(&self) -> u64 {
        self.from_errors
    }

    /// How many line ends came.
    #[must_use]
    pub const fn newlines(&self) -> u64 {
        self.newlines
    }

    /// How many bytes are neither at hand nor in the file.
    #[must_use]
    pub fn unkept(&self) -> u64 {
        let at_hand = (self.head.len() + self.last().len()) as u64;
        let written = self.spill.as_ref().map_or(0, |spill| spill.written);
        self.total.saturating_sub(written.max(at_hand))
    }

    /// The first bytes, exactly.
    #[must_use]
    pub fn first(&self) -> &[u8] {
        &self.head
    }

    /// The last bytes that are not among the first, exactly.
    #[must_use]
    pub fn last(&self) -> &[u8] {
        let extra = self.tail.len().saturating_sub(self.at_hand.tail);
        self.tail.get(extra..).unwrap_or_default()
    }

    /// Which stream the bytes came from, in the order in which they came: the first and the last runs.
    pub fn runs(&self) -> impl Iterator<Item = Run> {
        self.runs.first.iter().chain(&self.runs.last).copied()
    }

    /// The beginning and the end as text. Bytes that are no text are replaced by `�`.
    #[must_use]
    pub fn view(&self) -> View {
        let (first, last) = (self.first(), self.last());
        if (first.len() + last.len()) as u64 == self.total {
            let whole = [first, last].concat();
            let head = String::from_utf8_lossy(&whole).into_owned();
            return View { head, gap: None, tail: String::new() };
        }
        let head = up_to_a_line(first);
        let tail = from_a_line(last);
        let newlines = |bytes| memchr::memchr_iter(b'\n', bytes).count() as u64;
        let gap = Gap {
            bytes: self.total - (head.len() + tail.len()) as u64,
            lines: self.newlines - newlines(head) - newlines(tail),
        };
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        View { head: text(head), gap: Some(gap), tail: text(tail) }
    }

    fn push_tail(&mut self, bytes: &[u8]) {
        let most = self.at_hand.tail;
        let bytes = bytes.get(bytes.len().saturating_sub(most)..).unwrap_or_default();
        if self.tail.len() + bytes.len() > 2 * most {
            let keep = most - bytes.len();
            self.tail.drain(..self.tail.len().saturating_sub(keep));
        }
        self.tail.extend_from_slice(bytes);
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(spill) = &mut self.spill else { return Ok(()) };
        let count = usize::try_from(spill.room).unwrap_or(usize::MAX).min(bytes.len());
        let kept = bytes.get(..count).unwrap_or_default();
        spill.file.write_all(kept)?;
        spill.room -= kept.len() as u64;
        spill.written += kept.len() as u64;
        Ok(())
    }
}

/// Everything up to the last line end; if there is none, up to the last whole character.
fn up_to_a_line(bytes: &[u8]) -> &[u8] {
    let end = match memchr::memrchr(b'\n', bytes) {
        Some(newline) => newline + 1,
        None => whole_characters(bytes),
    };
    bytes.get(..end).unwrap_or_default()
}

/// Everything after the first line end; if there is none, from the first whole character.
fn from_a_line(bytes: &[u8]) -> &[u8] {
    let start = match memchr::memchr(b'\n', bytes) {
        Some(newline) if newline + 1 < bytes.len() => newline + 1,
        _ => bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count(),
    };
    bytes.get(start..).unwrap_or_default()
}

/// How many bytes there are without a character that is cut off at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    let end = bytes.get(from..).unwrap_or_default();
    let Some(start) = end.iter().rposition(|byte| byte & 0xc0 == 0xc0) else { return bytes.len() };
    match std::str::from_utf8(end.get(start..).unwrap_or_default()) {
        Err(error) if error.error_len().is_none() => from + start,
        _ => bytes.len(),
    }
}

/// Most runs that are remembered of the beginning, and of the end.
const MOST_RUNS: usize = 1024;

#[derive(Debug, Default)]
struct Runs {
    first: Vec<Run>,
    last: VecDeque<Run>,
}

impl Runs {
    fn push(&mut self, stream: Stream, start: u64, length: u64) {
        let current = self.last.back_mut().or(self.first.last_mut());
        if let Some(run) = current
            && run.stream == stream
        {
            run.length += length;
            return;
        }
        let run = Run { stream, start, length };
        if self.first.len() < MOST_RUNS {
            self.first.push(run);
            return;
        }
        if self.last.len() == MOST_RUNS {
            self.last.pop_front();
        }
        self.last.push_back(run);
    }
}

#[cfg(test)]
mod tests;
