//! Exa, by its HTTP interface.

use serde_json::{Value, json};

use super::{Exchange, Found, Hit, Key, Provider, Query, field};
use crate::client::Client;
use crate::error::WebError;
use crate::resolve::BoxFuture;
use crate::target::Target;

/// Characters of a page that make a token, roughly.
const CHARACTERS_PER_TOKEN: usize = 4;
/// What the interface takes as a length in tokens.
const TOKENS: (usize, usize) = (1_000, 50_000);

#[derive(Debug)]
pub(super) struct Exa {
    pub(super) base: Target,
    pub(super) key: Key,
}

impl Exa {
    fn post(&self, path: &str, body: Value) -> Exchange<'_> {
        Exchange {
            service: "exa",
            base: &self.base,
            path: path.to_owned(),
            headers: vec![("x-api-key", self.key.as_str())],
            body: Some(body),
        }
    }
}

impl Provider for Exa {
    fn name(&self) -> &'static str {
        "exa"
    }

    fn search<'a>(
        &'a self,
        client: &'a Client,
        query: &'a Query,
    ) -> BoxFuture<'a, Result<Found, WebError>> {
        Box::pin(async move {
            let each = (query.characters / query.results.max(1)).max(200);
            let body = json!({
                "query": query.text,
                "type": "auto",
                "numResults": query.results,
                "contents": { "text": { "maxCharacters": each } },
            });
            let exchange = self.post("/search", body);
            let answer = exchange.parsed(&exchange.run(client, query.deadline).await?)?;
            let results = answer.get("results").and_then(Value::as_array);
            let results = results.ok_or_else(|| exchange.malformed("no results in it"))?;
            Ok(Found::Results(results.iter().take(query.results).map(hit).collect()))
        })
    }

    fn has_code(&self) -> bool {
        true
    }

    fn code<'a>(
        &'a self,
        client: &'a Client,
        query: &'a Query,
    ) -> BoxFuture<'a, Result<Found, WebError>> {
        Box::pin(async move {
            let exchange =
                self.post("/context", json!({ "query": query.text, "tokensNum": tokens(query) }));
            let answer = exchange.parsed(&exchange.run(client, query.deadline).await?)?;
            let response = answer.get("response").and_then(Value::as_str);
            let response = response.ok_or_else(|| exchange.malformed("no response in it"))?;
            Ok(Found::Text(response.to_owned()))
        })
    }
}

/// How long an answer may be, as Exa counts it.
pub(super) fn tokens(query: &Query) -> usize {
    (query.characters / CHARACTERS_PER_TOKEN).clamp(TOKENS.0, TOKENS.1)
}

fn hit(result: &Value) -> Hit {
    let date = field(result, "publishedDate");
    let (text, summary) = (field(result, "text"), field(result, "summary"));
    Hit {
        title: field(result, "title"),
        url: field(result, "url"),
        date: (!date.is_empty()).then_some(date),
        text: if text.is_empty() { summary } else { text },
    }
}
