//! Providers on the network: one request per reply, in the protocol that they speak.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use haft_runtime::{BoxFuture, Form};
use haft_web::{Client, Target};
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::http::{Address, Answer};
use super::{Hear, Prompt, Provider, ProviderError, anthropic, chat, responses, sse};

/// No reply of a model is longer; what is, would fill the memory.
const LONGEST: usize = 256 * 1024 * 1024;

/// The protocols that providers speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    OpenAi,
    /// OpenAI's Chat Completions, and all that are compatible with it.
    OpenAiChat,
}

/// A request. The tools, which are the same each time and large, are lent and not copied.
#[derive(Serialize)]
struct Body<'a, T> {
    #[serde(flatten)]
    said: T,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [Value],
}

impl<T: Serialize> Body<'_, T> {
    /// As it is sent, with what the user wants in each request; that has the last word.
    fn with(&self, options: &Map<String, Value>) -> serde_json::Result<Vec<u8>> {
        if options.is_empty() {
            return serde_json::to_vec(self);
        }
        let mut all = serde_json::to_value(self)?;
        if let Some(all) = all.as_object_mut() {
            all.extend(options.clone());
        }
        serde_json::to_vec(&all)
    }
}

/// Where a provider is, and how it is spoken to.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// What it speaks.
    pub protocol: Protocol,
    /// The part of its address that all requests share, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// What lets us in, where anything has to.
    pub key: Option<Key>,
    /// What is put into every request beside the prompt: effort, temperature …
    pub options: Map<String, Value>,
}

/// A secret. It is sent to its provider and shown to nobody.
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// Takes a key; blanks around it are not part of it.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// A provider on the network.
pub struct Remote {
    protocol: Protocol,
    address: Address,
    options: Map<String, Value>,
}

impl Remote {
    /// A provider at `endpoint`, reached by `client`. Nothing is sent before the first prompt.
    ///
    /// # Errors
    /// If the address or the key cannot be used.
    pub fn new(endpoint: Endpoint, client: Arc<Client>) -> Result<Self, ProviderError> {
        let Endpoint { protocol, base_url, key, options } = endpoint;
        let url = format!("{}{}", protocol.base(&base_url), protocol.path());
        let address = Address::new(client, &url, protocol.headers(key.as_ref())?)?;
        Ok(Self { protocol, address, options })
    }

    async fn stream(&self, prompt: Prompt<'_>, hear: &mut Hear<'_>) -> Result<(), ProviderError> {
        let body = self.protocol.body(prompt, &self.options).map_err(|error| {
            ProviderError::Setup { why: format!("the request cannot be written: {error}") }
        })?;
        let answer = self.address.post(body).await?;
        let (status, wait) = (answer.status, answer.retry_after);
        if status != 200 {
            let body = answer.beginning().await;
            return Err(ProviderError::of_status(self.address.host(), status, &body, wait));
        }
        self.read(answer, hear).await
    }

    /// Reads a reply to its end.
    async fn read(&self, mut answer: Answer, hear: &mut Hear<'_>) -> Result<(), ProviderError> {
        let host = self.address.host();
        let broke_off =
            |why: &str| ProviderError::BrokeOff { host: host.to_owned(), why: why.to_owned() };
        let (mut events, mut reader) = (sse::Reader::default(), self.protocol.reader());
        let mut total = 0_usize;
        while let Some(chunk) = answer.chunk().await? {
            total += chunk.len();
            let events = events.push(&chunk).ok().filter(|_| total <= LONGEST);
            for data in events.ok_or_else(|| broke_off("it is too long"))? {
                match reader.read(&data, hear) {
                    Ok(ControlFlow::Continue(())) => {}
                    Ok(ControlFlow::Break(())) => {
                        answer.done();
                        return Ok(());
                    }
                    Err(Fault::Told(error)) => return Err(ProviderError::in_stream(host, &error)),
                    Err(Fault::Unreadable) => return Err(broke_off("it holds what is no JSON")),
                }
            }
        }
        if reader.is_whole() { Ok(()) } else { Err(broke_off("the connection ended too early")) }
    }
}

impl Provider for Remote {
    fn form(&self) -> Form {
        match self.protocol {
            Protocol::Anthropic => Form::Anthropic,
            Protocol::OpenAi => Form::OpenAi,
            Protocol::OpenAiChat => Form::OpenAiChat,
        }
    }

    fn reply<'a>(
        &'a self,
        prompt: Prompt<'a>,
        hear: &'a mut Hear<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(self.stream(prompt, hear))
    }
}

/// Makes pieces of the events of one protocol. What it does not know it passes over: providers add
/// kinds of events as they like.
pub(super) trait Reader: Send {
    /// Takes in the data of one event; `Break` after the last.
    fn read(&mut self, data: &str, hear: &mut Hear<'_>) -> Result<ControlFlow<()>, Fault>;

    /// Whether the reply is whole though the connection ended without a last event.
    fn is_whole(&self) -> bool {
        false
    }
}

/// What is wrong with an event.
pub(super) enum Fault {
    /// The provider tells of an error.
    Told(Value),
    /// It is no JSON.
    Unreadable,
}

/// The data of an event as JSON.
pub(super) fn parse(data: &str) -> Result<Value, Fault> {
    serde_json::from_str(data).map_err(|_| Fault::Unreadable)
}

/// A text inside an event; empty where there is none.
pub(super) fn text<'a>(event: &'a Value, place: &str) -> &'a str {
    event.pointer(place).and_then(Value::as_str).unwrap_or_default()
}

/// A number inside an event; 0 where there is none.
pub(super) fn number(event: &Value, place: &str) -> u64 {
    event.pointer(place).and_then(Value::as_u64).unwrap_or_default()
}

impl Protocol {
    /// The base of all addresses. Anthropic's own clients are told the host alone.
    fn base(self, given: &str) -> String {
        let base = given.trim_end_matches('/');
        let is_host =
            Target::parse(base).is_ok_and(|target| matches!(&*target.path_and_query(), "" | "/"));
        let version = if self == Self::Anthropic && is_host { "/v1" } else { "" };
        format!("{base}{version}")
    }

    fn path(self) -> &'static str {
        match self {
            Self::Anthropic => "/messages",
            Self::OpenAi => "/responses",
            Self::OpenAiChat => "/chat/completions",
        }
    }

    fn headers(self, key: Option<&Key>) -> Result<Vec<(HeaderName, HeaderValue)>, ProviderError> {
        let mut headers = Vec::new();
        if self == Self::Anthropic {
            let version = HeaderValue::from_static("2023-06-01");
            headers.push((HeaderName::from_static("anthropic-version"), version));
        }
        if let Some(Key(key)) = key {
            let (name, value) = match self {
                Self::Anthropic => (HeaderName::from_static("x-api-key"), key.clone()),
                _ => (AUTHORIZATION, format!("Bearer {key}")),
            };
            // The message must not repeat any of it.
            let unusable = || ProviderError::Setup {
                why: "the key holds characters that no key has; set it again".to_owned(),
            };
            let mut value = HeaderValue::from_str(&value).map_err(|_| unusable())?;
            value.set_sensitive(true);
            headers.push((name, value));
        }
        Ok(headers)
    }

    /// A request in this protocol, with these options in it.
    fn body(self, prompt: Prompt<'_>, options: &Map<String, Value>) -> serde_json::Result<Vec<u8>> {
        let tools = prompt.tools;
        match self {
            Self::Anthropic => Body { said: anthropic::body(prompt), tools }.with(options),
            Self::OpenAi => Body { said: responses::body(prompt), tools }.with(options),
            Self::OpenAiChat => Body { said: chat::body(prompt), tools }.with(options),
        }
    }

    fn reader(self) -> Box<dyn Reader> {
        match self {
            Self::Anthropic => Box::<anthropic::Events>::default(),
            Self::OpenAi => Box::<responses::Events>::default(),
            Self::OpenAiChat => Box::<chat::Chunks>::default(),
        }
    }
}
