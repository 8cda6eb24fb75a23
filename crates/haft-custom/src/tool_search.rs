//! `tool_search`: finds tools that are deferred to save context, and has them shown.

use std::borrow::Cow;

use haft_runtime::permission::{Ask, Effect};
use haft_runtime::{
    BoxFuture, Context, DynTool, Found, Listing, Output, Schema, ToolError, Traits,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::bm25;
use crate::hooks::shown;

/// How many are found if it is not told otherwise.
const FOUND: usize = 5;

/// Finds deferred tools. It is only shown where there are some.
pub struct ToolSearch;

/// What to look for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// What the tool should do, or its name.
    #[schemars(length(min = 1, max = 1000), extend("x-aliases" = ["q", "search", "description"]))]
    query: String,
    /// How many to load; 5 if left out.
    #[schemars(range(min = 1, max = 20), extend("x-aliases" = ["max_results", "num_results"]))]
    limit: Option<usize>,
}

impl ToolSearch {
    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        cx.ask(Ask::new("tool_search", effects())).await?;
        let deferred = cx.deferred();
        let found = best(&params.query, &deferred, params.limit.unwrap_or(FOUND));
        let query = shown(&params.query);
        if found.is_empty() {
            let names: Vec<&str> =
                deferred.iter().map(|tool| tool.name.as_str()).take(100).collect();
            let text = format!(
                "No tool fits `{query}`. {} can be found; their names: {}",
                deferred.len(),
                names.join(", ")
            );
            return Ok(Output::new(query, text));
        }
        let names: Vec<String> = found.iter().map(|tool| tool.name.clone()).collect();
        cx.load(&names);
        let text: Vec<String> = found.iter().map(|tool| describe(tool)).collect();
        let text = format!("These can be called from now on:\n\n{}", text.join("\n\n"));
        Ok(Output::new(query, text).with("loaded", names))
    }
}

/// The tools that a query is about, the best first; one that is called just that comes before all.
fn best<'a>(query: &str, tools: &'a [Found], most: usize) -> Vec<&'a Found> {
    // The name says most, in few words.
    let text = |tool: &Found| {
        let Found { name, description, schema } = tool;
        format!("{name} {name} {name} {description} {}", parameters(schema))
    };
    let texts: Vec<String> = tools.iter().map(text).collect();
    let named = tools.iter().filter(|tool| tool.name.eq_ignore_ascii_case(query.trim()));
    let ranked = bm25::rank(query, &texts).into_iter().filter_map(|(number, _)| tools.get(number));
    let mut found: Vec<&Found> = Vec::new();
    for tool in named.chain(ranked) {
        if !found.iter().any(|other| other.name == tool.name) {
            found.push(tool);
        }
    }
    found.truncate(most);
    found
}

/// The names of parameters and what is said of them.
fn parameters(schema: &Value) -> String {
    let properties = schema.get("properties").and_then(Value::as_object);
    let each = properties.into_iter().flatten().map(|(name, property)| {
        let says = property.get("description").and_then(Value::as_str).unwrap_or_default();
        format!("{name} {says}")
    });
    each.collect::<Vec<_>>().join(" ")
}

fn describe(tool: &Found) -> String {
    format!("{}: {}\nparameters: {}", tool.name, tool.description, tool.schema)
}

fn effects() -> Vec<Effect> {
    vec![Effect::using("tool_search", "*")]
}

impl DynTool for ToolSearch {
    fn id(&self) -> &str {
        "tool_search"
    }

    fn description(&self) -> Cow<'_, str> {
        include_str!("tool_search.txt").into()
    }

    fn schema(&self) -> Result<Schema, String> {
        Schema::of::<Params>()
    }

    fn traits(&self) -> Traits {
        Traits::READ_ONLY
    }

    fn listing(&self) -> Listing {
        Listing::WhereOthersAreDeferred
    }

    fn effects<'a>(
        &'a self,
        _: Value,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<Effect>, ToolError>> {
        Box::pin(async { Ok(effects()) })
    }

    fn prepare<'a>(
        &'a self,
        args: Value,
        cx: &'a Context,
    ) -> Result<BoxFuture<'a, Result<Output, ToolError>>, ToolError> {
        let params: Params = serde_json::from_value(args)
            .map_err(|error| ToolError::caused("the search cannot be made", error))?;
        Ok(Box::pin(self.run(params, cx)))
    }
}
