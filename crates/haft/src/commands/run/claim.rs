//! One process at a time works in a session: two would answer each other's calls.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use haft_runtime::SessionId;

/// A session that is ours until this is dropped, or the process ends in whatever way.
#[derive(Debug)]
pub(crate) struct Claim(Option<(File, PathBuf)>);

impl Claim {
    /// Claims a session. Without a folder for our state there is no session that others could find.
    pub(crate) fn on(session: &SessionId, state: Option<&Path>) -> anyhow::Result<Self> {
        let Some(state) = state else { return Ok(Self(None)) };
        let dir = state.join("claims");
        fs_err::create_dir_all(&dir)?;
        // A hash, because an id from outside may be no name of a file.
        let path = dir.join(blake3::hash(session.as_str().as_bytes()).to_hex().as_str());
        loop {
            let options = fs_err::OpenOptions::new().create(true).append(true).open(&path)?;
            let file = options.into_parts().0;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => return Ok(Self(Some((file, path)))),
                // Its last owner has just taken it away: a lock on it is worth nothing.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    bail!("another haft works in session {session}; wait for it, or end it first")
                }
                Err(TryLockError::Error(error)) => {
                    return Err(error).context(path.display().to_string());
                }
            }
        }
    }
}

/// Whether a path still leads to an open file.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs_err::metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some((_file, path)) = &self.0 {
            // While it is still locked: nobody else can have taken it for theirs.
            drop(fs_err::remove_file(path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_claimed_by_one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (SessionId::fresh(), SessionId::parse("../x").unwrap());
        let claim = Claim::on(&one, Some(dir.path())).unwrap();
        assert!(
            Claim::on(&one, Some(dir.path())).unwrap_err().to_string().contains("another haft")
        );
        drop(Claim::on(&other, Some(dir.path())).unwrap());
        drop(claim);
        drop(Claim::on(&one, Some(dir.path())).unwrap());
        assert_eq!(fs_err::read_dir(dir.path().join("claims")).unwrap().count(), 0);
    }
}
