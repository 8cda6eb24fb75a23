//! Bytes of a page as text: by mark, by the server's word, by the page's own, or by looking.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How much of a page is searched for its own word.
const PRESCAN: usize = 4 * 1024;

/// Text that was bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The text; what could not be read stands there as U+FFFD.
    pub text: String,
    /// The charset it was read as.
    pub charset: &'static str,
}

/// Reads `bytes` as text. `told` is what the server says, and is believed unless a mark at the
/// beginning says otherwise. Charsets that browsers do not know, UTF-7 among them, are none.
#[must_use]
pub fn decode(bytes: &[u8], told: Option<&str>) -> Text {
    let by_label = |label: &str| Encoding::for_label(label.as_bytes());
    let encoding = Encoding::for_bom(bytes)
        .map(|(encoding, _)| encoding)
        .or_else(|| told.and_then(by_label))
        .or_else(|| own_word(bytes))
        .unwrap_or_else(|| detect(bytes));
    let (text, used, _) = encoding.decode(bytes);
    Text { text: text.replace('\0', "\u{fffd}"), charset: used.name() }
}

/// What the page says of itself, in a `meta` element or an XML declaration.
fn own_word(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..PRESCAN).unwrap_or(bytes).to_ascii_lowercase();
    let head = String::from_utf8_lossy(&head);
    let of_xml =
        head.starts_with("<?xml").then(|| after(head.split("?>").next()?, "encoding")).flatten();
    let metas = head.split("<meta").skip(1).filter_map(|rest| rest.split('>').next());
    let label = of_xml.or_else(|| metas.into_iter().find_map(|meta| after(meta, "charset")))?;
    let encoding = Encoding::for_label(label.as_bytes())?;
    // The word itself was read as ASCII, so it cannot be right.
    let wide = encoding == UTF_16BE || encoding == UTF_16LE;
    Some(if wide { UTF_8 } else { encoding })
}

/// The value that follows `name=` in a tag.
fn after<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    tag.match_indices(name).find_map(|(at, _)| {
        let rest = tag.get(at + name.len()..)?.trim_start().strip_prefix('=')?;
        let rest = rest.trim_start().trim_start_matches(['"', '\'']);
        let value = rest.split(['"', '\'', ' ', ';', '/']).next()?;
        (!value.is_empty()).then_some(value)
    })
}

fn detect(bytes: &[u8]) -> &'static Encoding {
    if std::str::from_utf8(bytes).is_ok() {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Allow)
}

#[cfg(test)]
mod tests;
