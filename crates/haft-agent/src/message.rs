//! A conversation: what the user, the model and the tools said, in the form every provider gets it from.

use haft_runtime::CallId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One contribution to a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// The user's words, also while the model works.
    User {
        /// What they say and show.
        content: Vec<Content>,
    },
    /// The model's reply.
    Assistant {
        /// What it says, in order.
        content: Vec<Said>,
    },
    /// The tools' answers to the calls of the reply before, in the order of the calls.
    Results {
        /// One for each call.
        results: Vec<ToolResult>,
    },
}

/// Something that is shown to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image {
        /// Its media type, such as `image/png`.
        mime: String,
        /// The picture in base64.
        data: String,
    },
}

/// Something that a model says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Said {
    /// Words for the user.
    Text {
        /// The words.
        text: String,
    },
    /// What it thought before.
    Reasoning {
        /// As far as the provider shows it.
        text: String,
        /// What the provider wants to see again; without it, it would think anew.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<Seal>,
    },
    /// A tool that it calls.
    Call(ToolCall),
}

/// A block of reasoning as its provider wrote it, with the signature or cipher that makes it valid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seal {
    /// The protocol it is written in; to others it means nothing.
    pub protocol: String,
    /// The block, to be sent back as it is.
    pub block: Value,
}

/// A call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the session.
    pub id: CallId,
    /// The tool's name.
    pub tool: String,
    /// The arguments: text that should be JSON.
    pub arguments: String,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that it answers.
    pub call: CallId,
    /// What the model reads.
    pub text: String,
    /// Pictures that belong to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Content>,
    /// How the call went.
    pub outcome: Outcome,
}

/// How a call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did what it was to do.
    Done,
    /// It failed; the text says why.
    Failed,
}

impl Message {
    /// What a user says in words.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { content: vec![Content::text(text)] }
    }

    /// The calls in it; only replies have any.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        let said = match self {
            Self::Assistant { content } => content.as_slice(),
            _ => &[],
        };
        said.iter().filter_map(|said| match said {
            Said::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The words of a reply; empty for anything else.
    #[must_use]
    pub fn words(&self) -> String {
        let Self::Assistant { content } = self else { return String::new() };
        let words = content.iter().filter_map(|said| match said {
            Said::Text { text } => Some(text.as_str()),
            _ => None,
        });
        words.collect::<Vec<_>>().join("\n")
    }
}

impl Content {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

impl ToolCall {
    /// The arguments as JSON, for providers that want them so; what is not JSON becomes an empty object,
    /// because the model has read what was wrong with it in the tool's answer.
    #[must_use]
    pub fn arguments_as_object(&self) -> Value {
        match serde_json::from_str(&self.arguments) {
            Ok(object @ Value::Object(_)) => object,
            _ => Value::Object(serde_json::Map::new()),
        }
    }
}
