//! Changing stretches of a text in the bytes that it stands for, and no other byte.

use std::ops::Range;

use super::{Encoding, Unencodable};

/// Why a text cannot be changed in its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpliceError {
    /// The encoding lacks a character of the new text.
    #[error("{0}; write it in another way, or convert the file first")]
    Unencodable(#[from] Unencodable),
    /// The new text would put a mark in the place of bytes that could not be decoded.
    #[error(
        "the bytes at {at} of the text cannot be decoded, and the new text would replace them by a \
         mark; leave them out of the change"
    )]
    Undecodable {
        /// Where, in bytes of the text.
        at: usize,
    },
    /// A stretch begins or ends within what is one unit in the file, or overlaps another.
    #[error("there is no place at {at} of the text where the file's bytes could be divided")]
    Indivisible {
        /// Where, in bytes of the text.
        at: usize,
    },
}

impl Encoding {
    /// Replaces stretches of the decoded text in the bytes of a whole file.
    ///
    /// Ranges are those of the text that [`Encoding::decode`] gives, in order and apart from each
    /// other. What a stretch and its replacement have in common at their ends is not touched.
    ///
    /// # Errors
    /// If the new text cannot be written, or the file cannot be divided there.
    pub fn splice(
        &self,
        bytes: &[u8],
        changes: &[(Range<usize>, &str)],
    ) -> Result<Vec<u8>, SpliceError> {
        let body = bytes.strip_prefix(self.mark()).unwrap_or(bytes);
        let mark = bytes.len() - body.len();
        let decoded = self.decode_part(body);
        let text = &*decoded.text;
        let mut narrow = Vec::with_capacity(changes.len());
        let mut end = 0;
        for (range, new) in changes {
            let indivisible = SpliceError::Indivisible { at: range.start };
            let old = text.get(range.clone()).filter(|_| range.start >= end).ok_or(indivisible)?;
            end = range.end;
            let (start, old, new) = narrowed(range.start, old, new);
            let bad = old.find(char::REPLACEMENT_CHARACTER);
            if let Some(at) = bad.filter(|_| decoded.replaced > 0 && new.contains('\u{FFFD}')) {
                return Err(SpliceError::Undecodable { at: start + at });
            }
            narrow.push((start..start + old.len(), new));
        }
        let places = narrow.iter().flat_map(|(range, _)| [range.start, range.end]);
        let places = self.places(body, text, decoded.replaced > 0, places)?;
        let mut spliced = Vec::with_capacity(bytes.len());
        spliced.extend_from_slice(bytes.get(..mark).unwrap_or_default());
        let mut done = 0;
        for ((_, new), place) in narrow.iter().zip(places.chunks_exact(2)) {
            let [start, end] = place else { continue };
            spliced.extend_from_slice(body.get(done..*start).unwrap_or_default());
            spliced.extend_from_slice(&self.encode_part(new)?);
            done = *end;
        }
        spliced.extend_from_slice(body.get(done..).unwrap_or_default());
        if decoded.replaced > 0 || matches!(self, Self::Legacy(_)) {
            self.check(&spliced, text, &narrow)?;
        }
        Ok(spliced)
    }

    /// Where offsets of the text are in the bytes.
    fn places(
        &self,
        body: &[u8],
        text: &str,
        damaged: bool,
        wanted: impl Iterator<Item = usize>,
    ) -> Result<Vec<usize>, SpliceError> {
        if matches!(self, Self::Utf8 | Self::Utf8Bom) && !damaged {
            return Ok(wanted.collect());
        }
        let mut boundaries = Boundaries::of(self, body, text);
        let place = |at| boundaries.at(at).ok_or(SpliceError::Indivisible { at });
        wanted.map(place).collect()
    }

    /// Makes sure that the bytes are read as what was meant: what stands before and after could
    /// join with the new text where bytes are damaged or one character takes several.
    fn check(
        &self,
        spliced: &[u8],
        text: &str,
        changes: &[(Range<usize>, &str)],
    ) -> Result<(), SpliceError> {
        let again = self.decode(spliced);
        let mut rest = &*again.text;
        let mut done = 0;
        let pieces = changes.iter().flat_map(|(range, new)| {
            let kept = text.get(std::mem::replace(&mut done, range.end)..range.start);
            [(kept.unwrap_or_default(), range.start), (new, range.start)]
        });
        let mut pieces: Vec<(&str, usize)> = pieces.collect();
        pieces.push((text.get(done..).unwrap_or_default(), done));
        for (piece, at) in pieces {
            rest = rest.strip_prefix(piece).ok_or(SpliceError::Indivisible { at })?;
        }
        Ok(())
    }
}

/// Leaves out what old and new text have in common at their ends.
fn narrowed<'a>(start: usize, old: &'a str, new: &'a str) -> (usize, &'a str, &'a str) {
    let head = old.char_indices().zip(new.chars()).find(|((_, one), two)| one != two);
    let head = head.map_or(old.len().min(new.len()), |((at, _), _)| at);
    let (old, new) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let same = old.chars().rev().zip(new.chars().rev()).take_while(|(one, two)| one == two);
    let tail: usize = same.map(|(one, _)| one.len_utf8()).sum();
    let cut = |text: &'a str| text.get(..text.len() - tail).unwrap_or_default();
    (start + head, cut(old), cut(new))
}

/// A walk over bytes and text side by side, from one character to the next.
struct Boundaries<'a> {
    units: Box<dyn Iterator<Item = (usize, usize)> + 'a>,
    /// The present place: in the text, and in the bytes.
    text: usize,
    bytes: usize,
    /// How many bytes there are: a unit that is cut off at the end has fewer than it should.
    end: usize,
}

impl<'a> Boundaries<'a> {
    fn of(encoding: &Encoding, body: &'a [u8], text: &'a str) -> Self {
        let mark = char::REPLACEMENT_CHARACTER.len_utf8();
        let units: Box<dyn Iterator<Item = (usize, usize)> + 'a> = match encoding {
            Encoding::Utf8 | Encoding::Utf8Bom => {
                Box::new(body.utf8_chunks().flat_map(move |chunk| {
                    let valid = chunk.valid().chars().map(|one| (one.len_utf8(), one.len_utf8()));
                    let invalid = chunk.invalid().len();
                    valid.chain((invalid > 0).then_some((mark, invalid)))
                }))
            }
            // A surrogate that stands alone is one unit, and so is the mark for it.
            Encoding::Utf16Le | Encoding::Utf16Be => {
                Box::new(text.chars().map(|one| (one.len_utf8(), one.len_utf16() * 2)))
            }
            Encoding::Utf32Le | Encoding::Utf32Be => {
                Box::new(text.chars().map(|one| (one.len_utf8(), 4)))
            }
            Encoding::Legacy(legacy) if legacy.is_single_byte() => {
                Box::new(text.chars().map(|one| (one.len_utf8(), 1)))
            }
            Encoding::Legacy(legacy) => Box::new(legacy_units(legacy, body)),
        };
        Self { units, text: 0, bytes: 0, end: body.len() }
    }

    /// Where an offset of the text is in the bytes; offsets are asked for in order.
    fn at(&mut self, wanted: usize) -> Option<usize> {
        while self.text < wanted {
            let (text, bytes) = self.units.next()?;
            self.text += text;
            self.bytes += bytes;
        }
        (self.text == wanted).then_some(self.bytes.min(self.end))
    }
}

/// Sizes of the units of a text in a legacy encoding of several bytes: in the text, and in the bytes.
fn legacy_units(
    legacy: &'static encoding_rs::Encoding,
    body: &[u8],
) -> impl Iterator<Item = (usize, usize)> {
    let mut decoder = legacy.new_decoder_without_bom_handling();
    let mut waiting = 0;
    let last = body.len();
    body.iter()
        .copied()
        .enumerate()
        .flat_map(move |(at, byte)| {
            let mut out = [0; 32];
            let (_, _, written, _) = decoder.decode_to_utf8(&[byte], &mut out, at + 1 == last);
            waiting += 1;
            if written == 0 {
                return [None, None];
            }
            let bytes = std::mem::take(&mut waiting);
            // A character that was broken off by a plain one: two units, and the last has one byte.
            let broken = byte.is_ascii() && written > 1 && out.get(written - 1) == Some(&byte);
            match broken && bytes > 1 {
                true => [Some((written - 1, bytes - 1)), Some((1, 1))],
                false => [Some((written, bytes)), None],
            }
        })
        .flatten()
}
