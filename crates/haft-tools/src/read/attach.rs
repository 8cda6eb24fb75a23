//! Pictures and documents, which go beside the text.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_runtime::{Attachment, Output, ToolError};
use haft_workspace::picture::{self, PictureFormat};

/// Largest picture that is opened at all.
const LARGEST_PICTURE: u64 = 64 * 1024 * 1024;
/// Largest document: providers take no more in one request.
const LARGEST_PDF: u64 = 10 * 1024 * 1024;

/// A picture, scaled to what models take.
pub(super) fn picture(
    title: &str,
    file: &File,
    len: u64,
    format: PictureFormat,
) -> Result<Output, ToolError> {
    let bytes = whole(title, file, len, LARGEST_PICTURE, "picture")?;
    let picture = picture::picture(&bytes, format)
        .map_err(|error| ToolError::failed(format!("{title} cannot be shown: {error}")))?;
    let ((width, height), (shown_width, shown_height)) = (picture.original, picture.shown);
    let scaled = if picture.original == picture.shown {
        String::new()
    } else {
        format!(", shown as {shown_width}×{shown_height} (factor {:.2})", picture.factor)
    };
    let text = format!("{title}: a picture of {width}×{height}{scaled}.");
    let attachment =
        Attachment { mime: picture.mime.to_owned(), name: Some(name(title)), data: picture.base64 };
    Ok(Output { attachments: vec![attachment], ..Output::new(title, text) }
        .with("factor", picture.factor))
}

/// A document as it is.
pub(super) fn pdf(title: &str, file: &File, len: u64) -> Result<Output, ToolError> {
    let bytes = whole(title, file, len, LARGEST_PDF, "document")?;
    let text = format!("{title}: a PDF document of {} bytes.", bytes.len());
    let data = STANDARD.encode(&bytes);
    let attachment =
        Attachment { mime: "application/pdf".to_owned(), name: Some(name(title)), data };
    Ok(Output { attachments: vec![attachment], ..Output::new(title, text) })
}

fn whole(title: &str, file: &File, len: u64, most: u64, what: &str) -> Result<Vec<u8>, ToolError> {
    if len > most {
        return Err(ToolError::failed(format!(
            "{title} is a {what} of {len} bytes; at most {most} can be shown"
        )));
    }
    let unreadable = |error: io::Error| ToolError::caused(format!("{title} cannot be read"), error);
    let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
    file.read_exact_at(&mut bytes, 0).map_err(unreadable)?;
    Ok(bytes)
}

fn name(title: &str) -> String {
    title.rsplit('/').next().unwrap_or(title).to_owned()
}
