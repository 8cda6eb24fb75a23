//! What schemas look like, from types and from others, and which are refused.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Schema, undescribed};

/// Says something about the type, not about a parameter.
#[derive(JsonSchema, Deserialize)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Params {
    /// The file to read.
    #[schemars(extend("x-aliases" = ["path", "filename"]))]
    file_path: String,
    /// How many lines.
    #[schemars(range(min = 1, max = 2000))]
    limit: Option<u32>,
    /// How to read.
    mode: Option<Mode>,
    /// What to do.
    #[serde(default)]
    todos: Vec<Todo>,
    /// The environment.
    env: Option<BTreeMap<String, String>>,
    /// Anything.
    extra: Option<Value>,
    title: Option<Box<Todo>>,
}

/// Ways of reading.
#[derive(JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-value-aliases" = {"lines": "slice"}))]
enum Mode {
    /// Lines from
    /// the offset.
    Slice,
    Whole,
}

#[derive(JsonSchema, Deserialize)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Todo {
    content: String,
    /// The state.
    status: Option<Plain>,
}

#[derive(JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Plain {
    Open,
    Done,
}

#[derive(JsonSchema, Deserialize)]
struct Nothing {}

#[derive(JsonSchema, Deserialize)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Node {
    children: Vec<Self>,
}

#[derive(JsonSchema, Deserialize)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Wrapper {
    /// A tree.
    tree: Option<Node>,
}

#[derive(JsonSchema, Deserialize)]
#[serde(tag = "kind")]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Tagged {
    A { x: u8 },
    B,
}

#[derive(JsonSchema, Deserialize)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Flattened {
    /// A name.
    name: String,
    #[serde(flatten)]
    rest: Tagged,
}

#[test]
fn a_type_becomes_a_plain_closed_schema() {
    let todo = json!({
        "type": "object",
        "properties": {
            "content": { "type": "string" },
            "status": { "description": "The state.", "type": "string", "enum": ["open", "done"] },
        },
        "required": ["content"],
        "additionalProperties": false,
    });
    let schema = Schema::of::<Params>().unwrap();
    assert_eq!(
        schema.as_value(),
        &json!({
            "type": "object",
            "properties": {
                "file_path": { "description": "The file to read.", "type": "string" },
                "limit": {
                    "description": "How many lines.", "type": "integer", "minimum": 1, "maximum": 2000,
                },
                "mode": {
                    "description": "How to read.\n- `slice`: Lines from the offset.",
                    "type": "string",
                    "enum": ["whole", "slice"],
                },
                "todos": {
                    "description": "What to do.", "type": "array", "items": todo,
                },
                "env": {
                    "description": "The environment.",
                    "type": "object",
                    "additionalProperties": { "type": "string" },
                },
                "extra": { "description": "Anything." },
                "title": todo,
            },
            "required": ["file_path"],
            "additionalProperties": false,
        })
    );
}

#[test]
fn private_keywords_stay_for_repair_only() {
    let schema = Schema::of::<Params>().unwrap();
    let marked = schema.marked();
    assert_eq!(marked["properties"]["file_path"]["x-aliases"], json!(["path", "filename"]));
    assert_eq!(marked["properties"]["mode"]["x-value-aliases"], json!({"lines": "slice"}));
    assert!(!schema.as_value().to_string().contains("x-"));
}

#[test]
fn a_property_called_like_a_keyword_is_left_alone() {
    let schema = Schema::from_value(json!({
        "properties": {
            "$ref": { "type": "string" },
            "title": { "type": "string" },
            "$defs": { "type": "string" },
            "x-aliases": { "type": "string" },
        }
    }));
    let names: Vec<String> =
        schema.unwrap().as_value()["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["$ref", "title", "$defs", "x-aliases"]);
}

#[test]
fn a_tool_without_parameters_is_a_closed_empty_object() {
    let schema = Schema::of::<Nothing>().unwrap();
    let expected = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    assert_eq!(schema.as_value(), &expected);
}

#[test]
fn properties_without_description_are_listed() {
    let schema = Schema::of::<Params>().unwrap();
    assert_eq!(undescribed(&schema), ["todos[].content", "title", "title.content"]);
}

#[test]
fn recursive_types_are_refused() {
    assert!(Schema::of::<Node>().unwrap_err().contains("recursive"));
    assert!(Schema::of::<Wrapper>().unwrap_err().contains("recursive"));
}

#[test]
fn a_root_that_is_no_object_is_refused() {
    assert!(Schema::of::<String>().is_err());
    assert!(Schema::of::<()>().is_err());
    assert!(Schema::of::<Vec<String>>().is_err());
}

#[test]
fn a_flattened_enum_leaves_its_object_usable() {
    let schema = Schema::of::<Flattened>().unwrap();
    let validator = schema.validator().unwrap();
    assert!(validator.is_valid(&json!({ "name": "n", "kind": "A", "x": 1 })));
    assert!(validator.is_valid(&json!({ "name": "n", "kind": "B" })));
    assert!(!validator.is_valid(&json!({ "name": "n", "kind": "C" })));
}

#[test]
fn local_references_are_inlined_with_the_nearer_description() {
    let schema = Schema::from_value(json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "urn:x",
        "properties": {
            "a": { "$ref": "#/definitions/name", "description": "The first." },
            "b": { "$ref": "#/$defs/with%20blank" },
            "c": { "$ref": "#/definitions/name", "maxLength": 3 },
            "d": { "$ref": "#/properties/a" },
        },
        "definitions": { "name": { "type": "string", "maxLength": 9, "description": "A name." } },
        "$defs": { "with blank": { "type": "array", "items": { "$ref": "#/definitions/name" } } },
    }));
    let name = json!({ "type": "string", "maxLength": 9, "description": "A name." });
    assert_eq!(
        schema.unwrap().as_value(),
        &json!({
            "properties": {
                "a": { "description": "The first.", "type": "string", "maxLength": 9 },
                "b": { "type": "array", "items": name },
                "c": { "maxLength": 3, "allOf": [name] },
                "d": { "description": "The first.", "type": "string", "maxLength": 9 },
            },
            "type": "object",
        })
    );
}

#[test]
fn older_drafts_are_brought_up_to_date() {
    let schema = Schema::from_value(json!({
        "type": "object",
        "properties": {
            "pair": { "type": "array", "items": [{ "type": "string" }], "additionalItems": false },
            "n": { "type": "number", "minimum": 0, "exclusiveMinimum": true },
            "s": { "type": "string", "nullable": true },
        },
    }));
    let schema = schema.unwrap();
    let properties = &schema.as_value()["properties"];
    assert_eq!(
        properties["pair"],
        json!({ "type": "array", "items": false, "prefixItems": [{ "type": "string" }] })
    );
    assert_eq!(properties["n"], json!({ "type": "number", "exclusiveMinimum": 0 }));
    assert_eq!(properties["s"], json!({ "type": ["string", "null"] }));
}

#[test]
fn foreign_schemas_are_refused_for_a_reason_the_operator_can_read() {
    let deep = (0..100).fold(json!({}), |inner, _| json!({ "items": inner }));
    let wide = json!({ "type": "object", "description": "x".repeat(300_000) });
    let mut bomb = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d0" } } });
    for level in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        bomb["$defs"][format!("d{level}")] = json!({ "properties": { "x": next, "y": next } });
    }
    bomb["$defs"]["d30"] = json!({ "type": "string" });
    for (schema, reason) in [
        (json!([]), "not a JSON object"),
        (json!(true), "not a JSON object"),
        (json!({}), "must be an object"),
        (json!({ "type": "string" }), "must be an object"),
        (json!({ "$ref": "#" }), "must be an object"),
        (json!({ "properties": { "a": { "$ref": "https://example.org/a" } } }), "only references"),
        (json!({ "properties": { "a": { "$ref": "#/$defs/missing" } } }), "does not contain"),
        (json!({ "properties": { "a": { "$ref": 7 } } }), "not a string"),
        (json!({ "properties": { "a": { "$dynamicRef": "#n" } } }), "not supported"),
        (
            json!({ "type": "object", "properties": { "a": { "type": "text" } } }),
            "does not compile",
        ),
        (
            json!({ "type": "object", "properties": { "a": { "pattern": "(" } } }),
            "does not compile",
        ),
        (json!({ "type": "object", "properties": { "a": deep } }), "deep"),
        (wide, "larger than"),
        (bomb, "larger than"),
    ] {
        let error = Schema::from_value(schema).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn a_foreign_schema_that_refers_to_itself_is_inlined_for_one_round() {
    let schema = Schema::from_value(json!({
        "type": "object",
        "properties": { "tree": { "$ref": "#/$defs/node" }, "self": { "$ref": "#" } },
        "$defs": { "node": {
            "type": "object",
            "description": "A node.",
            "required": ["name"],
            "properties": {
                "name": { "type": "string" },
                "children": { "type": "array", "items": { "$ref": "#/$defs/node" } },
            },
        } },
    }));
    let schema = schema.unwrap();
    let node = &schema.as_value()["properties"]["tree"];
    let inner = json!({ "type": "object", "description": "A node." });
    assert_eq!(node["properties"]["children"]["items"], inner);
    assert_eq!(schema.as_value()["properties"]["self"], json!({ "type": "object" }));
    let validator = schema.validator().unwrap();
    assert!(validator.is_valid(&json!({ "tree": { "name": "a", "children": [{ "any": 1 }] } })));
    assert!(!validator.is_valid(&json!({ "tree": { "children": [] } })), "one round is checked");
    assert!(!validator.is_valid(&json!({ "tree": { "name": "a", "children": [1] } })));
}

#[test]
fn a_very_deep_foreign_value_is_refused_without_recursion() {
    let deep = (0..2_000).fold(json!({}), |inner, _| Value::Array(vec![inner]));
    let deep = Value::Object([("items".to_owned(), deep)].into_iter().collect());
    assert!(Schema::from_value(deep).unwrap_err().contains("deep"));
}

#[test]
fn the_type_is_added_where_the_properties_imply_it() {
    let schema = Schema::from_value(json!({ "properties": {} })).unwrap();
    assert_eq!(schema.as_value()["type"], "object");
    let schema = Schema::from_value(json!({ "type": ["object", "null"] })).unwrap();
    assert_eq!(schema.as_value(), &json!({ "type": "object", "properties": {} }));
    let branches = json!({ "oneOf": [{ "properties": { "a": {} } }, { "type": "object" }] });
    assert_eq!(Schema::from_value(branches).unwrap().as_value()["type"], "object");
}
