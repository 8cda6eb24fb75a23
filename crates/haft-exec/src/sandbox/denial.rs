//! What the sandbox seems to have refused, read from what the command said.
//!
//! The kernel tells nobody but the program what it refused. Programs say it in words that have been the
//! same for decades, with the path. A path that the command may write or read is not the sandbox's doing
//! and is left out, so what is told may be incomplete but is not guessed.

use std::path::{Path, PathBuf};

use super::{Confinement, Network};

/// Most denials that are told.
const MOST: usize = 8;

/// Something the sandbox seems to have refused, and the least that would allow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// What was refused.
    pub what: Refused,
    /// The least that would allow it.
    pub hint: String,
}

/// What was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Changing a file.
    Write(PathBuf),
    /// Reading a file.
    Read(PathBuf),
    /// Reaching a host, if it was named.
    Connect(Option<String>),
    /// Reaching a host and port through the proxy.
    Host(String),
}

const READ_ONLY: &str = "Read-only file system";
const NO_RIGHT: &str = "Permission denied";
/// Said of the empty folder that stands for a protected file.
const IS_FOLDER: &str = "Is a directory";
const NO_NETWORK: [&str; 7] = [
    "Network is unreachable",
    "Could not resolve host",
    "could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "getaddrinfo EAI_AGAIN",
    "failed to lookup address information",
];

/// Looks through what a command said.
#[must_use]
pub fn find(said: &str, confinement: &Confinement) -> Vec<Denial> {
    let mut found: Vec<Denial> = Vec::new();
    for line in said.lines() {
        let denial = file(line, confinement).or_else(|| network(line, confinement));
        if let Some(denial) = denial
            && !found.contains(&denial)
        {
            found.push(denial);
        }
        if found.len() == MOST {
            break;
        }
    }
    found
}

fn file(line: &str, confinement: &Confinement) -> Option<Denial> {
    let path = path_in(line)?;
    let is_protected = || confinement.protected.iter().any(|one| one.path == path);
    let is_folder = line.contains(IS_FOLDER);
    let is_read_only = line.contains(READ_ONLY) || (is_folder && is_protected());
    if !is_folder && confinement.hidden.iter().any(|hidden| path.starts_with(hidden)) {
        let hint = format!("allow reading {}", path.display());
        return Some(Denial { what: Refused::Read(path), hint });
    }
    if !is_read_only || confinement.may_write(&path) {
        return None;
    }
    let hint = match confinement.protected.iter().find(|one| path.starts_with(&one.path)) {
        Some(protected) => {
            format!("allow editing {}, which is protected", protected.path.display())
        }
        None => format!("make {} writable", path.parent().unwrap_or(&path).display()),
    };
    Some(Denial { what: Refused::Write(path), hint })
}

fn network(line: &str, confinement: &Confinement) -> Option<Denial> {
    if confinement.network == Network::Full || !NO_NETWORK.iter().any(|words| line.contains(words))
    {
        return None;
    }
    let host = host_in(line);
    let hint = match &host {
        Some(host) => format!("allow the network; {host} was wanted"),
        None => "allow the network".to_owned(),
    };
    Some(Denial { what: Refused::Connect(host), hint })
}

/// The absolute path that a line names before it says what is wrong with it, with or without quotes.
fn path_in(line: &str) -> Option<PathBuf> {
    let before =
        [READ_ONLY, NO_RIGHT, IS_FOLDER].iter().find_map(|words| line.split_once(words))?.0;
    let mut quoted = before.split(['\'', '"', '`', '‘', '’']).skip(1).step_by(2);
    let bare = || {
        let words = before.split([' ', '(', ')', ',', ';']);
        let words: Vec<&str> = words.map(|word| word.trim_end_matches(':')).collect();
        words.into_iter().rfind(|word| word.starts_with('/') && word.len() > 1)
    };
    quoted.find(|part| part.starts_with('/')).or_else(bare).map(|path| Path::new(path).to_owned())
}

/// The host that a line names.
fn host_in(line: &str) -> Option<String> {
    let is_host = |word: &&str| {
        word.contains('.')
            && !word.starts_with('.')
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-')
            && word.chars().any(|c| c.is_ascii_alphabetic())
    };
    line.split([' ', '\'', '"', ':', '/', '(', ')', ',']).find(is_host).map(str::to_owned)
}

#[cfg(test)]
mod tests;
