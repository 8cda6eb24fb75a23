//! The JSON Schema of a tool's parameters: made from Rust types or taken from others, and cleaned.

mod inline;
mod typed;
pub(crate) mod walk;

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use jsonschema::{Draft, PatternOptions, Validator};
use schemars::JsonSchema;
use serde_json::{Map, Value};

/// Other names that models use for a property; kept for repair, never shown.
pub(crate) const ALIASES: &str = "x-aliases";
/// Other spellings of an enum's values; kept for repair, never shown.
pub(crate) const VALUE_ALIASES: &str = "x-value-aliases";

/// Names of an object's properties that say what is done anyway; dropped, never shown.
pub(crate) const UNNEEDED: &str = "x-unneeded";

/// No honest schema comes near; a model would have to read all of it.
const MAX_BYTES: usize = 256 * 1024;
/// Well above what people write, well below what recursion could not bear.
const MAX_DEPTH: usize = 64;
/// Enough for any sane pattern; a hostile one fails in milliseconds instead of seconds.
const BACKTRACK_LIMIT: usize = 100_000;

/// A tool's parameters as JSON Schema 2020-12: an object at the root, without references.
///
/// Cloning is cheap, and all clones share one compiled validator.
#[derive(Debug, Clone)]
pub struct Schema(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// With the private keywords, which repair reads.
    marked: Value,
    /// What everybody else sees.
    public: Value,
    /// Compiled when first needed: a command line that runs one tool pays for one schema.
    validator: OnceLock<Result<Validator, String>>,
}

impl Schema {
    /// Derives the schema of a parameter type; the doc comments of its fields become descriptions.
    ///
    /// # Errors
    ///
    /// If the type is recursive or is not an object at the root (a tagged enum, a tuple).
    pub fn of<T: JsonSchema>() -> Result<Self, String> {
        let marked = typed::generate::<T>()?;
        Ok(Self::new(marked))
    }

    /// Takes a schema that someone else wrote, such as an MCP server; local references are inlined.
    ///
    /// Where it refers to itself, one round is inlined, and within that anything of the right type fits.
    ///
    /// # Errors
    ///
    /// In words for the operator, if the schema is not one of an object, refers to another document,
    /// is larger or deeper than any tool needs, or does not compile.
    pub fn from_value(value: Value) -> Result<Self, String> {
        let marked = inline::adopt(value)?;
        let schema = Self::new(marked);
        schema.validator()?;
        Ok(schema)
    }

    /// The schema as models and hosts see it.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0.public
    }

    /// The schema with the private keywords that repair goes by.
    pub(crate) fn marked(&self) -> &Value {
        &self.0.marked
    }

    /// The compiled form, made at the first call.
    pub(crate) fn validator(&self) -> Result<&Validator, String> {
        let compiled = self.0.validator.get_or_init(|| compile(&self.0.public));
        compiled.as_ref().map_err(Clone::clone)
    }

    fn new(marked: Value) -> Self {
        let mut public = marked.clone();
        walk::every(&mut public, &mut |schema| {
            schema.shift_remove(ALIASES);
            schema.shift_remove(VALUE_ALIASES);
            schema.shift_remove(UNNEEDED);
        });
        Self(Arc::new(Inner { marked, public, validator: OnceLock::new() }))
    }
}

/// The paths of all properties without a description, for a test over every tool.
#[must_use]
pub fn undescribed(schema: &Schema) -> Vec<String> {
    let mut found = Vec::new();
    gather_undescribed(schema.as_value(), "", &mut found);
    found
}

fn gather_undescribed(schema: &Value, path: &str, found: &mut Vec<String>) {
    let Some(schema) = schema.as_object() else {
        return;
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
        if description.trim().is_empty() {
            found.push(path.clone());
        }
        gather_undescribed(property, &path, found);
    }
    for (keyword, child) in walk::children(schema) {
        match keyword {
            "properties" => {}
            "items" | "prefixItems" => gather_undescribed(child, &format!("{path}[]"), found),
            "additionalProperties" => gather_undescribed(child, &format!("{path}.*"), found),
            _ => gather_undescribed(child, path, found),
        }
    }
}

fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .offline()
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT))
        .build(schema)
        .map_err(|error| {
            let place = error.instance_path().as_str();
            let place = if place.is_empty() { "its root" } else { place };
            let reason = short(&error.masked().to_string());
            format!("the schema does not compile, at {}: {reason}", short(place))
        })
}

/// As much of a foreign text as an error message quotes.
fn short(text: &str) -> String {
    text.chars().take(200).collect()
}

/// Makes sure the root describes an object, and says so where that was only implied.
fn root_object(schema: &mut Map<String, Value>) -> Result<(), String> {
    let is_object = match schema.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(_) => false,
        None => schema.contains_key("properties") || branches_are_objects(schema),
    };
    if !is_object {
        return Err(format!(
            "the parameters of a tool must be an object (\"type\": \"object\"), not {}",
            schema.get("type").map_or_else(
                || "a schema without type".to_owned(),
                |kind| short(&kind.to_string())
            )
        ));
    }
    schema.insert("type".to_owned(), "object".into());
    // Some providers refuse an object schema without this key.
    schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    Ok(())
}

fn branches_are_objects(schema: &Map<String, Value>) -> bool {
    let mut lists =
        ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema.get(*key)?.as_array());
    let is_object = |branch: &Value| {
        branch.get("type").is_some_and(|kind| kind == "object")
            || branch.get("properties").is_some()
    };
    lists.any(|branches| !branches.is_empty() && branches.iter().all(is_object))
}
