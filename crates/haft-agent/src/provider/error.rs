//! How a provider can fail, cut by who acts next.

use std::time::Duration;

/// How a provider can fail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// Nobody answered: tried again.
    #[error("{host} cannot be reached: {why}")]
    Unreachable {
        /// Where the request was to go.
        host: String,
        /// What the network says.
        why: String,
    },
    /// Nobody listens at an address of this machine: tried again for a moment, in case it just starts.
    #[error(
        "nobody listens at {host}: start the server of the model, or change the provider's base_url"
    )]
    NotRunning {
        /// Where the request was to go.
        host: String,
    },
    /// It cannot do it now: tried again.
    #[error("{host} {} (status {status}){}{}", trouble(*.status), words(.message), asks(.retry_after))]
    Busy {
        /// Who answered.
        host: String,
        /// The HTTP status.
        status: u16,
        /// The provider's words.
        message: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// The reply ended before its end: tried again.
    #[error("the reply of {host} broke off: {why}")]
    BrokeOff {
        /// Who was replying.
        host: String,
        /// How it ended.
        why: String,
    },
    /// The conversation is longer than the model can read: the loop shortens it.
    #[error("the conversation is too long for the model: {message}")]
    TooLong {
        /// The provider's words.
        message: String,
    },
    /// The request is not acceptable: the user changes the key, the model or the config.
    #[error("{host} refused the request (status {status}){}", words(.message))]
    Refused {
        /// Who answered.
        host: String,
        /// The HTTP status; 0 if it was said in the middle of a reply.
        status: u16,
        /// The provider's words.
        message: String,
    },
    /// It cannot be used as it is set up: the user changes the config.
    #[error("{why}")]
    Setup {
        /// What is wrong and what to do.
        why: String,
    },
}

/// Longest text of a provider that is repeated.
const LONGEST: usize = 500;

impl ProviderError {
    /// Whether the same request may go well another time.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::NotRunning { .. }
                | Self::Busy { .. }
                | Self::BrokeOff { .. }
        )
    }

    /// What an HTTP status other than success amounts to.
    pub(crate) fn of_status(
        host: &str,
        status: u16,
        body: &str,
        retry_after: Option<Duration>,
    ) -> Self {
        let (host, message) = (host.to_owned(), told(body));
        match status {
            408 | 409 | 425 | 429 | 500..=599 => Self::Busy { host, status, message, retry_after },
            _ if is_about_length(&message) => Self::TooLong { message },
            _ => Self::Refused { host, status, message },
        }
    }

    /// What an error amounts to that is told in the middle of a reply.
    pub(crate) fn in_stream(host: &str, error: &serde_json::Value) -> Self {
        let message = told(&error.to_string());
        if is_about_length(&message) {
            return Self::TooLong { message };
        }
        let kind = ["type", "code"].iter().find_map(|name| error.get(name)?.as_str());
        let is_final = ["invalid", "authentication", "permission", "not_found", "content_policy"];
        let kind = kind.unwrap_or_default();
        if is_final.iter().any(|word| kind.contains(word)) {
            return Self::Refused { host: host.to_owned(), status: 0, message };
        }
        Self::BrokeOff { host: host.to_owned(), why: message }
    }
}

/// What a status says of who sent it.
fn trouble(status: u16) -> &'static str {
    match status {
        429 | 503 | 529 => "is overloaded or wants fewer requests",
        500..=599 => "reports an error of the server",
        _ => "wants the request another time",
    }
}

/// The provider's words after ours, where there are any.
fn words(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

fn asks(retry_after: &Option<Duration>) -> String {
    let Some(wait) = retry_after else { return String::new() };
    match wait.as_secs() {
        seconds @ ..120 => format!("; it asks to wait {seconds} s"),
        seconds => format!("; it asks to wait {} minutes", seconds.div_ceil(60)),
    }
}

/// Every provider has its own words for it, and no code that all share.
fn is_about_length(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    [
        "context_length_exceeded",
        "prompt is too long",
        "context length",
        "context window",
        "maximum context",
    ]
    .iter()
    .any(|words| message.contains(words))
}

/// The words of an error body: its `message` wherever it stands, else the body itself; bounded.
fn told(body: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let places = ["/error/message", "/message", "/error"];
    let message = value.as_ref().and_then(|value| {
        let found = places.iter().find_map(|place| value.pointer(place)?.as_str())?;
        let code = ["/error/code", "/error/type", "/code", "/type"];
        let code = code.iter().find_map(|place| value.pointer(place)?.as_str());
        Some(match code {
            Some(code) if !found.contains(code) => format!("{found} ({code})"),
            _ => found.to_owned(),
        })
    });
    let text = message.unwrap_or_else(|| body.trim().to_owned());
    let end = text.floor_char_boundary(LONGEST.min(text.len()));
    haft_runtime::plain(text.get(..end).unwrap_or_default())
}
