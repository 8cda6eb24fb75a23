//! Exa, by its hosted MCP server: one call of a tool, answered as JSON or as one event of a stream.

use serde_json::{Value, json};

use super::exa::tokens;
use super::{Exchange, Found, Key, Provider, Query};
use crate::client::Client;
use crate::error::WebError;
use crate::resolve::BoxFuture;
use crate::target::Target;

#[derive(Debug)]
pub(super) struct ExaMcp {
    pub(super) base: Target,
    pub(super) key: Option<Key>,
}

impl ExaMcp {
    async fn call(
        &self,
        client: &Client,
        query: &Query,
        tool: &str,
        arguments: Value,
    ) -> Result<Found, WebError> {
        let body = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": { "name": tool, "arguments": arguments },
        });
        let mut headers = vec![("accept", "application/json, text/event-stream")];
        headers.extend(self.key.as_ref().map(|key| ("x-api-key", key.as_str())));
        let (path, body) = (String::new(), Some(body));
        let exchange = Exchange { service: "exa-mcp", base: &self.base, path, headers, body };
        let text = exchange.run(client, query.deadline).await?;
        let answer = answer(&text).ok_or_else(|| exchange.malformed("no answer to the call"))?;
        if let Some(error) = answer.get("error") {
            let message = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
            return Err(exchange.malformed(&quoted(message)));
        }
        let result = answer.get("result").unwrap_or(&Value::Null);
        let content = result.get("content").and_then(Value::as_array);
        let content = content.ok_or_else(|| exchange.malformed("no content in it"))?;
        let texts = content.iter().filter_map(|part| part.get("text")?.as_str());
        let text = texts.collect::<Vec<_>>().join("\n\n");
        if result.get("isError").and_then(Value::as_bool) == Some(true) {
            return Err(exchange.malformed(&quoted(&text)));
        }
        Ok(Found::Text(text))
    }
}

impl Provider for ExaMcp {
    fn name(&self) -> &'static str {
        "exa-mcp"
    }

    fn search<'a>(
        &'a self,
        client: &'a Client,
        query: &'a Query,
    ) -> BoxFuture<'a, Result<Found, WebError>> {
        let arguments = json!({
            "query": query.text,
            "type": "auto",
            "numResults": query.results,
            "contextMaxCharacters": query.characters,
        });
        Box::pin(self.call(client, query, "web_search_exa", arguments))
    }

    fn has_code(&self) -> bool {
        true
    }

    fn code<'a>(
        &'a self,
        client: &'a Client,
        query: &'a Query,
    ) -> BoxFuture<'a, Result<Found, WebError>> {
        let arguments = json!({ "query": query.text, "tokensNum": tokens(query) });
        Box::pin(self.call(client, query, "get_code_context_exa", arguments))
    }
}

/// The answer to the call: the whole text, or the data of one of the events in it.
fn answer(text: &str) -> Option<Value> {
    let is_answer = |value: &Value| value.get("result").is_some() || value.get("error").is_some();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return Some(value).filter(is_answer);
    }
    let text = text.replace("\r\n", "\n");
    let events = text.split("\n\n").map(|event| {
        let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
        data.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    });
    let mut values = events.filter_map(|data| serde_json::from_str::<Value>(&data).ok());
    values.find(is_answer)
}

/// Words of the service, few enough for an error.
fn quoted(text: &str) -> String {
    let plain = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    format!("it says: {}", plain.take(200).collect::<String>().trim())
}
