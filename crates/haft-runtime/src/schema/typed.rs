//! From Rust types: what schemars makes, reduced to what a model needs to read.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::{MAX_DEPTH, root_object, walk};

type Object = Map<String, Value>;

/// The cleaned schema of a type, private keywords included.
pub(super) fn generate<T: JsonSchema>() -> Result<Value, String> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    let name = T::schema_name();

    if !walk::within_depth(&schema, MAX_DEPTH) {
        return Err(format!("the parameter type {name} is nested too deeply"));
    }
    refuse_references(&schema)
        .map_err(|()| format!("the parameter type {name} is recursive; a tool's cannot be"))?;
    let Some(root) = schema.as_object_mut() else {
        return Err(format!("the parameter type {name} is not an object"));
    };
    root.shift_remove("description");
    clean(root, Place { closes: true });
    root_object(root).map_err(|reason| format!("the parameter type {name}: {reason}"))?;
    Ok(schema)
}

/// What the surroundings of a schema allow to be done with it.
#[derive(Clone, Copy)]
struct Place {
    /// Whether it owns all properties of its object; a flattened enum's branches do not.
    closes: bool,
}

/// schemars inlines everything but a type inside itself, so any reference is a recursion.
fn refuse_references(schema: &Value) -> Result<(), ()> {
    let Some(schema) = schema.as_object() else {
        return Ok(());
    };
    if schema.contains_key("$ref") {
        return Err(());
    }
    walk::children(schema).try_for_each(|(_, child)| refuse_references(child))
}

fn clean(schema: &mut Object, place: Place) {
    for noise in ["title", "$defs", "nullable"] {
        schema.shift_remove(noise);
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.shift_remove("default");
    }
    drop_number_format(schema);
    options_become_plain(schema);
    fold_variants(schema);

    let shares = schema.contains_key("properties");
    let done: Result<(), std::convert::Infallible> =
        walk::try_children(schema, &mut |keyword, child| {
            let branch = matches!(keyword, "anyOf" | "oneOf");
            let closes = keyword != "allOf" && !(branch && (shares || !place.closes));
            if let Value::Object(child) = child {
                clean(child, Place { closes });
            }
            Ok(())
        });
    match done {
        Ok(()) => close(schema, place),
    }
}

/// The width of a Rust integer says nothing to a model; `minimum` and `maximum` stay.
fn drop_number_format(schema: &mut Object) {
    let is_number = ["integer", "number"].iter().any(|kind| has_type(schema, kind));
    if is_number {
        schema.shift_remove("format");
    }
}

/// An `Option` is shown as what it holds; that it may be left out is said by `required`.
fn options_become_plain(schema: &mut Object) {
    let mut optional = Vec::new();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            let Value::Object(property) = property else {
                continue;
            };
            if drop_null(property) {
                optional.push(name.clone());
            }
        }
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !optional.iter().any(|optional| name == optional));
        if required.is_empty() {
            schema.shift_remove("required");
        }
    }
}

/// Takes `null` out of what a property may be; tells whether it was in.
fn drop_null(property: &mut Object) -> bool {
    let mut found = false;
    if let Some(Value::Array(kinds)) = property.get_mut("type") {
        let before = kinds.len();
        kinds.retain(|kind| kind != "null");
        found = kinds.len() < before;
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        let before = values.len();
        values.retain(|value| !value.is_null());
        found |= values.len() < before;
    }
    for keyword in ["anyOf", "oneOf"] {
        found |= drop_null_branch(property, keyword);
    }
    found
}

fn drop_null_branch(property: &mut Object, keyword: &str) -> bool {
    let Some(Value::Array(branches)) = property.get_mut(keyword) else {
        return false;
    };
    let before = branches.len();
    branches.retain(|branch| branch.get("type").is_none_or(|kind| kind != "null"));
    let found = branches.len() < before;
    if let [Value::Object(only)] = branches.as_slice() {
        let only = only.clone();
        property.shift_remove(keyword);
        for (key, value) in only {
            // What is said at the field is more to the point than what its type says.
            property.entry(key).or_insert(value);
        }
    }
    found
}

/// Unit variants with docs come as one branch each; a model reads one `enum` more easily.
fn fold_variants(schema: &mut Object) {
    let Some(variants) = schema.get("oneOf").and_then(Value::as_array) else {
        return;
    };
    let mut values = Vec::new();
    let mut docs = Vec::new();
    for variant in variants {
        let Some(named) = variant_values(variant) else {
            return;
        };
        if let (Some(doc), [value]) = (variant.get("description"), named.as_slice()) {
            let doc = doc.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>();
            docs.push(format!("- `{}`: {}", value.as_str().unwrap_or_default(), doc.join(" ")));
        }
        values.extend(named);
    }
    schema.shift_remove("oneOf");
    schema.insert("type".to_owned(), "string".into());
    schema.insert("enum".to_owned(), values.into());
    if !docs.is_empty() {
        let said = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let lines = said.lines().map(str::to_owned).chain(docs).collect::<Vec<_>>();
        schema.insert("description".to_owned(), lines.join("\n").into());
    }
}

/// The strings that a branch stands for, if it stands for nothing else.
fn variant_values(variant: &Value) -> Option<Vec<Value>> {
    let values = match (variant.get("const"), variant.get("enum")) {
        (Some(value), None) => vec![value.clone()],
        (None, Some(Value::Array(values))) => values.clone(),
        _ => return None,
    };
    values.iter().all(Value::is_string).then_some(values)
}

/// A struct takes its own fields and nothing else, so that a misspelt name is noticed.
fn close(schema: &mut Object, place: Place) {
    const OPEN: &[&str] = &[
        "additionalProperties",
        "unevaluatedProperties",
        "patternProperties",
        "anyOf",
        "oneOf",
        "allOf",
    ];
    if !place.closes
        || !has_type(schema, "object")
        || OPEN.iter().any(|key| schema.contains_key(*key))
    {
        return;
    }
    schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    schema.insert("additionalProperties".to_owned(), false.into());
}

fn has_type(schema: &Object, wanted: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == wanted,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
        _ => false,
    }
}
