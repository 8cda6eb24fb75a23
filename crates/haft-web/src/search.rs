//! Asking those who know the web: a trait, and the services that there is code for.

mod brave;
mod exa;
mod exa_mcp;
mod searxng;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use serde_json::Value;

use crate::client::{Client, Reach, Request};
use crate::error::WebError;
use crate::fetch::short_wait;
use crate::resolve::BoxFuture;
use crate::target::Target;

/// Longest answer of a service.
const MOST_BYTES: usize = 2 * 1024 * 1024;
/// How often a service may ask us to wait within one search.
const TRIES: usize = 3;

/// A service that searches.
pub trait Provider: Send + Sync + fmt::Debug {
    /// What it is called in the config.
    fn name(&self) -> &'static str;

    /// Searches the web.
    fn search<'a>(
        &'a self,
        client: &'a Client,
        query: &'a Query,
    ) -> BoxFuture<'a, Result<Found, WebError>>;

    /// Whether [`Provider::code`] does anything.
    fn has_code(&self) -> bool {
        false
    }

    /// Searches documentation and public code for something to program with.
    fn code<'a>(
        &'a self,
        _client: &'a Client,
        _query: &'a Query,
    ) -> BoxFuture<'a, Result<Found, WebError>> {
        let name = self.name();
        Box::pin(async move { Err(WebError::Service(format!("{name} does not search code"))) })
    }
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// In words.
    pub text: String,
    /// How many results at most.
    pub results: usize,
    /// How long the answer may be, where the service can be told.
    pub characters: usize,
    /// How long it may take.
    pub deadline: Duration,
}

/// What a service found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// One by one.
    Results(Vec<Hit>),
    /// In its own words, made for models.
    Text(String),
}

/// One result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hit {
    /// What it is called.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// When it was published, as the service says it.
    pub date: Option<String>,
    /// What it says.
    pub text: String,
}

/// A key. Nobody can print it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Holds on to a key.
    #[must_use]
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(a key)")
    }
}

/// Which service, where, and on whose account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Which service.
    pub service: Service,
    /// Where it is, if not at its usual place.
    pub base_url: Option<String>,
    /// The key.
    pub key: Option<Key>,
}

/// The services that there is code for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Service {
    /// Exa, by its HTTP interface.
    #[default]
    Exa,
    /// Exa, by its hosted MCP server, which needs no key.
    ExaMcp,
    /// Brave Search.
    Brave,
    /// An instance of SearXNG.
    Searxng,
}

impl Service {
    /// What it is called in the config.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exa => "exa",
            Self::ExaMcp => "exa-mcp",
            Self::Brave => "brave",
            Self::Searxng => "searxng",
        }
    }

    /// The variable in which its users keep their key.
    #[must_use]
    pub const fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Exa | Self::ExaMcp => Some("EXA_API_KEY"),
            Self::Brave => Some("BRAVE_API_KEY"),
            Self::Searxng => None,
        }
    }

    const fn usual_place(self) -> Option<&'static str> {
        match self {
            Self::Exa => Some("https://api.exa.ai"),
            Self::ExaMcp => Some("https://mcp.exa.ai/mcp"),
            Self::Brave => Some("https://api.search.brave.com/res/v1"),
            Self::Searxng => None,
        }
    }
}

impl Account {
    /// What searches on this account.
    ///
    /// # Errors
    /// What is missing, for whoever writes the config.
    pub fn open(&self) -> Result<Arc<dyn Provider>, String> {
        let name = self.service.name();
        let place = self.base_url.as_deref().or(self.service.usual_place());
        let place = place.ok_or_else(|| {
            format!("{name} has no usual place: set base_url under [web.search], such as \"https://search.example.org\"")
        })?;
        let base = Target::parse(place)
            .map_err(|error| format!("base_url under [web.search]: {error}"))?;
        let key = |variable: &str| {
            let key = self.key.clone().filter(|key| !key.as_str().is_empty());
            key.ok_or_else(|| {
                format!("{name} needs a key: set the variable {variable}, or key or key_env under [web.search] in the config")
            })
        };
        Ok(match self.service {
            Service::Exa => Arc::new(exa::Exa { base, key: key("EXA_API_KEY")? }),
            Service::ExaMcp => Arc::new(exa_mcp::ExaMcp { base, key: self.key.clone() }),
            Service::Brave => Arc::new(brave::Brave { base, key: key("BRAVE_API_KEY")? }),
            Service::Searxng => Arc::new(searxng::Searxng { base }),
        })
    }
}

/// One request to a service.
struct Exchange<'a> {
    /// What the service is called.
    service: &'static str,
    base: &'a Target,
    /// Below the base, with its query.
    path: String,
    headers: Vec<(&'static str, &'a str)>,
    /// What is posted; nothing makes it a GET.
    body: Option<Value>,
}

impl Exchange<'_> {
    /// Makes the request, again where the service asks to wait a little, and returns the text that came.
    async fn run(&self, client: &Client, deadline: Duration) -> Result<String, WebError> {
        let whole = self.tries(client, deadline);
        match tokio::time::timeout(deadline, whole).await {
            Ok(answer) => answer,
            Err(_) => Err(WebError::TimedOut {
                what: format!("searching with {}", self.service),
                after: deadline,
            }),
        }
    }

    async fn tries(&self, client: &Client, deadline: Duration) -> Result<String, WebError> {
        let request = self.request()?;
        for left in (0..TRIES).rev() {
            let answer = client.send(&request, Reach::Configured).await?;
            if let Some(wait) = short_wait(&answer, deadline).filter(|_| left > 0) {
                drop(answer);
                tokio::time::sleep(wait).await;
                continue;
            }
            if !answer.status.is_success() {
                return Err(self.refused(answer.status, answer.retry_after()));
            }
            let bytes = answer.bytes(MOST_BYTES).await?;
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
        Err(self.refused(StatusCode::TOO_MANY_REQUESTS, None))
    }

    fn request(&self) -> Result<Request, WebError> {
        let base = self.base.as_str().trim_end_matches('/');
        let mut request = Request::get(Target::parse(&format!("{base}{}", self.path))?);
        if let Some(body) = &self.body {
            request.method = Method::POST;
            request.body = body.to_string().into();
            request = request.header(hyper::header::CONTENT_TYPE, "application/json");
        }
        if !self.headers.iter().any(|(name, _)| *name == "accept") {
            request = request.header(hyper::header::ACCEPT, "application/json");
        }
        for (name, value) in &self.headers {
            let unusable = HeaderValue::from_str(value).is_err();
            if unusable {
                return Err(WebError::Service(format!(
                    "the key for {} holds characters that no key has; check it in the config",
                    self.service
                )));
            }
            request = request.header(HeaderName::from_static(name), value);
        }
        Ok(request)
    }

    /// What a status means for whoever has to do something about it.
    fn refused(&self, status: StatusCode, retry_after: Option<Duration>) -> WebError {
        let Self { service, base, .. } = self;
        let words = status.canonical_reason().unwrap_or("a status that has no name");
        let code = status.as_u16();
        let what = match code {
            401 | 403 => "the key is missing, wrong or not allowed to do this; the user has to check it under [web.search] in the config".to_owned(),
            402 => "the account has no credit left; the user has to see to that".to_owned(),
            404 => "there is no such interface; the user has to check base_url under [web.search]".to_owned(),
            429 => match retry_after {
                Some(wait) => format!("too many searches; try again in {} s", wait.as_secs()),
                None => "too many searches; try again later".to_owned(),
            },
            400 | 422 => "it does not understand the query; try other words".to_owned(),
            _ => "try again later, or fetch a page that is known".to_owned(),
        };
        WebError::Service(format!("{service} at {} answered {code} {words}: {what}", base.host()))
    }

    /// The answer as JSON.
    fn parsed(&self, text: &str) -> Result<Value, WebError> {
        serde_json::from_str(text).map_err(|_| self.malformed("no JSON"))
    }

    fn malformed(&self, what: &str) -> WebError {
        let Self { service, base, .. } = self;
        WebError::Service(format!(
            "{service} at {} gave an answer that cannot be used ({what}); try again, or check base_url under [web.search]",
            base.host()
        ))
    }
}

/// A field of a JSON object as text; empty if it is none.
fn field(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned()
}

/// Percent-encodes a value of a query.
fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
