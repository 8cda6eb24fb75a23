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

/// A diff as text, its lines in colour: as a patch (`+new`), or with numbers before (`12 + new`).
pub(crate) fn in_colour(text: &str, colour: bool) -> String {
    if !colour {
        return text.to_owned();
    }
    let line = |line: &str| {
        let style = match sign(line) {
            Some('+') => Style::new().fg_color(Some(AnsiColor::Green.into())),
            Some('-') => Style::new().fg_color(Some(AnsiColor::Red.into())),
            _ => return line.to_owned(),
        };
        format!("{style}{line}{style:#}")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// What a line of a diff begins with, after its number if it has one.
fn sign(line: &str) -> Option<char> {
    let rest = line.trim_start();
    let words = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let numbered = words.len() < rest.len() && words.starts_with(' ');
    let sign = if numbered { words.trim_start() } else { line };
    sign.chars().next().filter(|sign| matches!(sign, '+' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_diff_are_told_by_their_sign_with_and_without_numbers() {
        for (line, expected) in [
            ("+new", Some('+')),
            ("-old", Some('-')),
            (" same", None),
            ("12 - old", Some('-')),
            (" 7 + new", Some('+')),
            ("12   same - not", None),
            ("Edited a - b", None),
            ("", None),
        ] {
            assert_eq!(sign(line), expected, "{line}");
        }
        assert_eq!(in_colour("+a\n b", false), "+a\n b");
        assert!(in_colour("+a\n b", true).starts_with("\u{1b}["));
    }
}
