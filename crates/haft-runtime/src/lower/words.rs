//! What a provider's subset cannot say, said in the description instead.

use serde_json::{Map, Value};

/// A long list would cost more than it tells.
const MAX_VALUES: usize = 20;
/// Longer data is left out of a description rather than cut.
const MAX_CHARS: usize = 200;

/// Adds a sentence to a schema's description.
pub(super) fn append(schema: &mut Map<String, Value>, sentence: &str) {
    if sentence.is_empty() {
        return;
    }
    let said = schema.get("description").and_then(Value::as_str).unwrap_or_default().trim_end();
    let gap = match said.chars().last() {
        None => "",
        Some('.' | '!' | '?' | ':' | ';') => " ",
        Some(_) if said.contains('\n') => "\n",
        Some(_) => ". ",
    };
    let text = format!("{said}{gap}{sentence}");
    schema.insert("description".to_owned(), text.into());
}

/// The keyword and its value as a sentence; nothing for what tells a model nothing.
pub(super) fn sentence(keyword: &str, value: &Value) -> String {
    let shown = shown(value);
    match keyword {
        "enum" => format!("One of: {}.", listed(value)),
        "examples" => format!("For example: {}.", listed(value)),
        "patternProperties" => named(value),
        _ if shown.is_empty() => String::new(),
        "default" if value.is_null() => String::new(),
        "default" => format!("Default: {shown}."),
        "const" => format!("Always {shown}."),
        "format" => format!("Format: {}.", value.as_str().unwrap_or_default()),
        "pattern" => format!("Matches `{}`.", value.as_str().unwrap_or_default()),
        "minimum" => format!("At least {shown}."),
        "maximum" => format!("At most {shown}."),
        "exclusiveMinimum" => format!("More than {shown}."),
        "exclusiveMaximum" => format!("Less than {shown}."),
        "multipleOf" => format!("A multiple of {shown}."),
        "minLength" => format!("At least {}.", counted(value, "character", "characters")),
        "maxLength" => format!("At most {}.", counted(value, "character", "characters")),
        "minItems" => format!("At least {}.", counted(value, "item", "items")),
        "maxItems" => format!("At most {}.", counted(value, "item", "items")),
        "minProperties" => format!("At least {}.", counted(value, "property", "properties")),
        "maxProperties" => format!("At most {}.", counted(value, "property", "properties")),
        "uniqueItems" if value == &Value::Bool(true) => "No item twice.".to_owned(),
        "deprecated" if value == &Value::Bool(true) => "Deprecated.".to_owned(),
        _ => String::new(),
    }
}

/// That one of several groups of properties is wanted.
pub(super) fn choice(branches: &[Value]) -> String {
    let groups = branches.iter().filter_map(|branch| {
        let names = branch.get("required")?.as_array()?.iter().filter_map(Value::as_str);
        let names = names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
        (!names.is_empty()).then_some(names)
    });
    let groups = groups.take(MAX_VALUES).collect::<Vec<_>>();
    if groups.is_empty() { String::new() } else { format!("Give {}.", groups.join(", or ")) }
}

fn listed(value: &Value) -> String {
    let values = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut texts = values.iter().take(MAX_VALUES).map(shown).collect::<Vec<_>>();
    texts.retain(|text| !text.is_empty());
    if values.len() > MAX_VALUES {
        texts.push("…".to_owned());
    }
    texts.join(", ")
}

fn named(value: &Value) -> String {
    let patterns = value.as_object().into_iter().flat_map(Map::keys).take(MAX_VALUES);
    let patterns = patterns.map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>();
    if patterns.is_empty() {
        return String::new();
    }
    format!("Other names match {}.", patterns.join(" or "))
}

fn counted(value: &Value, one: &str, many: &str) -> String {
    let word = if value.as_u64() == Some(1) { one } else { many };
    format!("{value} {word}")
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > MAX_CHARS { String::new() } else { text }
}
