//! The lines of one file that match, as they are shown: numbered, with context, long ones cut around the match.

use std::fs::File;
use std::io;

use grep_matcher::Matcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};

use super::{Query, Scanner, Searched};

/// Most characters of a line that are shown.
const SHOWN: usize = 400;
/// How many of them may stand before the match.
const BEFORE: usize = 100;
/// Most lines of one match that goes across lines.
const ACROSS: usize = 50;
/// Most bytes that one character takes.
const WIDEST: usize = 4;

/// Which matches of a file are wanted, and how much around them.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// How many matches are passed over.
    pub skip: u64,
    /// How many are shown.
    pub take: u64,
    /// Lines before each.
    pub before: usize,
    /// Lines after each.
    pub after: usize,
}

/// One line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// Why it is shown.
    pub role: Role,
    /// Its text, without the line end, shortened with `…`; what is no UTF-8 is U+FFFD.
    pub text: String,
}

/// Why a line is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A match begins in it.
    Match,
    /// A match goes on in it.
    Rest,
    /// It stands beside a match.
    Context,
}

/// The lines of a file that are in the window, and how far it was searched.
#[must_use]
pub fn excerpt(
    query: &Query,
    file: &File,
    size: u64,
    window: Window,
    stop: &(dyn Fn() -> bool + Sync),
) -> (Vec<Line>, Searched) {
    let mut scanner = Scanner::new(query, true, window.before, window.after, stop);
    let mut lines = Collect { query, window, seen: 0, before: Vec::new(), lines: Vec::new() };
    let searched = scanner.scan(file, size, &mut lines);
    (lines.lines, searched)
}

struct Collect<'a> {
    query: &'a Query,
    window: Window,
    seen: u64,
    /// Context whose match has not come yet.
    before: Vec<Line>,
    lines: Vec<Line>,
}

impl Sink for &mut Collect<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let index = self.seen;
        self.seen += 1;
        let before = std::mem::take(&mut self.before);
        if index < self.window.skip {
            return Ok(true);
        }
        if index - self.window.skip >= self.window.take {
            return Ok(false);
        }
        self.lines.extend(before);
        let first = found.line_number().unwrap_or_default();
        for (number, (role, line)) in (first..).zip(roles(found).take(ACROSS)) {
            let at = match role {
                Role::Match => self.start_of_match(line),
                _ => 0,
            };
            self.lines.push(Line { number, role, text: shorten(line, at) });
        }
        // With context still to come, the searcher goes on to the next match.
        let is_last = index + 1 - self.window.skip >= self.window.take;
        Ok(!is_last || self.window.after > 0)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let number = context.line_number().unwrap_or_default();
        let line = || Line { number, role: Role::Context, text: shorten(bare(context.bytes()), 0) };
        match context.kind() {
            SinkContextKind::After if self.seen > self.window.skip => self.lines.push(line()),
            SinkContextKind::Before => self.before.push(line()),
            _ => {}
        }
        let is_over = self.seen >= self.window.skip.saturating_add(self.window.take);
        Ok(!is_over || *context.kind() == SinkContextKind::After)
    }
}

impl Collect<'_> {
    fn start_of_match(&self, line: &[u8]) -> usize {
        if line.len() <= SHOWN {
            return 0;
        }
        let found = self.query.matcher.find(line).ok().flatten();
        found.map_or(0, |found| found.start())
    }
}

/// The lines of a match: the first, and those that it goes on in.
fn roles<'a>(found: &SinkMatch<'a>) -> impl Iterator<Item = (Role, &'a [u8])> {
    let lines = found.lines().map(bare);
    lines.enumerate().map(|(index, line)| (if index == 0 { Role::Match } else { Role::Rest }, line))
}

fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A line as it is shown, cut around the byte `at`.
fn shorten(line: &[u8], at: usize) -> String {
    // The part that can be shown at all; a character that is cut at its ends is left out below.
    let begin = line.len().min(at).saturating_sub(BEFORE * WIDEST);
    let end = line.len().min(at + SHOWN * WIDEST);
    let near = line.get(begin..end).unwrap_or_default();
    let near = if begin > 0 { whole_characters(near) } else { near };
    let prefix = at.min(line.len()) - (line.len().min(end) - near.len()).min(at.min(line.len()));
    let text = String::from_utf8_lossy(near);
    let match_at = String::from_utf8_lossy(near.get(..prefix).unwrap_or_default()).chars().count();
    let count = text.chars().count();
    let is_short = begin == 0 && end == line.len() && count <= SHOWN;
    if is_short {
        return text.into_owned();
    }
    // Nothing is cut before a match that is near the beginning anyway.
    let skip = if begin == 0 && match_at <= BEFORE { 0 } else { match_at.saturating_sub(BEFORE) };
    let shown: String = text.chars().skip(skip).take(SHOWN).collect();
    let head = if begin > 0 || skip > 0 { "…" } else { "" };
    let tail = if end < line.len() || skip + SHOWN < count { "…" } else { "" };
    format!("{head}{shown}{tail}")
}

/// Without the rest of a character that was cut at the beginning.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    let rest =
        bytes.iter().take(WIDEST - 1).take_while(|byte| (0x80..0xC0).contains(*byte)).count();
    bytes.get(rest..).unwrap_or_default()
}
