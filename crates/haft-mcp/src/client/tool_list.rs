//! A list of tools as a server sends it: one that does not fit the protocol spoils none of the others.
//!
//! The library reads such a list as a whole or not at all. So what does not fit is replaced, before it
//! is read, by a tool that says what is wrong, and is left out with that reason.

use std::borrow::Cow;

use memchr::memmem;
use rmcp::model::Tool;
use serde::Deserialize;
use serde_json::{Value, json};

use super::names::bounded;

/// Under which name the fault of a tool stands beside it.
const FAULT: &str = "haft/fault";

/// How much of a fault is told.
const TOLD: usize = 200;

/// A message of a server in which every tool of a list can be read. All other messages are as they were.
pub(super) fn readable(message: &[u8]) -> Cow<'_, [u8]> {
    // Hardly any message needs a second look.
    if memmem::find(message, b"\"tools\"").is_none() {
        return message.into();
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(message) else { return message.into() };
    let tools = value.get_mut("result").and_then(|result| result.get_mut("tools")?.as_array_mut());
    let mut is_changed = false;
    for (index, tool) in tools.into_iter().flatten().enumerate() {
        if let Err(error) = Tool::deserialize(&*tool) {
            let name = tool.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
            let name = name.map_or_else(|| format!("number {}", index + 1), str::to_owned);
            let why = bounded(&error.to_string(), TOLD);
            *tool = json!({ "name": name, "inputSchema": {}, "_meta": { FAULT: why } });
            is_changed = true;
        }
    }
    if is_changed { value.to_string().into_bytes().into() } else { message.into() }
}

/// Why a tool of a list cannot be used, if it did not fit the protocol.
pub(super) fn fault(tool: &Tool) -> Option<String> {
    let why = tool.meta.as_ref()?.get(FAULT)?.as_str()?;
    Some(format!("its definition does not fit the protocol: {}", bounded(why, TOLD)))
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ServerJsonRpcMessage, ServerResult};

    use super::*;

    fn listed(message: &Value) -> Vec<(String, Option<String>)> {
        let text = message.to_string();
        match serde_json::from_slice(&readable(text.as_bytes())).unwrap() {
            ServerJsonRpcMessage::Response(response) => match response.result {
                ServerResult::ListToolsResult(list) => {
                    list.tools.iter().map(|tool| (tool.name.to_string(), fault(tool))).collect()
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    #[test]
    fn what_does_not_fit_is_told_and_the_rest_is_read() {
        for more in [json!({}), json!({ "resultType": "complete", "ttlMs": 0 })] {
            let mut message = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [
                { "name": "good", "inputSchema": { "type": "object" } },
                { "name": "bare" },
                { "name": "listed", "inputSchema": [] },
                { "name": "told", "description": 7, "inputSchema": {} },
                { "inputSchema": {} },
                "nothing",
                null,
            ] } });
            message["result"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let tools = listed(&message);
            let names: Vec<&str> = tools.iter().map(|(name, _)| name.as_str()).collect();
            let expected = ["good", "bare", "listed", "told", "number 5", "number 6", "number 7"];
            assert_eq!(names, expected, "{more}");
            assert_eq!(tools[0].1, None);
            assert!(tools.iter().skip(1).all(|(_, fault)| fault.is_some()), "{tools:?}");
            let why = tools[1].1.as_ref().unwrap();
            assert!(why.contains("missing field `inputSchema`"), "{why}");
        }
    }

    #[test]
    fn other_messages_are_left_as_they_are() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[ {"name":"a","inputSchema":{}} ]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools": 7}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\"tools\""}]}}"#,
            r#"{"jsonrpc":"2.0","method":"x","params":{"tools":[7]}}"#,
            r#"["tools"]"#,
            r#"no JSON with "tools" in it"#,
        ] {
            assert_eq!(readable(text.as_bytes()), text.as_bytes(), "{text}");
        }
    }
}
