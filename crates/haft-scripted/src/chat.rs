//! OpenAI's Chat Completions: what a request holds, and an answer as its stream of chunks.

use serde_json::{Value, json};

use crate::conversation::{Shown, items, text};
use crate::model::Answer;

pub(crate) fn results(request: &Value) -> Vec<Shown> {
    items(request, "messages")
        .iter()
        .filter(|message| message.get("role").is_some_and(|role| role == "tool"))
        .map(|message| Shown {
            call: message
                .get("tool_call_id")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            text: message.get("content").map(text).unwrap_or_default(),
        })
        .collect()
}

/// The whole answer as one object.
pub(crate) fn whole(answer: &Answer) -> Value {
    let calls: Vec<Value> = answer
        .calls
        .iter()
        .map(|call| {
            let function = json!({ "name": call.name, "arguments": call.arguments.to_string() });
            json!({ "id": call.id, "type": "function", "function": function })
        })
        .collect();
    let mut message = json!({ "role": "assistant", "content": answer.text });
    if let (Some(message), false) = (message.as_object_mut(), calls.is_empty()) {
        message.insert("tool_calls".into(), json!(calls));
    }
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish_reason(answer) });
    json!({
        "id": answer.id, "object": "chat.completion", "created": 1_700_000_000,
        "model": answer.model, "choices": [choice], "usage": usage(),
    })
}

fn finish_reason(answer: &Answer) -> &'static str {
    if answer.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn usage() -> Value {
    json!({ "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 })
}

/// The answer as the data of server-sent events, without the closing `[DONE]`.
pub(crate) fn stream(answer: &Answer) -> Vec<Value> {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        json!({
            "id": answer.id, "object": "chat.completion.chunk", "created": 1_700_000_000,
            "model": answer.model, "choices": [choice],
        })
    };
    let mut chunks = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    if !answer.thought.is_empty() {
        let delta = json!({ "reasoning_content": answer.thought, "novelty": "unheard of" });
        chunks.push(chunk(delta, Value::Null));
    }
    for piece in answer.text_pieces() {
        chunks.push(chunk(json!({ "content": piece }), Value::Null));
    }
    for (index, call) in answer.calls.iter().enumerate() {
        let function = json!({ "name": call.name, "arguments": "" });
        let first =
            json!({ "index": index, "id": call.id, "type": "function", "function": function });
        chunks.push(chunk(json!({ "tool_calls": [first] }), Value::Null));
        for piece in call.argument_pieces() {
            let part = json!({ "index": index, "function": { "arguments": piece } });
            chunks.push(chunk(json!({ "tool_calls": [part] }), Value::Null));
        }
    }
    if answer.fails {
        let error = json!({ "message": "The server had an error", "type": "server_error" });
        chunks.push(json!({ "error": error }));
        return chunks;
    }
    chunks.push(chunk(json!({}), json!(finish_reason(answer))));
    let mut last = whole(answer);
    if let Some(last) = last.as_object_mut() {
        last.insert("object".into(), json!("chat.completion.chunk"));
        last.insert("choices".into(), json!([]));
    }
    chunks.push(last);
    chunks
}

/// The same as servers write it that are merely compatible: whole calls at once, all with the number 0,
/// no usage, and no word that they called.
pub(crate) fn compatible(answer: &Answer) -> Vec<Value> {
    let chunk = |delta: Value, finish: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    let mut chunks: Vec<Value> =
        answer.text_pieces().map(|piece| chunk(json!({ "content": piece }), Value::Null)).collect();
    for call in &answer.calls {
        let function = json!({ "name": call.name, "arguments": call.arguments.to_string() });
        let call = json!({ "index": 0, "id": call.id, "type": "function", "function": function });
        chunks.push(chunk(json!({ "role": "assistant", "tool_calls": [call] }), Value::Null));
    }
    chunks.push(match answer.fails {
        true => json!({ "error": { "message": "out of memory" } }),
        false => chunk(json!({ "content": "" }), json!("stop")),
    });
    chunks
}
