//! One pass over arguments and schema together, changing what can only mean one thing.

use serde_json::{Map, Value};

use super::coerce::{accepts, as_integer, enum_value, from_text, only_branch};
use super::faults::Fault;
use super::names;
use super::show::{self, At};

/// As many repairs as anybody reads; the rest is counted.
const MAX_NOTES: usize = 20;

/// The repairs made, a bounded number of them in words.
#[derive(Default)]
pub(super) struct Notes {
    texts: Vec<String>,
    more: usize,
}

impl Notes {
    /// Notes a repair; the text is only made if it will be kept.
    pub(super) fn add(&mut self, text: impl FnOnce() -> String) {
        if self.texts.len() < MAX_NOTES {
            self.texts.push(text());
        } else {
            self.more += 1;
        }
    }

    pub(super) fn count(&self) -> usize {
        self.texts.len() + self.more
    }

    pub(super) fn into_texts(mut self) -> Vec<String> {
        if self.more > 0 {
            self.texts.push(format!("and {} more", self.more));
        }
        self.texts
    }
}

/// A walk along the schema, which bounds its depth whatever the arguments look like.
pub(super) struct Pass<'a> {
    notes: &'a mut Notes,
    faults: &'a mut Vec<Fault>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(notes: &'a mut Notes, faults: &'a mut Vec<Fault>) -> Self {
        Self { notes, faults }
    }

    pub(super) fn run(&mut self, schema: &Value, arguments: &mut Value) {
        self.value(schema, arguments, &At::Root);
    }

    fn value(&mut self, schema: &Value, value: &mut Value, at: &At<'_>) {
        let Value::Object(schema) = schema else {
            return;
        };
        self.coerce(schema, value, at);
        match value {
            Value::Object(map) => self.object(schema, map, at),
            Value::Array(items) => self.array(schema, items, at),
            _ => {}
        }
        for branch in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.value(branch, value, at);
        }
        for keyword in ["anyOf", "oneOf"] {
            let Some(branches) = schema.get(keyword).and_then(Value::as_array) else {
                continue;
            };
            if let Some(branch) = only_branch(branches, value) {
                self.value(branch, value, at);
            }
        }
    }

    fn coerce(&mut self, schema: &Map<String, Value>, value: &mut Value, at: &At<'_>) {
        let repaired = match value {
            Value::String(text) => {
                from_text(schema, text).or_else(|| enum_value(schema, text).cloned())
            }
            Value::Number(number) => as_integer(schema, number),
            _ => None,
        };
        if let Some(repaired) = repaired {
            self.notes.add(|| {
                format!("`{at}`: {} taken as {}", show::brief(value), show::brief(&repaired))
            });
            *value = repaired;
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, map: &mut Map<String, Value>, at: &At<'_>) {
        self.drop_nulls(schema, map, at);
        names::settle(schema, map, at, self.notes, self.faults);
        let properties = schema.get("properties").and_then(Value::as_object);
        // A name that a pattern knows is not an additional one, and patterns are not matched here.
        let others = if schema.contains_key("patternProperties") {
            None
        } else {
            schema.get("additionalProperties")
        };
        for (key, value) in map.iter_mut() {
            let property = properties.and_then(|properties| properties.get(key)).or(others);
            if let Some(property) = property {
                self.value(property, value, &At::Key(at, key));
            }
        }
    }

    fn array(&mut self, schema: &Map<String, Value>, items: &mut [Value], at: &At<'_>) {
        let first = schema.get("prefixItems").and_then(Value::as_array);
        let rest = schema.get("items");
        for (index, item) in items.iter_mut().enumerate() {
            let schema = first.and_then(|first| first.get(index)).or(rest);
            if let Some(schema) = schema {
                self.value(schema, item, &At::Item(at, index));
            }
        }
    }

    /// Many models write `null` for what they leave out.
    fn drop_nulls(
        &mut self,
        schema: &Map<String, Value>,
        map: &mut Map<String, Value>,
        at: &At<'_>,
    ) {
        let Some(Value::Object(properties)) = schema.get("properties") else {
            return;
        };
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        let notes = &mut self.notes;
        map.retain(|key, value| {
            let drop = value.is_null()
                && !is_required(key)
                && properties.get(key).is_some_and(|property| !accepts(property, value));
            if drop {
                notes.add(|| format!("`{}`: null taken as absent", At::Key(at, key)));
            }
            !drop
        });
    }
}
