//! `todoread`: the session's list of todos.

use haft_runtime::permission::Ask;
use haft_runtime::{Context, InitContext, InitError, Output, Tool, ToolError, Traits};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::todos::{Lists, render, summary};

/// Reads the list.
pub(crate) struct TodoRead {
    lists: Lists,
}

/// Nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {}

impl Tool for TodoRead {
    const ID: &'static str = "todoread";
    const DESCRIPTION: &'static str = include_str!("todoread.txt");
    const ALIASES: &'static [&'static str] = &["read_todos", "get_todos", "list_todos"];
    type Params = Params;

    async fn init(cx: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self { lists: Lists::open(cx)? })
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        cx.ask(Ask::new("read the todos", self.effects(&params, cx).await?)).await?;
        let todos = self.lists.get(cx).await?;
        Ok(Output::new(summary(&todos), render(&todos)).with("todos", json!(todos)))
    }

    fn traits(&self) -> Traits {
        Traits::READ_ONLY
    }
}
