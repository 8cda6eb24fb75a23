//! Writes to standard output and error: the only file that prints.

use std::cell::Cell;
use std::io::{ErrorKind, Write};

use anstyle::{AnsiColor, Style};
use haft_runtime::plain_lines;
use serde::Serialize;

/// How things are printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer<'a> {
    pub(crate) colour: bool,
    /// Why a part of the results is lost, if one is.
    pub(crate) lost: &'a Cell<Option<ErrorKind>>,
}

impl Printer<'_> {
    /// A line for whoever reads the results.
    ///
    /// A reader that has gone away is no error of ours. Any other is remembered: the work goes on,
    /// because what it does is done either way, but it does not end as a success.
    pub(crate) fn line(self, text: impl AsRef<str>) {
        let mut out = std::io::stdout().lock();
        let line = out.write_all(text.as_ref().as_bytes()).and_then(|()| out.write_all(b"\n"));
        match line.and_then(|()| out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                self.lost.set(Some(error.kind()));
            }
            _ => {}
        }
    }

    /// A part of a line, at once.
    pub(crate) fn piece(self, text: &str) {
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                self.lost.set(Some(error.kind()));
            }
            _ => {}
        }
    }

    /// How many characters stand in a line of the terminal that results go to, if it says so.
    pub(crate) fn columns(self) -> Option<usize> {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }

    /// One JSON value on a line of its own.
    pub(crate) fn json(self, value: &impl Serialize) -> anyhow::Result<()> {
        self.line(serde_json::to_string(value)?);
        Ok(())
    }

    /// JSON for people who look at it.
    pub(crate) fn pretty_json(self, value: &impl Serialize) -> anyhow::Result<()> {
        self.line(serde_json::to_string_pretty(value)?);
        Ok(())
    }

    /// A line beside the results.
    pub(crate) fn note(self, text: impl AsRef<str>) {
        let mut out = std::io::stderr().lock();
        drop(writeln!(out, "{}", text.as_ref()));
    }

    /// Text in a colour, if colours are wanted.
    pub(crate) fn paint(self, colour: AnsiColor, text: &str) -> String {
        self.style(Style::new().fg_color(Some(colour.into())), text)
    }

    /// Text that matters less.
    pub(crate) fn dim(self, text: &str) -> String {
        self.style(Style::new().dimmed(), text)
    }

    /// Text that matters more.
    pub(crate) fn bold(self, text: &str) -> String {
        self.style(Style::new().bold(), text)
    }

    /// Text in a style, if colours are wanted.
    pub(crate) fn style(self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// A text of somebody else's with its lines, those after the first set in: none can pass for one of ours.
pub(crate) fn set_in(text: &str) -> String {
    plain_lines(text.trim_end()).replace('\n', "\n    ")
}

/// `1 match`, `2 matches`.
pub(crate) fn counted(count: impl TryInto<u64>, one: &str, many: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Columns of text, each as wide as its widest cell.
pub(crate) fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &Vec<String>| {
        let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
