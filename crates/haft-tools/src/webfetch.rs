//! `webfetch`: a page of the web as a model can read it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_runtime::permission::{Action, Ask, Effect, Suggestion};
use haft_runtime::{Context, InitContext, InitError, Output, Tool, ToolError, Traits};
use haft_web::{Fetched, Page, Source, Target};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::web::{Web, told, until_cancelled};

mod page;

use page::View;

/// Fetches pages.
pub(crate) struct WebFetch {
    web: Arc<Web>,
}

/// What to fetch.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The whole URL.
    #[schemars(length(max = 8192), extend("x-aliases" = ["uri", "link", "address", "href", "website"]))]
    url: String,
    /// What HTML becomes (markdown).
    #[schemars(extend("x-aliases" = ["output_format", "as"]))]
    format: Option<Format>,
    /// Without menus and the like (no).
    #[schemars(extend("x-aliases" = ["main_content", "only_main_content", "readability"]))]
    main_only: Option<bool>,
    /// Characters to pass over.
    #[schemars(extend("x-aliases" = ["start_index", "skip"]))]
    offset: Option<usize>,
    /// Seconds for everything (30).
    #[schemars(range(min = 1, max = 120), extend("x-aliases" = ["timeout_seconds"]))]
    timeout: Option<u64>,
}

/// What HTML becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    Markdown,
    Text,
    Html,
}

impl Tool for WebFetch {
    const ID: &'static str = "webfetch";
    const DESCRIPTION: &'static str = include_str!("webfetch.txt");
    const ALIASES: &'static [&'static str] =
        &["web_fetch", "fetch", "fetch_url", "read_url", "open_url", "browse", "url_fetch"];
    type Params = Params;

    async fn init(cx: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self { web: Web::of(cx)? })
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        let target = Target::parse(&params.url).map_err(told)?;
        let client = self.web.fetcher().client();
        // Nobody is asked about what will not be done.
        client.check_name(&target).map_err(told)?;
        let effect = fetching(&target);
        cx.ask(ask(&target, effect.clone())).await?;
        let begin = Instant::now();
        let deadline = params.timeout.map_or(self.web.settings().timeout, Duration::from_secs);
        let asked = cx.ruled(&effect);
        let may_follow = |next: &Target| follows(cx, asked, next);
        let fetching = self.web.fetcher().fetch(&target, deadline, &may_follow);
        match until_cancelled(cx, fetching).await? {
            Fetched::Elsewhere { to, status } => Ok(elsewhere(&target, &to, status)),
            Fetched::Page { page, source } => {
                let output = self.shown(&params, cx, page, begin + deadline, deadline).await?;
                Ok(output.with("from", from(source)))
            }
        }
    }

    async fn effects(&self, params: &Params, _cx: &Context) -> Result<Vec<Effect>, ToolError> {
        Ok(vec![fetching(&Target::parse(&params.url).map_err(told)?)])
    }

    fn traits(&self) -> Traits {
        Traits { open_world: true, ..Traits::READ_ONLY }
    }
}

impl WebFetch {
    /// Turns the page into an answer, on a thread that may take its time, within what is left of it.
    async fn shown(
        &self,
        params: &Params,
        cx: &Context,
        page: Arc<Page>,
        end: Instant,
        deadline: Duration,
    ) -> Result<Output, ToolError> {
        let view = View {
            format: params.format.unwrap_or(Format::Markdown),
            main_only: params.main_only == Some(true),
            offset: params.offset.unwrap_or(0),
            limits: cx.limits().clone(),
        };
        let cancel = cx.cancel.clone();
        let work = tokio::task::spawn_blocking(move || {
            view.of(&page, &|| cancel.is_cancelled() || Instant::now() >= end)
        });
        let late = || ToolError::TimedOut { after: deadline, partial: String::new() };
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(ToolError::cancelled()),
            () = tokio::time::sleep_until(end.into()) => Err(late()),
            shown = work => shown.map_err(|_| ToolError::Panicked { tool: Self::ID.to_owned() })?.unwrap_or_else(|| Err(late())),
        }
    }
}

fn fetching(target: &Target) -> Effect {
    Effect::fetch(target.as_str(), target.authority())
}

/// Asks for the page; *always* would mean its host.
fn ask(target: &Target, effect: Effect) -> Ask {
    let host = Suggestion { key: effect.key.clone().into_owned(), pattern: target.authority() };
    Ask { always: vec![host], ..Ask::new(format!("fetch {target}"), vec![effect]) }
}

/// Whether a redirect within the site is followed without another word: where the rules say the same
/// of both ends, whoever was asked about one was asked about the other.
fn follows(cx: &Context, asked: Action, next: &Target) -> bool {
    match cx.ruled(&fetching(next)) {
        Action::Allow => true,
        Action::Ask => asked == Action::Ask,
        Action::Deny => false,
    }
}

fn from(source: Source) -> &'static str {
    match source {
        Source::Server => "server",
        Source::Confirmed => "cache, confirmed by the server",
        Source::Cache => "cache",
    }
}

/// A redirect that was not followed.
fn elsewhere(target: &Target, to: &Target, status: u16) -> Output {
    let text = format!(
        "{target} redirects ({status}) to {to}. That is another site, or needs a permission of its own, so \
         nothing was read. Call webfetch with that URL if it is what you want."
    );
    Output::new(target.as_str(), text)
        .with("redirect", json!({ "to": to.as_str(), "status": status }))
}
