//! Tools in the forms that model providers and other hosts take.

mod gemini;
mod strict;
mod words;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value, json};

use crate::schema::Schema;

/// The dialect that a bare schema declares.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// What a tool says of itself to those who may call it.
#[derive(Debug, Clone)]
pub struct Definition<'a> {
    /// The name it is called by.
    pub name: String,
    /// The name shown to people.
    pub title: String,
    /// What the model reads.
    pub description: String,
    /// Its parameters.
    pub schema: &'a Schema,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// Whether it may destroy something.
    pub destructive: bool,
    /// Whether a second call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// Whether it reaches out of this machine.
    pub open_world: bool,
}

/// Whose form a tool is put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// The Model Context Protocol.
    Mcp,
    /// OpenAI's Responses API.
    OpenAi,
    /// OpenAI's Chat Completions API and its many imitations.
    OpenAiChat,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
    /// The bare schema of the parameters.
    JsonSchema,
}

impl Form {
    /// Every form, in the order that help texts list them.
    pub const ALL: [Self; 6] = [
        Self::Mcp,
        Self::OpenAi,
        Self::OpenAiChat,
        Self::Anthropic,
        Self::Gemini,
        Self::JsonSchema,
    ];

    /// The name used on command lines and in configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::OpenAi => "openai",
            Self::OpenAiChat => "openai-chat",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::JsonSchema => "json-schema",
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no form has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no form `{0}`; choose one of {known}", known = Form::ALL.map(Form::name).join(", "))]
pub struct UnknownForm(String);

impl FromStr for Form {
    type Err = UnknownForm;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|form| form.name() == name);
        found.ok_or_else(|| UnknownForm(name.chars().take(40).collect()))
    }
}

/// Puts a tool in the form asked for.
///
/// With `strict`, OpenAI's forms promise that the model keeps to the schema; a schema that their
/// subset cannot express is lowered without that promise.
#[must_use]
pub fn lower(tool: &Definition<'_>, form: Form, strict: bool) -> Value {
    let (name, description) = (&tool.name, &tool.description);
    match form {
        Form::Mcp => json!({
            "name": name,
            "title": tool.title,
            "description": description,
            "inputSchema": tool.schema.as_value(),
            "annotations": {
                "readOnlyHint": tool.read_only,
                "destructiveHint": tool.destructive,
                "idempotentHint": tool.idempotent,
                "openWorldHint": tool.open_world,
            },
        }),
        Form::OpenAi => {
            let mut function = openai_function(tool, strict);
            function.shift_insert(0, "type".to_owned(), "function".into());
            Value::Object(function)
        }
        Form::OpenAiChat => json!({
            "type": "function",
            "function": openai_function(tool, strict),
        }),
        Form::Anthropic => json!({
            "name": name,
            "description": description,
            "input_schema": plain_root(tool.schema.as_value()),
        }),
        Form::Gemini => {
            let mut function = Map::new();
            function.insert("name".to_owned(), name.as_str().into());
            function.insert("description".to_owned(), description.as_str().into());
            if let Some(parameters) = gemini::parameters(&plain_root(tool.schema.as_value())) {
                function.insert("parameters".to_owned(), parameters);
            }
            Value::Object(function)
        }
        Form::JsonSchema => {
            let mut schema = Map::new();
            schema.insert("$schema".to_owned(), DIALECT.into());
            schema.insert("title".to_owned(), name.as_str().into());
            for (key, value) in tool.schema.as_value().as_object().into_iter().flatten() {
                schema.entry(key).or_insert_with(|| value.clone());
            }
            Value::Object(schema)
        }
    }
}

fn openai_function(tool: &Definition<'_>, strict: bool) -> Map<String, Value> {
    let narrowed = if strict { strict::parameters(tool.schema.as_value()) } else { None };
    let strict = narrowed.is_some();
    let parameters = narrowed.unwrap_or_else(|| plain_root(tool.schema.as_value()));
    let mut function = Map::new();
    function.insert("name".to_owned(), tool.name.as_str().into());
    function.insert("description".to_owned(), tool.description.as_str().into());
    function.insert("parameters".to_owned(), parameters);
    function.insert("strict".to_owned(), strict.into());
    function
}

/// The schema without a choice at its root, which providers refuse: one object with the properties
/// of all branches. It is looser than the original, which still judges the arguments.
fn plain_root(schema: &Value) -> Value {
    let Value::Object(root) = schema else {
        return schema.clone();
    };
    let mut plain = root.clone();
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = plain.shift_remove(keyword) else {
            continue;
        };
        let mut always = required_by_all(&branches);
        if keyword == "allOf" {
            always = branches.iter().flat_map(required).collect();
        }
        for branch in &branches {
            adopt_properties(&mut plain, branch);
        }
        add_required(&mut plain, always);
        if keyword != "allOf" {
            let note = words::choice(&branches);
            words::append(&mut plain, &note);
        }
    }
    Value::Object(plain)
}

fn adopt_properties(root: &mut Map<String, Value>, branch: &Value) {
    let Some(Value::Object(theirs)) = branch.get("properties") else {
        return;
    };
    let ours = root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(ours) = ours else { return };
    for (name, property) in theirs {
        match ours.get_mut(name) {
            None => {
                ours.insert(name.clone(), property.clone());
            }
            Some(known) if known == property => {}
            Some(known) => merge_choice(known, property),
        }
    }
}

/// Two branches say different things of one property: either will do.
fn merge_choice(known: &mut Value, other: &Value) {
    if let Some(Value::Array(choices)) = known.get_mut("anyOf") {
        if !choices.contains(other) {
            choices.push(other.clone());
        }
        return;
    }
    *known = json!({ "anyOf": [known.take(), other] });
}

fn add_required(root: &mut Map<String, Value>, names: Vec<Value>) {
    if names.is_empty() {
        return;
    }
    let required = root.entry("required").or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(required) = required else {
        return;
    };
    for name in names {
        if !required.contains(&name) {
            required.push(name);
        }
    }
}

fn required(branch: &Value) -> Vec<Value> {
    branch.get("required").and_then(Value::as_array).cloned().unwrap_or_default()
}

fn required_by_all(branches: &[Value]) -> Vec<Value> {
    let mut all = branches.iter().map(required);
    let first = all.next().unwrap_or_default();
    all.fold(first, |common, next| common.into_iter().filter(|name| next.contains(name)).collect())
}
