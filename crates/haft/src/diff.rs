//! Diffs as a person at a terminal reads them: in colour, with the changed words set off.

use anstyle::{AnsiColor, Style};
use haft_edit::diff::{Bounds, Role, inline};
use haft_runtime::plain;

use crate::print::Printer;

/// How much of one file's diff is shown.
const BYTES: usize = 64 * 1024;

/// Prints what changes in one file.
pub(crate) fn show(printer: Printer<'_>, path: &str, old: &[u8], new: &[u8]) {
    printer.line(printer.bold(&plain(path)));
    let (Ok(old), Ok(new)) = (std::str::from_utf8(old), std::str::from_utf8(new)) else {
        return printer.line(format!("  {} bytes before, {} bytes after", old.len(), new.len()));
    };
    let bounds = Bounds { text_bytes: BYTES, context: 2, ..Bounds::default() };
    let mut last: Option<usize> = None;
    for line in inline(old, new, &bounds) {
        if line.role == Role::Context {
            if last.is_some_and(|last| line.number > last + 1) {
                printer.line(printer.dim("  …"));
            }
            last = Some(line.number);
        }
        let mut text = format!("{:>5} {} ", line.number, line.role.sign());
        let colour = match line.role {
            Role::Removed => Some(AnsiColor::Red),
            Role::Added => Some(AnsiColor::Green),
            _ => None,
        };
        for segment in line.segments {
            let shown = plain(&segment.text);
            text.push_str(&match colour {
                None => printer.dim(&shown),
                Some(colour) => {
                    let style = Style::new().fg_color(Some(colour.into()));
                    printer.style(if segment.changed { style.bold() } else { style }, &shown)
                }
            });
        }
        printer.line(text);
    }
}
