//! OpenAI's Responses: what a request holds, and an answer as its stream of events.

use serde_json::{Value, json};

use crate::conversation::{Shown, items, text};
use crate::model::{Answer, Called};

pub(crate) fn results(request: &Value) -> Vec<Shown> {
    items(request, "input")
        .iter()
        .filter(|item| item.get("type").is_some_and(|kind| kind == "function_call_output"))
        .map(|item| Shown {
            call: item.get("call_id").and_then(Value::as_str).unwrap_or_default().to_owned(),
            text: item.get("output").map(text).unwrap_or_default(),
        })
        .collect()
}

/// The whole answer as one object.
pub(crate) fn whole(answer: &Answer) -> Value {
    let mut output = Vec::new();
    if !answer.thought.is_empty() {
        output.push(reasoning(answer));
    }
    if !answer.text.is_empty() {
        output.push(message(answer, &answer.text, "completed"));
    }
    output.extend(answer.calls.iter().map(|call| function_call(call, "completed")));
    let usage = json!({
        "input_tokens": 100, "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": 10, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": 110,
    });
    json!({
        "id": answer.id, "object": "response", "created_at": 1_700_000_000, "status": "completed",
        "model": answer.model, "output": output, "usage": usage, "error": null,
        "incomplete_details": null, "parallel_tool_calls": true,
    })
}

fn message(answer: &Answer, text: &str, status: &str) -> Value {
    let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
    json!({
        "id": format!("msg_{}", answer.id), "type": "message", "role": "assistant",
        "status": status, "content": content,
    })
}

fn reasoning(answer: &Answer) -> Value {
    let summary = json!([{ "type": "summary_text", "text": answer.thought }]);
    json!({
        "id": format!("rs_{}", answer.id), "type": "reasoning", "summary": summary,
        "encrypted_content": "ciphered",
    })
}

fn function_call(call: &Called, status: &str) -> Value {
    let mut item = json!({
        "id": format!("fc_{}", call.id), "type": "function_call", "call_id": call.id,
        "name": call.name, "arguments": call.arguments.to_string(), "status": status,
    });
    if let (Some(item), Some(namespace)) = (item.as_object_mut(), &call.namespace) {
        item.insert("namespace".into(), json!(namespace));
    }
    item
}

/// The answer as server-sent events.
pub(crate) fn stream(answer: &Answer) -> Vec<(&'static str, Value)> {
    let mut events = Events::default();
    let mut begun = whole(answer);
    if let Some(begun) = begun.as_object_mut() {
        begun.insert("status".into(), json!("in_progress"));
        begun.insert("output".into(), json!([]));
        begun.insert("usage".into(), Value::Null);
    }
    events.push("response.created", json!({ "response": begun }));
    let mut index = 0;
    if !answer.thought.is_empty() {
        let item = reasoning(answer);
        let place = json!({ "item_id": format!("rs_{}", answer.id), "output_index": index, "summary_index": 0 });
        events.push("response.output_item.added", json!({ "output_index": index, "item": item }));
        let thought = with(&place, "delta", json!(answer.thought));
        events.push("response.reasoning_summary_text.delta", thought);
        // Providers add kinds of events as they like.
        events.push("response.novelty", json!({ "delta": "unheard of" }));
        events.push("response.output_item.done", json!({ "output_index": index, "item": item }));
        index += 1;
    }
    if !answer.text.is_empty() {
        let mut empty = message(answer, "", "in_progress");
        if let Some(empty) = empty.as_object_mut() {
            empty.insert("content".into(), json!([]));
        }
        events.push("response.output_item.added", json!({ "output_index": index, "item": empty }));
        let place = json!({ "item_id": format!("msg_{}", answer.id), "output_index": index, "content_index": 0 });
        for piece in answer.text_pieces() {
            events.push("response.output_text.delta", with(&place, "delta", json!(piece)));
        }
        events.push("response.output_text.done", with(&place, "text", json!(answer.text)));
        let item = message(answer, &answer.text, "completed");
        events.push("response.output_item.done", json!({ "output_index": index, "item": item }));
        index += 1;
    }
    for call in &answer.calls {
        let mut empty = function_call(call, "in_progress");
        if let Some(empty) = empty.as_object_mut() {
            empty.insert("arguments".into(), json!(""));
        }
        events.push("response.output_item.added", json!({ "output_index": index, "item": empty }));
        let place = json!({ "item_id": format!("fc_{}", call.id), "output_index": index });
        for piece in call.argument_pieces() {
            events.push(
                "response.function_call_arguments.delta",
                with(&place, "delta", json!(piece)),
            );
        }
        let all = json!(call.arguments.to_string());
        events.push("response.function_call_arguments.done", with(&place, "arguments", all));
        let item = function_call(call, "completed");
        events.push("response.output_item.done", json!({ "output_index": index, "item": item }));
        index += 1;
    }
    if answer.fails {
        let error = json!({ "code": "server_error", "message": "The server had an error" });
        let response = json!({ "id": answer.id, "status": "failed", "error": error });
        events.push("response.failed", json!({ "response": response }));
    } else {
        events.push("response.completed", json!({ "response": whole(answer) }));
    }
    events.0
}

fn with(place: &Value, name: &str, value: Value) -> Value {
    let mut place = place.clone();
    if let Some(place) = place.as_object_mut() {
        place.insert(name.to_owned(), value);
    }
    place
}

/// Events, each with its type and number.
#[derive(Default)]
struct Events(Vec<(&'static str, Value)>);

impl Events {
    fn push(&mut self, kind: &'static str, body: Value) {
        let body = with(&with(&body, "type", json!(kind)), "sequence_number", json!(self.0.len()));
        self.0.push((kind, body));
    }
}
