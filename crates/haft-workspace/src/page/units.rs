//! Line ends and characters, counted on bytes that are not decoded.

use encoding_rs::DecoderResult;

use crate::text::Encoding;

/// Finds the ends of lines in bytes that are not decoded.
///
/// A line feed ends a line. Only in a file that begins with returns and no line feed at all does
/// a return end one too. No encoding here has either byte inside another character.
#[derive(Clone, Copy)]
pub(super) struct Breaks {
    pub(super) unit: usize,
    pub(super) big: bool,
    pub(super) returns: bool,
}

impl Breaks {
    pub(super) fn first(&self, bytes: &[u8]) -> Option<usize> {
        match (self.unit, self.returns) {
            (1, false) => memchr::memchr(b'\n', bytes),
            (1, true) => memchr::memchr2(b'\n', b'\r', bytes),
            (unit, _) => {
                bytes.chunks_exact(unit).position(|one| self.is_end(one)).map(|n| n * unit)
            }
        }
    }

    pub(super) fn count(&self, bytes: &[u8]) -> usize {
        match (self.unit, self.returns) {
            (1, false) => memchr::memchr_iter(b'\n', bytes).count(),
            (1, true) => memchr::memchr2_iter(b'\n', b'\r', bytes).count(),
            (2, _) => self.count_wide(bytes.as_chunks::<2>().0),
            (_, _) => self.count_wide(bytes.as_chunks::<4>().0),
        }
    }

    /// Compares whole units, which the compiler turns into wide instructions.
    fn count_wide<const N: usize>(&self, units: &[[u8; N]]) -> usize {
        let spelt = |ascii: u8| {
            let mut unit = [0; N];
            let place = if self.big { unit.last_mut() } else { unit.first_mut() };
            place.into_iter().for_each(|byte| *byte = ascii);
            unit
        };
        let (feed, carriage) = (spelt(b'\n'), spelt(if self.returns { b'\r' } else { b'\n' }));
        units.iter().filter(|unit| **unit == feed || **unit == carriage).count()
    }

    /// Whether a chunk, which begins at a whole unit, ends with the end of a line.
    pub(super) fn ends(&self, chunk: &[u8]) -> bool {
        self.last(chunk).is_some_and(|one| self.is_end(one))
    }

    pub(super) fn ends_in_return(&self, piece: &[u8]) -> bool {
        self.last(piece).is_some_and(|one| self.is(b'\r', one))
    }

    pub(super) fn is_return(&self, bytes: &[u8]) -> bool {
        bytes.get(..self.unit).is_some_and(|one| self.is(b'\r', one))
    }

    fn last<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let whole = bytes.len().is_multiple_of(self.unit);
        bytes.len().checked_sub(self.unit).filter(|_| whole).and_then(|at| bytes.get(at..))
    }

    fn is_end(&self, one: &[u8]) -> bool {
        self.is(b'\n', one) || self.returns && self.is(b'\r', one)
    }

    /// Whether a unit is this ASCII character.
    fn is(&self, ascii: u8, one: &[u8]) -> bool {
        let code = match *one {
            [only] => u32::from(only),
            [a, b] if self.big => u32::from(u16::from_be_bytes([a, b])),
            [a, b] => u32::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] if self.big => u32::from_be_bytes([a, b, c, d]),
            [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
            _ => return false,
        };
        code == u32::from(ascii)
    }
}

/// Counts the characters of a line that comes in pieces of whole units, keeping nothing of it.
pub(super) struct Counter {
    pub(super) count: usize,
    how: Characters,
}

enum Characters {
    Utf8,
    Utf16 { big: bool },
    Utf32,
    Legacy(Box<encoding_rs::Decoder>),
}

impl Counter {
    pub(super) fn new(encoding: &Encoding) -> Self {
        let how = match encoding {
            Encoding::Utf8 | Encoding::Utf8Bom => Characters::Utf8,
            Encoding::Utf16Le => Characters::Utf16 { big: false },
            Encoding::Utf16Be => Characters::Utf16 { big: true },
            Encoding::Utf32Le | Encoding::Utf32Be => Characters::Utf32,
            Encoding::Legacy(legacy) => {
                Characters::Legacy(Box::new(legacy.new_decoder_without_bom_handling()))
            }
        };
        Self { count: 0, how }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.count += match &mut self.how {
            Characters::Utf8 => first_bytes(bytes),
            Characters::Utf16 { big } => {
                // The second half of a pair does not begin a character.
                let high = |[a, b]: &[u8; 2]| if *big { *a } else { *b };
                let units = bytes.as_chunks::<2>().0;
                units.iter().filter(|unit| high(unit) & 0xFC != 0xDC).count()
            }
            Characters::Utf32 => bytes.len() / 4,
            Characters::Legacy(decoder) => count_decoded(decoder, bytes),
        };
    }
}

/// Counts the bytes of UTF-8 that begin a character.
fn first_bytes(bytes: &[u8]) -> usize {
    if bytes.is_ascii() {
        return bytes.len();
    }
    // A sum of bytes cannot overflow within 255 of them, and bytes are added many at a time.
    let count = |some: &[u8]| some.iter().map(|byte| u8::from(byte & 0xC0 != 0x80)).sum::<u8>();
    bytes.chunks(255).map(|some| usize::from(count(some))).sum()
}

fn count_decoded(decoder: &mut encoding_rs::Decoder, mut bytes: &[u8]) -> usize {
    let mut room = [0; 4096];
    let mut count = 0;
    loop {
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(bytes, &mut room, false);
        count += first_bytes(room.get(..written).unwrap_or_default());
        bytes = bytes.get(read..).unwrap_or_default();
        match result {
            DecoderResult::InputEmpty => return count,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(..) => count += 1,
        }
    }
}
