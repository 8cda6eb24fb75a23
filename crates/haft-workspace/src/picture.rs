//! Pictures as a model can take them: checked, scaled, and small enough to send.

use std::fmt;
use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{PixelType, Resizer};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{
    DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageError, ImageFormat,
    ImageReader, Limits,
};

/// The longest side that is shown.
pub const MAX_SIDE: u32 = 2000;
/// The most base64 that is sent, in bytes.
pub const MAX_BASE64: usize = 9 * 512 * 1024;
/// The largest file that is worth loading into memory to become a picture.
pub const MAX_FILE: usize = 128 * 1024 * 1024;
/// More pixels than any camera or screen makes; what has more is a mistake or an attack.
const MAX_PIXELS: u64 = 100_000_000;
const MAX_MEMORY: u64 = 512 * 1024 * 1024;
/// Each is visibly worse than the one before; below the last a smaller size is better.
const QUALITIES: [u8; 3] = [88, 75, 60];

/// The formats that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// Portable Network Graphics.
    Png,
    /// JPEG.
    Jpeg,
    /// Graphics Interchange Format.
    Gif,
    /// WebP.
    WebP,
    /// Windows bitmap.
    Bmp,
}

impl PictureFormat {
    /// Returns the media type.
    pub fn mime(self) -> &'static str {
        self.image_format().to_mime_type()
    }

    fn image_format(self) -> ImageFormat {
        match self {
            Self::Png => ImageFormat::Png,
            Self::Jpeg => ImageFormat::Jpeg,
            Self::Gif => ImageFormat::Gif,
            Self::WebP => ImageFormat::WebP,
            Self::Bmp => ImageFormat::Bmp,
        }
    }
}

impl fmt::Display for PictureFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Gif => "GIF",
            Self::WebP => "WebP",
            Self::Bmp => "BMP",
        })
    }
}

/// A picture ready to be attached.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The media type of what is attached.
    pub mime: &'static str,
    /// The file, in base64.
    pub base64: String,
    /// Width and height of the file, turned the way it is to be looked at.
    pub original: (u32, u32),
    /// Width and height of what is attached.
    pub shown: (u32, u32),
    /// What a length in the original is multiplied with to get the shown one.
    pub factor: f64,
    /// Whether something else than the bytes of the file is attached.
    pub reencoded: bool,
    /// Whether the file moves, of which only the first frame is attached.
    pub animated: bool,
}

/// Why a picture is not shown.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The file has more bytes than are loaded.
    #[error("the {format} file has {bytes} bytes; pictures are shown up to {MAX_FILE} bytes")]
    TooManyBytes {
        /// Its format.
        format: PictureFormat,
        /// Its size.
        bytes: usize,
    },
    /// The picture has more pixels than are decoded.
    #[error(
        "the {format} picture declares {width}×{height} pixels, and more than 100 megapixels are \
         not decoded; scale it down first"
    )]
    TooManyPixels {
        /// Its format.
        format: PictureFormat,
        /// Its width as declared.
        width: u32,
        /// Its height as declared.
        height: u32,
    },
    /// Decoding it would take too much memory.
    #[error("decoding the {format} picture takes more than 512 MiB; scale it down first")]
    TooMuchMemory {
        /// Its format.
        format: PictureFormat,
    },
    /// The data is damaged, or of a variant that is not known.
    #[error("the {format} picture cannot be decoded: {reason}")]
    Broken {
        /// Its format.
        format: PictureFormat,
        /// What is wrong with it.
        reason: String,
    },
}

/// Returns a picture as it is if it is small enough, else scaled and encoded anew.
///
/// It is decoded in any case: a broken attachment would be refused by the model's host, and with
/// it the whole conversation. Windows bitmaps, which no host takes, become PNG.
///
/// # Errors
///
/// The file is too large in bytes, pixels or memory, or it is damaged.
pub fn picture(bytes: &[u8], format: PictureFormat) -> Result<Picture, PictureError> {
    if bytes.len() > MAX_FILE {
        return Err(PictureError::TooManyBytes { format, bytes: bytes.len() });
    }
    let (decoded, orientation) = decode(bytes, format)?;
    let (width, height) = (decoded.width(), decoded.height());
    let original = if is_turned(orientation) { (height, width) } else { (width, height) };
    let animated = is_animated(bytes, format);
    let small = width.max(height) <= MAX_SIDE && base64_len(bytes.len()) <= MAX_BASE64;
    if small && !animated && format != PictureFormat::Bmp {
        return Ok(Picture {
            mime: format.mime(),
            base64: STANDARD.encode(bytes),
            original,
            shown: original,
            factor: 1.0,
            reencoded: false,
            animated,
        });
    }
    // The turn is told in metadata that the new file does not have, so it is made in the pixels.
    // Scaling first would be cheaper but for the sides being swapped.
    let mut decoded = decoded;
    decoded.apply_orientation(orientation);
    let pixels = Pixels::new(decoded);
    let Encoded { file, mime, size: shown } = shrink(&pixels, format)?;
    let factor = f64::from(shown.0.max(shown.1)) / f64::from(original.0.max(original.1));
    let base64 = STANDARD.encode(file);
    Ok(Picture { mime, base64, original, shown, factor, reencoded: true, animated })
}

fn decode(
    bytes: &[u8],
    format: PictureFormat,
) -> Result<(DynamicImage, Orientation), PictureError> {
    let broken = |error: ImageError| match error {
        ImageError::Limits(_) => PictureError::TooMuchMemory { format },
        // The format is said already.
        ImageError::Decoding(error) => {
            let source = std::error::Error::source(&error);
            let reason = source.map_or_else(|| error.to_string(), ToString::to_string);
            PictureError::Broken { format, reason }
        }
        error => PictureError::Broken { format, reason: error.to_string() },
    };
    if format == PictureFormat::Jpeg && !ends_its_scan(bytes) {
        return Err(PictureError::Broken { format, reason: "the data ends early".to_owned() });
    }
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MAX_MEMORY);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format.image_format());
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(PictureError::TooManyPixels { format, width, height });
    }
    if width == 0 || height == 0 {
        return Err(PictureError::Broken { format, reason: "it has no pixels".to_owned() });
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    limits.reserve(decoder.total_bytes()).map_err(broken)?;
    decoder.set_limits(limits).map_err(broken)?;
    Ok((DynamicImage::from_decoder(decoder).map_err(broken)?, orientation))
}

fn is_turned(orientation: Orientation) -> bool {
    use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
    matches!(orientation, Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH)
}

/// Pixels of one byte per channel: grey, colours, or colours with alpha.
struct Pixels {
    width: u32,
    height: u32,
    kind: PixelType,
    data: Vec<u8>,
}

impl Pixels {
    /// Takes only the channels that say something; large pictures must not grow here.
    fn new(decoded: DynamicImage) -> Self {
        let (width, height) = (decoded.width(), decoded.height());
        let made = |kind, data| Self { width, height, kind, data };
        let color = decoded.color();
        if !color.has_alpha() && !color.has_color() {
            return made(PixelType::U8, decoded.into_luma8().into_raw());
        }
        if !color.has_alpha() {
            return made(PixelType::U8x3, decoded.into_rgb8().into_raw());
        }
        let rgba = decoded.into_rgba8();
        if rgba.pixels().any(|pixel| pixel.0.last() != Some(&u8::MAX)) {
            return made(PixelType::U8x4, rgba.into_raw());
        }
        made(PixelType::U8x3, DynamicImage::ImageRgba8(rgba).into_rgb8().into_raw())
    }

    fn has_alpha(&self) -> bool {
        self.kind == PixelType::U8x4
    }

    fn color(&self) -> ExtendedColorType {
        match self.kind {
            PixelType::U8 => ExtendedColorType::L8,
            PixelType::U8x4 => ExtendedColorType::Rgba8,
            _ => ExtendedColorType::Rgb8,
        }
    }

    fn scaled(&self, (width, height): (u32, u32)) -> Result<Vec<u8>, String> {
        let source = ImageRef::new(self.width, self.height, &self.data, self.kind)
            .map_err(|error| error.to_string())?;
        let mut target = Image::new(width, height, self.kind);
        Resizer::new().resize(&source, &mut target, None).map_err(|error| error.to_string())?;
        Ok(target.into_vec())
    }
}

/// A new file that is small enough.
struct Encoded {
    file: Vec<u8>,
    mime: &'static str,
    size: (u32, u32),
}

/// Encodes pixels, smaller and smaller, until they fit.
fn shrink(pixels: &Pixels, format: PictureFormat) -> Result<Encoded, PictureError> {
    let failed = |reason: String| PictureError::Broken { format, reason };
    let mut side = pixels.width.max(pixels.height).min(MAX_SIDE);
    loop {
        let size = fitted((pixels.width, pixels.height), side);
        let whole = size == (pixels.width, pixels.height);
        let scaled;
        let data = if whole {
            &pixels.data
        } else {
            scaled = pixels.scaled(size).map_err(failed)?;
            &scaled
        };
        // What was drawn and not photographed keeps its edges if it need not be scaled.
        let drawn = !matches!(format, PictureFormat::Jpeg | PictureFormat::WebP);
        if pixels.has_alpha() || whole && drawn {
            let file = png(data, size, pixels.color()).map_err(|e| failed(e.to_string()))?;
            if base64_len(file.len()) <= MAX_BASE64 {
                return Ok(Encoded { file, mime: PictureFormat::Png.mime(), size });
            }
        }
        if !pixels.has_alpha() {
            for quality in QUALITIES {
                let file =
                    jpeg(data, size, pixels.color(), quality).map_err(|e| failed(e.to_string()))?;
                if base64_len(file.len()) <= MAX_BASE64 {
                    return Ok(Encoded { file, mime: PictureFormat::Jpeg.mime(), size });
                }
            }
        }
        if side <= 1 {
            return Err(failed("it does not become small enough".to_owned()));
        }
        side = side * 3 / 4;
    }
}

type Size = (u32, u32);

fn png(data: &[u8], size: Size, color: ExtendedColorType) -> Result<Vec<u8>, ImageError> {
    let mut file = Vec::new();
    PngEncoder::new(&mut file).write_image(data, size.0, size.1, color)?;
    Ok(file)
}

fn jpeg(
    data: &[u8],
    size: Size,
    color: ExtendedColorType,
    quality: u8,
) -> Result<Vec<u8>, ImageError> {
    let mut file = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut file, quality);
    encoder.write_image(data, size.0, size.1, color)?;
    Ok(file)
}

/// Returns the size whose longer side is `side`, in the same proportion.
fn fitted((width, height): (u32, u32), side: u32) -> (u32, u32) {
    let longer = u64::from(width.max(height)).max(1);
    let scale = |length: u32| {
        let scaled = (u64::from(length) * u64::from(side) + longer / 2) / longer;
        u32::try_from(scaled).unwrap_or(side).max(1)
    };
    (scale(width), scale(height))
}

fn base64_len(bytes: usize) -> usize {
    bytes.div_ceil(3).saturating_mul(4)
}

fn is_animated(bytes: &[u8], format: PictureFormat) -> bool {
    match format {
        PictureFormat::Gif => gif_has_two_frames(bytes).unwrap_or(false),
        PictureFormat::WebP => {
            WebPDecoder::new(Cursor::new(bytes)).is_ok_and(|decoder| decoder.has_animation())
        }
        PictureFormat::Png | PictureFormat::Jpeg | PictureFormat::Bmp => false,
    }
}

/// Walks over the blocks of a GIF without decoding one; `None` where it ends too early.
fn gif_has_two_frames(bytes: &[u8]) -> Option<bool> {
    // Header, then the screen, whose fifth byte tells the size of the colour table behind it.
    let mut at = 13 + gif_table(*bytes.get(10)?);
    let mut frames = 0;
    loop {
        at += match *bytes.get(at)? {
            b'!' => 2,
            b',' if frames == 1 => return Some(true),
            b',' => {
                frames += 1;
                // The place of the frame, its colour table, and the width of its codes.
                11 + gif_table(*bytes.get(at + 9)?)
            }
            _ => return Some(false),
        };
        loop {
            let block = usize::from(*bytes.get(at)?);
            at += 1 + block;
            if block == 0 {
                break;
            }
        }
    }
}

fn gif_table(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

/// Whether a JPEG has the mark that ends its scan. The decoder fills what is missing with grey and
/// says nothing; pictures inside the metadata have marks of their own, so those are passed over.
fn ends_its_scan(bytes: &[u8]) -> bool {
    let mut at = 2;
    while let Some(&[0xFF, marker, ref rest @ ..]) = bytes.get(at..) {
        match (marker, rest) {
            (0xDA, scan) => return memchr::memmem::find(scan, b"\xFF\xD9").is_some(),
            // A mark may be led in by any number of these.
            (0xFF, _) => at += 1,
            (_, &[high, low, ..]) => at += 2 + usize::from(u16::from_be_bytes([high, low])),
            _ => return false,
        }
    }
    // Not the usual order: the decoder is to say what is wrong with it.
    at < bytes.len()
}

#[cfg(test)]
mod tests;
