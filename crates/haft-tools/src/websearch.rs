//! `websearch`: what a search service knows of the web.

use std::sync::Arc;

use haft_runtime::permission::{Ask, Effect, Suggestion};
use haft_runtime::{Context, InitContext, InitError, Output, Tool, ToolError, Traits};
use haft_web::search::{Found, Hit, Provider, Query};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::web::{MARK_BYTES, Web, marked, until_cancelled};

/// Searches the web.
pub(crate) struct WebSearch {
    web: Arc<Web>,
    provider: Arc<dyn Provider>,
}

/// What to search for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// What to search for, in words.
    #[schemars(length(min = 1, max = 2000), extend("x-aliases" = ["q", "search_query", "search_term", "prompt"]))]
    query: String,
    /// How many results (8).
    #[schemars(range(min = 1, max = 20), extend("x-aliases" = ["limit", "max_results", "count", "num"]))]
    num_results: Option<usize>,
}

impl Tool for WebSearch {
    const ID: &'static str = "websearch";
    const DESCRIPTION: &'static str = include_str!("websearch.txt");
    const ALIASES: &'static [&'static str] =
        &["web_search", "search_web", "google_web_search", "google_search", "internet_search"];
    type Params = Params;

    async fn init(cx: &InitContext<'_>) -> Result<Self, InitError> {
        let web = Web::of(cx)?;
        let provider = web.provider()?;
        Ok(Self { web, provider })
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        cx.ask(asked(Self::ID, &params.query)).await?;
        let query = Query {
            results: params.num_results.unwrap_or(self.web.settings().results),
            characters: room(cx),
            deadline: self.web.settings().timeout,
            text: params.query,
        };
        let client = self.web.fetcher().client();
        let found = until_cancelled(cx, self.provider.search(client, &query)).await?;
        Ok(answer(&query, found, self.provider.name(), cx))
    }

    async fn effects(&self, params: &Params, _cx: &Context) -> Result<Vec<Effect>, ToolError> {
        Ok(vec![Effect::using(Self::ID, params.query.as_str())])
    }

    fn traits(&self) -> Traits {
        Traits { open_world: true, ..Traits::READ_ONLY }
    }
}

/// Asks for a search; *always* would mean every search, for no two are the same.
pub(crate) fn asked(key: &'static str, query: &str) -> Ask {
    let every = Suggestion { key: key.to_owned(), pattern: "*".to_owned() };
    let title = format!("search for {query}");
    Ask { always: vec![every], ..Ask::new(title, vec![Effect::using(key, query)]) }
}

/// Characters that an answer may have.
pub(crate) fn room(cx: &Context) -> usize {
    cx.limits().bytes.saturating_sub(2 * MARK_BYTES).max(200)
}

/// What was found, as the model reads it.
pub(crate) fn answer(query: &Query, found: Found, provider: &str, cx: &Context) -> Output {
    let (results, text) = match found {
        Found::Results(hits) => {
            let each = query.characters / hits.len().max(1);
            let shown: Vec<String> = hits.iter().map(|hit| shown(hit, each)).collect();
            (hits.len(), shown.join("\n\n"))
        }
        Found::Text(text) => (usize::from(!text.trim().is_empty()), text),
    };
    let text = text.trim();
    let lines = cx.limits().lines.saturating_sub(8).max(1);
    let end = text.match_indices('\n').nth(lines - 1).map_or(text.len(), |(at, _)| at);
    let end = text.floor_char_boundary(end.min(room(cx)));
    let part = text.get(..end).unwrap_or(text);
    let said = if results == 0 {
        format!("{provider} found nothing for {:?}; try other words.", query.text)
    } else {
        marked(&format!("This is what {provider} found for {:?}.", query.text), part)
    };
    let output = Output::new(&query.text, said).with("results", results).with("provider", provider);
    Output { truncated: part.len() < text.len(), ..output }
}

/// One result in at most `most` bytes, or little more than its head.
fn shown(hit: &Hit, most: usize) -> String {
    let Hit { title, url, date, text } = hit;
    let date = date.as_deref().map(|date| format!(" ({date})")).unwrap_or_default();
    let title = if title.is_empty() { url } else { title };
    let head = format!("## {title}\n{url}{date}\n");
    let room = most.saturating_sub(head.len()).max(100);
    let end = text.floor_char_boundary(room);
    let more = if end < text.len() { "…" } else { "" };
    format!("{head}{}{more}", text.get(..end).unwrap_or_default().trim())
}
