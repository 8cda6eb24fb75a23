//! Only the owner can read what is stored.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::children::{ARGS, command};
use crate::samples::open;

#[test]
fn everything_is_private_whatever_the_umask() {
    let dir = tempfile::tempdir().unwrap();
    let status = command(std::env::current_exe().unwrap(), "live publicly", dir.path())
        .args(ARGS)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

/// Checks a folder that holds `state`, while the store is open.
pub(crate) fn assert_private(parent: &Path) {
    let state = parent.join("state");
    for folder in [parent, &state, &state.join("outputs")] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    for file in ["haft.db", "haft.db-wal", "haft.db-shm"] {
        assert_eq!(mode(&state.join(file)), 0o600, "{file}");
    }
    let outputs: Vec<_> = fs_err::read_dir(state.join("outputs")).unwrap().collect();
    assert_eq!(outputs.len(), 1);
    assert_eq!(mode(&outputs[0].as_ref().unwrap().path()), 0o600);
    let names = fs_err::read_dir(&state).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.count(), 4, "nothing else is left behind");
}

#[test]
fn a_database_that_others_could_read_is_closed_to_them() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let file = dir.path().join("haft.db");
    fs_err::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(open(dir.path()));
    assert_eq!(mode(&file), 0o600);
}

fn mode(path: &Path) -> u32 {
    fs_err::metadata(path).unwrap().permissions().mode() & 0o7777
}
