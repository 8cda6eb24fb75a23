//! A conversation with a scripted model, in any protocol.

use std::sync::Arc;
use std::time::Duration;

use haft_agent::Reply;
use haft_agent::message::{Content, Message, Outcome, Said, ToolCall, ToolResult};
use haft_agent::provider::{
    Endpoint, Key, Patience, Patient, Piece, Prompt, Protocol, Provider, ProviderError, Remote,
};
use haft_scripted::Model;
use haft_web::{Client, Settings};
use serde_json::{Map, Value, json};

pub(crate) const PROTOCOLS: [Protocol; 3] =
    [Protocol::Anthropic, Protocol::OpenAi, Protocol::OpenAiChat];

/// So many tries that no run of faults exhausts them, and no wait that a test would feel.
const EAGER: Patience = Patience {
    attempts: 200,
    first: Duration::from_micros(10),
    longest: Duration::from_micros(100),
};

pub(crate) fn remote(model: &Model, protocol: Protocol) -> Remote {
    speaking(model, protocol, "/v1")
}

/// A server that is merely compatible, as many are.
pub(crate) fn compatible(model: &Model) -> Remote {
    speaking(model, Protocol::OpenAiChat, "/compatible/v1")
}

fn speaking(model: &Model, protocol: Protocol, path: &str) -> Remote {
    let base_url = format!("{}{path}", model.url());
    let key = Some(Key::new(" hush \n"));
    let client = Arc::new(Client::new(Settings::default()));
    Remote::new(Endpoint { protocol, base_url, key, options: Map::new() }, client).unwrap()
}

pub(crate) fn eager(provider: impl Provider) -> impl Provider {
    Patient::new(provider, EAGER)
}

/// Tools with these names, in the form of the protocol.
pub(crate) fn tools(protocol: Protocol) -> Vec<Value> {
    ["read", "write"]
        .into_iter()
        .map(|name| match protocol {
            Protocol::Anthropic => json!({ "name": name, "input_schema": { "type": "object" } }),
            Protocol::OpenAi => json!({ "type": "function", "name": name }),
            Protocol::OpenAiChat => json!({ "type": "function", "function": { "name": name } }),
        })
        .collect()
}

/// One reply to `messages`, and all its pieces.
pub(crate) async fn reply(
    provider: &dyn Provider,
    tools: &[Value],
    messages: &[Message],
) -> Result<(Vec<Said>, Reply, Vec<Piece>), ProviderError> {
    let (mut reply, mut again, mut pieces) = (Reply::default(), Reply::default(), Vec::new());
    let prompt = Prompt { model: "o9", system: "Be brief.", messages, tools, max_tokens: 1000 };
    let mut hear = |piece: Piece| {
        pieces.push(piece.clone());
        again.hear(piece.clone());
        reply.hear(piece);
    };
    provider.reply(prompt, &mut hear).await?;
    let is_used = |id: &haft_runtime::CallId| {
        messages.iter().flat_map(Message::calls).any(|call| call.id == *id)
    };
    Ok((reply.finish(is_used), again, pieces))
}

/// Talks to the end, with an answer of its own to every call. Returns the whole conversation.
pub(crate) async fn to_the_end(provider: &dyn Provider, tools: &[Value]) -> Vec<Message> {
    let mut messages = vec![Message::user("go")];
    loop {
        let (said, ..) = reply(provider, tools, &messages).await.unwrap();
        messages.push(Message::Assistant { content: said });
        let calls: Vec<ToolCall> = messages.last().unwrap().calls().cloned().collect();
        if calls.is_empty() {
            return messages;
        }
        let results = calls.iter().map(answered).collect();
        messages.push(Message::Results { results });
    }
}

/// The answer to a call, which says what was asked.
fn answered(call: &ToolCall) -> ToolResult {
    let is_picture = call.arguments.contains("picture");
    let picture = || Content::Image { mime: "image/png".into(), data: "iVBORw0KGgo=".into() };
    ToolResult {
        call: call.id.clone(),
        text: format!("{}: {}", call.tool, call.arguments),
        images: is_picture.then(picture).into_iter().collect(),
        outcome: Outcome::Done,
    }
}
