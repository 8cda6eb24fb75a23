//! A server's resources as one tool: without an address it lists them, with one it reads it.

use std::borrow::Cow;
use std::sync::Arc;

use haft_runtime::permission::{Ask, Effect};
use haft_runtime::{BoxFuture, Context, DynTool, Output, Schema, ToolError, Traits, plain};
use serde_json::{Value, json};

use super::answer::{Parts, shown};
use super::names::offered;
use super::server::Server;

/// Most resources that are listed.
pub(super) const LISTED: usize = 500;

/// The tool that lists and reads.
pub(super) struct ResourceTool {
    id: String,
    description: String,
    schema: Schema,
    server: Arc<Server>,
}

impl ResourceTool {
    pub(super) fn new(server: &Arc<Server>) -> Result<Self, String> {
        let name = server.name();
        let id = offered(name, "resource").ok_or("its server has no usable name")?;
        let schema = Schema::from_value(json!({
            "type": "object",
            "additionalProperties": false,
            "properties": { "uri": {
                "type": "string",
                "description": "Address of the resource to read; leave it out to list them.",
            } },
        }))?;
        let description =
            format!("Read a resource of the MCP server {name}, or list what there is.");
        Ok(Self { id, description, schema, server: Arc::clone(server) })
    }

    async fn run(&self, uri: Option<String>, cx: &Context) -> Result<Output, ToolError> {
        let title = format!("{} {}", self.id, plain(uri.as_deref().unwrap_or("list")));
        let ask = Ask::new(title.clone(), self.effects_of(uri.as_deref()));
        cx.ask(ask).await?;
        let mut parts = Parts::default();
        match uri {
            Some(uri) => {
                let contents = self.server.read_resource(uri, cx).await?;
                contents.into_iter().for_each(|one| parts.contents(one));
            }
            None => {
                let resources = self.server.list_resources(cx).await?;
                let more = resources.len().saturating_sub(LISTED);
                resources.iter().take(LISTED).for_each(|one| parts.text(shown(one)));
                if more > 0 {
                    parts.text(format!("({more} more)"));
                }
                if resources.is_empty() {
                    parts.text("no resources".to_owned());
                }
            }
        }
        Ok(parts.into_output(title))
    }

    fn effects_of(&self, uri: Option<&str>) -> Vec<Effect> {
        vec![Effect::using(self.id.clone(), uri.unwrap_or("list").to_owned())]
    }
}

fn uri(args: &Value) -> Option<String> {
    args.get("uri").and_then(Value::as_str).filter(|uri| !uri.is_empty()).map(str::to_owned)
}

impl DynTool for ResourceTool {
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
        Traits { open_world: true, ..Traits::READ_ONLY }
    }

    fn effects<'a>(
        &'a self,
        args: Value,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<Effect>, ToolError>> {
        Box::pin(async move { Ok(self.effects_of(uri(&args).as_deref())) })
    }

    fn prepare<'a>(
        &'a self,
        args: Value,
        cx: &'a Context,
    ) -> Result<BoxFuture<'a, Result<Output, ToolError>>, ToolError> {
        Ok(Box::pin(self.run(uri(&args), cx)))
    }
}
