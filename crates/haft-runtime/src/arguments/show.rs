//! Values, names and paths as a message shows them: short, on one line, without control characters.

use std::fmt;
use std::io;

use crate::visible::is_hidden;
use serde_json::Value;

/// How the arguments as a whole are called in a message.
pub(super) const ROOT: &str = "(arguments)";

/// How much of a value a message shows.
const VALUE_CHARS: usize = 80;
/// A longer name is no name; the start is enough to find it.
const NAME_CHARS: usize = 40;

/// Where in the arguments a value stands, as a chain on the stack that costs nothing until shown.
#[derive(Clone, Copy)]
pub(super) enum At<'a> {
    Root,
    Key(&'a Self, &'a str),
    Item(&'a Self, usize),
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str(ROOT),
            Self::Key(Self::Root, key) => f.write_str(&step(key, /*first*/ true)),
            Self::Key(parent, key) => write!(f, "{parent}{}", step(key, /*first*/ false)),
            Self::Item(Self::Root, index) => write!(f, "[{index}]"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// One step into an object, dotted if the name is plain.
pub(super) fn step(key: &str, first: bool) -> String {
    let is_plain = !key.is_empty()
        && key.len() <= NAME_CHARS
        && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'));
    match (is_plain, first) {
        (true, true) => key.to_owned(),
        (true, false) => format!(".{key}"),
        (false, _) => format!("[\"{}\"]", clip(key, NAME_CHARS)),
    }
}

/// A property's name in backticks.
pub(super) fn name(name: &str) -> String {
    format!("`{}`", clip(name, NAME_CHARS))
}

/// The value as JSON, cut to eighty characters; the cost does not grow with the value's size.
pub(super) fn brief(value: &Value) -> String {
    // Serializing a long string scans all of it before the first byte comes out.
    if let Value::String(text) = value {
        return quoted(text);
    }
    let mut window = Window { bytes: Vec::new(), room: VALUE_CHARS * 4 + 4 };
    // The window refuses to take more than it shows; that refusal is the only possible error.
    let whole = serde_json::to_writer(&mut window, value).is_ok();
    let text = String::from_utf8_lossy(&window.bytes);
    if whole { clip(&text, VALUE_CHARS) } else { clip(&format!("{text}…"), VALUE_CHARS) }
}

/// The text in quotes, as JSON would write it, cut like [`brief`].
pub(super) fn quoted(text: &str) -> String {
    let mut shown = String::from("\"");
    let mut room = VALUE_CHARS - 3;
    for c in text.chars() {
        let piece = match c {
            '"' => "\\\"".to_owned(),
            '\\' => "\\\\".to_owned(),
            c => visible(c),
        };
        let width = piece.chars().count();
        if width > room {
            shown.push('…');
            break;
        }
        room -= width;
        shown.push_str(&piece);
    }
    shown.push('"');
    shown
}

/// The text on one line, cut to at most so many characters.
pub(super) fn clip(text: &str, limit: usize) -> String {
    let mut shown = String::new();
    let mut used = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let piece = visible(c);
        let width = piece.chars().count();
        // The last place is for the ellipsis, unless nothing more comes.
        if used + width > limit || (used + width == limit && chars.clone().next().is_some()) {
            shown.push('…');
            break;
        }
        used += width;
        shown.push_str(&piece);
    }
    shown
}

/// The character, or an escape if it would break the line or change how the text around it reads.
fn visible(c: char) -> String {
    if is_hidden(c) { c.escape_default().to_string() } else { c.to_string() }
}

struct Window {
    bytes: Vec<u8>,
    room: usize,
}

impl io::Write for Window {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.get(..self.room).unwrap_or(bytes);
        self.room -= taken.len();
        self.bytes.extend_from_slice(taken);
        if taken.len() < bytes.len() {
            return Err(io::Error::from(io::ErrorKind::WriteZero));
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
