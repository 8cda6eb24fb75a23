//! `invalid`: answers calls that cannot be run with what the model needs to make a better one.

use haft_runtime::permission::Effect;
use haft_runtime::{Context, InitContext, InitError, Output, Tool, ToolError, Traits};
use schemars::JsonSchema;
use serde::Deserialize;

/// Stands in for what is not there.
pub(crate) struct Invalid;

/// What was called.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The name that was called.
    tool: String,
    /// What was wrong with it.
    error: Option<String>,
}

impl Tool for Invalid {
    const ID: &'static str = "invalid";
    const DESCRIPTION: &'static str = include_str!("invalid.txt");
    type Params = Params;

    async fn init(_cx: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self)
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        let Params { tool, error } = params;
        let available = cx.tools();
        match error {
            // A host may send calls here whose arguments it could not read.
            Some(detail) if available.contains(&tool) => {
                Err(ToolError::InvalidParams { tool, detail })
            }
            _ => Err(ToolError::unknown(&tool, available)),
        }
    }

    async fn effects(&self, _params: &Params, _cx: &Context) -> Result<Vec<Effect>, ToolError> {
        Ok(Vec::new())
    }

    fn traits(&self) -> Traits {
        Traits { unlisted: true, ..Traits::READ_ONLY }
    }
}
