//! Reads a file that ought to be small: never waits on a pipe or device, never swallows a gigabyte.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, bail};

/// Far more than any config a person writes.
const MOST: u64 = 1024 * 1024;

/// The text of a config file; `None` if there is none.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    read_up_to(path, MOST)
}

/// The text of a file of at most so many bytes; `None` if there is none.
pub(crate) fn read_up_to(path: &Path, most: u64) -> anyhow::Result<Option<String>> {
    // Without blocking: opening a pipe that nobody writes to would wait for ever.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("{} cannot be read", path.display()));
        }
    };
    let found = file.metadata().with_context(|| format!("{} cannot be read", path.display()))?;
    if !found.is_file() {
        bail!("{} is not a file; put a regular file there, or remove it", path.display());
    }
    let mut bytes = Vec::new();
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("{} cannot be read", path.display()))?;
    if bytes.len() as u64 > most {
        let mib = most / (1024 * 1024);
        bail!("{} is larger than {mib} MiB; that is no config file", path.display());
    }
    let text = String::from_utf8(bytes);
    text.map(Some).with_context(|| format!("{} is not UTF-8 text", path.display()))
}
