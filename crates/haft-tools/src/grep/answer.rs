//! What is said of a search: the page, how many there are, and what was not searched.

use std::path::{Path, PathBuf};

use haft_runtime::{Limits, Output, ToolError};
use haft_workspace::path::Place;
use haft_workspace::search::excerpt::{Line, Role};
use serde_json::json;

use super::{OutputMode, Request};
use crate::search::{NotSearched, counted};

/// Bytes that are kept free for what is said below the page.
const REMARKS: usize = 1_024;
/// Lines that are kept free for the same.
const REMARK_LINES: usize = 8;

/// All that a search has to say.
pub(super) struct Answer {
    pub(super) page: Page,
    pub(super) total: Total,
    /// What to say if only ignored files match.
    pub(super) only_ignored: Option<String>,
    pub(super) not_searched: NotSearched,
}

/// How much there is, as far as it is known.
pub(super) struct Total {
    pub(super) matches: u64,
    pub(super) files: usize,
    /// Whether the numbers are all there is, rather than the least.
    pub(super) is_exact: bool,
    /// How many files were looked at, of how many.
    pub(super) looked_at: usize,
    pub(super) candidates: usize,
}

/// The part that is shown, as far as there is room.
pub(super) struct Page {
    pub(super) text: String,
    /// The lines of files that the text shows: what a model has seen.
    pub(super) shown: Vec<Shown>,
    /// How many matches or names are in the text.
    pub(super) entries: usize,
    has_context: bool,
    bytes: usize,
    lines: usize,
}

/// Which lines of a file are shown.
pub(super) struct Shown {
    pub(super) path: PathBuf,
    /// From and to, both included, in order.
    pub(super) lines: Vec<(u64, u64)>,
}

impl Shown {
    fn add(&mut self, number: u64) {
        match self.lines.last_mut() {
            Some((_, to)) if *to + 1 == number => *to = number,
            _ => self.lines.push((number, number)),
        }
    }
}

impl Page {
    pub(super) fn new(limits: &Limits, has_context: bool) -> Self {
        Self {
            text: String::new(),
            shown: Vec::new(),
            entries: 0,
            has_context,
            bytes: limits.bytes.saturating_sub(REMARKS),
            lines: limits.lines.saturating_sub(REMARK_LINES),
        }
    }

    /// Adds a line of its own; `false` if there is no room.
    pub(super) fn add_name(&mut self, name: &str) -> bool {
        let fits = self.push(name);
        self.entries += usize::from(fits);
        fits
    }

    /// Adds the lines of a file below its name; `false` if there is no room for all.
    pub(super) fn add_lines(&mut self, name: &str, path: &Path, lines: &[Line]) -> bool {
        let Some(first) = lines.first() else { return true };
        let heading = if self.text.is_empty() { name.to_owned() } else { format!("\n{name}") };
        if !self.fits(heading.len() + first.text.len() + 24) || !self.push(&heading) {
            return false;
        }
        let mut shown = Shown { path: path.to_owned(), lines: Vec::new() };
        let mut last = None;
        let mut all = true;
        for line in lines {
            let is_gap = last.is_some_and(|last| last + 1 != line.number);
            let gap = if self.has_context && is_gap { "--\n" } else { "" };
            let mark = if line.role == Role::Context { '-' } else { ':' };
            all = self.push(&format!("{gap}{}{mark}{}", line.number, line.text));
            if !all {
                break;
            }
            self.entries += usize::from(line.role == Role::Match);
            shown.add(line.number);
            last = Some(line.number);
        }
        self.shown.push(shown);
        all
    }

    fn push(&mut self, line: &str) -> bool {
        // One is shown in any case; the pipeline cuts it if it has to.
        let fits = self.fits(line.len()) || self.text.is_empty();
        if fits {
            self.text.push_str(line);
            self.text.push('\n');
            self.bytes = self.bytes.saturating_sub(line.len() + 1);
            self.lines = self.lines.saturating_sub(1 + line.matches('\n').count());
        }
        fits
    }

    fn fits(&self, bytes: usize) -> bool {
        bytes < self.bytes && self.lines > 2
    }
}

impl Answer {
    pub(super) fn into_output(self, request: &Request, place: &Place) -> Result<Output, ToolError> {
        let all = if request.mode == OutputMode::Content {
            self.total.matches
        } else {
            self.total.files as u64
        };
        if self.total.is_exact && all > 0 && request.offset as u64 >= all {
            let what = if request.mode == OutputMode::Content { "match" } else { "file" };
            let (all, offset) = (counted(all, what), request.offset);
            return Err(ToolError::failed(format!(
                "there are {all}; offset {offset} is past the last"
            )));
        }
        let mut text = self.page.text.trim_end_matches('\n').to_owned();
        if self.total.files == 0 {
            text = self.nothing(place);
        }
        let remarks = self.not_searched.line();
        if !remarks.is_empty() {
            text.push_str(&format!("\n\n{remarks}"));
        }
        let (footer, more) = self.footer(request, all);
        let seen: Vec<_> = self
            .page
            .shown
            .iter()
            .map(|shown| json!({ "path": shown.path.to_string_lossy(), "lines": shown.lines }))
            .collect();
        let mut output = Output::new(format!("{} in {}", request.pattern, place.shown()), text)
            .with("matches", self.total.matches)
            .with("files", self.total.files)
            .with("exact", self.total.is_exact)
            .with("searched", self.total.looked_at);
        if !seen.is_empty() {
            output = output.with("shown", seen);
        }
        Ok(self.not_searched.describe(Output { truncated: more, footer, ..output }))
    }

    fn nothing(&self, place: &Place) -> String {
        let shown = place.shown();
        let mut text = match self.total.candidates {
            0 => format!("No file was searched: none in `{shown}` fits."),
            _ if !self.total.is_exact => format!("No match so far in `{shown}`."),
            _ => format!(
                "No match in `{shown}` ({} searched).",
                counted(self.total.looked_at as u64, "file")
            ),
        };
        if let Some(only_ignored) = &self.only_ignored {
            text.push_str(&format!(" {only_ignored}"));
        }
        text
    }

    /// The line below, and whether there is more than the page.
    fn footer(&self, request: &Request, all: u64) -> (String, bool) {
        if self.total.files == 0 {
            return (String::new(), false);
        }
        let (first, last) = (request.offset + 1, request.offset + self.page.entries);
        let Total { matches, files, is_exact, .. } = self.total;
        let what = if request.mode == OutputMode::Content { "matches" } else { "files" };
        let more = (last as u64) < all || !is_exact;
        let of = match request.mode {
            OutputMode::Content if is_exact => {
                format!("{all}, in {}", counted(files as u64, "file"))
            }
            OutputMode::Count if is_exact => format!("{all}, with {}", counted(matches, "match")),
            _ if is_exact => all.to_string(),
            // The one beyond the page is known, and no more.
            _ => format!(
                "more than {}",
                all.saturating_sub(1).min((request.offset + request.limit) as u64)
            ),
        };
        let footer = if more {
            format!("({what} {first} to {last} of {of}; continue with offset {last})")
        } else if request.offset > 0 {
            format!("({what} {first} to {last} of {of}; this is the end)")
        } else {
            match request.mode {
                OutputMode::Files => format!("({})", counted(files as u64, "file")),
                _ => {
                    format!("({} in {})", counted(matches, "match"), counted(files as u64, "file"))
                }
            }
        };
        (footer, more)
    }
}
