//! The scripted model as an agent meets it: real requests over loopback, in each protocol.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at what it did not expect"
)]

use std::io::{Read, Write};
use std::net::TcpStream;

use haft_scripted::{Fault, Model, Turn};
use serde_json::{Value, json};

const PATHS: [&str; 3] = ["/v1/messages", "/v1/responses", "/v1/chat/completions"];

/// Sends a request and reads whatever comes back, to the end.
fn post(model: &Model, path: &str, body: &Value) -> (String, Vec<u8>) {
    let address = model.url().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let body = body.to_string();
    let length = body.len();
    let lines = format!("host: x\r\nconnection: close\r\ncontent-length: {length}\r\n");
    let head = format!("POST {path} HTTP/1.1\r\n{lines}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
        return (String::new(), answer);
    };
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    (head, chunks(&answer[end + 4..]))
}

/// The body behind its chunks, as far as it goes.
fn chunks(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            break;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 4 + length..];
    }
    body
}

/// The data of every event but the closing word of Chat Completions.
fn events(body: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(body).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// A request with one tool, in the protocol of the path.
fn request(path: &str, results: &[&str]) -> Value {
    let function = json!({ "name": "mcp__haft__read", "parameters": { "type": "object" } });
    match path {
        "/v1/messages" => {
            let mut messages = vec![json!({ "role": "user", "content": "go" })];
            messages.extend(results.iter().map(|text| {
                let part = json!({ "type": "tool_result", "tool_use_id": "call_0000",
                    "content": [{ "type": "text", "text": text }] });
                json!({ "role": "user", "content": [part] })
            }));
            let tool = json!({ "name": "mcp__haft__read", "input_schema": { "type": "object" } });
            json!({ "stream": true, "tools": [tool], "messages": messages })
        }
        "/v1/responses" => {
            let group =
                json!({ "type": "namespace", "name": "mcp__haft", "tools": [{ "name": "read" }] });
            let input: Vec<Value> = results
                .iter()
                .map(|text| json!({ "type": "function_call_output", "call_id": "call_0000", "output": text }))
                .collect();
            json!({ "stream": true, "tools": [group], "input": input })
        }
        _ => {
            let messages: Vec<Value> = results
                .iter()
                .map(|text| json!({ "role": "tool", "tool_call_id": "call_0000", "content": text }))
                .collect();
            json!({ "stream": true, "tools": [{ "type": "function", "function": function }], "messages": messages })
        }
    }
}

/// The name and the arguments of the call that the events make up.
fn call(path: &str, events: &[Value]) -> (String, Value) {
    let (mut name, mut arguments) = (String::new(), String::new());
    for event in events {
        let (named, piece) = match path {
            "/v1/messages" => ("/content_block/name", "/delta/partial_json"),
            "/v1/responses" => ("/item/name", "/delta"),
            _ => (
                "/choices/0/delta/tool_calls/0/function/name",
                "/choices/0/delta/tool_calls/0/function/arguments",
            ),
        };
        if let Some(text) = event.pointer(named).and_then(Value::as_str) {
            name = text.to_owned();
        }
        arguments.push_str(event.pointer(piece).and_then(Value::as_str).unwrap_or_default());
    }
    (name, serde_json::from_str(&arguments).unwrap())
}

fn script() -> (Value, Vec<Turn>) {
    let arguments = json!({ "file_path": "a folder/é.txt", "limit": 3 });
    (arguments.clone(), vec![Turn::call("haft_read", arguments), Turn::say("Well done.")])
}

#[test]
fn the_same_script_is_told_in_every_protocol() {
    let (arguments, script) = script();
    let model = Model::start(script).unwrap();
    for path in PATHS {
        let (head, body) = post(&model, path, &request(path, &[]));
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"), "{head}");
        let (name, given) = call(path, &events(&body));
        assert!(name.ends_with("read"), "{name}");
        assert_eq!(given, arguments);
        let (_, body) = post(&model, path, &request(path, &["the file"]));
        let last = String::from_utf8(body).unwrap();
        assert!(last.contains("done.") && !last.contains("file_path"), "{last}");
        let shown = model.requests().pop().unwrap().results();
        assert_eq!((shown[0].call.as_str(), shown[0].text.as_str()), ("call_0000", "the file"));
    }
    assert_eq!(model.requests().len(), 6);
    assert_eq!(model.requests()[2].tools(), ["mcp__haft__read"]);
}

#[test]
fn an_answer_that_is_not_streamed_holds_the_same() {
    let (arguments, script) = script();
    let model = Model::start(script).unwrap();
    for path in PATHS {
        let mut request = request(path, &[]);
        request["stream"] = json!(false);
        let (head, body) = post(&model, path, &request);
        assert!(head.contains("application/json"), "{head}");
        let whole: Value = serde_json::from_slice(&body).unwrap();
        let given = match path {
            "/v1/messages" => whole["content"][0]["input"].clone(),
            "/v1/responses" => {
                serde_json::from_str(whole["output"][0]["arguments"].as_str().unwrap()).unwrap()
            }
            _ => {
                let function = &whole["choices"][0]["message"]["tool_calls"][0]["function"];
                serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap()
            }
        };
        assert_eq!(given, arguments);
    }
}

#[test]
fn faults_do_what_they_say() {
    let (arguments, script) = script();
    let faults = [
        Fault::Split(7),
        Fault::Status(429, Some(2)),
        Fault::Refuse,
        Fault::Cut(100),
        Fault::Error,
    ];
    let model = Model::unreliable(script, move |number| faults[number % 5].clone()).unwrap();
    for path in PATHS {
        let ask = || post(&model, path, &request(path, &[]));
        assert_eq!(call(path, &events(&ask().1)).1, arguments);
        let (head, _) = ask();
        assert!(head.starts_with("HTTP/1.1 429") && head.contains("retry-after: 2"), "{head}");
        assert_eq!(ask(), (String::new(), Vec::new()));
        assert_eq!(ask().1.len(), 100);
        let body = String::from_utf8(ask().1).unwrap();
        assert!(body.contains("error") && !body.contains("[DONE]"), "{body}");
    }
}

#[test]
fn what_is_asked_beside_the_conversation_is_answered_too() {
    let model = Model::start(vec![Turn::call("read", json!({}))]).unwrap();
    let (_, title) = post(&model, "/v1/messages", &json!({ "messages": [] }));
    assert!(String::from_utf8(title).unwrap().contains("A title"));
    let (_, count) = post(&model, "/v1/messages/count_tokens", &json!({}));
    assert_eq!(serde_json::from_slice::<Value>(&count).unwrap()["input_tokens"], 100);
    assert!(post(&model, "/elsewhere", &json!({})).0.starts_with("HTTP/1.1 404"));
}
