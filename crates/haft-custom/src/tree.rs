//! What a folder holds, as one hash: names, kinds, whether a file can be run, and every byte.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Most files and folders of one tree.
const ENTRIES: usize = 5_000;
/// Most bytes of one tree.
const BYTES: u64 = 64 * 1024 * 1024;
/// Deepest folder.
const DEPTH: usize = 16;

/// Why the content of something cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// It is too large to be looked at whenever something runs.
    #[error("{} holds too much to be trusted as a whole: at most 5000 files, 64 MiB, 16 folders deep", .0.display())]
    TooLarge(PathBuf),
    /// A link leads elsewhere: what it means can change without it.
    #[error("{} is a link; put the file itself there", .0.display())]
    Link(PathBuf),
    /// It is a pipe, a socket or a device.
    #[error("{} is neither a file nor a folder", .0.display())]
    Odd(PathBuf),
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
}

/// The hash of a file, or of a folder with all that is in it. No link is followed.
///
/// # Errors
/// If there is a link or something else that is no file, too much, or it cannot be read.
pub fn hash(path: &Path) -> Result<String, TreeError> {
    let mut hasher = blake3::Hasher::new();
    let mut room = Room { entries: ENTRIES, bytes: BYTES };
    add(&mut hasher, path, 0, &mut room)?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// The bytes of a file that ought to be small; a link is not followed, a pipe is not waited for.
///
/// # Errors
/// If it is not a file, is larger than `most`, or cannot be read.
pub fn read_small(path: &Path, most: u64) -> Result<Vec<u8>, TreeError> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(TreeError::TooLarge(path.to_owned()));
    }
    Ok(bytes)
}

struct Room {
    entries: usize,
    bytes: u64,
}

fn add(
    hasher: &mut blake3::Hasher,
    path: &Path,
    depth: usize,
    room: &mut Room,
) -> Result<(), TreeError> {
    let too_large = || TreeError::TooLarge(path.to_owned());
    room.entries = room.entries.checked_sub(1).ok_or_else(too_large)?;
    let kind = fs_err::symlink_metadata(path)?.file_type();
    if kind.is_dir() {
        if depth >= DEPTH {
            return Err(too_large());
        }
        let mut names = Vec::new();
        for entry in fs_err::read_dir(path)? {
            names.push(entry?.file_name());
            if names.len() > room.entries {
                return Err(too_large());
            }
        }
        names.sort();
        hasher.update(b"d");
        hasher.update(&names.len().to_le_bytes());
        for name in names {
            let bytes = name.as_encoded_bytes();
            hasher.update(&bytes.len().to_le_bytes());
            hasher.update(bytes);
            add(hasher, &path.join(&name), depth + 1, room)?;
        }
        return Ok(());
    }
    let file = open(path)?;
    let meta = file.metadata()?;
    let can_run = meta.permissions().mode() & 0o111 != 0;
    hasher.update(&[b'f', u8::from(can_run)]);
    hasher.update(&meta.len().to_le_bytes());
    let mut whole = file.take(room.bytes + 1);
    let read = io::copy(&mut whole, hasher)?;
    room.bytes = room.bytes.checked_sub(read).ok_or_else(too_large)?;
    Ok(())
}

/// Opens a regular file, whatever else may stand there.
fn open(path: &Path) -> Result<std::fs::File, TreeError> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC).bits().cast_signed();
    if fs_err::symlink_metadata(path)?.is_symlink() {
        return Err(TreeError::Link(path.to_owned()));
    }
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(TreeError::Odd(path.to_owned()));
    }
    Ok(file)
}
