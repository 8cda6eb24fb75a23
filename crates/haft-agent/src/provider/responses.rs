//! OpenAI's Responses: a prompt as its request, and its events as pieces.

use std::collections::HashSet;
use std::ops::ControlFlow;

use serde_json::{Map, Value, json};

use super::remote::{Fault, Reader, number, parse, text};
use super::{Hear, Piece, Prompt, Stop, Usage};
use crate::message::{Content, Message, Said, ToolResult};

/// What marks our blocks of reasoning.
const PROTOCOL: &str = "openai";

pub(super) fn body(prompt: Prompt<'_>) -> Value {
    let mut input: Vec<Value> = Vec::new();
    for message in prompt.messages {
        match message {
            Message::User { content } => {
                let content: Vec<Value> = content.iter().map(shown).collect();
                input.push(json!({ "type": "message", "role": "user", "content": content }));
            }
            Message::Assistant { content } => input.extend(content.iter().filter_map(said)),
            Message::Results { results } => input.extend(results.iter().map(result)),
        }
    }
    // Nothing is kept there: the conversation is ours, and goes along whole.
    let mut body = json!({
        "model": prompt.model, "stream": true, "store": false, "instructions": prompt.system,
        "input": input, "max_output_tokens": prompt.max_tokens,
    });
    if let (Some(body), true) = (body.as_object_mut(), reasons(prompt.model)) {
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    body
}

/// Whether a model thinks before it speaks. Others refuse to be asked for it.
fn reasons(model: &str) -> bool {
    let mut letters = model.chars();
    let is_numbered_o =
        letters.next() == Some('o') && letters.next().is_some_and(|it| it.is_ascii_digit());
    is_numbered_o || model.starts_with("gpt-5") || model.contains("codex")
}

fn shown(content: &Content) -> Value {
    match content {
        Content::Text { text } => json!({ "type": "input_text", "text": text }),
        Content::Image { mime, data } => {
            json!({ "type": "input_image", "image_url": format!("data:{mime};base64,{data}") })
        }
    }
}

fn said(said: &Said) -> Option<Value> {
    match said {
        Said::Text { text } => {
            let content = json!([{ "type": "output_text", "text": text }]);
            Some(json!({ "type": "message", "role": "assistant", "content": content }))
        }
        Said::Reasoning { seal, .. } => {
            let own = seal.as_ref().filter(|seal| seal.protocol == PROTOCOL);
            own.map(|seal| seal.block.clone())
        }
        Said::Call(call) => Some(json!({
            "type": "function_call", "call_id": call.id, "name": call.tool,
            "arguments": call.arguments,
        })),
    }
}

fn result(result: &ToolResult) -> Value {
    let output = if result.images.is_empty() {
        json!(result.text)
    } else {
        let text = Content::text(result.text.clone());
        let parts: Vec<Value> = [&text].into_iter().chain(&result.images).map(shown).collect();
        json!(parts)
    };
    json!({ "type": "function_call_output", "call_id": result.call, "output": output })
}

/// The events of one reply.
#[derive(Default)]
pub(super) struct Events {
    /// The calls of which arguments have come.
    argued: HashSet<u64>,
    has_calls: bool,
}

impl Reader for Events {
    fn read(&mut self, data: &str, hear: &mut Hear<'_>) -> Result<ControlFlow<()>, Fault> {
        let event = parse(data)?;
        let index = number(&event, "/output_index");
        match text(&event, "/type") {
            "response.output_item.added" => self.begin(index, &event, hear),
            "response.output_text.delta" | "response.refusal.delta" => {
                hear(Piece::Text(text(&event, "/delta").to_owned()));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                hear(Piece::Reasoning(text(&event, "/delta").to_owned()));
            }
            "response.function_call_arguments.delta" => {
                self.argued.insert(index);
                hear(Piece::Arguments { index, text: text(&event, "/delta").to_owned() });
            }
            "response.output_item.done" => self.end(index, &event, hear),
            "response.completed" | "response.incomplete" => {
                self.finish(&event, hear);
                return Ok(ControlFlow::Break(()));
            }
            "response.failed" => {
                return Err(Fault::Told(
                    event.pointer("/response/error").cloned().unwrap_or(event),
                ));
            }
            "error" => return Err(Fault::Told(event.get("error").cloned().unwrap_or(event))),
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl Events {
    fn begin(&mut self, index: u64, event: &Value, hear: &mut Hear<'_>) {
        if text(event, "/item/type") == "function_call" {
            self.has_calls = true;
            let id = text(event, "/item/call_id").to_owned();
            hear(Piece::CallBegun { index, id, tool: text(event, "/item/name").to_owned() });
        }
    }

    fn end(&mut self, index: u64, event: &Value, hear: &mut Hear<'_>) {
        let Some(item) = event.get("item") else { return };
        match text(item, "/type") {
            "function_call" => {
                // Some that are compatible send no deltas.
                if !self.argued.contains(&index) {
                    let all = text(item, "/arguments").to_owned();
                    hear(Piece::Arguments { index, text: all });
                }
                hear(Piece::CallEnded { index });
            }
            // Without the cipher, it could not be sent back.
            "reasoning" if item.get("encrypted_content").is_some_and(Value::is_string) => {
                let kept = ["type", "id", "summary", "encrypted_content"];
                let fields = kept.iter().filter_map(|name| Some((*name, item.get(name)?)));
                let block: Map<String, Value> =
                    fields.map(|(name, value)| (name.to_owned(), value.clone())).collect();
                hear(Piece::Sealed { protocol: PROTOCOL, block: block.into() });
            }
            _ => {}
        }
    }

    fn finish(&self, event: &Value, hear: &mut Hear<'_>) {
        let cached = number(event, "/response/usage/input_tokens_details/cached_tokens");
        hear(Piece::Usage(Usage {
            input: number(event, "/response/usage/input_tokens").saturating_sub(cached),
            output: number(event, "/response/usage/output_tokens"),
            cache_read: cached,
            cache_write: 0,
        }));
        hear(Piece::Stopped(match text(event, "/response/incomplete_details/reason") {
            "max_output_tokens" => Stop::Length,
            "content_filter" => Stop::Refusal,
            _ if self.has_calls => Stop::Calls,
            _ => Stop::Done,
        }));
    }
}
