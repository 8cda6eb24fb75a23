//! Files are told apart by their bytes, and texts are not taken for binary.

use std::io::Write;

use super::*;

fn sniffed(bytes: &[u8]) -> Kind {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("written");
    sniff(&file, bytes.len() as u64).expect("readable")
}

fn what(bytes: &[u8]) -> &'static str {
    match sniffed(bytes) {
        Kind::Binary { what } => what,
        other => panic!("taken for {other:?}"),
    }
}

#[test]
fn pictures_and_documents_are_known_by_their_first_bytes() {
    assert_eq!(sniffed(b"\x89PNG\r\n\x1A\n\0\0"), Kind::Picture(PictureFormat::Png));
    assert_eq!(sniffed(b"\xFF\xD8\xFF\xE0"), Kind::Picture(PictureFormat::Jpeg));
    assert_eq!(sniffed(b"GIF89a\x01\0"), Kind::Picture(PictureFormat::Gif));
    assert_eq!(sniffed(b"RIFF\0\0\0\0WEBPVP8 "), Kind::Picture(PictureFormat::WebP));
    let bitmap = b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01";
    assert_eq!(sniffed(bitmap), Kind::Picture(PictureFormat::Bmp));
    assert_eq!(sniffed(b"%PDF-1.7\n\x80\0"), Kind::Pdf);
}

#[test]
fn letters_that_begin_a_picture_do_not_make_one() {
    assert_eq!(sniffed(b"BMW is a car maker"), Kind::Text(Encoding::Utf8));
    assert_eq!(sniffed(b"MZ, ID3 and OggS are words here"), Kind::Text(Encoding::Utf8));
    assert_eq!(sniffed(b"<svg xmlns='http://www.w3.org/2000/svg'/>"), Kind::Text(Encoding::Utf8));
}

#[test]
fn wide_text_with_a_mark_is_text_despite_its_zero_bytes() {
    for name in ["utf-8-bom", "utf-16le", "utf-16be", "utf-32le", "utf-32be"] {
        let encoding = Encoding::for_name(name).expect(name);
        // Long enough that the probe ends inside a surrogate pair.
        let bytes = encoding.encode(&"x😀 Zeile\r\n".repeat(2000)).expect(name);
        assert_eq!(sniffed(&bytes), Kind::Text(encoding), "{name}");
    }
}

#[test]
fn a_mark_before_rubbish_is_binary() {
    assert_eq!(what(b"\xFF\xFE\0\0\0\0\0\0\x01\x02\x03"), "unknown binary data");
}

#[test]
fn wide_text_without_a_mark_is_named_in_its_refusal() {
    let bytes = Encoding::Utf16Le.encode_part("plain words\n").expect("encodes").into_owned();
    assert_eq!(what(&bytes), "probably UTF-16 text without a byte order mark");
}

#[test]
fn binary_types_are_named() {
    assert_eq!(what(b"\x7FELF\x02\x01\x01\0"), "ELF executable or library");
    assert_eq!(what(b"\x1F\x8B\x08\x01abcdefgh"), "gzip archive");
    assert_eq!(what(b"PK\x03\x04\x14\0\0\0"), "zip archive");
    let mut office = b"PK\x03\x04\x14".to_vec();
    office.resize(30, 0);
    office.extend_from_slice(b"[Content_Types].xml");
    assert_eq!(what(&office), "Office document");
    assert_eq!(what(b"SQLite format 3\0\x10\0"), "SQLite database");
    assert_eq!(what(b"\0asm\x01\0\0\0"), "WebAssembly module");
    assert_eq!(what(b"\xCA\xFE\xBA\xBE\0\0\0\x37"), "Java class");
    assert_eq!(what(b"MZ\x90\0\x03"), "Windows executable or library");
    let mut tar = b"name".to_vec();
    tar.resize(257, 0);
    tar.extend_from_slice(b"ustar\0");
    assert_eq!(what(&tar), "tar archive");
    assert_eq!(what(b"\0\0\0\x20ftypisom\0"), "MP4 audio or video");
}

#[test]
fn colours_in_a_log_are_text_until_there_is_little_else() {
    assert_eq!(sniffed(b"\x1B[32mok\x1B[0m all tests passed\n"), Kind::Text(Encoding::Utf8));
    assert_eq!(what(b"\x1B\x1B\x1Ba\n\x07\x07"), "unknown binary data");
    assert_eq!(what(b"text with a zero \0 byte"), "unknown binary data");
}

#[test]
fn exactly_thirty_percent_of_controls_is_still_text() {
    assert_eq!(sniffed(b"\x01\x01\x01aaaaaaa"), Kind::Text(Encoding::Utf8));
    assert_eq!(what(b"\x01\x01\x01\x01aaaaaa"), "unknown binary data");
}

#[test]
fn nothing_and_sizeless_files_are_told_apart() {
    assert_eq!(sniffed(b""), Kind::Empty);
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(b"processor : 0\n").expect("written");
    assert_eq!(sniff(&file, 0).expect("readable"), Kind::Sizeless);
}

#[test]
fn the_first_character_after_much_ascii_decides_the_encoding() {
    let ascii = "plain line\n".repeat(40_000);
    let mut latin = ascii.clone().into_bytes();
    latin.extend_from_slice(b"Stra\xDFe nach K\xF6ln f\xFCr M\xFCde\n");
    let Kind::Text(found) = sniffed(&latin) else { panic!("no text") };
    assert_eq!(found.name(), "windows-1252");
    assert_eq!(sniffed(format!("{ascii}Straße").as_bytes()), Kind::Text(Encoding::Utf8));
    assert_eq!(sniffed(ascii.as_bytes()), Kind::Text(Encoding::Utf8));
}
