//! Which shell runs a script.

use std::path::{Path, PathBuf};

/// Shells to look for, the best first. Scripts are judged as bash reads them; a plain shell reads most
/// of them likewise, and where it would not, somebody is asked.
const LOOKED_FOR: [&str; 8] = [
    "/bin/bash",
    "/usr/bin/bash",
    "/usr/local/bin/bash",
    "/opt/homebrew/bin/bash",
    "/run/current-system/sw/bin/bash",
    "/bin/dash",
    "/bin/sh",
    "/usr/bin/sh",
];

/// The shell for scripts: the user's own (`$SHELL`) if it is bash, else the best there is.
///
/// Another shell of the user, such as zsh or fish, would read scripts otherwise than they were
/// judged, so it is not taken.
#[must_use]
pub fn shell(users: Option<&Path>) -> PathBuf {
    let is_bash = |shell: &&Path| {
        shell.is_absolute() && shell.is_file() && shell.file_name().is_some_and(|it| it == "bash")
    };
    let mut all = users.filter(is_bash).into_iter().chain(LOOKED_FOR.iter().map(Path::new));
    all.find(|shell| shell.is_file()).unwrap_or(Path::new("/bin/sh")).to_owned()
}

#[cfg(test)]
mod tests;
