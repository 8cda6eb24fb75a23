//! The profile by which macOS confines a command as [`Confinement`] says. Text only: nothing here runs it.

use std::fmt::Write;
use std::path::Path;

use super::{Confinement, Network};

/// The profile for `sandbox-exec -p`. The last rule that matches decides.
#[must_use]
pub fn profile(confinement: &Confinement) -> String {
    let mut text = String::from(
        "(version 1)\n(deny default)\n(allow process*)\n(allow signal (target same-sandbox))\n\
         (allow sysctl-read)\n(allow file-read*)\n(allow file-ioctl)\n\
         (allow file-write* (subpath \"/dev\"))\n",
    );
    let writable = confinement.writable.iter().chain(&confinement.scratch);
    for path in writable {
        rule(&mut text, "allow file-write*", path);
    }
    for protected in &confinement.protected {
        rule(&mut text, "deny file-write*", &protected.path);
    }
    for path in &confinement.hidden {
        rule(&mut text, "deny file-read* file-write*", path);
    }
    match confinement.network {
        Network::Full => text.push_str("(allow network*)\n"),
        Network::Off => text.push_str("(allow network* (local ip \"localhost:*\"))\n"),
    }
    text
}

fn rule(text: &mut String, action: &str, path: &Path) {
    let path = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    // Writing to a string cannot fail.
    let _written = writeln!(text, "({action} (subpath \"{path}\"))");
}

#[cfg(test)]
mod tests;
