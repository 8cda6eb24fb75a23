//! `codesearch`: documentation and public code about a library or an interface.

use std::sync::Arc;

use haft_runtime::permission::Effect;
use haft_runtime::{Context, InitContext, InitError, Output, Tool, ToolError, Traits};
use haft_web::search::{Provider, Query};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::web::{Web, until_cancelled};
use crate::websearch::{answer, asked, room};

/// Tokens of an answer if it is not told otherwise, and characters that make one.
const TOKENS: usize = 5_000;
const CHARACTERS_PER_TOKEN: usize = 4;

/// Searches code.
pub(crate) struct CodeSearch {
    web: Arc<Web>,
    provider: Arc<dyn Provider>,
}

/// What to search for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The library, interface or problem, in words.
    #[schemars(length(min = 1, max = 2000), extend("x-aliases" = ["q", "search_query", "prompt"]))]
    query: String,
    /// How long the answer may be, in tokens (5000).
    #[schemars(range(min = 1000, max = 50000), extend("x-aliases" = ["tokens_num", "max_tokens"]))]
    tokens: Option<usize>,
}

impl Tool for CodeSearch {
    const ID: &'static str = "codesearch";
    const DESCRIPTION: &'static str = include_str!("codesearch.txt");
    const ALIASES: &'static [&'static str] = &["code_search", "search_code", "get_code_context"];
    type Params = Params;

    async fn init(cx: &InitContext<'_>) -> Result<Self, InitError> {
        let web = Web::of(cx)?;
        let provider = web.provider()?;
        if !provider.has_code() {
            let name = provider.name();
            let reason = format!(
                "{name} does not search code; exa and exa-mcp do, as provider under [web.search]"
            );
            return Err(InitError::new(reason));
        }
        Ok(Self { web, provider })
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        cx.ask(asked(Self::ID, &params.query)).await?;
        let wanted = params.tokens.unwrap_or(TOKENS) * CHARACTERS_PER_TOKEN;
        let query = Query {
            results: self.web.settings().results,
            characters: room(cx).min(wanted),
            deadline: self.web.settings().timeout,
            text: params.query,
        };
        let client = self.web.fetcher().client();
        let found = until_cancelled(cx, self.provider.code(client, &query)).await?;
        Ok(answer(&query, found, self.provider.name(), cx))
    }

    async fn effects(&self, params: &Params, _cx: &Context) -> Result<Vec<Effect>, ToolError> {
        Ok(vec![Effect::using(Self::ID, params.query.as_str())])
    }

    fn traits(&self) -> Traits {
        Traits { open_world: true, ..Traits::READ_ONLY }
    }
}
