//! OpenAI's strict subset: every property required, optional ones nullable, objects closed.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::words;

/// The documented limits on a strict schema.
const MAX_LEVELS: usize = 10;
const MAX_PROPERTIES: usize = 5_000;
const MAX_ENUM_VALUES: usize = 1_000;
const MAX_NAME_BYTES: usize = 120_000;

/// What the subset keeps as it is.
const KEPT: &[&str] = &[
    "type",
    "description",
    "title",
    "enum",
    "const",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
];
/// The formats that the subset knows; others go into words.
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// What narrows a schema in a way that neither the subset nor a sentence can tell.
const BEYOND: &[&str] = &[
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "propertyNames",
    "contains",
    "prefixItems",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$ref",
];

/// The schema within the strict subset, or nothing if it does not go into it.
pub(super) fn parameters(schema: &Value) -> Option<Value> {
    let root = schema.as_object()?;
    if root.contains_key("anyOf") || root.contains_key("oneOf") {
        return None;
    }
    let mut narrowing = Narrowing::default();
    let narrowed = narrowing.schema(schema, 0)?;
    narrowing.within_limits().then_some(narrowed)
}

/// What has been used up of the limits that count over the whole schema.
#[derive(Default)]
struct Narrowing {
    properties: usize,
    enum_values: usize,
    name_bytes: usize,
}

impl Narrowing {
    fn within_limits(&self) -> bool {
        self.properties <= MAX_PROPERTIES
            && self.enum_values <= MAX_ENUM_VALUES
            && self.name_bytes <= MAX_NAME_BYTES
    }

    fn schema(&mut self, schema: &Value, level: usize) -> Option<Value> {
        let schema = schema.as_object()?;
        if level > MAX_LEVELS || BEYOND.iter().any(|keyword| schema.contains_key(*keyword)) {
            return None;
        }
        let mut narrowed = Map::new();
        for (keyword, value) in schema.iter().filter(|(key, _)| KEPT.contains(&key.as_str())) {
            narrowed.insert(keyword.clone(), value.clone());
        }
        self.infer_type(&mut narrowed)?;
        self.choices(schema, &mut narrowed, level)?;
        let is_untold = !narrowed.contains_key("type") && !narrowed.contains_key("anyOf");
        if is_untold {
            return None;
        }
        if has_type(&narrowed, "object") {
            self.object(schema, &mut narrowed, level)?;
        }
        if has_type(&narrowed, "array") {
            let items = self.schema(schema.get("items")?, level + 1)?;
            narrowed.insert("items".to_owned(), items);
        }
        tell_the_rest(schema, &mut narrowed);
        Some(Value::Object(narrowed))
    }

    /// An enum or a constant without type gets the one its values have.
    fn infer_type(&mut self, schema: &mut Map<String, Value>) -> Option<()> {
        let mut values = Vec::new();
        if let Some(options) = schema.get("enum") {
            values.extend(options.as_array()?.iter());
        }
        values.extend(schema.get("const"));
        self.enum_values += values.len();
        self.name_bytes +=
            values.iter().filter_map(|value| value.as_str()).map(str::len).sum::<usize>();
        if values.is_empty() || schema.contains_key("type") {
            return Some(());
        }
        let mut kinds = Vec::new();
        for value in values {
            let kind = simple_kind(value)?;
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let kind = match kinds.as_slice() {
            [only] => json!(only),
            all => json!(all),
        };
        schema.insert("type".to_owned(), kind);
        Some(())
    }

    fn choices(
        &mut self,
        schema: &Map<String, Value>,
        narrowed: &mut Map<String, Value>,
        level: usize,
    ) -> Option<()> {
        let branches = match (schema.get("anyOf"), schema.get("oneOf")) {
            (None, None) => return Some(()),
            (Some(any), None) => any.as_array()?,
            // Only `anyOf` exists there, so the branches must exclude each other anyway.
            (None, Some(one)) => one.as_array().filter(|branches| exclusive(branches))?,
            (Some(_), Some(_)) => return None,
        };
        let branches =
            branches.iter().map(|branch| self.schema(branch, level)).collect::<Option<Vec<_>>>()?;
        narrowed.insert("anyOf".to_owned(), branches.into());
        Some(())
    }

    fn object(
        &mut self,
        schema: &Map<String, Value>,
        narrowed: &mut Map<String, Value>,
        level: usize,
    ) -> Option<()> {
        let closed = match schema.get("additionalProperties") {
            None => false,
            Some(Value::Bool(false)) => true,
            // A map from names to values, or anything at all.
            Some(_) => return None,
        };
        let none = Map::new();
        let properties = match schema.get("properties") {
            Some(properties) => properties.as_object()?,
            None => &none,
        };
        // Without a word about its properties it is free-form, and closing it would empty it.
        if properties.is_empty() && !closed {
            return None;
        }
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        let mut strict = Map::new();
        for (name, property) in properties {
            self.properties += 1;
            self.name_bytes += name.len();
            let mut property = self.schema(property, level + 1)?;
            if !is_required(name) {
                property = nullable(property);
            }
            strict.insert(name.clone(), property);
        }
        let names = strict.keys().cloned().collect::<Vec<_>>();
        // Something required that is not declared could never be sent.
        if required.into_iter().flatten().filter_map(Value::as_str).any(|n| !strict.contains_key(n))
        {
            return None;
        }
        narrowed.insert("properties".to_owned(), Value::Object(strict));
        narrowed.insert("required".to_owned(), names.into());
        narrowed.insert("additionalProperties".to_owned(), false.into());
        Some(())
    }
}

/// The same schema, or null, which stands for a property that is left out.
fn nullable(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else {
        return schema;
    };
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        if !branches.iter().any(|branch| branch.get("type").is_some_and(|kind| kind == "null")) {
            branches.push(json!({ "type": "null" }));
        }
        // A type beside the branches would still forbid it.
        if !schema.contains_key("type") {
            return Value::Object(schema);
        }
    }
    if schema.contains_key("const") {
        let description = schema.shift_remove("description");
        let mut choice = Map::new();
        if let Some(description) = description {
            choice.insert("description".to_owned(), description);
        }
        choice.insert("anyOf".to_owned(), json!([schema, { "type": "null" }]));
        return Value::Object(choice);
    }
    match schema.get_mut("type") {
        Some(Value::Array(kinds)) if !kinds.iter().any(|kind| kind == "null") => {
            kinds.push("null".into());
        }
        Some(kind @ Value::String(_)) if kind != "null" => *kind = json!([kind.take(), "null"]),
        _ => {}
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    Value::Object(schema)
}

/// Puts in words what was not kept.
fn tell_the_rest(schema: &Map<String, Value>, narrowed: &mut Map<String, Value>) {
    for (keyword, value) in schema {
        if KEPT.contains(&keyword.as_str()) {
            continue;
        }
        let known_format =
            keyword == "format" && value.as_str().is_some_and(|format| FORMATS.contains(&format));
        if known_format {
            narrowed.insert(keyword.clone(), value.clone());
        } else {
            words::append(narrowed, &words::sentence(keyword, value));
        }
    }
}

/// Whether no value can fit two of the branches: their types differ, or a tag tells them apart.
fn exclusive(branches: &[Value]) -> bool {
    let kinds = branches.iter().map(|branch| branch.get("type")?.as_str());
    let kinds = kinds.collect::<Option<Vec<_>>>().unwrap_or_default();
    let numbers = kinds.iter().filter(|kind| matches!(**kind, "integer" | "number")).count();
    let differ = kinds.iter().collect::<HashSet<_>>().len() == branches.len() && numbers <= 1;
    differ || has_tag(branches)
}

fn has_tag(branches: &[Value]) -> bool {
    let Some(Value::Object(first)) = branches.first().and_then(|branch| branch.get("properties"))
    else {
        return false;
    };
    first.keys().any(|name| {
        let tags = branches.iter().map(|branch| {
            let needed = branch.get("required")?.as_array()?.iter().any(|one| one == name);
            let tag = branch.get("properties")?.get(name)?.get("const")?.as_str()?;
            needed.then_some(tag)
        });
        let tags = tags.collect::<Option<HashSet<_>>>();
        tags.is_some_and(|tags| tags.len() == branches.len())
    })
}

fn has_type(schema: &Map<String, Value>, wanted: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == wanted,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
        _ => false,
    }
}

fn simple_kind(value: &Value) -> Option<&'static str> {
    match value {
        Value::Null => Some("null"),
        Value::Bool(_) => Some("boolean"),
        Value::Number(number) if number.is_f64() => Some("number"),
        Value::Number(_) => Some("integer"),
        Value::String(_) => Some("string"),
        Value::Array(_) | Value::Object(_) => None,
    }
}
