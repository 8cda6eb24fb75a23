//! Which shell is taken.

use std::path::Path;

use super::shell;

#[test]
fn only_bash_is_taken_from_the_user() {
    let usual = shell(None);
    assert!(usual.is_file());
    for users in ["/usr/bin/fish", "/no/such/bash", "bash", "/bin/sh", "/bin/zsh"] {
        assert_eq!(shell(Some(Path::new(users))), usual);
    }
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("bash");
    std::os::unix::fs::symlink(&usual, &own).unwrap();
    assert_eq!(shell(Some(&own)), own);
}
