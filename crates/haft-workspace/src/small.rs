//! Reads a file that ought to be small: never waits on a pipe or device, never swallows a gigabyte.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// The bytes of a regular file, wherever a link leads, if there are at most so many.
///
/// # Errors
/// If nothing is there, it is no regular file, larger, or cannot be read; the error names the path.
pub fn read_small(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let shown = path.display();
    let unread =
        |error: io::Error| io::Error::new(error.kind(), format!("{shown} cannot be read: {error}"));
    // Without blocking: opening a pipe that nobody writes to would wait for ever.
    let flags = OFlags::NONBLOCK.union(OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(unread)?;
    if !file.metadata().map_err(unread)?.is_file() {
        let why = format!("{shown} is not a file; put a regular file there, or remove it");
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > most {
        let why = format!("{shown} is larger than {} MiB, so it is not read", most >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_that_is_small_enough_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs_err::write(path("file"), "12345").unwrap();
        fs_err::os::unix::fs::symlink("file", path("link")).unwrap();
        for name in ["file", "link"] {
            assert_eq!(read_small(&path(name), 5).unwrap(), b"12345");
        }
        assert_eq!(read_small(&path("file"), 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_small(&path("none"), 4).unwrap_err().kind(), ErrorKind::NotFound);
        let (pipe, mode) = (path("pipe"), rustix::fs::Mode::RWXU);
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, mode, 0).unwrap();
        fs_err::os::unix::fs::symlink("/dev/zero", path("endless")).unwrap();
        for path in [pipe, path("endless"), dir.path().to_owned()] {
            let error = read_small(&path, 5).unwrap_err();
            assert!(error.to_string().contains("is not a file"), "{error}");
        }
    }
}
