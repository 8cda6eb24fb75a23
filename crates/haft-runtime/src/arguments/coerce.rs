//! What a schema takes by type, and what a value of another type can be taken as.

use serde_json::{Map, Number, Value};

use crate::schema::VALUE_ALIASES;

use super::names::folded;

/// The largest float below which every whole number is exact.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// The longest text that may be another spelling of an enum's value.
const MAX_ENUM_TEXT: usize = 256;

/// Whether the schema could take the value, judged by its type alone.
pub(super) fn accepts(schema: &Value, value: &Value) -> bool {
    let Value::Object(schema) = schema else {
        return schema != &Value::Bool(false);
    };
    let by_type = match schema.get("type") {
        Some(Value::String(kind)) => is_of(value, kind),
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).any(|kind| is_of(value, kind))
        }
        _ => true,
    };
    let same_kind = |other: &Value| kind(other) == kind(value);
    by_type
        && listed(schema, "enum").is_none_or(|values| values.iter().any(same_kind))
        && schema.get("const").is_none_or(same_kind)
        && ["anyOf", "oneOf"].iter().all(|keyword| {
            listed(schema, keyword).is_none_or(|all| all.iter().any(|one| accepts(one, value)))
        })
        && listed(schema, "allOf").is_none_or(|all| all.iter().all(|one| accepts(one, value)))
}

/// The only branch the value could be meant for, if there is exactly one.
pub(super) fn only_branch<'a>(branches: &'a [Value], value: &Value) -> Option<&'a Value> {
    let fitting = |branch: &&Value| accepts(branch, value) && tags_agree(branch, value);
    let mut direct = branches.iter().filter(fitting);
    match (direct.next(), direct.next()) {
        (Some(only), None) => return Some(only),
        (Some(_), Some(_)) => return None,
        (None, _) => {}
    }
    let Value::String(text) = value else {
        return None;
    };
    let mut by_text = branches
        .iter()
        .filter(|branch| branch.as_object().is_some_and(|b| from_text(b, text).is_some()));
    match (by_text.next(), by_text.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// What a string stands for where the schema takes numbers, booleans, arrays or objects but no text.
pub(super) fn from_text(schema: &Map<String, Value>, text: &str) -> Option<Value> {
    let wants = |kind: &str| names_type(schema, kind);
    if wants("string") {
        return None;
    }
    let text = text.trim();
    match text.as_bytes().first()? {
        b'-' | b'0'..=b'9' if wants("integer") || wants("number") => {
            let number = serde_json::from_str::<Number>(text).ok()?;
            let whole = number.is_i64() || number.is_u64();
            match (wants("integer"), whole) {
                (true, false) if !wants("number") => whole_number(&number),
                _ => Some(Value::Number(number)),
            }
        }
        b't' | b'T' if wants("boolean") => text.eq_ignore_ascii_case("true").then_some(true.into()),
        b'f' | b'F' if wants("boolean") => {
            text.eq_ignore_ascii_case("false").then_some(false.into())
        }
        b'[' if wants("array") => serde_json::from_str(text).ok(),
        b'{' if wants("object") => serde_json::from_str(text).ok(),
        _ => None,
    }
}

/// The integer that a float stands for where the schema takes integers only.
pub(super) fn as_integer(schema: &Map<String, Value>, number: &Number) -> Option<Value> {
    if names_type(schema, "integer") && !names_type(schema, "number") {
        whole_number(number)
    } else {
        None
    }
}

/// The enum value that was meant, by a declared alias or by another spelling.
pub(super) fn enum_value<'a>(schema: &'a Map<String, Value>, text: &str) -> Option<&'a Value> {
    let values = listed(schema, "enum")?;
    // Folding copies, and no value of an enum is this long.
    if text.len() > MAX_ENUM_TEXT || values.iter().any(|value| value == text) {
        return None;
    }
    let wanted = folded(text);
    if let Some(Value::Object(aliases)) = schema.get(VALUE_ALIASES) {
        let declared = aliases
            .get(text)
            .or_else(|| aliases.iter().find(|(name, _)| folded(name) == wanted).map(|(_, v)| v));
        if let Some(value) = declared.filter(|value| values.contains(value)) {
            return Some(value);
        }
    }
    let mut alike =
        values.iter().filter(|value| value.as_str().is_some_and(|value| folded(value) == wanted));
    match (alike.next(), alike.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

fn whole_number(number: &Number) -> Option<Value> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    if float.fract() != 0.0 || float.abs() >= EXACT {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole and within the exact range")]
    Some(Value::from(float as i64))
}

/// Whether no property that a branch fixes by `const` says that another branch is meant.
fn tags_agree(branch: &Value, value: &Value) -> bool {
    let (Some(Value::Object(properties)), Some(map)) =
        (branch.get("properties"), value.as_object())
    else {
        return true;
    };
    properties.iter().all(|(name, property)| match (property.get("const"), map.get(name)) {
        (Some(tag), Some(given)) => tag == given,
        _ => true,
    })
}

fn names_type(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
        _ => false,
    }
}

fn listed<'a>(schema: &'a Map<String, Value>, keyword: &str) -> Option<&'a Vec<Value>> {
    schema.get(keyword)?.as_array()
}

fn is_of(value: &Value, wanted: &str) -> bool {
    match (wanted, value) {
        ("integer", Value::Number(number)) => {
            !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
        }
        _ => kind(value) == wanted,
    }
}

/// JSON Schema's name for the type of a value; a number is never called an integer.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
