//! Outputs that were too long to show, as resources.

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_runtime::{SessionId, Store, StoreError, plain};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::model::{Resource, ResourceContents};

/// As many as a client lists; the oldest are forgotten, not deleted.
const LISTED: usize = 100;
/// As much of one as is given at once; the tools read the rest in pages.
const MOST: usize = 1024 * 1024;

/// What may stand in a path as it is.
const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The outputs that were kept since the server started, oldest first.
#[derive(Default)]
pub(super) struct Kept(Mutex<VecDeque<(SessionId, String, String)>>);

impl Kept {
    pub(super) fn add(&self, session: &SessionId, path: &str, title: &str) {
        let mut all = self.all();
        if all.len() >= LISTED {
            all.pop_front();
        }
        all.push_back((session.clone(), path.to_owned(), title.to_owned()));
    }

    /// Those of a session, oldest first.
    pub(super) fn of(&self, session: &SessionId) -> Vec<Resource> {
        let all = self.all();
        let own = all.iter().filter(|(owner, ..)| owner == session);
        own.map(|(_, path, title)| link(path, title, None)).collect()
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<(SessionId, String, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A link to a kept output.
pub(super) fn link(path: &str, title: &str, size: Option<u64>) -> Resource {
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut link = Resource::new(format!("file://{}", encoded(path)), name)
        .with_description(format!("The whole text of: {}", plain(title)))
        .with_mime_type("text/plain");
    link.size = size;
    link
}

/// A path as it stands in a URI.
pub(super) fn encoded(path: &str) -> String {
    utf8_percent_encode(path, PATH).to_string()
}

/// Why a resource is not given.
pub(super) enum Unread {
    /// It is none of ours, or gone.
    Unknown,
    Failed(String),
}

/// Reads a kept output; blocks. Only files that the store keeps are read, whatever the URI says.
pub(super) fn read(store: &Arc<dyn Store>, uri: &str) -> Result<ResourceContents, Unread> {
    let path = path_of(uri).ok_or(Unread::Unknown)?;
    let failed = |error: StoreError| Unread::Failed(error.to_string());
    let kept = store.kept(&path).map_err(failed)?.ok_or(Unread::Unknown)?;
    let file = fs_err::File::open(&kept.path).map_err(|_| Unread::Unknown)?;
    let mut bytes = Vec::new();
    let read = file.take(MOST as u64).read_to_end(&mut bytes);
    read.map_err(|error| Unread::Failed(error.to_string()))?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if kept.bytes > MOST as u64 {
        let path = kept.path.display();
        let total = kept.bytes;
        text.push_str(&format!(
            "\n[cut after {MOST} of {total} bytes; the tools read all of {path}]"
        ));
    }
    Ok(ResourceContents::text(text, uri).with_mime_type("text/plain"))
}

fn path_of(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = percent_decode_str(path).decode_utf8().ok()?;
    path.starts_with('/').then(|| PathBuf::from(path.as_ref()))
}
