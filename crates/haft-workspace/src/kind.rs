//! What a file is, told by its first bytes and never by its name.

use std::fs::File;
use std::io;

use crate::page::read_up_to;
use crate::picture::PictureFormat;
use crate::text::Encoding;

/// How much of a file decides what it is.
const PROBE: usize = 8 * 1024;
/// How far a text that begins as plain ASCII is searched for its first other character. More is
/// rarely needed, and a megabyte costs less than a tenth of a millisecond.
const ASCII_SEARCH: u64 = 1024 * 1024;
/// The share of control bytes above which a file is no text, in percent.
const CONTROL_PERCENT: usize = 30;

/// What a file is to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing in it.
    Empty,
    /// Bytes come out although the length is said to be zero, as under `/proc`: such a file has
    /// no end that can be trusted.
    Sizeless,
    /// Text.
    Text(Encoding),
    /// A picture that can be shown.
    Picture(PictureFormat),
    /// A PDF document.
    Pdf,
    /// Nothing that can be shown.
    Binary {
        /// The type in words, for the refusal.
        what: &'static str,
    },
}

/// Returns what an opened file is, `len` being the length that the system gave for it.
///
/// # Errors
///
/// What the system answers when the file cannot be read.
pub fn sniff(file: &File, len: u64) -> io::Result<Kind> {
    // As much as was announced: asking for more would only say so.
    let announced = usize::try_from(len).ok().filter(|len| (1..PROBE).contains(len));
    let mut probe = vec![0; announced.unwrap_or(PROBE)];
    let read = read_up_to(file, &mut probe, 0)?;
    probe.truncate(read);
    if probe.is_empty() {
        return Ok(Kind::Empty);
    }
    if len == 0 {
        return Ok(Kind::Sizeless);
    }
    let whole = len <= read as u64;
    let kind = of_probe(&probe, whole);
    if kind == Kind::Text(Encoding::Utf8) && !whole && probe.is_ascii() {
        return Ok(Kind::Text(encoding_after_ascii(file, len)?));
    }
    Ok(kind)
}

/// Returns what the first bytes of a file make it; `whole` says that there are no more.
pub fn of_probe(probe: &[u8], whole: bool) -> Kind {
    if probe.is_empty() {
        return Kind::Empty;
    }
    if let Some(format) = picture_format(probe) {
        return Kind::Picture(format);
    }
    if probe.starts_with(b"%PDF-") {
        return Kind::Pdf;
    }
    if let Some(encoding) = Encoding::of_mark(probe)
        && encoding.unit() > 1
        && is_wide_text(probe, encoding)
    {
        return Kind::Text(encoding);
    }
    let known = SIGNATURES.iter().find(|signature| signature.fits(probe));
    if let Some(known) = known
        && known.is_sure()
    {
        return Kind::Binary { what: known.what };
    }
    let nul = memchr::memchr(0, probe).is_some();
    let controls = probe.iter().filter(|byte| is_control(u32::from(**byte))).count();
    if nul || controls * 100 > probe.len() * CONTROL_PERCENT {
        return Kind::Binary { what: known.map_or_else(|| guess(probe), |known| known.what) };
    }
    Kind::Text(Encoding::detect(probe, whole))
}

/// Looks for the first byte that is not ASCII, and lets what follows it tell the encoding.
fn encoding_after_ascii(file: &File, len: u64) -> io::Result<Encoding> {
    let mut buffer = vec![0; 64 * 1024];
    let mut at = PROBE as u64;
    while at < len.min(ASCII_SEARCH) {
        let read = read_up_to(file, &mut buffer, at)?;
        let chunk = buffer.get(..read).unwrap_or_default();
        if chunk.is_empty() {
            break;
        }
        if !chunk.is_ascii() {
            let first = chunk.iter().take_while(|byte| byte.is_ascii()).count() as u64;
            let mut probe = vec![0; PROBE];
            let read = read_up_to(file, &mut probe, at + first)?;
            probe.truncate(read);
            let whole = at + first + read as u64 >= len;
            // A mark in the middle of a file is a character like any other.
            return Ok(match Encoding::detect(&probe, whole) {
                Encoding::Legacy(legacy) => Encoding::Legacy(legacy),
                _ => Encoding::Utf8,
            });
        }
        at += read as u64;
    }
    Ok(Encoding::Utf8)
}

fn picture_format(probe: &[u8]) -> Option<PictureFormat> {
    if probe.starts_with(b"\x89PNG\r\n\x1A\n") {
        return Some(PictureFormat::Png);
    }
    if probe.starts_with(b"\xFF\xD8\xFF") {
        return Some(PictureFormat::Jpeg);
    }
    if probe.starts_with(b"GIF87a") || probe.starts_with(b"GIF89a") {
        return Some(PictureFormat::Gif);
    }
    if probe.starts_with(b"RIFF") && probe.get(8..12) == Some(b"WEBP") {
        return Some(PictureFormat::WebP);
    }
    // Two letters alone begin many a text, so the length of the second header must fit as well.
    let header = probe.get(14..18)?;
    let bitmap = [12_u8, 40, 52, 56, 64, 108, 124].iter().any(|len| header == [*len, 0, 0, 0]);
    (probe.starts_with(b"BM") && bitmap).then_some(PictureFormat::Bmp)
}

/// Whether what follows a mark of UTF-16 or UTF-32 reads as text.
fn is_wide_text(probe: &[u8], encoding: Encoding) -> bool {
    let whole_units = probe.len() - probe.len() % encoding.unit();
    let decoded = encoding.decode(probe.get(..whole_units).unwrap_or_default());
    let (mut all, mut odd) = (0_usize, decoded.replaced);
    for character in decoded.text.chars() {
        if character == '\0' {
            return false;
        }
        all += 1;
        odd += usize::from(is_control(u32::from(character)));
    }
    odd * 100 <= all * CONTROL_PERCENT
}

/// Whether a character is one that texts do not have; tab, line ends and form feed they have.
fn is_control(code: u32) -> bool {
    (code < 0x20 && !matches!(code, 0x09 | 0x0A | 0x0C | 0x0D)) || code == 0x7F
}

/// Names a binary file that no signature fits.
fn guess(probe: &[u8]) -> &'static str {
    let (pairs, _) = probe.as_chunks::<2>();
    let little = pairs.iter().filter(|[low, high]| *high == 0 && is_plain(*low)).count();
    let big = pairs.iter().filter(|[high, low]| *high == 0 && is_plain(*low)).count();
    // Nine in ten: Latin text in UTF-16 is that regular, nothing else is.
    if pairs.len() > 1 && little.max(big) * 10 >= pairs.len() * 9 {
        return "probably UTF-16 text without a byte order mark";
    }
    "unknown binary data"
}

fn is_plain(byte: u8) -> bool {
    byte != 0 && byte.is_ascii() && !is_control(u32::from(byte))
}

/// Bytes that a type of file has at a fixed place.
struct Signature {
    at: usize,
    bytes: &'static [u8],
    what: &'static str,
}

impl Signature {
    fn fits(&self, probe: &[u8]) -> bool {
        probe.get(self.at..).is_some_and(|rest| rest.starts_with(self.bytes))
    }

    /// Whether no text can have these bytes; a signature of letters only names what is already
    /// known to be binary.
    fn is_sure(&self) -> bool {
        self.bytes.iter().any(|byte| !byte.is_ascii() || is_control(u32::from(*byte)))
    }
}

const fn signature(at: usize, bytes: &'static [u8], what: &'static str) -> Signature {
    Signature { at, bytes, what }
}

/// The types that agents meet, the more special before the more general.
const SIGNATURES: &[Signature] = &[
    signature(0, b"\x7FELF", "ELF executable or library"),
    signature(0, b"\xCF\xFA\xED\xFE", "Mach-O executable or library"),
    signature(0, b"\xCE\xFA\xED\xFE", "Mach-O executable or library"),
    signature(0, b"\xCA\xFE\xBA\xBE\0\0\0\x01", "Mach-O universal binary"),
    signature(0, b"\xCA\xFE\xBA\xBE\0\0\0\x02", "Mach-O universal binary"),
    signature(0, b"\xCA\xFE\xBA\xBE", "Java class"),
    signature(0, b"\0asm", "WebAssembly module"),
    signature(0, b"BC\xC0\xDE", "LLVM bitcode"),
    signature(0, b"!<arch>\n", "static library"),
    signature(0, b"MZ", "Windows executable or library"),
    signature(30, b"[Content_Types].xml", "Office document"),
    signature(30, b"mimetypeapplication/vnd.oasis", "OpenDocument file"),
    signature(30, b"mimetypeapplication/epub", "EPUB book"),
    signature(30, b"META-INF/", "Java archive"),
    signature(0, b"PK\x03\x04", "zip archive"),
    signature(0, b"PK\x05\x06", "empty zip archive"),
    signature(0, b"\x1F\x8B", "gzip archive"),
    signature(0, b"\xFD7zXZ\0", "xz archive"),
    signature(0, b"\x28\xB5\x2F\xFD", "zstd archive"),
    signature(0, b"\x04\x22\x4D\x18", "lz4 archive"),
    signature(4, b"1AY&SY", "bzip2 archive"),
    signature(0, b"7z\xBC\xAF\x27\x1C", "7z archive"),
    signature(0, b"Rar!\x1A\x07", "rar archive"),
    signature(257, b"ustar", "tar archive"),
    signature(0, b"SQLite format 3\0", "SQLite database"),
    signature(0, b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "old Office document"),
    signature(0, b"PAR1", "Parquet table"),
    signature(0, b"\x89HDF\r\n\x1A\n", "HDF5 data"),
    signature(0, b"\x93NUMPY", "NumPy array"),
    signature(0, b"GGUF", "GGUF model"),
    signature(0, b"DIRC", "git index"),
    signature(0, b"PACK", "git pack"),
    signature(0, b"\xFFtOc", "git pack index"),
    signature(4, b"ftypavif", "AVIF picture"),
    signature(4, b"ftyphei", "HEIC picture"),
    signature(4, b"ftypqt", "QuickTime video"),
    signature(4, b"ftyp", "MP4 audio or video"),
    signature(0, b"\x1A\x45\xDF\xA3", "Matroska or WebM video"),
    signature(8, b"AVI ", "AVI video"),
    signature(8, b"WAVE", "WAV audio"),
    signature(0, b"OggS", "Ogg audio or video"),
    signature(0, b"fLaC", "FLAC audio"),
    signature(0, b"ID3", "MP3 audio"),
    signature(0, b"\xFF\xFB", "MP3 audio"),
    signature(0, b"\0\0\x01\0", "Windows icon"),
    signature(0, b"II*\0", "TIFF picture"),
    signature(0, b"MM\0*", "TIFF picture"),
    signature(0, b"8BPS", "Photoshop picture"),
    signature(0, b"\0\x01\0\0\0", "TrueType font"),
    signature(0, b"OTTO", "OpenType font"),
    signature(0, b"wOFF", "WOFF font"),
    signature(0, b"wOF2", "WOFF2 font"),
    signature(0, b"glTF", "glTF model"),
];

#[cfg(test)]
mod tests;
