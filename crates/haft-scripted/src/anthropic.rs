//! Anthropic's Messages: what a request holds, and an answer as its stream of events.

use serde_json::{Value, json};

use crate::conversation::{Shown, items, text};
use crate::model::Answer;

pub(crate) fn results(request: &Value) -> Vec<Shown> {
    let parts = items(request, "messages").iter().flat_map(|message| items(message, "content"));
    parts
        .filter(|part| part.get("type").is_some_and(|kind| kind == "tool_result"))
        .map(|part| Shown {
            call: part.get("tool_use_id").and_then(Value::as_str).unwrap_or_default().to_owned(),
            text: part.get("content").map(text).unwrap_or_default(),
        })
        .collect()
}

/// The whole answer as one object.
pub(crate) fn whole(answer: &Answer) -> Value {
    let mut content = Vec::new();
    if !answer.thought.is_empty() {
        let thought = &answer.thought;
        content.push(json!({ "type": "thinking", "thinking": thought, "signature": "signed" }));
    }
    if !answer.text.is_empty() {
        content.push(json!({ "type": "text", "text": answer.text }));
    }
    content.extend(answer.calls.iter().map(|call| {
        json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments })
    }));
    json!({
        "id": answer.id, "type": "message", "role": "assistant", "model": answer.model,
        "content": content, "stop_reason": stop_reason(answer), "stop_sequence": null,
        "usage": { "input_tokens": 100, "output_tokens": 10 },
    })
}

fn stop_reason(answer: &Answer) -> &'static str {
    if answer.calls.is_empty() { "end_turn" } else { "tool_use" }
}

/// The answer as server-sent events.
pub(crate) fn stream(answer: &Answer) -> Vec<(&'static str, Value)> {
    let mut start = whole(answer);
    if let Some(start) = start.as_object_mut() {
        start.insert("content".into(), json!([]));
        start.insert("stop_reason".into(), Value::Null);
    }
    let mut events =
        vec![("message_start", json!({ "type": "message_start", "message": start })), ping()];
    let mut index = 0;
    if !answer.thought.is_empty() {
        let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
        let thought = json!({ "type": "thinking_delta", "thinking": answer.thought });
        let signature = json!({ "type": "signature_delta", "signature": "signed" });
        block_events(&mut events, 0, block, [thought, signature].into_iter());
        // Providers add kinds of blocks and events as they like.
        let unknown = json!({ "type": "novelty_delta", "text": "unheard of" });
        block_events(&mut events, 1, json!({ "type": "novelty" }), [unknown].into_iter());
        events.push(("novelty", json!({ "type": "novelty" })));
        index = 2;
    }
    if !answer.text.is_empty() {
        let block = json!({ "type": "text", "text": "" });
        let deltas =
            answer.text_pieces().map(|piece| json!({ "type": "text_delta", "text": piece }));
        block_events(&mut events, index, block, deltas);
        index += 1;
    }
    for call in &answer.calls {
        let block = json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": {} });
        let pieces = call.argument_pieces();
        let deltas =
            pieces.iter().map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
        block_events(&mut events, index, block, deltas);
        index += 1;
    }
    if answer.fails {
        let error = json!({ "type": "overloaded_error", "message": "Overloaded" });
        events.push(("error", json!({ "type": "error", "error": error })));
        return events;
    }
    let delta = json!({ "stop_reason": stop_reason(answer), "stop_sequence": null });
    let usage = json!({ "output_tokens": 10 });
    events.push((
        "message_delta",
        json!({ "type": "message_delta", "delta": delta, "usage": usage }),
    ));
    events.push(("message_stop", json!({ "type": "message_stop" })));
    events
}

fn ping() -> (&'static str, Value) {
    ("ping", json!({ "type": "ping" }))
}

fn block_events(
    events: &mut Vec<(&'static str, Value)>,
    index: usize,
    block: Value,
    deltas: impl Iterator<Item = Value>,
) {
    let event = |kind: &'static str, name: &str, value: Value| {
        (kind, json!({ "type": kind, "index": index, name: value }))
    };
    events.push(event("content_block_start", "content_block", block));
    events.extend(deltas.map(|delta| event("content_block_delta", "delta", delta)));
    events.push(("content_block_stop", json!({ "type": "content_block_stop", "index": index })));
}
