//! Gemini's part of OpenAPI: upper-case types, `nullable`, no empty objects, few keywords.

use serde_json::{Map, Value, json};

use super::words;

/// What Gemini takes as it is.
const KEPT: &[&str] = &[
    "description",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "pattern",
];
/// What is put in words when it is there.
const TOLD: &[&str] = &[
    "default",
    "examples",
    "multipleOf",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "deprecated",
    "patternProperties",
];

type Object = Map<String, Value>;

/// The parameters, or nothing for a tool without any: an empty object is refused there.
pub(super) fn parameters(schema: &Value) -> Option<Value> {
    let schema = schema.as_object()?;
    has_properties(schema).then(|| Value::Object(object(schema)))
}

fn lower(schema: &Value) -> Value {
    let Value::Object(schema) = schema else {
        return anything(&Map::new());
    };
    let merged = merge_all_of(schema);
    let schema = merged.as_ref().unwrap_or(schema);
    if let Some(branches) = branches(schema) {
        return choice(schema, &branches);
    }
    let kinds = kinds(schema);
    let nullable = kinds.contains(&"null");
    let mut named = kinds.into_iter().filter(|kind| *kind != "null");
    let mut lowered = match (named.next(), named.next()) {
        (Some(only), None) => of_kind(schema, only),
        (Some(first), Some(second)) => {
            let all = [first, second].into_iter().chain(named);
            let branches = all.map(|kind| Value::Object(of_kind(schema, kind))).collect();
            return choose(branches, nullable);
        }
        (None, _) if nullable => of_kind(schema, "string"),
        (None, _) => return anything(schema),
    };
    if nullable {
        lowered.insert("nullable".to_owned(), true.into());
    }
    Value::Object(lowered)
}

fn of_kind(schema: &Object, kind: &str) -> Object {
    match kind {
        "object" if has_properties(schema) => object(schema),
        // Repair takes the text for the object that it holds.
        "object" => {
            let mut text = common(schema, "string");
            words::append(&mut text, "A JSON object, written as text.");
            text
        }
        "array" => array(schema),
        "string" => string(schema),
        "integer" | "number" => number(schema, kind),
        other => common(schema, other),
    }
}

fn object(schema: &Object) -> Object {
    let mut lowered = common(schema, "object");
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    let properties: Object =
        properties.map(|(name, property)| (name.clone(), lower(property))).collect();
    if let Some(Value::Array(required)) = schema.get("required") {
        // A required name that is not declared is refused.
        let declared = |name: &&Value| name.as_str().is_some_and(|n| properties.contains_key(n));
        let required = required.iter().filter(declared).cloned().collect::<Vec<_>>();
        if !required.is_empty() {
            lowered.insert("required".to_owned(), required.into());
        }
    }
    lowered.insert("properties".to_owned(), Value::Object(properties));
    lowered
}

fn array(schema: &Object) -> Object {
    let mut lowered = common(schema, "array");
    let tuple = schema.get("prefixItems").and_then(Value::as_array);
    let items = match (tuple, schema.get("items")) {
        (Some(tuple), _) => {
            let mut forms: Vec<Value> = Vec::new();
            for form in tuple.iter().map(lower) {
                if !forms.contains(&form) {
                    forms.push(form);
                }
            }
            choose(forms, /*nullable*/ false)
        }
        (None, Some(items)) => lower(items),
        (None, None) => anything(&Map::new()),
    };
    lowered.insert("items".to_owned(), items);
    lowered
}

fn string(schema: &Object) -> Object {
    let mut lowered = common(schema, "string");
    let values = match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(values)), _) => values.clone(),
        (_, Some(value)) => vec![value.clone()],
        _ => Vec::new(),
    };
    let values = values.into_iter().filter(Value::is_string).collect::<Vec<_>>();
    if !values.is_empty() {
        lowered.insert("enum".to_owned(), values.into());
    }
    match schema.get("format") {
        Some(format) if format == "date-time" => {
            lowered.insert("format".to_owned(), format.clone());
        }
        Some(format) => words::append(&mut lowered, &words::sentence("format", format)),
        None => {}
    }
    lowered
}

fn number(schema: &Object, kind: &str) -> Object {
    let mut lowered = common(schema, kind);
    for keyword in ["enum", "const"] {
        if let Some(value) = schema.get(keyword) {
            words::append(&mut lowered, &words::sentence(keyword, value));
        }
    }
    for (exclusive, bound, step) in
        [("exclusiveMinimum", "minimum", 1), ("exclusiveMaximum", "maximum", -1)]
    {
        let Some(limit) = schema.get(exclusive) else {
            continue;
        };
        let next = limit.as_i64().and_then(|limit| limit.checked_add(step));
        match next.filter(|_| kind == "integer" && !schema.contains_key(bound)) {
            Some(next) => {
                lowered.insert(bound.to_owned(), next.into());
            }
            None => words::append(&mut lowered, &words::sentence(exclusive, limit)),
        }
    }
    lowered
}

/// The type in upper case, and the keywords that stay or go into words.
fn common(schema: &Object, kind: &str) -> Object {
    let mut lowered = Map::new();
    lowered.insert("type".to_owned(), kind.to_uppercase().into());
    for keyword in KEPT.iter().filter(|keyword| suits(keyword, kind)) {
        if let Some(value) = schema.get(*keyword) {
            lowered.insert((*keyword).to_owned(), value.clone());
        }
    }
    for keyword in TOLD {
        if let Some(value) = schema.get(*keyword) {
            words::append(&mut lowered, &words::sentence(keyword, value));
        }
    }
    lowered
}

fn suits(keyword: &str, kind: &str) -> bool {
    match keyword {
        "minItems" | "maxItems" => kind == "array",
        "minLength" | "maxLength" | "pattern" => kind == "string",
        "minimum" | "maximum" => matches!(kind, "integer" | "number"),
        _ => true,
    }
}

/// A schema of any type: there is no word for that, so the simple types are offered.
fn anything(schema: &Object) -> Value {
    let branches = ["string", "number", "boolean"];
    let branches = branches.iter().map(|kind| Value::Object(common(schema, kind))).collect();
    choose(branches, /*nullable*/ false)
}

fn choice(schema: &Object, branches: &[&Value]) -> Value {
    let is_null = |branch: &Value| branch.get("type").is_some_and(|kind| kind == "null");
    let nullable = branches.iter().any(|branch| is_null(branch));
    let description = schema.get("description");
    let lowered = branches.iter().filter(|branch| !is_null(branch)).map(|branch| {
        let mut branch = lower(branch);
        // Beside `anyOf` nothing else may stand, so what it says moves into the branches.
        if let (Value::Object(branch), Some(description)) = (&mut branch, description)
            && !branch.contains_key("anyOf")
        {
            branch.entry("description").or_insert_with(|| description.clone());
        }
        branch
    });
    choose(lowered.collect(), nullable)
}

fn choose(mut branches: Vec<Value>, nullable: bool) -> Value {
    if nullable {
        for branch in branches.iter_mut().filter_map(Value::as_object_mut) {
            branch.insert("nullable".to_owned(), true.into());
        }
    }
    match branches.as_slice() {
        [] => json!({ "type": "STRING" }),
        [only] => only.clone(),
        _ => json!({ "anyOf": branches }),
    }
}

fn branches(schema: &Object) -> Option<Vec<&Value>> {
    let listed = schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()?;
    Some(listed.iter().collect())
}

/// The types a schema names, or those that its other keywords imply.
fn kinds(schema: &Object) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => return vec![kind],
        Some(Value::Array(kinds)) => return kinds.iter().filter_map(Value::as_str).collect(),
        _ => {}
    }
    let mut implied = Vec::new();
    let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    for value in values.chain(schema.get("const")) {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        if !implied.contains(&kind) {
            implied.push(kind);
        }
    }
    if implied.is_empty() && schema.contains_key("properties") {
        implied.push("object");
    }
    if implied.is_empty() && schema.contains_key("items") {
        implied.push("array");
    }
    implied
}

/// `allOf` does not exist there; its parts are laid over each other, the outermost word winning.
fn merge_all_of(schema: &Object) -> Option<Object> {
    let parts = schema.get("allOf")?.as_array()?;
    let mut merged = schema.clone();
    merged.shift_remove("allOf");
    for (keyword, value) in parts.iter().filter_map(Value::as_object).flatten() {
        match (merged.get_mut(keyword), value) {
            (Some(Value::Object(known)), Value::Object(more)) if keyword == "properties" => {
                for (name, property) in more {
                    known.entry(name).or_insert_with(|| property.clone());
                }
            }
            (Some(Value::Array(known)), Value::Array(more)) if keyword == "required" => {
                known.extend(more.iter().cloned());
            }
            (Some(_), _) => {}
            (None, _) => {
                merged.insert(keyword.clone(), value.clone());
            }
        }
    }
    Some(merged)
}

fn has_properties(schema: &Object) -> bool {
    schema.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty())
}
