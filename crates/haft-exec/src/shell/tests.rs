//! Which shell is taken.

use std::path::Path;

use super::shell;

#[test]
fn a_foreign_or_missing_shell_is_not_taken() {
    let usual = shell(None);
    assert!(usual.is_file());
    for users in ["/usr/bin/fish", "/usr/bin/nu", "/no/such/zsh", "bash"] {
        assert_eq!(shell(Some(Path::new(users))), usual);
    }
    assert_eq!(shell(Some(Path::new("/bin/sh"))), Path::new("/bin/sh"));
}
