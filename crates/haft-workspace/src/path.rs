//! Turns what a model wrote into one file's identity: absolute, canonical, inside or outside.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

use crate::Workspace;

/// Longest path that a kernel takes.
const LONGEST: usize = 4096;
/// Longest name of one file.
const LONGEST_NAME: usize = 255;
/// How many links to files that do not exist are followed.
const LINKS: usize = 40;
/// How many names of a folder are looked at for one that was written a little differently.
const NAMES: usize = 20_000;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The canonical path: no links, no dots. What is not there yet is canonical as far as it is.
    pub path: PathBuf,
    /// The same relative to the workspace root; none if it leads out of it.
    pub inside: Option<PathBuf>,
    /// Whether something is there.
    pub exists: bool,
}

impl Place {
    /// How it is shown: relative to the root where it is inside.
    #[must_use]
    pub fn shown(&self) -> String {
        match &self.inside {
            Some(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Some(inside) => inside.to_string_lossy().into_owned(),
            None => self.path.to_string_lossy().into_owned(),
        }
    }
}

/// Why a path leads nowhere.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// It cannot be a path.
    #[error("`{given}` is not a path: {why}")]
    Invalid {
        /// What was written, shortened.
        given: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It cannot be followed.
    #[error("{} cannot be reached: {source}", .path.display())]
    Unreachable {
        /// How far it led.
        path: PathBuf,
        /// What stopped it.
        source: io::Error,
    },
}

impl Workspace {
    /// Finds out where a path leads that a model wrote: absolute, relative to the root, `~/…`, `file://…`,
    /// or with a leading `@`; with the characters of the disk or with ones that look the same.
    ///
    /// # Errors
    /// If it cannot be a path, or cannot be followed.
    pub fn locate(&self, given: &str) -> Result<Place, PathError> {
        let written = self.written(given)?;
        let absolute = self.root().join(&written);
        check_lengths(given, &absolute)?;
        let (path, exists) = resolve(&absolute, LINKS)?;
        Ok(self.place(path, exists))
    }

    /// A path that is known to be canonical as a place.
    #[must_use]
    pub fn place(&self, path: PathBuf, exists: bool) -> Place {
        // A workspace that is the whole machine encloses nothing.
        let encloses = self.root().parent().is_some();
        let inside = path.strip_prefix(self.root()).ok().filter(|_| encloses);
        Place { inside: inside.map(Path::to_path_buf), path, exists }
    }

    /// The path that was meant, before it is followed.
    fn written(&self, given: &str) -> Result<PathBuf, PathError> {
        if given.contains('\0') {
            return Err(invalid(given, "it contains a NUL character"));
        }
        let trimmed = match given.trim_matches(['\n', '\r']) {
            "" => return Err(invalid(given, "it is empty")),
            // A name may really end like that.
            _ if self.is_there(given) => given,
            trimmed => trimmed,
        };
        if let Some(rest) = trimmed.strip_prefix("file://") {
            return from_url(given, rest);
        }
        let plain = match trimmed.strip_prefix('@') {
            // A name may really begin with it.
            Some(rest) if !rest.is_empty() && !self.is_there(trimmed) => rest,
            _ => trimmed,
        };
        match (plain.strip_prefix('~'), &self.home()) {
            (Some(""), Some(home)) => Ok(home.to_path_buf()),
            (Some(rest), Some(home)) if rest.starts_with('/') => {
                Ok(home.join(rest.trim_start_matches('/')))
            }
            _ => Ok(PathBuf::from(plain)),
        }
    }

    fn is_there(&self, path: &str) -> bool {
        fs_err::symlink_metadata(self.root().join(path)).is_ok()
    }
}

fn from_url(given: &str, rest: &str) -> Result<PathBuf, PathError> {
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return Err(invalid(given, "a file URL names no other host and has an absolute path"));
    }
    let bytes: Vec<u8> = percent_encoding::percent_decode_str(path).collect();
    if bytes.contains(&0) {
        return Err(invalid(given, "it contains a NUL character"));
    }
    Ok(PathBuf::from(<OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes)))
}

fn check_lengths(given: &str, path: &Path) -> Result<(), PathError> {
    if path.as_os_str().len() >= LONGEST {
        return Err(invalid(given, "it is longer than 4096 bytes"));
    }
    if path.iter().any(|name| name.len() > LONGEST_NAME) {
        return Err(invalid(given, "one of its names is longer than 255 bytes"));
    }
    Ok(())
}

fn invalid(given: &str, why: &'static str) -> PathError {
    PathError::Invalid {
        given: given.chars().take(100).flat_map(char::escape_debug).collect(),
        why,
    }
}

/// The canonical form of `path`, and whether anything is there. Of what is not, the part that is becomes canonical.
fn resolve(path: &Path, links: usize) -> Result<(PathBuf, bool), PathError> {
    match fs_err::canonicalize(path) {
        Ok(found) => return Ok((found, true)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(unreachable(path, error)),
    }
    let Some((parent, name)) = split(path) else {
        return Err(unreachable(path, io::ErrorKind::NotFound.into()));
    };
    let (parent, parent_exists) = resolve(&parent, links)?;
    if !parent_exists {
        return Ok((parent.join(name), false));
    }
    if let Some(found) = look_alike(&parent, &name) {
        return resolve(&parent.join(found), links);
    }
    let full = parent.join(&name);
    match fs_err::read_link(&full) {
        // A link to something that is not there: writing would create its target, so that is the place.
        Ok(_) if links == 0 => Err(unreachable(&full, io::Error::other("too many links"))),
        Ok(target) => resolve(&parent.join(target), links - 1),
        Err(_) => Ok((full, false)),
    }
}

/// The folder and the last name, without trailing dots; none where there is no name.
fn split(path: &Path) -> Option<(PathBuf, OsString)> {
    match path.components().next_back()? {
        Component::Normal(name) => Some((path.parent()?.to_path_buf(), name.to_owned())),
        // What is not there has no parent to go back to.
        Component::ParentDir | Component::CurDir | Component::RootDir | Component::Prefix(_) => {
            None
        }
    }
}

fn unreachable(path: &Path, source: io::Error) -> PathError {
    // The kind alone: the error of fs_err names the path once more.
    PathError::Unreachable { path: path.to_owned(), source: source.kind().into() }
}

/// The one name in a folder that looks like `name`: composed otherwise, or with another space or quote.
fn look_alike(folder: &Path, name: &OsStr) -> Option<OsString> {
    let wanted = plain(name.to_str()?);
    let names = fs_err::read_dir(folder).ok()?.take(NAMES).filter_map(Result::ok);
    let mut alike = names.map(|entry| entry.file_name()).filter(|found| {
        found != name && found.to_str().is_some_and(|found| plain(found) == wanted)
    });
    let found = alike.next()?;
    alike.next().is_none().then_some(found)
}

/// A name with one form for everything that looks the same.
fn plain(name: &str) -> String {
    let plain = name.nfc().map(|c| match c {
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        '\u{2018}' | '\u{2019}' | '\u{201b}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        '\u{2010}'..='\u{2015}' => '-',
        c => c,
    });
    plain.collect()
}

#[cfg(test)]
mod tests;
