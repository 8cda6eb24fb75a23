//! A copy of a workspace, as it was when a session began.

use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};
use fs_err::os::unix::fs::symlink;
use haft_workspace::journal::{Journal, State};

/// Most files and folders of a copy.
const ENTRIES: usize = 300_000;
/// Most bytes of a copy.
const BYTES: u64 = 4 << 30;

/// Copies everything in a folder into another, which is made. Links that lead into the first lead
/// into the second then; sockets, pipes and devices are left out.
pub(super) fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let (mut entries, mut bytes) = (0, 0);
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let there = to.join(&folder);
        fs_err::create_dir_all(&there)?;
        for entry in fs_err::read_dir(from.join(&folder))? {
            let entry = entry?;
            let (name, here) = (folder.join(entry.file_name()), entry.path());
            let metadata = fs_err::symlink_metadata(&here)?;
            (entries, bytes) = (entries + 1, bytes + metadata.len());
            if entries > ENTRIES || bytes > BYTES {
                bail!(
                    "{} is too large to copy ({ENTRIES} files or 4 GiB); name a smaller folder with --at",
                    from.display()
                );
            }
            if metadata.is_dir() {
                folders.push(name);
            } else if metadata.is_symlink() {
                let target = fs_err::read_link(&here)?;
                let target = target.strip_prefix(from).map_or(target.clone(), |rest| to.join(rest));
                symlink(target, to.join(name))?;
            } else if metadata.is_file() {
                fs_err::copy(&here, to.join(name))?;
            }
        }
        let mode = fs_err::metadata(from.join(&folder))?.permissions();
        fs_err::set_permissions(&there, with_owner(mode))?;
    }
    Ok(())
}

/// A folder that its owner can work in, whatever it was.
fn with_owner(mut mode: std::fs::Permissions) -> std::fs::Permissions {
    mode.set_mode(mode.mode() | 0o700);
    mode
}

/// Takes back, in the copy, every change since then that the journal of the original knows of. What
/// the journal never saw stays as it is now.
pub(super) fn wind_back(
    journal: &Journal,
    since: SystemTime,
    original: &Path,
    copy: &Path,
) -> anyhow::Result<()> {
    let mut seen = HashSet::new();
    let mut first = Vec::new();
    for entry in journal.entries()?.into_iter().filter(|entry| entry.id.at() >= since) {
        for change in entry.changes {
            // The oldest word on a path says what was there when the session began.
            if let Ok(name) = change.path.strip_prefix(original)
                && seen.insert(name.to_owned())
            {
                first.push((copy.join(name), change.before));
            }
        }
    }
    // What goes, goes from the inside out; what comes, comes from the outside in.
    first.sort_by(|(one, _), (other, _)| other.cmp(one));
    for (path, _) in first.iter().filter(|(_, state)| *state == State::Absent) {
        remove(path)?;
    }
    for (path, state) in first.iter().rev() {
        put(journal, path, state)?;
    }
    Ok(())
}

fn put(journal: &Journal, path: &Path, state: &State) -> anyhow::Result<()> {
    match state {
        State::Absent => {}
        State::Folder { .. } => fs_err::create_dir_all(path)?,
        State::Link { target } => {
            remove(path)?;
            symlink(target, path)?;
        }
        State::File { content, mode, .. } => {
            let is_there = fs_err::read(path).is_ok_and(|bytes| blake3::hash(&bytes) == *content);
            if !is_there {
                let bytes = journal.content(*content)?.with_context(|| {
                    let path = path.display();
                    format!("what {path} was when the session began is not kept any more; name a folder with --at")
                })?;
                remove(path)?;
                if let Some(folder) = path.parent() {
                    fs_err::create_dir_all(folder)?;
                }
                fs_err::write(path, bytes)?;
            }
            if let Some(mode) = mode {
                fs_err::set_permissions(path, std::fs::Permissions::from_mode(*mode))?;
            }
        }
    }
    Ok(())
}

/// Takes away what is at a path; a folder that is not empty stays.
fn remove(path: &Path) -> anyhow::Result<()> {
    match fs_err::symlink_metadata(path) {
        Err(_) => {}
        Ok(metadata) if metadata.is_dir() => drop(fs_err::remove_dir(path)),
        Ok(_) => fs_err::remove_file(path)?,
    }
    Ok(())
}
