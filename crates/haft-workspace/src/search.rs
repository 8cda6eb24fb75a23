//! Finds lines by regular expression: in one file here, in many in [`tree`].

use std::fs::File;
use std::io::{self, Cursor, Read};

use grep_matcher::LineTerminator;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

pub mod excerpt;
pub mod tree;

/// What a compiled expression may take: enough for any that a person writes.
const SIZE: usize = 10 * 1024 * 1024;
/// What each thread may keep of what it has learnt about an expression.
const CACHE: usize = 8 * 1024 * 1024;
/// Files up to this size are read at once; between two looks at `stop`, no more is searched.
const WHOLE: usize = 256 * 1024;
/// Where a NUL makes a file binary as a whole.
const PROBE: usize = 64 * 1024;
/// Longest line, and largest file with `multiline`: beyond that it is no text that anybody reads.
const LONGEST: usize = 16 * 1024 * 1024;

/// What to look for.
#[derive(Debug, Clone)]
pub struct Query {
    matcher: RegexMatcher,
    multiline: bool,
}

/// How an expression is meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Meaning {
    /// Upper and lower case are the same.
    pub ignore_case: bool,
    /// It is a text, not an expression.
    pub literal: bool,
    /// It may match across lines.
    pub multiline: bool,
}

/// Why there is nothing that could be looked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// It is no regular expression.
    #[error(
        "`{pattern}` is not a regular expression: {why}, at column {column}; to search for it as it stands, set literal"
    )]
    Syntax {
        /// The expression, shortened.
        pattern: String,
        /// What the engine says.
        why: String,
        /// Where, in characters from 1.
        column: usize,
    },
    /// It holds a line break.
    #[error(
        "the pattern holds a line break, and lines are searched one by one; set multiline to match across lines"
    )]
    LineBreak,
    /// It is too large.
    #[error("`{pattern}` cannot be searched for: {why}; write a simpler expression")]
    TooLarge {
        /// The expression, shortened.
        pattern: String,
        /// What the engine says.
        why: String,
    },
}

impl Query {
    /// Compiles an expression.
    ///
    /// # Errors
    /// If it cannot be read, or is too large.
    pub fn new(pattern: &str, meaning: Meaning) -> Result<Self, QueryError> {
        let Meaning { ignore_case, literal, multiline } = meaning;
        let mut builder = RegexMatcherBuilder::new();
        builder
            .case_insensitive(ignore_case)
            .fixed_strings(literal)
            .multi_line(true)
            .unicode(true)
            .size_limit(SIZE)
            .dfa_size_limit(CACHE);
        // `$` also matches before the line ends of Windows. A known line end lets the engine run over many
        // lines at once; where matches may cross lines there is none.
        builder.crlf(true).dot_matches_new_line(multiline);
        if multiline {
            builder.line_terminator(None);
        }
        match builder.build(pattern) {
            Ok(matcher) => Ok(Self { matcher, multiline }),
            Err(error) => Err(explain(pattern, literal, error.kind(), &error)),
        }
    }

    /// A searcher for one thread; `before` and `after` are lines of context.
    fn searcher(
        &self,
        detection: BinaryDetection,
        numbers: bool,
        before: usize,
        after: usize,
    ) -> Searcher {
        SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(numbers)
            .multi_line(self.multiline)
            .before_context(before)
            .after_context(after)
            .heap_limit(Some(LONGEST))
            .binary_detection(detection)
            .build()
    }
}

fn explain(
    pattern: &str,
    literal: bool,
    kind: &ErrorKind,
    error: &grep_regex::Error,
) -> QueryError {
    let shown = || pattern.chars().take(100).flat_map(char::escape_debug).collect::<String>();
    if matches!(kind, ErrorKind::NotAllowed(_)) {
        return QueryError::LineBreak;
    }
    // The engine's own message is a drawing of several lines; this is what it draws.
    let syntax = |why: String, span: &regex_syntax::ast::Span| QueryError::Syntax {
        pattern: shown(),
        why,
        column: span.start.column,
    };
    let parsed = if literal { None } else { regex_syntax::parse(pattern).err() };
    match parsed {
        Some(regex_syntax::Error::Parse(error)) => syntax(error.kind().to_string(), error.span()),
        Some(regex_syntax::Error::Translate(error))
            if error.kind().to_string().contains("UTF-8") =>
        {
            QueryError::TooLarge { pattern: shown(), why: error.kind().to_string() }
        }
        Some(regex_syntax::Error::Translate(error)) => {
            syntax(error.kind().to_string(), error.span())
        }
        _ => QueryError::TooLarge { pattern: shown(), why: error.to_string() },
    }
}

/// How far a file was searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Searched {
    /// To its end, or as far as was wanted.
    Whole,
    /// Not, or not beyond a NUL: it is binary.
    Binary,
    /// Not, or not beyond a line that is too long.
    TooLarge,
    /// Not: it could not be read.
    Unreadable,
    /// Told to stop.
    Stopped,
}

/// Searches files, one after another.
pub struct Scanner<'a> {
    query: &'a Query,
    /// For what is in memory, and known to have no NUL.
    plain: Searcher,
    /// For all else.
    stream: Searcher,
    buffer: Vec<u8>,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Scanner<'a> {
    /// Searches for the fact of a match.
    fn for_counting(query: &'a Query, stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self::new(query, false, 0, 0, stop)
    }

    fn new(
        query: &'a Query,
        numbers: bool,
        before: usize,
        after: usize,
        stop: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        let searcher = |detection| query.searcher(detection, numbers, before, after);
        Self {
            query,
            plain: searcher(BinaryDetection::none()),
            stream: searcher(BinaryDetection::quit(0)),
            buffer: Vec::new(),
            stop,
        }
    }

    /// Hands what matches in a file to `sink`. `size` is what the file was said to have.
    fn scan<S: Sink<Error = io::Error>>(&mut self, file: &File, size: u64, sink: S) -> Searched {
        match self.attempt(file, size, sink) {
            Ok(searched) => searched,
            Err(_) if (self.stop)() => Searched::Stopped,
            // What the searcher says when it would have to hold more than it may.
            Err(error) if error.to_string().contains("allocation limit") => Searched::TooLarge,
            Err(_) => Searched::Unreadable,
        }
    }

    fn attempt<S: Sink<Error = io::Error>>(
        &mut self,
        file: &File,
        size: u64,
        mut sink: S,
    ) -> io::Result<Searched> {
        let (len, at_end) = self.fill(file, size)?;
        let begin = self.buffer.get(..len).unwrap_or_default();
        let is_wide = begin.starts_with(b"\xFF\xFE") || begin.starts_with(b"\xFE\xFF");
        let probe = begin.get(..PROBE).unwrap_or(begin);
        if !is_wide && memchr::memchr(0, probe).is_some() {
            return Ok(Searched::Binary);
        }
        if at_end && !is_wide {
            let nul = memchr::memchr(0, begin);
            let text = begin.get(..nul.unwrap_or(begin.len())).unwrap_or_default();
            self.plain.search_slice(&self.query.matcher, text, &mut sink)?;
            return Ok(if nul.is_some() { Searched::Binary } else { Searched::Whole });
        }
        if self.query.multiline && size > LONGEST as u64 {
            return Ok(Searched::TooLarge);
        }
        let mut ended = Ended { sink, binary: false };
        let rest = Stoppable { file, stop: self.stop };
        let all = Cursor::new(begin).chain(rest);
        self.stream.search_reader(&self.query.matcher, all, &mut ended)?;
        Ok(if ended.binary { Searched::Binary } else { Searched::Whole })
    }

    /// Reads the beginning of a file into the buffer: how much, and whether that is all there is.
    fn fill(&mut self, mut file: &File, size: u64) -> io::Result<(usize, bool)> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let most = size.clamp(PROBE, WHOLE) + 1;
        // It only grows, so that it is not filled with zeros for every file.
        if self.buffer.len() < most {
            self.buffer.resize(most, 0);
        }
        let mut len = 0;
        while len < most {
            match file.read(self.buffer.get_mut(len..most).unwrap_or_default()) {
                Ok(0) => return Ok((len, true)),
                Ok(read) => len += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            // As much as was announced: asking for more would only say so.
            if len == size {
                return Ok((len, true));
            }
        }
        Ok((len, false))
    }
}

/// Counts the matches in a file, as far as `enough`.
#[must_use]
pub fn count(
    query: &Query,
    file: &File,
    size: u64,
    enough: u64,
    stop: &(dyn Fn() -> bool + Sync),
) -> (u64, Searched) {
    let mut count = Count { matches: 0, enough };
    let searched = Scanner::for_counting(query, stop).scan(file, size, &mut count);
    (count.matches, searched)
}

/// A file that can be stopped reading from.
struct Stoppable<'a> {
    file: &'a File,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.stop)() {
            return Err(io::Error::other("told to stop"));
        }
        let mut file = self.file;
        file.read(buffer)
    }
}

/// A sink that also remembers that a NUL was met.
struct Ended<S> {
    sink: S,
    binary: bool,
}

impl<S: Sink> Sink for Ended<S> {
    type Error = S::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, S::Error> {
        self.sink.matched(searcher, found)
    }

    fn context(&mut self, searcher: &Searcher, line: &SinkContext<'_>) -> Result<bool, S::Error> {
        self.sink.context(searcher, line)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, S::Error> {
        self.binary = true;
        Ok(true)
    }
}

/// Counts matches, up to a number that is enough.
struct Count {
    matches: u64,
    enough: u64,
}

impl Sink for &mut Count {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        Ok(self.matches < self.enough)
    }
}
