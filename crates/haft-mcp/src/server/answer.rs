//! How a call ended, in the protocol's form.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_runtime::{Attachment, CallId, Metadata, Output, Settled};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, ResourceContents};
use serde_json::{Value, json};

use super::resources;

/// The answer to `tools/call`: the text alone is for the model; the rest is for the host.
pub(super) fn of(settled: &Settled, structured: bool) -> CallToolResult {
    let mut result = match &settled.result {
        Ok(output) => CallToolResult::success(content(output, &settled.call)),
        Err(_) => CallToolResult::error(vec![ContentBlock::text(settled.text())]),
    };
    result.meta = Some(meta(settled));
    if structured {
        result.structured_content = Some(settled.to_json());
    }
    result
}

/// The path of the whole text, where an answer was too long to show.
pub(super) fn kept_path(output: &Output) -> Option<&str> {
    output.metadata.get("output_path").and_then(Value::as_str)
}

fn content(output: &Output, call: &CallId) -> Vec<ContentBlock> {
    let mut content = Vec::new();
    // A picture speaks for itself, but an answer without anything would be none.
    if !output.output.is_empty() || output.attachments.is_empty() {
        content.push(ContentBlock::text(output.output.clone()));
    }
    let attachments = output.attachments.iter().enumerate();
    content.extend(attachments.map(|(number, file)| attached(file, call, number)));
    if let Some(path) = kept_path(output) {
        content.push(ContentBlock::resource_link(resources::link(path, &output.title, None)));
    }
    content
}

fn attached(file: &Attachment, call: &CallId, number: usize) -> ContentBlock {
    let (data, mime) = (file.data.clone(), file.mime.clone());
    match mime.split('/').next() {
        Some("image") => ContentBlock::image(data, mime),
        Some("audio") => ContentBlock::audio(data, mime),
        kind => {
            let name = file.name.as_deref().unwrap_or("file");
            let uri = format!("haft://attachment/{call}/{number}/{}", resources::encoded(name));
            let text = STANDARD.decode(&data).ok().and_then(|it| String::from_utf8(it).ok());
            let contents = match text {
                Some(text) if kind == Some("text") => ResourceContents::text(text, uri),
                _ => ResourceContents::blob(data, uri),
            };
            ContentBlock::resource(contents.with_mime_type(mime))
        }
    }
}

fn meta(settled: &Settled) -> MetaObject {
    let mut meta = MetaObject::new();
    let mut put = |key: &str, value: Value| {
        meta.0.insert(format!("haft/{key}"), value);
    };
    put("call", settled.call.as_str().into());
    put("tool", settled.tool.as_str().into());
    match &settled.result {
        Ok(output) => {
            put("title", output.title.as_str().into());
            put("metadata", facts(&output.metadata));
        }
        Err(error) => {
            put("error", json!({ "kind": error.kind() }));
            put("metadata", facts(&settled.metadata));
        }
    }
    meta
}

fn facts(metadata: &Metadata) -> Value {
    Value::Object(metadata.clone())
}
