//! What a tool hands back: text for the model, data for the surfaces, files beside it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Structured facts about a call, carried by every surface.
pub type Metadata = Map<String, Value>;

/// The answer of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// A few words for a person: usually the path or command that was worked on.
    pub title: String,
    /// What the model reads.
    pub output: String,
    /// Structured facts about the call.
    pub metadata: Metadata,
    /// Images and other files that belong to the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// A line below the text that says where it goes on; never cut, and not one of its lines.
    #[serde(skip)]
    pub footer: String,
    /// Which part of a long text stays when it has to be cut.
    #[serde(skip)]
    pub keep: Keep,
    /// Whether text was left out, by the tool itself or by the pipeline.
    #[serde(default)]
    pub truncated: bool,
}

impl Output {
    /// An answer with a title and a text, and nothing else.
    pub fn new(title: impl Into<String>, output: impl Into<String>) -> Self {
        Self { title: title.into(), output: output.into(), ..Self::default() }
    }

    /// Adds a fact under `key`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }
}

/// Which part of a text stays when it is longer than the limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keep {
    /// The beginning: files, lists, search results.
    #[default]
    Head,
    /// The end: logs.
    Tail,
    /// Beginning and end, with the gap counted: output of commands.
    Both,
}

/// A file that belongs to an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The media type, such as `image/png`.
    pub mime: String,
    /// A name to show, usually the file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The content in base64.
    pub data: String,
}
