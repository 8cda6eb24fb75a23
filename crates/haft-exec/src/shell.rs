//! Which shell runs a script.

use std::path::{Path, PathBuf};

/// Shells that speak another language than the one scripts are written in.
const FOREIGN: [&str; 6] = ["fish", "nu", "elvish", "xonsh", "csh", "tcsh"];

/// Shells to look for, the best first.
const LOOKED_FOR: [&str; 6] = [
    "/bin/bash",
    "/usr/bin/bash",
    "/usr/local/bin/bash",
    "/run/current-system/sw/bin/bash",
    "/bin/sh",
    "/usr/bin/sh",
];

/// The shell for scripts: the user's own (`$SHELL`) if it speaks the language, else what is there.
#[must_use]
pub fn shell(users: Option<&Path>) -> PathBuf {
    let speaks = |shell: &&Path| {
        let name = shell.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        shell.is_absolute() && shell.is_file() && !FOREIGN.contains(&name)
    };
    if let Some(users) = users.filter(speaks) {
        return users.to_owned();
    }
    let of_system = if cfg!(target_os = "macos") { &["/bin/zsh"][..] } else { &[] };
    let mut all = of_system.iter().chain(&LOOKED_FOR).map(Path::new);
    all.find(|shell| shell.is_file()).unwrap_or(Path::new("/bin/sh")).to_owned()
}

#[cfg(test)]
mod tests;
