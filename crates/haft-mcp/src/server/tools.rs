//! The tools as clients list them.

use std::sync::Arc;

use haft_runtime::{Definition, Toolset};
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::Value;

/// Every tool that is shown, always in the same order.
pub(super) fn listed(toolset: &Toolset) -> Vec<Tool> {
    toolset.advertised().map(|tool| tool_of(tool.definition())).collect()
}

fn tool_of(definition: Definition<'_>) -> Tool {
    let schema = match definition.schema.as_value() {
        Value::Object(schema) => schema.clone(),
        _ => serde_json::Map::new(),
    };
    let annotations = ToolAnnotations::new()
        .read_only(definition.read_only)
        .destructive(definition.destructive)
        .idempotent(definition.idempotent)
        .open_world(definition.open_world);
    Tool::new(definition.name, definition.description, Arc::new(schema))
        .with_title(definition.title)
        .with_annotations(annotations)
}
