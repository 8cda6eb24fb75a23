//! Brave Search.

use serde_json::Value;

use super::{Exchange, Found, Hit, Key, Provider, Query, encoded, field};
use crate::client::Client;
use crate::error::WebError;
use crate::html::{self, Form, Scope};
use crate::resolve::BoxFuture;
use crate::target::Target;

/// Most results that it gives at once.
const MOST: usize = 20;

#[derive(Debug)]
pub(super) struct Brave {
    pub(super) base: Target,
    pub(super) key: Key,
}

impl Provider for Brave {
    fn name(&self) -> &'static str {
        "brave"
    }

    fn search<'a>(
        &'a self,
        client: &'a Client,
        query: &'a Query,
    ) -> BoxFuture<'a, Result<Found, WebError>> {
        Box::pin(async move {
            let count = query.results.min(MOST);
            let exchange = Exchange {
                service: "brave",
                base: &self.base,
                path: format!("/web/search?q={}&count={count}", encoded(&query.text)),
                headers: vec![("x-subscription-token", self.key.as_str())],
                body: None,
            };
            let answer = exchange.parsed(&exchange.run(client, query.deadline).await?)?;
            if !answer.is_object() {
                return Err(exchange.malformed("no results in it"));
            }
            // Where nothing was found, the list is not there.
            let results =
                answer.get("web").and_then(|web| web.get("results")).and_then(Value::as_array);
            let results = results.map(Vec::as_slice).unwrap_or_default();
            Ok(Found::Results(results.iter().take(count).map(|result| self.hit(result)).collect()))
        })
    }
}

impl Brave {
    fn hit(&self, result: &Value) -> Hit {
        let date = field(result, "age");
        Hit {
            title: self.plain(&field(result, "title")),
            url: field(result, "url"),
            date: (!date.is_empty()).then_some(date),
            text: self.plain(&field(result, "description")),
        }
    }

    /// Its texts mark what was searched for, in HTML.
    fn plain(&self, text: &str) -> String {
        let reading = html::read(text, &self.base, Form::Text, Scope::Whole, &|| false);
        reading.map_or_else(|| text.to_owned(), |reading| reading.text)
    }
}
