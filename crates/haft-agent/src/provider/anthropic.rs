//! Anthropic's Messages: a prompt as its request, and its events as pieces.

use std::collections::HashMap;
use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::remote::{Fault, Reader, number, parse, text};
use super::{Hear, Piece, Prompt, Stop, Usage};
use crate::message::{Content, Message, Outcome, Said, ToolResult};

/// What marks our blocks of reasoning.
const PROTOCOL: &str = "anthropic";

pub(super) fn body(prompt: Prompt<'_>) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    for message in prompt.messages {
        let (role, blocks) = match message {
            Message::User { content } => ("user", content.iter().filter_map(shown).collect()),
            Message::Assistant { content } => {
                ("assistant", content.iter().filter_map(said).collect())
            }
            Message::Results { results } => {
                ("user", results.iter().map(result).collect::<Vec<_>>())
            }
        };
        add(&mut messages, role, blocks);
    }
    // All up to here is the same next time; so are the tools, which come before the system's text.
    if let Some(last) = messages.last_mut().and_then(|message| message.pointer_mut("/content")) {
        last.as_array_mut().and_then(|blocks| blocks.last_mut()).map(cached);
    }
    let mut system = json!({ "type": "text", "text": prompt.system });
    cached(&mut system);
    json!({
        "model": prompt.model, "max_tokens": prompt.max_tokens, "stream": true,
        "system": [system], "messages": messages,
    })
}

/// Adds a message; roles have to alternate, and none may be empty.
fn add(messages: &mut Vec<Value>, role: &str, mut blocks: Vec<Value>) {
    if blocks.is_empty() {
        return;
    }
    let same = messages.last_mut().filter(|last| last.get("role").is_some_and(|it| it == role));
    match same.and_then(|last| last.get_mut("content")?.as_array_mut()) {
        Some(content) => content.append(&mut blocks),
        None => messages.push(json!({ "role": role, "content": blocks })),
    }
}

/// Lets the provider remember everything up to this block.
fn cached(block: &mut Value) {
    if let Some(block) = block.as_object_mut() {
        block.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    }
}

fn shown(content: &Content) -> Option<Value> {
    match content {
        // A text without anything in it is refused.
        Content::Text { text } => {
            (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }))
        }
        Content::Image { mime, data } => {
            let source = json!({ "type": "base64", "media_type": mime, "data": data });
            Some(json!({ "type": "image", "source": source }))
        }
    }
}

fn said(said: &Said) -> Option<Value> {
    match said {
        Said::Text { text } => shown(&Content::text(text.clone())),
        Said::Reasoning { seal, .. } => {
            let own = seal.as_ref().filter(|seal| seal.protocol == PROTOCOL);
            own.map(|seal| seal.block.clone())
        }
        Said::Call(call) => Some(json!({
            "type": "tool_use", "id": call.id, "name": call.tool,
            "input": call.arguments_as_object(),
        })),
    }
}

fn result(result: &ToolResult) -> Value {
    let text = Content::text(result.text.clone());
    let content: Vec<Value> = [&text].into_iter().chain(&result.images).filter_map(shown).collect();
    json!({
        "type": "tool_result", "tool_use_id": result.call, "content": content,
        "is_error": result.outcome == Outcome::Failed,
    })
}

/// The events of one reply.
#[derive(Default)]
pub(super) struct Events {
    /// Blocks that are not whole yet and have to be known when they are.
    open: HashMap<u64, Block>,
    usage: Usage,
}

enum Block {
    Call,
    /// Reasoning, as it will be sent back.
    Reasoning(Value),
}

impl Reader for Events {
    fn read(&mut self, data: &str, hear: &mut Hear<'_>) -> Result<ControlFlow<()>, Fault> {
        let event = parse(data)?;
        let index = number(&event, "/index");
        match text(&event, "/type") {
            "message_start" => self.used(&event, "/message/usage", hear),
            "content_block_start" => self.begin(index, &event, hear),
            "content_block_delta" => self.go_on(index, &event, hear),
            "content_block_stop" => self.end(index, hear),
            "message_delta" => {
                self.used(&event, "/usage", hear);
                if let Some(stop) = stop(text(&event, "/delta/stop_reason")) {
                    hear(Piece::Stopped(stop));
                }
            }
            "message_stop" => return Ok(ControlFlow::Break(())),
            "error" => return Err(Fault::Told(event.get("error").cloned().unwrap_or(event))),
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl Events {
    fn begin(&mut self, index: u64, event: &Value, hear: &mut Hear<'_>) {
        let Some(block) = event.get("content_block") else { return };
        match text(block, "/type") {
            "text" if !text(block, "/text").is_empty() => {
                hear(Piece::Text(text(block, "/text").to_owned()));
            }
            "tool_use" => {
                self.open.insert(index, Block::Call);
                let (id, tool) = (text(block, "/id").to_owned(), text(block, "/name").to_owned());
                hear(Piece::CallBegun { index, id, tool });
                // Some that are compatible send all of the input at once.
                if let Some(input) = block.get("input").filter(|input| has_content(input)) {
                    hear(Piece::Arguments { index, text: input.to_string() });
                }
            }
            "thinking" | "redacted_thinking" => {
                self.open.insert(index, Block::Reasoning(block.clone()));
            }
            _ => {}
        }
    }

    fn go_on(&mut self, index: u64, event: &Value, hear: &mut Hear<'_>) {
        match text(event, "/delta/type") {
            "text_delta" => hear(Piece::Text(text(event, "/delta/text").to_owned())),
            "input_json_delta" => {
                hear(Piece::Arguments {
                    index,
                    text: text(event, "/delta/partial_json").to_owned(),
                });
            }
            "thinking_delta" => {
                let more = text(event, "/delta/thinking");
                self.extend_block(index, "thinking", more);
                hear(Piece::Reasoning(more.to_owned()));
            }
            "signature_delta" => {
                self.extend_block(index, "signature", text(event, "/delta/signature"));
            }
            _ => {}
        }
    }

    fn extend_block(&mut self, index: u64, field: &str, more: &str) {
        let Some(Block::Reasoning(Value::Object(block))) = self.open.get_mut(&index) else {
            return;
        };
        let field = block.entry(field).or_insert_with(|| "".into());
        *field = format!("{}{more}", field.as_str().unwrap_or_default()).into();
    }

    fn end(&mut self, index: u64, hear: &mut Hear<'_>) {
        match self.open.remove(&index) {
            Some(Block::Call) => hear(Piece::CallEnded { index }),
            Some(Block::Reasoning(block)) => hear(Piece::Sealed { protocol: PROTOCOL, block }),
            None => {}
        }
    }

    /// Later counts replace earlier ones, as far as they are told.
    fn used(&mut self, event: &Value, place: &str, hear: &mut Hear<'_>) {
        let Some(told) = event.pointer(place) else { return };
        let take = |name: &str, known: &mut u64| {
            *known = told.get(name).and_then(Value::as_u64).unwrap_or(*known);
        };
        take("input_tokens", &mut self.usage.input);
        take("output_tokens", &mut self.usage.output);
        take("cache_read_input_tokens", &mut self.usage.cache_read);
        take("cache_creation_input_tokens", &mut self.usage.cache_write);
        hear(Piece::Usage(self.usage));
    }
}

fn has_content(input: &Value) -> bool {
    input.as_object().is_some_and(|input| !input.is_empty())
}

fn stop(reason: &str) -> Option<Stop> {
    match reason {
        "" => None,
        "tool_use" => Some(Stop::Calls),
        "max_tokens" | "model_context_window_exceeded" => Some(Stop::Length),
        "refusal" => Some(Stop::Refusal),
        _ => Some(Stop::Done),
    }
}
