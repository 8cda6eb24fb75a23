//! Ways through a schema that tell keywords from the names of properties and from plain data.

use serde_json::{Map, Value};

/// Keywords that hold one schema.
const ONE: &[&str] = &[
    "items",
    "additionalProperties",
    "additionalItems",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
/// Keywords that hold a list of schemas; `items` does so in older drafts.
const LIST: &[&str] = &["anyOf", "oneOf", "allOf", "prefixItems", "items"];
/// Keywords that hold schemas by name.
const NAMED: &[&str] = &["properties", "patternProperties", "dependentSchemas"];

/// The schemas directly inside this one, each with the keyword it stands under.
pub(crate) fn children(schema: &Map<String, Value>) -> impl Iterator<Item = (&str, &Value)> {
    schema.iter().flat_map(|(keyword, value)| {
        let keyword = keyword.as_str();
        let inside: Box<dyn Iterator<Item = &Value>> = match value {
            Value::Array(list) if LIST.contains(&keyword) => Box::new(list.iter()),
            Value::Object(named) if NAMED.contains(&keyword) => Box::new(named.values()),
            Value::Object(_) if ONE.contains(&keyword) => Box::new(std::iter::once(value)),
            _ => Box::new(std::iter::empty()),
        };
        inside.map(move |child| (keyword, child))
    })
}

/// Visits the schemas directly inside this one, to change them; stops at the first error.
pub(crate) fn try_children<E>(
    schema: &mut Map<String, Value>,
    visit: &mut dyn FnMut(&str, &mut Value) -> Result<(), E>,
) -> Result<(), E> {
    for (keyword, value) in schema.iter_mut() {
        let keyword = keyword.as_str();
        match value {
            Value::Array(list) if LIST.contains(&keyword) => {
                list.iter_mut().try_for_each(|child| visit(keyword, child))?;
            }
            Value::Object(named) if NAMED.contains(&keyword) => {
                named.values_mut().try_for_each(|child| visit(keyword, child))?;
            }
            Value::Object(_) if ONE.contains(&keyword) => visit(keyword, value)?,
            _ => {}
        }
    }
    Ok(())
}

/// Visits every schema that is an object, innermost first.
pub(crate) fn every(schema: &mut Value, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Value::Object(schema) = schema else {
        return;
    };
    let done: Result<(), std::convert::Infallible> = try_children(schema, &mut |_, child| {
        every(child, visit);
        Ok(())
    });
    match done {
        Ok(()) => visit(schema),
    }
}

/// Whether the value nests no deeper than this; without recursion, so any value may be asked about.
pub(crate) fn within_depth(value: &Value, limit: usize) -> bool {
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        if depth > limit {
            return false;
        }
        match value {
            Value::Array(items) => open.extend(
                items.iter().filter(|item| is_container(item)).map(|item| (item, depth + 1)),
            ),
            Value::Object(map) => open.extend(
                map.values().filter(|item| is_container(item)).map(|item| (item, depth + 1)),
            ),
            _ => {}
        }
    }
    true
}

/// How many bytes the value takes as JSON, counted without building the text.
pub(crate) fn size(value: &Value) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        Err(_) => usize::MAX,
    }
}

fn is_container(value: &Value) -> bool {
    value.is_array() || value.is_object()
}
