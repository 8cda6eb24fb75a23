//! The text of a file that a person writes, or that a program keeps for one.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;
use haft_workspace::read_small;

/// Far more than any config a person writes.
const MOST: u64 = 1024 * 1024;

/// The text of a config file; `None` if there is none.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    read_up_to(path, MOST)
}

/// The text of a file of at most so many bytes; `None` if there is none.
pub(crate) fn read_up_to(path: &Path, most: u64) -> anyhow::Result<Option<String>> {
    let bytes = match read_small(path, most) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let text = String::from_utf8(bytes);
    text.map(Some).with_context(|| format!("{} is not UTF-8 text", path.display()))
}
