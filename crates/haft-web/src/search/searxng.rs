//! SearXNG: a search of one's own, by its JSON interface.

use serde_json::Value;

use super::{Exchange, Found, Hit, Provider, Query, encoded, field};
use crate::client::Client;
use crate::error::WebError;
use crate::resolve::BoxFuture;
use crate::target::Target;

#[derive(Debug)]
pub(super) struct Searxng {
    pub(super) base: Target,
}

impl Provider for Searxng {
    fn name(&self) -> &'static str {
        "searxng"
    }

    fn search<'a>(
        &'a self,
        client: &'a Client,
        query: &'a Query,
    ) -> BoxFuture<'a, Result<Found, WebError>> {
        Box::pin(async move {
            let exchange = Exchange {
                service: "searxng",
                base: &self.base,
                path: format!("/search?q={}&format=json", encoded(&query.text)),
                headers: Vec::new(),
                body: None,
            };
            let text = exchange.run(client, query.deadline).await?;
            let answer = serde_json::from_str::<Value>(&text).map_err(|_| {
                exchange.malformed("no JSON: the instance has to list json under search.formats")
            })?;
            let results = answer.get("results").and_then(Value::as_array);
            let results = results.ok_or_else(|| exchange.malformed("no results in it"))?;
            Ok(Found::Results(results.iter().take(query.results).map(hit).collect()))
        })
    }
}

fn hit(result: &Value) -> Hit {
    let date = field(result, "publishedDate");
    Hit {
        title: field(result, "title"),
        url: field(result, "url"),
        date: (!date.is_empty()).then_some(date),
        text: field(result, "content"),
    }
}
