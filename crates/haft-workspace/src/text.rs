//! Encodings and line ends: bytes to text and back, without losing a byte unnoticed.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::EncoderResult;

mod splice;

pub use splice::SpliceError;

/// How the text of a file is written in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 without a mark; ASCII is part of it.
    Utf8,
    /// UTF-8 that starts with a byte order mark.
    Utf8Bom,
    /// UTF-16, low byte first, with its mark.
    Utf16Le,
    /// UTF-16, high byte first, with its mark.
    Utf16Be,
    /// UTF-32, low byte first, with its mark.
    Utf32Le,
    /// UTF-32, high byte first, with its mark.
    Utf32Be,
    /// Anything older that was guessed from the bytes.
    Legacy(&'static encoding_rs::Encoding),
}

/// Text, and how far it can be trusted to stand for its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text; what could not be decoded is U+FFFD.
    pub text: Cow<'a, str>,
    /// How many U+FFFD stand for bytes that could not be decoded.
    pub replaced: usize,
    /// Whether encoding the text gives back the same bytes. Some legacy encodings write one
    /// character in two ways, so this can be false although nothing was replaced.
    pub faithful: bool,
}

/// A character that the encoding of a file cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{character:?} (U+{:04X}) at byte {at} cannot be written in {}", u32::from(*character), encoding.name())]
pub struct Unencodable {
    /// The character.
    pub character: char,
    /// Where it stands in the text, in bytes.
    pub at: usize,
    /// The encoding that lacks it.
    pub encoding: Encoding,
}

impl Encoding {
    /// Every encoding with a byte order mark, the longer marks before their prefixes.
    const MARKED: [Self; 5] =
        [Self::Utf32Le, Self::Utf32Be, Self::Utf8Bom, Self::Utf16Le, Self::Utf16Be];

    /// Returns the encoding that the first bytes of a file announce by a byte order mark.
    pub fn of_mark(bytes: &[u8]) -> Option<Self> {
        Self::MARKED.into_iter().find(|encoding| bytes.starts_with(encoding.mark()))
    }

    /// Returns the encoding of a file by its mark, by being UTF-8, or by statistics.
    ///
    /// `whole` says that `probe` is all there is: then a character cut at its end is damage.
    pub fn detect(probe: &[u8], whole: bool) -> Self {
        if let Some(marked) = Self::of_mark(probe) {
            return marked;
        }
        if mostly_utf8(probe, whole) {
            return Self::Utf8;
        }
        // Escape-driven ISO-2022-JP is denied: its bytes are ASCII, and a line of it cannot be
        // read without the lines before.
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        detector.feed(probe, whole);
        Self::Legacy(detector.guess(None, Utf8Detection::Deny))
    }

    /// Returns the encoding with that name, as [`Encoding::name`] gives it, or a usual label.
    pub fn for_name(name: &str) -> Option<Self> {
        let own = [Self::Utf8].into_iter().chain(Self::MARKED);
        if let Some(own) = own.into_iter().find(|encoding| encoding.name() == name) {
            return Some(own);
        }
        let legacy = encoding_rs::Encoding::for_label(name.as_bytes())?;
        let unusable = [
            encoding_rs::UTF_8,
            encoding_rs::UTF_16LE,
            encoding_rs::UTF_16BE,
            encoding_rs::ISO_2022_JP,
            encoding_rs::REPLACEMENT,
        ];
        (!unusable.contains(&legacy)).then_some(Self::Legacy(legacy))
    }

    /// Returns the name in lower case, as IANA writes it where IANA has one.
    pub fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Utf8 => "utf-8",
            Self::Utf8Bom => "utf-8-bom",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Utf32Le => "utf-32le",
            Self::Utf32Be => "utf-32be",
            Self::Legacy(legacy) => return Cow::Owned(legacy.name().to_ascii_lowercase()),
        })
    }

    /// Returns the bytes that a file of this encoding starts with.
    pub fn mark(&self) -> &'static [u8] {
        match self {
            Self::Utf8 | Self::Legacy(_) => b"",
            Self::Utf8Bom => b"\xEF\xBB\xBF",
            Self::Utf16Le => b"\xFF\xFE",
            Self::Utf16Be => b"\xFE\xFF",
            Self::Utf32Le => b"\xFF\xFE\0\0",
            Self::Utf32Be => b"\0\0\xFE\xFF",
        }
    }

    /// Returns how many bytes one code unit takes.
    pub fn unit(&self) -> usize {
        match self {
            Self::Utf8 | Self::Utf8Bom | Self::Legacy(_) => 1,
            Self::Utf16Le | Self::Utf16Be => 2,
            Self::Utf32Le | Self::Utf32Be => 4,
        }
    }

    /// Decodes a whole file, its mark left out of the text.
    pub fn decode<'a>(&self, bytes: &'a [u8]) -> Decoded<'a> {
        match bytes.strip_prefix(self.mark()) {
            Some(body) => self.decode_part(body),
            None => Decoded { faithful: false, ..self.decode_part(bytes) },
        }
    }

    /// Decodes bytes from the middle of a file, where a mark would be a character.
    pub fn decode_part<'a>(&self, bytes: &'a [u8]) -> Decoded<'a> {
        let (text, replaced) = match self {
            Self::Utf8 | Self::Utf8Bom => decode_utf8(bytes),
            Self::Utf16Le | Self::Utf16Be => owned(decode_utf16(bytes, *self == Self::Utf16Be)),
            Self::Utf32Le | Self::Utf32Be => owned(decode_utf32(bytes, *self == Self::Utf32Be)),
            Self::Legacy(legacy) => {
                let (text, damaged) = legacy.decode_without_bom_handling(bytes);
                let replaced = if damaged { text.matches('\u{FFFD}').count() } else { 0 };
                let faithful =
                    !damaged && self.encode_part(&text).is_ok_and(|again| *again == *bytes);
                return Decoded { text, replaced, faithful };
            }
        };
        Decoded { text, replaced, faithful: replaced == 0 }
    }

    /// Encodes the text of a whole file, its mark in front.
    ///
    /// # Errors
    ///
    /// The first character that would not come back when the bytes are decoded again.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, Unencodable> {
        let body = self.encode_part(text)?;
        let mark = self.mark();
        Ok(if mark.is_empty() { body.into_owned() } else { [mark, &*body].concat() })
    }

    /// Encodes text for the middle of a file.
    ///
    /// # Errors
    ///
    /// The same as for [`Encoding::encode`].
    pub fn encode_part<'a>(&self, text: &'a str) -> Result<Cow<'a, [u8]>, Unencodable> {
        let big = matches!(self, Self::Utf16Be | Self::Utf32Be);
        Ok(match self {
            Self::Utf8 | Self::Utf8Bom => Cow::Borrowed(text.as_bytes()),
            Self::Utf16Le | Self::Utf16Be => text
                .encode_utf16()
                .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
                .collect::<Vec<u8>>()
                .into(),
            Self::Utf32Le | Self::Utf32Be => text
                .chars()
                .map(u32::from)
                .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
                .collect::<Vec<u8>>()
                .into(),
            Self::Legacy(legacy) => encode_legacy(legacy, text)?.into(),
        })
    }
}

/// How the lines of a text end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnds {
    /// No line has an end.
    None,
    /// A line feed, as on Unix.
    Lf,
    /// Carriage return and line feed, as on Windows.
    CrLf,
    /// A carriage return alone, as on the old Macintosh.
    Cr,
    /// Not all the same.
    Mixed,
}

impl LineEnds {
    /// Returns how the lines of a text end; a lone carriage return only counts as an end where
    /// there is no line feed at all, since elsewhere it is a part of its line.
    pub fn of(text: &str) -> Self {
        let (mut lf, mut crlf, mut returns, mut before) = (false, false, false, None);
        for at in memchr::memchr2_iter(b'\n', b'\r', text.as_bytes()) {
            if text.as_bytes().get(at) == Some(&b'\r') {
                returns = true;
                before = Some(at);
            } else if before.is_some_and(|before| before + 1 == at) {
                crlf = true;
            } else {
                lf = true;
            }
            if lf && crlf {
                return Self::Mixed;
            }
        }
        match (lf, crlf, returns) {
            (true, true, _) => Self::Mixed,
            (true, false, _) => Self::Lf,
            (false, true, _) => Self::CrLf,
            (false, false, true) => Self::Cr,
            (false, false, false) => Self::None,
        }
    }

    /// Returns what two stretches of one text have together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, one) | (one, Self::None) => one,
            (one, two) if one == two => one,
            _ => Self::Mixed,
        }
    }

    /// Returns the end that a new line of this text gets; the first of several is not known here.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None | Self::Lf | Self::Mixed => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }
}

/// Whether bytes are UTF-8, perhaps with a little damage.
///
/// Several characters of more than one byte are not valid UTF-8 by chance, so a file with many of
/// them and few bad bytes is damaged UTF-8: reading it as a legacy encoding would garble it all.
fn mostly_utf8(probe: &[u8], whole: bool) -> bool {
    if std::str::from_utf8(probe).is_ok() {
        return true;
    }
    let (mut good, mut bad) = (0_usize, 0_usize);
    let mut chunks = probe.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        good += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        let cut = !whole && chunks.peek().is_none() && starts_a_character(chunk.invalid());
        if !chunk.invalid().is_empty() && !cut {
            bad += 1;
        }
    }
    bad == 0 || good > bad.saturating_mul(8)
}

/// Whether bytes are the beginning of a character whose rest is not there.
fn starts_a_character(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

fn decode_utf8(bytes: &[u8]) -> (Cow<'_, str>, usize) {
    let text = String::from_utf8_lossy(bytes);
    let replaced = match text {
        Cow::Borrowed(_) => 0,
        Cow::Owned(_) => bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count(),
    };
    (text, replaced)
}

fn decode_utf16(bytes: &[u8], big: bool) -> (String, usize) {
    let (units, rest) = bytes.as_chunks::<2>();
    let read = if big { u16::from_be_bytes } else { u16::from_le_bytes };
    let characters = char::decode_utf16(units.iter().map(|unit| read(*unit)));
    collect_marked(characters.map(Result::ok), rest)
}

fn decode_utf32(bytes: &[u8], big: bool) -> (String, usize) {
    let (units, rest) = bytes.as_chunks::<4>();
    let read = if big { u32::from_be_bytes } else { u32::from_le_bytes };
    collect_marked(units.iter().map(|unit| char::from_u32(read(*unit))), rest)
}

/// Gathers characters; a missing one, or bytes too few for a unit, become U+FFFD.
fn collect_marked(characters: impl Iterator<Item = Option<char>>, rest: &[u8]) -> (String, usize) {
    let mut replaced = 0;
    let tail = (!rest.is_empty()).then_some(None);
    let text = characters
        .chain(tail)
        .map(|character| {
            character.unwrap_or_else(|| {
                replaced += 1;
                char::REPLACEMENT_CHARACTER
            })
        })
        .collect();
    (text, replaced)
}

fn owned((text, replaced): (String, usize)) -> (Cow<'static, str>, usize) {
    (Cow::Owned(text), replaced)
}

fn encode_legacy(
    legacy: &'static encoding_rs::Encoding,
    text: &str,
) -> Result<Vec<u8>, Unencodable> {
    let unencodable =
        |character, at| Unencodable { character, at, encoding: Encoding::Legacy(legacy) };
    let mut encoder = legacy.new_encoder();
    let room = encoder.max_buffer_length_from_utf8_without_replacement(text.len());
    // One byte more than the promise, so that a full buffer cannot be the reason to stop.
    let mut bytes = Vec::with_capacity(room.unwrap_or(text.len()).saturating_add(1));
    let mut rest = text;
    loop {
        let (result, read) =
            encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
        match result {
            EncoderResult::InputEmpty => break,
            EncoderResult::OutputFull => {
                rest = rest.get(read..).unwrap_or_default();
                bytes.reserve(rest.len().saturating_add(16));
            }
            EncoderResult::Unmappable(character) => {
                let at = text.len() - rest.len() + read;
                return Err(unencodable(character, at.saturating_sub(character.len_utf8())));
            }
        }
    }
    // The web's encoders write some characters as a look-alike (the yen sign as a backslash in
    // Shift_JIS): for a file that is a silent change, so what does not come back is refused.
    let (again, _) = legacy.decode_without_bom_handling(&bytes);
    if again == text {
        return Ok(bytes);
    }
    let differing = text.char_indices().zip(again.chars()).find(|((_, one), two)| one != two);
    let (at, character) = differing.map_or((0, char::REPLACEMENT_CHARACTER), |(place, _)| place);
    Err(unencodable(character, at))
}

#[cfg(test)]
mod tests;
