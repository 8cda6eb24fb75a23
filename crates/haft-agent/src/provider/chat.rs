//! OpenAI's Chat Completions, as many providers speak it: a prompt as its request, its chunks as pieces.

use std::ops::ControlFlow;

use serde::Serialize;
use serde_json::{Value, json};

use super::remote::{Fault, Reader, number, parse, text};
use super::{Hear, Piece, Prompt, Stop, Usage};
use crate::message::{Content, Message, Said, ToolCall, ToolResult};

/// What ends a stream, in the place of JSON.
const DONE: &str = "[DONE]";

/// A request, all of it lent: a conversation goes along whole each time, and is not copied for it.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    messages: Vec<Wire<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// A message as it is sent.
#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Wire<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Shown<'a>,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

/// What the user shows. Small servers know nothing but texts.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Text(&'a str),
    Parts(Vec<Value>),
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    /// Servers parse them again, and fail on what is no object.
    arguments: String,
}

pub(super) fn body(prompt: Prompt<'_>) -> Body<'_> {
    let mut messages = vec![Wire::System { content: prompt.system }];
    for message in prompt.messages {
        match message {
            Message::User { content } => {
                messages.push(Wire::User { content: shown(content.iter()) });
            }
            Message::Assistant { content } => messages.extend(assistant(content)),
            Message::Results { results } => add_results(results, &mut messages),
        }
    }
    // How long a reply may be is left to the server: the field for it has two names.
    let stream_options = StreamOptions { include_usage: true };
    Body { model: prompt.model, stream: true, stream_options, messages }
}

fn shown<'a>(mut content: impl Iterator<Item = &'a Content> + Clone) -> Shown<'a> {
    let mut all = content.clone();
    if let (Some(Content::Text { text }), None) = (content.next(), content.next()) {
        return Shown::Text(text);
    }
    Shown::Parts(all.by_ref().map(part).collect())
}

fn part(content: &Content) -> Value {
    match content {
        Content::Text { text } => json!({ "type": "text", "text": text }),
        Content::Image { mime, data } => {
            let url = json!({ "url": format!("data:{mime};base64,{data}") });
            json!({ "type": "image_url", "image_url": url })
        }
    }
}

/// A reply; none if it has neither words nor calls.
fn assistant(content: &[Said]) -> Option<Wire<'_>> {
    let (mut words, mut tool_calls) = (Vec::new(), Vec::new());
    for said in content {
        match said {
            Said::Text { text } => words.push(text.as_str()),
            Said::Call(call) => tool_calls.push(call_of(call)),
            Said::Reasoning { .. } => {}
        }
    }
    let words = words.join("\n");
    let content = (!words.is_empty()).then_some(words);
    let says_something = content.is_some() || !tool_calls.is_empty();
    says_something.then_some(Wire::Assistant { content, tool_calls })
}

fn call_of(call: &ToolCall) -> WireCall<'_> {
    let arguments = call.arguments_as_object().to_string();
    let function = WireFunction { name: &call.tool, arguments };
    WireCall { id: call.id.as_str(), kind: "function", function }
}

/// Tools answer with text alone here; their pictures follow as the user's.
fn add_results<'a>(results: &'a [ToolResult], messages: &mut Vec<Wire<'a>>) {
    let answer = |result: &'a ToolResult| Wire::Tool {
        tool_call_id: result.call.as_str(),
        content: &result.text,
    };
    messages.extend(results.iter().map(answer));
    let images = results.iter().flat_map(|result| &result.images);
    if images.clone().next().is_some() {
        messages.push(Wire::User { content: shown(images) });
    }
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
