//! What programs say when they are refused, and what is made of it.

use std::path::PathBuf;

use super::{Refused, find};
use crate::sandbox::{Confinement, Network, Protected};

fn confinement() -> Confinement {
    let mut confinement = Confinement::workspace([PathBuf::from("/w")]);
    confinement.protected = vec![Protected::file("/w/.git/config")];
    confinement.hidden = vec![PathBuf::from("/home/u/.ssh")];
    confinement
}

fn hint(line: &str) -> Option<String> {
    find(line, &confinement()).into_iter().next().map(|denial| denial.hint)
}

#[test]
fn the_least_that_would_help_is_told() {
    let told = [
        ("touch: cannot touch '/etc/my file': Read-only file system", "make /etc writable"),
        ("/bin/bash: line 1: /usr/x: Read-only file system", "make /usr writable"),
        (
            "error: could not lock config file /w/.git/config: Read-only file system",
            "allow editing /w/.git/config, which is protected",
        ),
        (
            "/bin/bash: line 1: /w/.git/config: Is a directory",
            "allow editing /w/.git/config, which is protected",
        ),
        (
            "cat: /home/u/.ssh/id_ed25519: Permission denied",
            "allow reading /home/u/.ssh/id_ed25519",
        ),
        (
            "curl: (6) Could not resolve host: example.com",
            "allow the network; example.com was wanted",
        ),
        ("connect: Network is unreachable", "allow the network"),
    ];
    for (line, wanted) in told {
        assert_eq!(hint(line).as_deref(), Some(wanted), "{line}");
    }
}

#[test]
fn what_is_not_the_sandboxs_doing_is_left_out() {
    for line in [
        "cat: /root/x: Permission denied",
        "touch: cannot touch '/w/x': Read-only file system",
        "all is well in /etc",
        "cat: /w/src: Is a directory",
        "cat: /home/u/.ssh: Is a directory",
        "Permission denied",
    ] {
        assert_eq!(hint(line), None, "{line}");
    }
    let open = Confinement { network: Network::Full, ..confinement() };
    assert!(find("Could not resolve host: x.y", &open).is_empty());
}

#[test]
fn each_is_told_once_and_few_in_all() {
    let text = "touch: cannot touch '/etc/x': Read-only file system\n".repeat(50);
    assert_eq!(find(&text, &confinement()).len(), 1);
    let many: String = (0..50).map(|n| format!("x: '/etc/{n}': Read-only file system\n")).collect();
    let found = find(&many, &confinement());
    assert_eq!(found.len(), 8);
    assert_eq!(found[0].what, Refused::Write("/etc/0".into()));
}
