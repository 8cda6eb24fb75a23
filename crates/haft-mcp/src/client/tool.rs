//! A server's tool in the form of ours. What it says of itself decides nothing about access.

use std::borrow::Cow;
use std::sync::Arc;

use haft_runtime::permission::{Ask, Effect};
use haft_runtime::{BoxFuture, Context, DynTool, Output, Schema, ToolError, Traits, plain};
use rmcp::model::{CallToolRequestParams, Tool};
use serde_json::{Map, Value};

use super::answer;
use super::names::{bound_schema, description, offered};
use super::server::Server;

/// How much of the arguments an ask shows.
const SHOWN: usize = 300;

/// How much of a hash tells two descriptions apart.
const MARK: usize = 32;

/// A tool of another server.
pub(super) struct RemoteTool {
    id: String,
    /// What the server calls it.
    name: String,
    description: String,
    schema: Schema,
    traits: Traits,
    /// Stands for all that it says of itself.
    mark: String,
    server: Arc<Server>,
}

impl RemoteTool {
    /// Takes a tool as the server describes it.
    ///
    /// # Errors
    /// Why it cannot be offered, for the operator.
    pub(super) fn new(server: &Arc<Server>, tool: &Tool) -> Result<Self, String> {
        let name = tool.name.to_string();
        let id = offered(server.name(), &name).ok_or("its name has no letter or digit")?;
        let mut schema = Value::Object(tool.input_schema.as_ref().clone());
        bound_schema(&mut schema);
        let schema = Schema::from_value(schema)?;
        let title = tool.title.as_deref().unwrap_or_default();
        let words = description(tool.description.as_deref().unwrap_or(title));
        let description = format!("{words}\n(MCP server {})", server.name());
        let mark = mark(&name, &description, &schema);
        let hints = tool.annotations.clone().unwrap_or_default();
        // That it only reads is the server's word, and hosts let through what only reads.
        let traits = Traits {
            read_only: false,
            destructive: hints.destructive_hint != Some(false),
            idempotent: hints.idempotent_hint == Some(true),
            open_world: hints.open_world_hint != Some(false),
            alone: false,
            beside: false,
            unlisted: false,
        };
        Ok(Self { id, name, description, schema, traits, mark, server: Arc::clone(server) })
    }

    async fn run(&self, args: Map<String, Value>, cx: &Context) -> Result<Output, ToolError> {
        let shown: String = Value::Object(args.clone()).to_string().chars().take(SHOWN).collect();
        let title = format!("{} {}", self.id, plain(&shown));
        let mut ask = Ask::new(title.clone(), self.uses());
        ask.metadata.insert("description".to_owned(), self.description.clone().into());
        cx.ask(ask).await?;
        let params = CallToolRequestParams::new(self.name.clone()).with_arguments(args);
        answer::output(title, self.server.call(params, cx).await?)
    }

    /// Using it as it is described now: an *always* does not hold for what it becomes later.
    fn uses(&self) -> Vec<Effect> {
        vec![Effect::using(self.id.clone(), format!("as described, {}", self.mark))]
    }
}

/// The same for the same description in every process, and for no other.
fn mark(name: &str, description: &str, schema: &Schema) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [name, description, &schema.as_value().to_string()] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.finalize().to_hex().chars().take(MARK).collect()
}

impl DynTool for RemoteTool {
    fn id(&self) -> &str {
        &self.id
    }

    fn description(&self) -> Cow<'_, str> {
        self.description.as_str().into()
    }

    fn schema(&self) -> Result<Schema, String> {
        Ok(self.schema.clone())
    }

    fn traits(&self) -> Traits {
        self.traits
    }

    fn effects<'a>(
        &'a self,
        _args: Value,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<Effect>, ToolError>> {
        Box::pin(async { Ok(self.uses()) })
    }

    fn prepare<'a>(
        &'a self,
        args: Value,
        cx: &'a Context,
    ) -> Result<BoxFuture<'a, Result<Output, ToolError>>, ToolError> {
        let args = match args {
            Value::Object(args) => args,
            _ => Map::new(),
        };
        Ok(Box::pin(self.run(args, cx)))
    }
}
