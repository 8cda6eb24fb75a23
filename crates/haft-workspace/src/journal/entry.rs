//! What one entry of the journal says.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::write::Hash;
use crate::write::temporary::unique;

/// Names an entry; in order of time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EntryId(String);

impl EntryId {
    /// A new one, for nanoseconds since 1970.
    pub(super) fn new(stamp: u64) -> Self {
        Self(format!("{stamp:016x}-{}", unique()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// When the change was made.
    #[must_use]
    pub fn at(&self) -> SystemTime {
        let stamp = self.0.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok());
        UNIX_EPOCH + Duration::from_nanos(stamp.unwrap_or(0))
    }
}

/// Who made a change, and what for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The session.
    pub session: String,
    /// The call.
    pub call: String,
    /// The call that this one is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The tool.
    pub tool: String,
    /// What it was about, in a few words.
    pub title: String,
}

/// A change of one or more paths, complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name.
    pub id: EntryId,
    /// Who made it.
    #[serde(flatten)]
    pub label: Label,
    /// What was changed, in order.
    pub changes: Vec<Changed>,
    /// The entries that this one takes back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<EntryId>,
}

/// What a change did to one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The path: absolute and canonical.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// What was there before.
    pub before: State,
    /// What was there after.
    pub after: State,
}

impl Changed {
    /// The same in the other direction.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self { path: self.path.clone(), before: self.after.clone(), after: self.before.clone() }
    }
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum State {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// The hash of its content.
        #[serde(with = "hash_text")]
        content: Hash,
        /// The size of its content.
        bytes: u64,
        /// Its permission bits; none if they are those that any new file gets.
        mode: Option<u32>,
    },
    /// A folder, whatever is in it.
    Folder {
        /// Its permission bits; none if they are those that any new folder gets.
        mode: Option<u32>,
    },
    /// A symbolic link.
    Link {
        /// Where it points, as it is written.
        #[serde(with = "path_text")]
        target: PathBuf,
    },
}

impl State {
    /// Whether this is the same thing as `other`: the bits are compared where both are known.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { content, mode, .. }, Self::File { content: other, mode: others, .. }) => {
                content == other && agree(*mode, *others)
            }
            (Self::Folder { mode }, Self::Folder { mode: others }) => agree(*mode, *others),
            _ => self == other,
        }
    }

    /// The same without the permission bits.
    #[must_use]
    pub(super) fn without_mode(&self) -> Self {
        match self {
            Self::File { content, bytes, .. } => {
                Self::File { content: *content, bytes: *bytes, mode: None }
            }
            Self::Folder { .. } => Self::Folder { mode: None },
            other => other.clone(),
        }
    }

    /// The permission bits, where they are known.
    #[must_use]
    pub fn mode(&self) -> Option<u32> {
        match self {
            Self::File { mode, .. } | Self::Folder { mode } => *mode,
            Self::Absent | Self::Link { .. } => None,
        }
    }

    /// The hash of the content, where it is a file.
    #[must_use]
    pub fn content(&self) -> Option<Hash> {
        match self {
            Self::File { content, .. } => Some(*content),
            _ => None,
        }
    }
}

fn agree(one: Option<u32>, other: Option<u32>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

/// Reads every entry of a folder, oldest first; what is damaged or vanishes meanwhile is passed over.
pub(super) fn all(folder: &Path) -> io::Result<Vec<Entry>> {
    let listing = match fs_err::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut entries = Vec::new();
    for file in listing {
        let Ok(text) = fs_err::read(file?.path()) else { continue };
        entries.extend(serde_json::from_slice::<Entry>(&text).ok());
    }
    entries.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(entries)
}

/// Paths as text: percent signs stand for the bytes that are none.
mod path_text {
    use super::*;
    use serde::{Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        let bytes = path.as_os_str().as_bytes();
        let mut text = String::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            text.push_str(&chunk.valid().replace('%', "%25"));
            text.extend(chunk.invalid().iter().map(|byte| format!("%{byte:02X}")));
        }
        to.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        let text = String::deserialize(from)?;
        if text.contains('\0') {
            return Err(D::Error::custom("a path has no NUL"));
        }
        let bytes = percent_encoding::percent_decode_str(&text).collect();
        Ok(PathBuf::from(OsString::from_vec(bytes)))
    }
}

/// Hashes as hexadecimal text.
mod hash_text {
    use super::*;
    use serde::{Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(hash: &Hash, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&hash.to_hex())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Hash, D::Error> {
        Hash::from_hex(String::deserialize(from)?).map_err(D::Error::custom)
    }
}
