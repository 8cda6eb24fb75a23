//! The names of sessions, messages, calls, asks and agents: opaque, cheap to clone, safe to print.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Longest id that is taken from outside; generated ones have 36 characters.
const LONGEST: usize = 128;

/// An id that cannot be used as given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a usable id: {why}")]
pub struct BadId {
    given: String,
    why: &'static str,
}

fn checked(text: &str) -> Result<Arc<str>, BadId> {
    let bad = |why| BadId { given: text.escape_debug().take(LONGEST).collect(), why };
    if text.is_empty() {
        Err(bad("it is empty"))
    } else if text.chars().count() > LONGEST {
        Err(bad("it has more than 128 characters"))
    } else if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        Err(bad("it contains white space or control characters"))
    } else {
        Ok(text.into())
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Makes a fresh id; ids made later sort later.
            #[must_use]
            pub fn fresh() -> Self {
                Self(format!(concat!($prefix, "{}"), uuid::Uuid::now_v7().simple()).into())
            }

            /// Takes an id from outside.
            ///
            /// # Errors
            /// If it is empty, too long, or holds white space or control characters.
            pub fn parse(text: &str) -> Result<Self, BadId> {
                checked(text).map(Self)
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.as_ref().to_owned()
            }
        }
    };
}

id!(
    /// One conversation, or one child of it.
    SessionId,
    "ses_"
);
id!(
    /// The model's message that a call belongs to.
    MessageId,
    "msg_"
);
id!(
    /// One call of one tool, unique within its session.
    CallId,
    "call_"
);
id!(
    /// One request for access that waits for an answer.
    AskId,
    "ask_"
);
id!(
    /// One standing answer that the user gave.
    GrantId,
    "grant_"
);
id!(
    /// The agent that makes calls: `build`, `plan`, or one from the user's config.
    AgentId,
    "agent_"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_ids_differ_and_parse_back() {
        let (a, b) = (SessionId::fresh(), SessionId::fresh());
        assert_ne!(a, b);
        assert_eq!(SessionId::parse(a.as_str()), Ok(a));
    }

    #[test]
    fn ids_that_could_forge_output_are_refused() {
        for bad in ["", "a b", "a\nb", "\u{1b}[31m", &"x".repeat(129)] {
            assert!(CallId::parse(bad).is_err(), "{bad:?}");
        }
    }
}
