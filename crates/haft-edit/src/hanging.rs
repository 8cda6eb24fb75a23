//! One line of old text without all of its indentation, and several lines that take its place.
//!
//! The line was either copied from its first letter on, and the lines that follow are indented in
//! full, or all of the new text was written as if the line stood further out.

use crate::lines::{Lines, indent, trim};

/// How the lines behind the first are indented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hang {
    /// As they shall stand.
    InFull,
    /// As far out as the old line was written.
    Shifted,
    Unsure,
}

/// How a line goes on, as far as its end tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// A block opens: what follows stands deeper.
    Opens,
    /// A statement is over: what follows does not.
    Closes,
    Open,
}

impl Ending {
    fn of(line: &str) -> Self {
        match trim(line).chars().next_back() {
            Some('{' | '(' | '[' | ':') => Self::Opens,
            Some(';' | '}' | ')' | ']' | ',') => Self::Closes,
            _ => Self::Open,
        }
    }
}

/// Tells how new text hangs that takes the place of a line: `written` is the indentation that its
/// old text has, `there` the one that it has in the file, which ends in it. A first line that has all
/// of that too may be meant to stand there, or deeper by as much.
pub(crate) fn hang(written: &str, there: &str, new: &Lines<'_>) -> Hang {
    let first = new.content(0);
    if indent(first).starts_with(there) {
        return Hang::Unsure;
    }
    let follow = || new.contents().skip(1).filter(|content| !trim(content).is_empty());
    let Some(next) = follow().next() else { return Hang::InFull };
    let ending = Ending::of(first);
    let Some(outer) = follow().position(|content| !indent(content).starts_with(there)) else {
        let is_flat = indent(next) == there;
        return match ending {
            // A list may stand as far out as the key that it belongs to.
            Ending::Opens if is_flat && trim(next).starts_with('-') => Hang::Unsure,
            Ending::Opens if is_flat => Hang::Shifted,
            _ => Hang::InFull,
        };
    };
    let is_deeper = indent(next).len() > indent(first).len().max(written.len());
    let outer = follow().nth(outer).unwrap_or_default();
    let before = new.contents().take_while(|content| *content != outer);
    // Behind a blank line something of its own may begin, further out than the line.
    let is_apart = before.skip(1).any(|content| trim(content).is_empty());
    // Tabs behind spaces, or spaces behind tabs, are no indentation.
    let is_mixed = follow().any(|content| !indent(content).chars().all(|c| there.contains(c)));
    if is_apart || is_mixed || (is_deeper && ending == Ending::Closes) {
        Hang::Unsure
    } else {
        Hang::Shifted
    }
}

#[cfg(test)]
mod tests;
