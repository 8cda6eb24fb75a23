//! Paths as URLs, for names that are no text.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

/// What cannot stand in a URL, or would be taken for something else there.
const ESCAPED: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'?').add(b'#').add(b'(').add(b')');

/// The path with every byte escaped that is no plain text.
pub(crate) fn encode(path: &Path) -> String {
    percent_encode(path.as_os_str().as_bytes(), ESCAPED).to_string()
}
