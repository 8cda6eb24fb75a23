//! All five formats, made here; too large, broken and hostile ones.

use image::codecs::gif::GifEncoder;
use image::{Delay, Frame, Rgb, RgbImage, Rgba, RgbaImage};

use super::*;

const ALL: [PictureFormat; 5] = [
    PictureFormat::Png,
    PictureFormat::Jpeg,
    PictureFormat::Gif,
    PictureFormat::WebP,
    PictureFormat::Bmp,
];

fn drawn(width: u32, height: u32) -> DynamicImage {
    DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |x, y| {
        Rgb([(x / 8) as u8, (y / 8) as u8, 128])
    }))
}

/// Pixels that no encoder makes smaller.
fn noise(width: u32, height: u32) -> RgbaImage {
    let mut state = 1_u32;
    RgbaImage::from_fn(width, height, |_, _| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        Rgba(state.to_le_bytes())
    })
}

fn encoded(image: &DynamicImage, format: PictureFormat) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, format.image_format()).expect("encodes");
    file.into_inner()
}

fn file_of(picture: &Picture) -> Vec<u8> {
    STANDARD.decode(&picture.base64).expect("base64")
}

fn decoded(picture: &Picture) -> DynamicImage {
    image::load_from_memory(&file_of(picture)).expect("a picture")
}

#[test]
fn a_small_picture_stays_byte_for_byte() {
    for format in ALL {
        let bytes = encoded(&drawn(64, 40), format);
        let picture = picture(&bytes, format).expect("decodes");
        assert_eq!((picture.original, picture.shown), ((64, 40), (64, 40)));
        assert_eq!(picture.factor, 1.0);
        if format == PictureFormat::Bmp {
            assert_eq!((picture.mime, picture.reencoded), ("image/png", true));
            assert_eq!(decoded(&picture).to_rgb8(), drawn(64, 40).to_rgb8());
        } else {
            assert_eq!((picture.mime, picture.reencoded), (format.mime(), false));
            assert_eq!(file_of(&picture), bytes);
        }
    }
}

#[test]
fn a_large_picture_of_any_format_is_scaled_in_proportion() {
    for format in ALL {
        let picture = picture(&encoded(&drawn(2500, 50), format), format).expect("decodes");
        assert_eq!((picture.original, picture.shown), ((2500, 50), (2000, 40)), "{format}");
        assert_eq!((picture.factor, picture.reencoded), (0.8, true));
        assert_eq!(picture.mime, "image/jpeg");
        let shown = decoded(&picture);
        assert_eq!((shown.width(), shown.height()), (2000, 40));
    }
}

#[test]
fn a_very_narrow_picture_keeps_one_pixel() {
    let bytes = encoded(&drawn(5, 9000), PictureFormat::Png);
    let picture = picture(&bytes, PictureFormat::Png).expect("decodes");
    assert_eq!(picture.shown, (1, 2000));
}

#[test]
fn alpha_is_kept_and_shrunk_until_it_fits() {
    let bytes = encoded(&DynamicImage::ImageRgba8(noise(960, 960)), PictureFormat::Png);
    assert!(base64_len(bytes.len()) > MAX_BASE64);
    let picture = picture(&bytes, PictureFormat::Png).expect("decodes");
    assert_eq!(picture.mime, "image/png");
    assert!(picture.base64.len() <= MAX_BASE64);
    assert!(picture.shown.0 < 960 && picture.shown.0 == picture.shown.1);
    assert!(decoded(&picture).color().has_alpha());
}

#[test]
fn an_opaque_picture_of_many_bytes_becomes_a_jpeg_of_its_size() {
    let opaque = DynamicImage::ImageRgb8(DynamicImage::ImageRgba8(noise(1100, 1100)).to_rgb8());
    let bytes = encoded(&opaque, PictureFormat::Png);
    assert!(base64_len(bytes.len()) > MAX_BASE64);
    let picture = picture(&bytes, PictureFormat::Png).expect("decodes");
    assert_eq!((picture.mime, picture.shown), ("image/jpeg", (1100, 1100)));
    assert!(picture.base64.len() <= MAX_BASE64);
}

#[test]
fn of_a_moving_picture_the_first_frame_is_shown() {
    let mut bytes = Vec::new();
    let mut encoder = GifEncoder::new(&mut bytes);
    for colour in [[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255]] {
        let frame = RgbaImage::from_pixel(20, 10, Rgba(colour));
        let delay = Delay::from_numer_denom_ms(100, 1);
        encoder.encode_frame(Frame::from_parts(frame, 0, 0, delay)).expect("encodes");
    }
    drop(encoder);
    let picture = picture(&bytes, PictureFormat::Gif).expect("decodes");
    assert!(picture.animated && picture.reencoded);
    assert_eq!((picture.mime, picture.shown), ("image/png", (20, 10)));
    assert_eq!(decoded(&picture).to_rgb8().get_pixel(3, 3), &Rgb([255, 0, 0]));
}

/// A PNG of nothing but its header, with a right checksum.
fn declared(width: u32, height: u32) -> Vec<u8> {
    let small = encoded(&drawn(1, 1), PictureFormat::Png);
    let mut header = b"IHDR".to_vec();
    header.extend_from_slice(&width.to_be_bytes());
    header.extend_from_slice(&height.to_be_bytes());
    // One bit per pixel, grey.
    header.extend_from_slice(&[1, 0, 0, 0, 0]);
    let checksum = header.iter().fold(u32::MAX, |mut crc, byte| {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
        }
        crc
    });
    [&small[..12], &header, &(!checksum).to_be_bytes(), &small[33..]].concat()
}

#[test]
fn a_bomb_is_refused_by_what_it_declares() {
    for (width, height) in [(50_000, 50_000), (i32::MAX as u32, i32::MAX as u32), (10_001, 10_000)]
    {
        let bytes = declared(width, height);
        assert!(bytes.len() < 1000);
        let refused = picture(&bytes, PictureFormat::Png).expect_err("too large");
        let too_large = matches!(
            refused,
            PictureError::TooManyPixels { .. } | PictureError::TooMuchMemory { .. }
        );
        assert!(too_large, "{refused}");
    }
    let refused = picture(&declared(50_000, 50_000), PictureFormat::Png).expect_err("too large");
    assert_eq!(
        refused.to_string(),
        "the PNG picture declares 50000×50000 pixels, and more than 100 megapixels are not \
         decoded; scale it down first"
    );
}

#[test]
fn a_huge_screen_in_a_tiny_gif_is_refused() {
    let mut bytes = encoded(&drawn(4, 4), PictureFormat::Gif);
    bytes[6..10].copy_from_slice(&[0xFF; 4]);
    let refused = picture(&bytes, PictureFormat::Gif).expect_err("too large");
    assert!(matches!(refused, PictureError::TooManyPixels { width: 65535, .. }), "{refused}");
}

#[test]
fn a_picture_cut_anywhere_is_an_error_that_names_its_format() {
    for format in ALL {
        let bytes = encoded(&drawn(100, 80), format);
        for keep in [3, 20, bytes.len() / 2, bytes.len() * 9 / 10] {
            let refused = picture(&bytes[..keep], format).expect_err("cut");
            let message = refused.to_string();
            let beginning = format!("the {format} picture cannot be decoded: ");
            assert!(
                message.starts_with(&beginning) && message.len() > beginning.len(),
                "{message}"
            );
        }
    }
}

#[test]
fn rubbish_behind_a_magic_number_is_an_error() {
    for format in ALL {
        picture(&[0xA5; 300], format).expect_err("no picture");
        picture(b"", format).expect_err("nothing");
    }
}

#[test]
fn a_turned_photograph_is_turned_when_it_is_encoded_anew() {
    let plain = encoded(&drawn(2400, 48), PictureFormat::Jpeg);
    // Exif with one entry: orientation 6, a quarter turn.
    let exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    let len = u16::try_from(exif.len() + 2).expect("small").to_be_bytes();
    let bytes = [&plain[..2], b"\xFF\xE1", &len, exif, &plain[2..]].concat();
    let picture = picture(&bytes, PictureFormat::Jpeg).expect("decodes");
    assert_eq!((picture.original, picture.shown), ((48, 2400), (40, 2000)));
    let shown = decoded(&picture);
    assert_eq!((shown.width(), shown.height()), (40, 2000));
}

#[test]
fn a_grey_picture_is_never_blown_up_to_colours() {
    let grey = DynamicImage::ImageLuma8(drawn(2500, 50).to_luma8());
    let picture =
        picture(&encoded(&grey, PictureFormat::Png), PictureFormat::Png).expect("decodes");
    assert_eq!(decoded(&picture).color(), image::ColorType::L8);
}
