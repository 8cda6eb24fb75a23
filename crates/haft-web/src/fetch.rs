//! Fetching a page: from the cache or the server, redirects followed hop by hop, all under one deadline.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use hyper::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
    LOCATION,
};

use crate::cache::{Cache, Known, Validators};
use crate::client::{Client, Reach, Request, Response};
use crate::error::WebError;
use crate::target::Target;

/// How often a site may send us on.
const HOPS: usize = 10;
/// How long a server may ask us to wait before a second try; longer waits are the caller's to decide.
const PATIENCE: Duration = Duration::from_secs(5);
/// What servers are told that we can make something of.
const ACCEPTED: &str = "text/markdown;q=1.0, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.5";

/// Fetches pages, and remembers them for a while.
pub struct Fetcher {
    client: Client,
    cache: Mutex<Cache>,
}

/// What came of it.
#[derive(Debug)]
pub enum Fetched {
    /// The page.
    Page {
        /// What was fetched.
        page: Arc<Page>,
        /// Where it came from.
        source: Source,
    },
    /// It is said to be somewhere that nobody has allowed yet.
    Elsewhere {
        /// Where.
        to: Target,
        /// The status that said so.
        status: u16,
    },
}

/// Where a page came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From the server, now.
    Server,
    /// From the cache, and the server said that it is still good.
    Confirmed,
    /// From the cache, which is young enough.
    Cache,
}

/// What was at a URL.
#[derive(Debug)]
pub struct Page {
    /// Where it was found, after redirects.
    pub target: Target,
    /// The media type that the server gave, in lower case without parameters; empty if none.
    pub mime: String,
    /// The charset that the server gave.
    pub charset: Option<String>,
    /// The content, decompressed.
    pub bytes: Vec<u8>,
}

impl Fetcher {
    /// Fetches with this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, cache: Mutex::default() }
    }

    /// What it fetches with.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Fetches what is at `target` within `deadline`, which covers everything. A redirect is followed
    /// where it stays with the site and `may_follow` agrees.
    ///
    /// # Errors
    /// If it cannot be had; see [`WebError`].
    pub async fn fetch(
        &self,
        target: &Target,
        deadline: Duration,
        may_follow: &(dyn Fn(&Target) -> bool + Sync),
    ) -> Result<Fetched, WebError> {
        let whole = self.fetch_without_deadline(target, deadline, may_follow);
        match tokio::time::timeout(deadline, whole).await {
            Ok(fetched) => fetched,
            Err(_) => Err(WebError::TimedOut {
                what: format!("fetching {}", target.host()),
                after: deadline,
            }),
        }
    }

    async fn fetch_without_deadline(
        &self,
        asked: &Target,
        deadline: Duration,
        may_follow: &(dyn Fn(&Target) -> bool + Sync),
    ) -> Result<Fetched, WebError> {
        let good_for = self.client.settings().cache_for;
        let known = self.cache().look_up(asked.as_str(), good_for, Instant::now());
        let stale = match known {
            Known::Fresh(page) => return Ok(Fetched::Page { page, source: Source::Cache }),
            Known::Stale(page, validators) => Some((page, validators)),
            Known::Not => None,
        };
        let mut target = asked.clone();
        for _ in 0..HOPS {
            // Only the page itself was given validators, not what leads to it.
            let validators = stale.as_ref().filter(|(page, _)| page.target == target);
            let answer =
                self.ask(&target, validators.map(|(_, validators)| validators), deadline).await?;
            if answer.status == StatusCode::NOT_MODIFIED
                && let Some((page, validators)) = validators
            {
                let (page, validators) = (Arc::clone(page), validators.clone());
                self.cache().put(asked.as_str(), Arc::clone(&page), validators, Instant::now());
                return Ok(Fetched::Page { page, source: Source::Confirmed });
            }
            if let Some(location) = redirect(&answer) {
                let next = target.join(&location)?;
                if !target.is_same_site(&next) || !may_follow(&next) {
                    return Ok(Fetched::Elsewhere { to: next, status: answer.status.as_u16() });
                }
                target = next;
                continue;
            }
            if !answer.status.is_success() {
                return Err(answer.refusal());
            }
            return self.take(asked, target, answer).await;
        }
        let why = format!("it redirects more than {HOPS} times");
        Err(WebError::Broken { host: asked.host().to_owned(), why })
    }

    /// One request; once more after a wait that the server asked for, if it is short.
    async fn ask(
        &self,
        target: &Target,
        validators: Option<&Validators>,
        deadline: Duration,
    ) -> Result<Response, WebError> {
        let mut request = Request::get(target.clone()).header(ACCEPT, ACCEPTED);
        if let Some(etag) = validators.and_then(|it| it.etag.as_deref()) {
            request = request.header(IF_NONE_MATCH, etag);
        }
        if let Some(modified) = validators.and_then(|it| it.modified.as_deref()) {
            request = request.header(IF_MODIFIED_SINCE, modified);
        }
        let answer = self.client.send(&request, Reach::Public).await?;
        let Some(wait) = short_wait(&answer, deadline) else { return Ok(answer) };
        drop(answer);
        tokio::time::sleep(wait).await;
        self.client.send(&request, Reach::Public).await
    }

    /// Reads the page, and remembers it where its server lets us.
    async fn take(
        &self,
        asked: &Target,
        target: Target,
        answer: Response,
    ) -> Result<Fetched, WebError> {
        let (mime, charset) = media_type(answer.header(&CONTENT_TYPE).unwrap_or_default());
        let text = |name| answer.header(&name).map(str::to_owned);
        let validators = Validators { etag: text(ETAG), modified: text(LAST_MODIFIED) };
        let mut rules = answer.headers.get_all(CACHE_CONTROL).iter();
        let may_keep = !rules.any(|it| {
            String::from_utf8_lossy(it.as_bytes()).to_ascii_lowercase().contains("no-store")
        });
        let bytes = answer.bytes(self.client.settings().most_bytes).await?;
        let page = Arc::new(Page { target, mime, charset, bytes });
        let mut cache = self.cache();
        if may_keep {
            cache.put(asked.as_str(), Arc::clone(&page), validators, Instant::now());
        } else {
            cache.forget(asked.as_str());
        }
        Ok(Fetched::Page { page, source: Source::Server })
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long to wait before the same request is made again; none if it should not be.
pub(crate) fn short_wait(answer: &Response, deadline: Duration) -> Option<Duration> {
    let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
    let wait = answer.retry_after().filter(|_| busy.contains(&answer.status))?;
    (wait <= PATIENCE && wait < deadline).then_some(wait)
}

/// Where the answer sends us. Servers write it in UTF-8 too, as browsers read it.
fn redirect(answer: &Response) -> Option<String> {
    let moved = matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308);
    let place = answer.headers.get(LOCATION).filter(|_| moved)?;
    std::str::from_utf8(place.as_bytes()).ok().map(str::to_owned)
}

/// The type and the charset of a `Content-Type`.
fn media_type(value: &str) -> (String, Option<String>) {
    let mut parts = value.split(';');
    let plain =
        |text: &str| text.chars().filter(char::is_ascii_graphic).take(100).collect::<String>();
    let mime = plain(parts.next().unwrap_or_default()).to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| plain(value.trim().trim_matches('"')))
    });
    (mime, charset)
}
