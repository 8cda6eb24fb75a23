//! JSON with comments, read by position: which members an object has, and where they stand.

use std::ops::Range;

use serde_json::Value;

use super::Format;

/// A text whose members can be found.
pub(super) struct JsonText<'a> {
    pub(super) text: &'a str,
    /// The same text, byte for byte as long, with spaces for comments: what is left has a meaning.
    bare: Vec<u8>,
    /// All that it says.
    pub(super) value: Value,
}

/// An object: where its braces are, and what is between.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) open: usize,
    pub(super) close: usize,
    pub(super) members: Vec<Member>,
}

/// A member of an object.
#[derive(Debug, Clone)]
pub(super) struct Member {
    key: String,
    /// Where its key begins.
    pub(super) start: usize,
    pub(super) value: Range<usize>,
    /// Where the comma after it stands, if there is one.
    pub(super) comma: Option<usize>,
}

impl<'a> JsonText<'a> {
    /// Reads a whole file.
    pub(super) fn read(text: &'a str, format: Format) -> Result<Self, String> {
        let bare = match format {
            Format::Json => text.as_bytes().to_vec(),
            _ => without_comments(text)?,
        };
        let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let strict = without_last_commas(&bare, format);
        let value = serde_json::from_slice(strict.get(start..).unwrap_or_default());
        Ok(Self { text, bare, value: value.map_err(|error| error.to_string())? })
    }

    /// The object that the file is.
    pub(super) fn root(&self) -> Result<Object, String> {
        let open = self.bare.iter().position(|byte| *byte == b'{');
        open.filter(|_| self.value.is_object())
            .and_then(|open| self.object(open))
            .ok_or_else(|| "it is not an object, as this host's config must be".to_owned())
    }

    /// The object whose brace opens here; none if none does.
    pub(super) fn object(&self, open: usize) -> Option<Object> {
        let mut members = Vec::new();
        let mut at = self.solid(open.checked_add(1)?);
        if self.byte(open)? != b'{' {
            return None;
        }
        while self.byte(at)? == b'"' {
            let key_end = self.after_string(at)?;
            let key = serde_json::from_str(self.text.get(at..key_end)?).ok()?;
            let colon = self.solid(key_end);
            let value = self.solid(colon + 1);
            let value = value..self.after_value(value)?;
            let next = self.solid(value.end);
            let comma = (self.byte(next)? == b',').then_some(next);
            members.push(Member { key, start: at, value, comma });
            at = comma.map_or(next, |comma| self.solid(comma + 1));
        }
        Some(Object { open, close: at, members })
    }

    /// Whether a line ends between the two places, outside every comment.
    pub(super) fn breaks(&self, range: Range<usize>) -> bool {
        self.bare.get(range).is_some_and(|part| part.contains(&b'\n'))
    }

    /// Where the line ends on which `at` is: before its line break.
    pub(super) fn line_end(&self, at: usize) -> usize {
        let rest = self.bare.get(at..).unwrap_or_default();
        let end = at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        if end > at && self.byte(end - 1) == Some(b'\r') { end - 1 } else { end }
    }

    /// The whitespace that the line begins with on which `at` is.
    pub(super) fn indent(&self, at: usize) -> &'a str {
        let line = self.text.get(..at).map_or(0, |before| before.rfind('\n').map_or(0, |i| i + 1));
        let rest = self.text.get(line..).unwrap_or_default();
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        rest.get(..blank).unwrap_or_default()
    }

    /// How lines end here.
    pub(super) fn line_break(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bare.get(at).copied()
    }

    /// The first place from here on that is no whitespace.
    fn solid(&self, at: usize) -> usize {
        let rest = self.bare.get(at..).unwrap_or_default();
        at + rest.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(rest.len())
    }

    fn after_string(&self, quote: usize) -> Option<usize> {
        after_string(&self.bare, quote)
    }

    fn after_value(&self, start: usize) -> Option<usize> {
        match self.byte(start)? {
            b'"' => self.after_string(start),
            b'{' | b'[' => {
                let (mut depth, mut at) = (0_usize, start);
                loop {
                    match self.byte(at)? {
                        b'"' => {
                            at = self.after_string(at)?;
                            continue;
                        }
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                    at += 1;
                    if depth == 0 {
                        return Some(at);
                    }
                }
            }
            _ => {
                let ends = |byte: &u8| b",]}".contains(byte) || byte.is_ascii_whitespace();
                let rest = self.bare.get(start..)?;
                Some(start + rest.iter().position(ends).unwrap_or(rest.len()))
            }
        }
    }
}

impl Object {
    /// The member with this key; an error if there are two, because nobody knows which one counts.
    pub(super) fn member(&self, key: &str) -> Result<Option<(usize, &Member)>, String> {
        let mut found = self.members.iter().enumerate().filter(|(_, member)| member.key == key);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(format!("it has `{key}` twice; take one of them out first")),
            (first, None) => Ok(first),
        }
    }
}

fn after_string(bytes: &[u8], quote: usize) -> Option<usize> {
    let mut at = quote + 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// The text with a space for every byte of a comment. Breaks within one are no line breaks any more.
fn without_comments(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let next = bytes.get(at + 1);
        let end = match (byte, next) {
            (b'"', _) => {
                at = after_string(&bytes, at).unwrap_or(bytes.len());
                continue;
            }
            (b'/', Some(b'/')) => {
                let rest = bytes.get(at..).unwrap_or_default();
                at + rest.iter().position(|byte| b"\r\n".contains(byte)).unwrap_or(rest.len())
            }
            (b'/', Some(b'*')) => {
                let rest = text.get(at + 2..).unwrap_or_default();
                let end = rest.find("*/").ok_or("a comment that opens with /* never ends")?;
                at + 2 + end + 2
            }
            _ => {
                at += 1;
                continue;
            }
        };
        bytes.get_mut(at..end).unwrap_or_default().fill(b' ');
        at = end;
    }
    Ok(bytes)
}

/// The same with a space for every comma after a last member, as strict JSON has none.
fn without_last_commas(bare: &[u8], format: Format) -> Vec<u8> {
    let mut strict = bare.to_vec();
    if format == Format::Json {
        return strict;
    }
    let (mut at, mut last) = (0, None);
    while let Some(byte) = bare.get(at) {
        match byte {
            b'"' => {
                last = None;
                at = after_string(bare, at).unwrap_or(bare.len());
                continue;
            }
            b',' => last = Some(at),
            b'}' | b']' => {
                if let Some(comma) = last.take().and_then(|comma| strict.get_mut(comma)) {
                    *comma = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => last = None,
        }
        at += 1;
    }
    strict
}
