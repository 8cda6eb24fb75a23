//! OpenAI's Chat Completions, as many providers speak it: a prompt as its request, its chunks as pieces.

use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::remote::{Fault, Reader, number, parse, text};
use super::{Hear, Piece, Prompt, Stop, Usage};
use crate::message::{Content, Message, Said, ToolCall, ToolResult};

/// What ends a stream, in the place of JSON.
const DONE: &str = "[DONE]";

pub(super) fn body(prompt: Prompt<'_>) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": prompt.system })];
    for message in prompt.messages {
        match message {
            Message::User { content } => messages.push(user(content)),
            Message::Assistant { content } => messages.extend(assistant(content)),
            Message::Results { results } => messages.extend(results_of(results)),
        }
    }
    // How long a reply may be is left to the server: the field for it has two names.
    json!({
        "model": prompt.model, "stream": true, "stream_options": { "include_usage": true },
        "messages": messages,
    })
}

fn user(content: &[Content]) -> Value {
    // Small servers know nothing but texts.
    if let [Content::Text { text }] = content {
        return json!({ "role": "user", "content": text });
    }
    let parts: Vec<Value> = content.iter().map(shown).collect();
    json!({ "role": "user", "content": parts })
}

fn shown(content: &Content) -> Value {
    match content {
        Content::Text { text } => json!({ "type": "text", "text": text }),
        Content::Image { mime, data } => {
            let url = json!({ "url": format!("data:{mime};base64,{data}") });
            json!({ "type": "image_url", "image_url": url })
        }
    }
}

/// A reply; none if it has neither words nor calls.
fn assistant(content: &[Said]) -> Option<Value> {
    let (mut words, mut calls) = (Vec::new(), Vec::new());
    for said in content {
        match said {
            Said::Text { text } => words.push(text.as_str()),
            Said::Call(call) => calls.push(json!({
                "id": call.id, "type": "function",
                "function": { "name": call.tool, "arguments": arguments(call) },
            })),
            Said::Reasoning { .. } => {}
        }
    }
    let words = words.join("\n");
    let content = if words.is_empty() { Value::Null } else { words.into() };
    let mut message = json!({ "role": "assistant", "content": content });
    match (calls.is_empty(), content.is_null()) {
        (true, true) => return None,
        (true, false) => {}
        (false, _) => {
            message.as_object_mut()?.insert("tool_calls".to_owned(), calls.into());
        }
    }
    Some(message)
}

/// Servers parse them again, and fail on what is no object.
fn arguments(call: &ToolCall) -> String {
    call.arguments_as_object().to_string()
}

/// Tools answer with text alone here; their pictures follow as the user's.
fn results_of(results: &[ToolResult]) -> Vec<Value> {
    let answer = |result: &ToolResult| json!({ "role": "tool", "tool_call_id": result.call, "content": result.text });
    let mut messages: Vec<Value> = results.iter().map(answer).collect();
    let images: Vec<Content> = results.iter().flat_map(|result| result.images.clone()).collect();
    if !images.is_empty() {
        messages.push(user(&images));
    }
    messages
}

/// The chunks of one reply.
#[derive(Default)]
pub(super) struct Chunks {
    /// The calls so far: the server's number and id of each. Some servers give every call the number 0.
    calls: Vec<(u64, String)>,
    is_finished: bool,
}

impl Reader for Chunks {
    fn read(&mut self, data: &str, hear: &mut Hear<'_>) -> Result<ControlFlow<()>, Fault> {
        if data.trim() == DONE {
            let is_whole = self.is_finished;
            let told_early = || Fault::Told(json!({ "message": "it ended without a reason" }));
            return is_whole.then_some(ControlFlow::Break(())).ok_or_else(told_early);
        }
        let chunk = parse(data)?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(Fault::Told(error.clone()));
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            hear(Piece::Usage(used(usage)));
        }
        if let Some(choice) = chunk.pointer("/choices/0") {
            self.go_on(choice, hear);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Not every server says that it is done.
    fn is_whole(&self) -> bool {
        self.is_finished
    }
}

impl Chunks {
    fn go_on(&mut self, choice: &Value, hear: &mut Hear<'_>) {
        for place in ["/delta/reasoning_content", "/delta/reasoning"] {
            if !text(choice, place).is_empty() {
                hear(Piece::Reasoning(text(choice, place).to_owned()));
                break;
            }
        }
        if !text(choice, "/delta/content").is_empty() {
            hear(Piece::Text(text(choice, "/delta/content").to_owned()));
        }
        let calls = choice.pointer("/delta/tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            self.call(call, hear);
        }
        if let (Some(stop), false) = (self.stop(text(choice, "/finish_reason")), self.is_finished) {
            self.is_finished = true;
            (0..).zip(&self.calls).for_each(|(index, _)| hear(Piece::CallEnded { index }));
            hear(Piece::Stopped(stop));
        }
    }

    fn call(&mut self, call: &Value, hear: &mut Hear<'_>) {
        let (theirs, id) = (number(call, "/index"), text(call, "/id"));
        let same = |known: &&(u64, String)| known.0 == theirs && (id.is_empty() || known.1 == id);
        let known = self.calls.iter().rev().position(|known| same(&known));
        let place = match known {
            Some(from_the_end) => self.calls.len() - 1 - from_the_end,
            None => {
                self.calls.push((theirs, id.to_owned()));
                self.calls.len() - 1
            }
        };
        let index = place as u64;
        if known.is_none() {
            let tool = text(call, "/function/name").to_owned();
            hear(Piece::CallBegun { index, id: id.to_owned(), tool });
        }
        let more = text(call, "/function/arguments");
        if !more.is_empty() {
            hear(Piece::Arguments { index, text: more.to_owned() });
        }
    }

    fn stop(&self, reason: &str) -> Option<Stop> {
        match reason {
            "" => None,
            "length" => Some(Stop::Length),
            "content_filter" => Some(Stop::Refusal),
            // Some say `stop` though they call.
            _ if !self.calls.is_empty() => Some(Stop::Calls),
            _ => Some(Stop::Done),
        }
    }
}

fn used(usage: &Value) -> Usage {
    let cached = number(usage, "/prompt_tokens_details/cached_tokens");
    Usage {
        input: number(usage, "/prompt_tokens").saturating_sub(cached),
        output: number(usage, "/completion_tokens"),
        cache_read: cached,
        cache_write: 0,
    }
}
