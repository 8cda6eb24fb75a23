//! A server's result as an answer of ours: text, pictures, links, and errors as errors.

use haft_runtime::{Attachment, Output, ToolError};
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::Value;

use super::names::bounded;

/// Most files of one answer.
const FILES: usize = 20;

/// Most bytes of all files of one answer, as they are sent.
const FILE_BYTES: usize = 16 * 1024 * 1024;

/// Most bytes of structured facts beside the text.
const FACTS: usize = 16 * 1024;

/// How much of a name or an address is shown.
const NAME: usize = 300;

/// Puts an answer together, within bounds.
#[derive(Default)]
pub(super) struct Parts {
    lines: Vec<String>,
    files: Vec<Attachment>,
    bytes: usize,
    left_out: usize,
}

impl Parts {
    pub(super) fn text(&mut self, text: String) {
        self.lines.push(text);
    }

    pub(super) fn file(&mut self, mime: &str, name: Option<String>, data: String) {
        if self.files.len() >= FILES || self.bytes + data.len() > FILE_BYTES {
            self.left_out += 1;
            return;
        }
        self.bytes += data.len();
        self.files.push(Attachment { mime: bounded(mime, NAME), name, data });
    }

    pub(super) fn contents(&mut self, contents: ResourceContents) {
        match contents {
            ResourceContents::TextResourceContents { text, .. } => self.text(text),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let mime = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                self.file(&mime, Some(bounded(&uri, NAME)), blob);
            }
            _ => self.left_out += 1,
        }
    }

    pub(super) fn link(&mut self, resource: &Resource) {
        self.text(shown(resource));
    }

    pub(super) fn into_output(mut self, title: String) -> Output {
        if self.left_out > 0 {
            self.lines.push(format!("({} more files of the answer are left out)", self.left_out));
        }
        if self.lines.is_empty() {
            self.lines.push(match self.files.len() {
                0 => "(the server answered with nothing)".to_owned(),
                count => format!("(the answer is {count} attached files)"),
            });
        }
        let mut output = Output::new(title, self.lines.join("\n"));
        output.attachments = self.files;
        output
    }
}

/// What a tool answered.
///
/// # Errors
/// If the server says that it is one.
pub(super) fn output(title: String, result: CallToolResult) -> Result<Output, ToolError> {
    let mut parts = Parts::default();
    for block in result.content {
        match block {
            ContentBlock::Text(text) => parts.text(text.text),
            ContentBlock::Image(image) => parts.file(&image.mime_type, None, image.data),
            ContentBlock::Audio(audio) => parts.file(&audio.mime_type, None, audio.data),
            ContentBlock::Resource(embedded) => parts.contents(embedded.resource),
            ContentBlock::ResourceLink(resource) => parts.link(&resource),
            _ => parts.left_out += 1,
        }
    }
    let facts = result.structured_content;
    if let Some(facts) = facts.as_ref().filter(|_| parts.lines.is_empty()) {
        parts.text(serde_json::to_string_pretty(facts).unwrap_or_default());
    }
    let mut output = parts.into_output(title);
    if result.is_error == Some(true) {
        return Err(ToolError::failed(output.output));
    }
    if let Some(facts) = facts.filter(is_small) {
        output = output.with("structured", facts);
    }
    Ok(output)
}

/// A resource on one line.
pub(super) fn shown(resource: &Resource) -> String {
    let name = resource.title.as_deref().unwrap_or(&resource.name);
    let mut line = format!("{} ({})", bounded(&resource.uri, NAME), bounded(name, NAME));
    if let Some(mime) = &resource.mime_type {
        line.push_str(&format!(", {}", bounded(mime, NAME)));
    }
    if let Some(description) = &resource.description {
        line.push_str(&format!(": {}", bounded(description, NAME)));
    }
    line.replace('\n', " ")
}

fn is_small(facts: &Value) -> bool {
    serde_json::to_vec(facts).is_ok_and(|bytes| bytes.len() <= FACTS)
}
