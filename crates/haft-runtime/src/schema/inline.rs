//! From others' schemas: references inlined, older drafts brought up to date, all of it bounded.

use serde_json::{Map, Value};

use super::{MAX_BYTES, MAX_DEPTH, root_object, short, walk};

type Object = Map<String, Value>;

/// What says something about a schema without narrowing it, so that the nearer word may win.
const ANNOTATIONS: &[&str] = &["title", "description", "default", "examples", "deprecated"];

/// Cleans a foreign schema; the error is for the operator.
pub(super) fn adopt(value: Value) -> Result<Value, String> {
    // Twice the depth, because between two schemas there may be a map or a list.
    if !walk::within_depth(&value, 2 * MAX_DEPTH) {
        return Err(format!("the schema is nested more than {MAX_DEPTH} levels deep"));
    }
    fits(walk::size(&value))?;
    if !value.is_object() {
        return Err("the schema is not a JSON object".to_owned());
    }
    let mut schema = value.clone();
    let mut inliner = Inliner { root: &value, open: vec![String::new()], room: MAX_BYTES };
    inliner.schema(&mut schema, 0)?;
    walk::every(&mut schema, &mut modernise);
    fits(walk::size(&schema))?;
    match &mut schema {
        Value::Object(root) => root_object(root)?,
        _ => return Err("the schema refers to something that is not an object".to_owned()),
    }
    Ok(schema)
}

fn fits(bytes: usize) -> Result<(), String> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    Err(format!("the schema is larger than {} KiB", MAX_BYTES / 1024))
}

struct Inliner<'a> {
    root: &'a Value,
    /// What is being gone through right now; meeting a reference to it is a recursion.
    open: Vec<String>,
    /// How many bytes of copies may still be made.
    room: usize,
}

impl Inliner<'_> {
    fn schema(&mut self, schema: &mut Value, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("the schema is nested more than {MAX_DEPTH} levels deep"));
        }
        let Value::Object(own) = schema else {
            return Ok(());
        };
        for keyword in ["$dynamicRef", "$recursiveRef"] {
            if own.contains_key(keyword) {
                return Err(format!("the schema uses `{keyword}`, which is not supported"));
            }
        }
        let reference = own.shift_remove("$ref");
        walk::try_children(own, &mut |_, child| self.schema(child, depth + 1))?;
        if let Some(reference) = reference {
            let target = self.target(&reference, depth)?;
            combine(own, target);
        }
        Ok(())
    }

    fn target(&mut self, reference: &Value, depth: usize) -> Result<Value, String> {
        let Some(name) = reference.as_str() else {
            return Err("the schema has a `$ref` that is not a string".to_owned());
        };
        let Some(pointer) = name.strip_prefix('#').filter(|p| p.is_empty() || p.starts_with('/'))
        else {
            return Err(format!(
                "the schema refers to `{}`; only references within it, such as `#/$defs/name`, are followed",
                short(name)
            ));
        };
        let pointer = percent_decoded(pointer);
        let shown = short(name);
        let Some(target) = self.root.pointer(&pointer) else {
            return Err(format!("the schema refers to `{shown}`, which it does not contain"));
        };
        if self.open.contains(&pointer) {
            return Ok(outline(target));
        }
        self.room = self.room.checked_sub(walk::size(target) + name.len()).ok_or_else(|| {
            format!("the schema is larger than {} KiB once `$ref`s are followed", MAX_BYTES / 1024)
        })?;
        let mut target = target.clone();
        self.open.push(pointer);
        self.schema(&mut target, depth + 1)?;
        self.open.pop();
        Ok(target)
    }
}

/// What is said of a schema inside itself: its type, and no more. Whoever wrote it checks the rest.
fn outline(schema: &Value) -> Value {
    let said = |key: &str| Some((key.to_owned(), schema.get(key)?.clone()));
    Value::Object(["type", "description"].into_iter().filter_map(said).collect())
}

/// Puts what a reference led to in the reference's place, beside what stood next to it.
fn combine(own: &mut Object, target: Value) {
    let target = match target {
        Value::Object(target) => target,
        // `true` adds nothing.
        Value::Bool(true) => return,
        other => {
            own.insert("allOf".to_owned(), vec![other].into());
            return;
        }
    };
    let clash = own.iter().any(|(key, value)| {
        !ANNOTATIONS.contains(&key.as_str()) && target.get(key).is_some_and(|other| other != value)
    });
    if clash {
        if let Value::Array(all) = own.entry("allOf").or_insert_with(|| Value::Array(Vec::new())) {
            all.push(Value::Object(target));
        }
        return;
    }
    for (key, value) in target {
        own.entry(key).or_insert(value);
    }
}

/// Rewrites what older drafts and OpenAPI say differently, and drops what only a document needs.
fn modernise(schema: &mut Object) {
    for keyword in ["$schema", "$id", "id", "$anchor", "$comment", "$defs", "definitions"] {
        // A draft-4 `id` is text; anything else under that name is none of ours.
        if keyword != "id" || schema.get(keyword).is_some_and(Value::is_string) {
            schema.shift_remove(keyword);
        }
    }
    if let Some(Value::Array(tuple)) = schema.get("items") {
        let tuple = Value::Array(tuple.clone());
        match schema.shift_remove("additionalItems") {
            Some(rest) => schema.insert("items".to_owned(), rest),
            None => schema.shift_remove("items"),
        };
        schema.insert("prefixItems".to_owned(), tuple);
    }
    exclusive_bound(schema, "minimum", "exclusiveMinimum");
    exclusive_bound(schema, "maximum", "exclusiveMaximum");
    if schema.shift_remove("nullable") == Some(Value::Bool(true))
        && let Some(Value::String(kind)) = schema.get("type")
    {
        let kinds = vec![kind.clone(), "null".to_owned()];
        schema.insert("type".to_owned(), kinds.into());
    }
}

/// In draft 4 `exclusiveMinimum` was a flag beside `minimum`.
fn exclusive_bound(schema: &mut Object, bound: &str, exclusive: &str) {
    let Some(Value::Bool(flag)) = schema.get(exclusive) else {
        return;
    };
    let flag = *flag;
    schema.shift_remove(exclusive);
    if flag && let Some(limit) = schema.shift_remove(bound) {
        schema.insert(exclusive.to_owned(), limit);
    }
}

/// A pointer in a URI fragment may write any character as `%41`.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digits = (ahead.next().and_then(hex), ahead.next().and_then(hex));
        match (byte, digits) {
            (b'%', (Some(high), Some(low))) => {
                bytes.push(high * 16 + low);
                rest = ahead;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
