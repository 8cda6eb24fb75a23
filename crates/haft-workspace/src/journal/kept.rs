//! Old contents, named by their hash and compressed.

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use crate::write::Hash;
use crate::write::backup::private_folder;
use crate::write::temporary::Temporary;

/// Where they are, in the folder of a journal.
pub(super) const FOLDER: &str = "kept";

/// Contents that a journal keeps.
pub(super) struct Kept {
    folder: PathBuf,
}

/// When a content must have reached the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sync {
    Now,
    Later,
}

impl Kept {
    pub(super) fn in_folder(journal: &Path) -> Self {
        Self { folder: journal.join(FOLDER) }
    }

    /// Where they are.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps a content, and returns how many bytes that took; none if it was kept already.
    pub(super) fn save(&self, hash: Hash, content: &[u8], sync: Sync) -> io::Result<u64> {
        let name = hash.to_hex();
        if fs_err::exists(self.folder.join(name.as_str()))? {
            return Ok(0);
        }
        private_folder(&self.folder)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = retry_on_intr(|| rustix::fs::openat(CWD, &self.folder, flags, Mode::empty()))?;
        let packed = lz4_flex::compress_prepend_size(content);
        let mut temporary = Temporary::create(dir.as_fd(), Mode::RUSR | Mode::WUSR)?;
        temporary.file.write_all(&packed)?;
        if sync == Sync::Now {
            retry_on_intr(|| rustix::fs::fdatasync(&temporary.file))?;
        }
        match temporary.settle(name.as_str().as_ref()) {
            // Somebody else kept the same at the same time.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::EXIST) => Ok(0),
            Err(error) => Err(error),
            Ok(()) => Ok(packed.len() as u64),
        }
    }

    /// The content with that hash; none if it is not kept.
    pub(super) fn load(&self, hash: Hash) -> io::Result<Option<Vec<u8>>> {
        let packed = match fs_err::read(self.folder.join(hash.to_hex().as_str())) {
            Ok(packed) => packed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, format!("{hash} is damaged"));
        let content = lz4_flex::decompress_size_prepended(&packed).map_err(|_| damaged())?;
        if blake3::hash(&content) != hash { Err(damaged()) } else { Ok(Some(content)) }
    }
}
