//! Lines of a text with their numbers.

use std::fs::File;

use haft_runtime::{Output, ToolError};
use haft_workspace::block::{Request, block};
use haft_workspace::page::{Line, Page, Total, Window, page};
use haft_workspace::text::Encoding;

use super::{Seen, View};
use crate::stamps::Stamp;

/// Longest line that is shown whole.
const LINE_CHARS: usize = 2_000;
/// Bytes that the footer takes at most.
const FOOTER: usize = 256;
/// How much of a file without an end is shown.
const ENDLESS: u64 = 64 * 1024;
/// Largest file that is taken apart into blocks: beyond that, nobody wrote it by hand.
const LARGEST: u64 = 8 * 1024 * 1024;

impl View {
    /// A run of lines.
    pub(super) fn slice(
        &self,
        title: &str,
        file: &File,
        len: u64,
        encoding: &Encoding,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Seen, ToolError> {
        let window = self.window();
        let page = page_of(title, file, len, encoding, window, cancelled)?;
        let total = match page.total {
            Total::Exact(total) => total,
            Total::AtLeast(_) => {
                return Err(ToolError::Cancelled { partial: self.numbered(&page.lines).0 });
            }
        };
        if page.lines.is_empty() {
            let (from, s) = (window.from_line, plural(total));
            return Err(ToolError::failed(format!(
                "{title} has {total} line{s}; offset {from} is past its end"
            )));
        }
        let (text, last) = self.numbered(&page.lines);
        let footer = footer(window.from_line, last, total);
        let output = Output { footer, ..Output::new(title, text) }
            .with("lines", serde_json::json!([window.from_line, last]))
            .with("total_lines", total);
        let stamp = page.content.map(|it| Stamp::of(it, total, [(window.from_line, last)]));
        Ok(Seen { output: described(output, &page, encoding, last < total), stamp })
    }

    /// The block around a line.
    pub(super) fn block(
        &self,
        title: &str,
        file: &File,
        len: u64,
        encoding: &Encoding,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Seen, ToolError> {
        if len > LARGEST {
            return Err(ToolError::failed(format!(
                "{title} is too large ({len} bytes) for mode indentation; use mode slice with offset and limit"
            )));
        }
        let whole =
            Window { from_line: 1, lines: usize::MAX, line_chars: LINE_CHARS, bytes: usize::MAX };
        let page = page_of(title, file, len, encoding, whole, cancelled)?;
        if cancelled() {
            return Err(ToolError::cancelled());
        }
        let total = page.lines.len();
        let anchor = self.params.anchor_line.unwrap_or_else(|| self.first_line());
        let anchor_line = usize::try_from(anchor).ok().filter(|line| (1..=total).contains(line));
        let Some(anchor_line) = anchor_line else {
            let s = plural(total as u64);
            return Err(ToolError::failed(format!(
                "{title} has {total} line{s}; anchor_line {anchor} is past its end"
            )));
        };
        let request = Request {
            anchor_line,
            max_levels: self.params.max_levels,
            include_siblings: self.params.include_siblings.unwrap_or(false),
            include_header: self.params.include_header.unwrap_or(true),
        };
        let texts: Vec<&str> = page.lines.iter().map(|line| line.text.as_str()).collect();
        let ranges = block(&texts, &request).map(|block| block.ranges).unwrap_or_default();
        let chosen: Vec<Line> = ranges
            .into_iter()
            .flat_map(|range| page.lines.get(range.start() - 1..*range.end()).unwrap_or_default())
            .take(self.limit())
            .cloned()
            .collect();
        let (text, last) = self.numbered(&chosen);
        let shown = chosen.iter().filter(|line| line.number <= last).count();
        let footer = format!("(the block around line {anchor}: {shown} of {total} lines)");
        let output = Output { footer, ..Output::new(title, text) }.with("total_lines", total);
        let seen = chosen.iter().take(shown).map(|line| (line.number, line.number));
        let stamp = page.content.map(|it| Stamp::of(it, total as u64, seen));
        Ok(Seen { output: described(output, &page, encoding, shown < chosen.len()), stamp })
    }

    /// The beginning of something that has no length, as under /proc.
    pub(super) fn endless(
        &self,
        title: &str,
        file: &File,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Output, ToolError> {
        let page = page_of(title, file, ENDLESS, &Encoding::Utf8, self.window(), cancelled)?;
        let (text, _) = self.numbered(&page.lines);
        let read = page.bytes_read;
        let footer = format!("(the first {read} bytes of something without a known length)");
        Ok(Output { footer, ..Output::new(title, text) })
    }

    /// The lines that were asked for.
    fn window(&self) -> Window {
        Window {
            from_line: self.first_line(),
            lines: self.limit(),
            line_chars: LINE_CHARS,
            bytes: self.bytes,
        }
    }

    /// Lines with their numbers, as many as there is room for, and the last number.
    fn numbered(&self, lines: &[Line]) -> (String, u64) {
        let room = self.bytes.saturating_sub(FOOTER);
        let mut text = String::new();
        let mut last = 0;
        for line in lines {
            let shown = numbered(line);
            // One line is shown in any case; the pipeline cuts it if it has to.
            if text.len() + shown.len() + 1 > room && last > 0 {
                break;
            }
            if last > 0 && line.number != last + 1 {
                text.push_str("    …\n");
            }
            text.push_str(&shown);
            text.push('\n');
            last = line.number;
        }
        (text, last)
    }
}

fn page_of(
    title: &str,
    file: &File,
    len: u64,
    encoding: &Encoding,
    window: Window,
    cancelled: &dyn Fn() -> bool,
) -> Result<Page, ToolError> {
    page(file, len, encoding, window, cancelled)
        .map_err(|error| ToolError::caused(format!("{title} cannot be read"), error))
}

fn numbered(line: &Line) -> String {
    let Line { number, text, cut } = line;
    match cut {
        None => format!("{number:>5}→{text}"),
        Some(cut) => format!("{number:>5}→{text}… [{cut} more characters]"),
    }
}

fn footer(first: u64, last: u64, total: u64) -> String {
    if last < total {
        format!("(lines {first} to {last} of {total}; continue with offset {})", last + 1)
    } else if first == 1 {
        format!("(all {total} line{})", plural(total))
    } else {
        format!("(lines {first} to {last} of {total}; this is the end)")
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Adds what is not as usual.
fn described(mut output: Output, page: &Page, encoding: &Encoding, more: bool) -> Output {
    output.truncated = more;
    if *encoding != Encoding::Utf8 {
        output = output.with("encoding", encoding.name());
    }
    if page.invalid > 0 {
        output = output.with("undecodable", page.invalid);
    }
    output.with("line_ends", page.line_ends.as_str())
}
