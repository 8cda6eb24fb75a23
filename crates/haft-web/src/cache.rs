//! Pages that were fetched a short while ago, and what their servers know them by.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::fetch::Page;

/// Most bytes of all pages together.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Most pages.
const MOST_PAGES: usize = 64;

/// Pages by the URL that was asked for, the oldest first.
#[derive(Default)]
pub(crate) struct Cache {
    entries: Vec<Entry>,
}

struct Entry {
    url: String,
    page: Arc<Page>,
    validators: Validators,
    since: Instant,
}

/// What a server knows a version of a page by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Validators {
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<String>,
}

/// What is known of a page.
pub(crate) enum Known {
    /// It is still good.
    Fresh(Arc<Page>),
    /// The server can say whether it is.
    Stale(Arc<Page>, Validators),
    /// Nothing.
    Not,
}

impl Cache {
    /// What is known of the page at `url`, pages being good for `good_for`.
    pub(crate) fn look_up(&self, url: &str, good_for: Duration, now: Instant) -> Known {
        let Some(entry) = self.entries.iter().find(|entry| entry.url == url) else {
            return Known::Not;
        };
        if now.duration_since(entry.since) < good_for {
            return Known::Fresh(Arc::clone(&entry.page));
        }
        if entry.validators == Validators::default() {
            return Known::Not;
        }
        Known::Stale(Arc::clone(&entry.page), entry.validators.clone())
    }

    /// Remembers a page, in place of what was known of it.
    pub(crate) fn put(&mut self, url: &str, page: Arc<Page>, validators: Validators, now: Instant) {
        self.forget(url);
        if page.bytes.len() > MOST_BYTES {
            return;
        }
        self.entries.push(Entry { url: url.to_owned(), page, validators, since: now });
        let mut bytes: usize = self.entries.iter().map(|entry| entry.page.bytes.len()).sum();
        while bytes > MOST_BYTES || self.entries.len() > MOST_PAGES {
            bytes -= self.entries.remove(0).page.bytes.len();
        }
    }

    /// Forgets what is known of a page.
    pub(crate) fn forget(&mut self, url: &str) {
        self.entries.retain(|entry| entry.url != url);
    }
}

#[cfg(test)]
mod tests;
