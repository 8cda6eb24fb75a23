//! Tools in each provider's form, and arguments on their way back.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Definition, Form, lower};
use crate::arguments::{self, fit};
use crate::schema::Schema;

fn read() -> Schema {
    schema(json!({
        "type": "object",
        "properties": {
            "file_path": { "description": "The file.", "type": "string", "minLength": 1 },
            "limit": { "description": "Lines", "type": "integer", "minimum": 1, "default": 2000 },
            "mode": { "description": "How.", "type": "string", "enum": ["a", "b"] },
        },
        "required": ["file_path"],
        "additionalProperties": false,
    }))
}

fn schema(value: Value) -> Schema {
    Schema::from_value(value).unwrap()
}

fn lowered(schema: &Schema, form: Form, strict: bool) -> Value {
    let tool = Definition {
        name: "read".to_owned(),
        title: "Read".to_owned(),
        description: "Reads a file.".to_owned(),
        schema,
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
    };
    lower(&tool, form, strict)
}

#[track_caller]
fn strict(value: Value) -> Option<Value> {
    let lowered = lowered(&schema(value), Form::OpenAi, true);
    (lowered["strict"] == true).then(|| lowered["parameters"].clone())
}

#[track_caller]
fn gemini(property: Value) -> Value {
    let schema = schema(json!({ "properties": { "p": property } }));
    lowered(&schema, Form::Gemini, false)["parameters"]["properties"]["p"].clone()
}

#[test]
fn every_form_has_a_name_that_reads_back() {
    for form in Form::ALL {
        assert_eq!(form.to_string().parse::<Form>(), Ok(form));
    }
    let error = "claude".parse::<Form>().unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no form `claude`; choose one of mcp, openai, openai-chat, anthropic, gemini, json-schema"
    );
}

#[test]
fn mcp_carries_the_schema_and_the_hints() {
    let schema = read();
    assert_eq!(
        lowered(&schema, Form::Mcp, true),
        json!({
            "name": "read",
            "title": "Read",
            "description": "Reads a file.",
            "inputSchema": schema.as_value(),
            "annotations": {
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": false,
            },
        })
    );
}

#[test]
fn without_strict_openai_and_anthropic_get_the_schema_as_it_is() {
    let schema = read();
    let parameters = schema.as_value();
    assert_eq!(
        lowered(&schema, Form::OpenAi, false),
        json!({
            "type": "function", "name": "read", "description": "Reads a file.",
            "parameters": parameters, "strict": false,
        })
    );
    assert_eq!(
        lowered(&schema, Form::OpenAiChat, false),
        json!({
            "type": "function",
            "function": {
                "name": "read", "description": "Reads a file.", "parameters": parameters, "strict": false,
            },
        })
    );
    assert_eq!(
        lowered(&schema, Form::Anthropic, true),
        json!({ "name": "read", "description": "Reads a file.", "input_schema": parameters })
    );
}

#[test]
fn the_bare_schema_names_its_dialect_and_the_tool() {
    let lowered = lowered(&read(), Form::JsonSchema, false);
    let keys = lowered.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys,
        ["$schema", "title", "type", "properties", "required", "additionalProperties"]
    );
    assert_eq!(lowered["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(lowered["title"], "read");
}

#[test]
fn strict_requires_everything_and_says_the_rest_in_words() {
    let expected = json!({
        "type": "object",
        "properties": {
            "file_path": { "description": "The file. At least 1 character.", "type": "string" },
            "limit": {
                "description": "Lines. Default: 2000.", "type": ["integer", "null"], "minimum": 1,
            },
            "mode": { "description": "How.", "type": ["string", "null"], "enum": ["a", "b", null] },
        },
        "required": ["file_path", "limit", "mode"],
        "additionalProperties": false,
    });
    let lowered = lowered(&read(), Form::OpenAiChat, true);
    assert_eq!(lowered["function"]["parameters"], expected);
    assert_eq!(lowered["function"]["strict"], true);
}

#[test]
fn strict_makes_any_kind_of_optional_nullable() {
    let parameters = strict(json!({
        "properties": {
            "union": { "type": ["string", "integer"] },
            "choice": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
            "fixed": { "description": "Fixed.", "const": "x" },
            "day": { "type": "string", "format": "date" },
            "link": { "type": "string", "format": "uri" },
            "list": { "type": "array", "items": { "type": "string" }, "minItems": 1, "uniqueItems": true },
            "nested": { "type": "object", "properties": { "x": { "enum": [1, 2] } } },
        },
    }));
    assert_eq!(
        parameters.unwrap()["properties"],
        json!({
            "union": { "type": ["string", "integer", "null"] },
            "choice": { "anyOf": [{ "type": "string" }, { "type": "integer" }, { "type": "null" }] },
            "fixed": {
                "description": "Fixed.",
                "anyOf": [{ "const": "x", "type": "string" }, { "type": "null" }],
            },
            "day": { "type": ["string", "null"], "format": "date" },
            "link": { "type": ["string", "null"], "description": "Format: uri." },
            "list": {
                "type": ["array", "null"], "items": { "type": "string" }, "minItems": 1,
                "description": "No item twice.",
            },
            "nested": {
                "type": ["object", "null"],
                "properties": { "x": { "enum": [1, 2, null], "type": ["integer", "null"] } },
                "required": ["x"],
                "additionalProperties": false,
            },
        })
    );
}

#[test]
fn what_cannot_be_strict_is_lowered_without_the_promise() {
    let property = |property: Value| json!({ "properties": { "p": property }, "required": ["p"] });
    let deep = (0..12).fold(json!({ "type": "string" }), |inner, _| property(inner));
    let deep = {
        let mut deep = deep;
        close(&mut deep);
        deep
    };
    for unfit in [
        property(json!({})),
        property(json!({ "type": "object" })),
        property(json!({ "type": "object", "additionalProperties": { "type": "string" } })),
        property(json!({ "type": "array" })),
        property(json!({ "type": "array", "items": {} })),
        property(json!({ "type": "array", "prefixItems": [{ "type": "string" }] })),
        property(json!({ "allOf": [{ "type": "string" }] })),
        property(json!({ "type": "string", "not": { "const": "x" } })),
        property(json!({ "oneOf": [{ "type": "integer" }, { "type": "number" }] })),
        json!({ "type": "object" }),
        json!({ "properties": { "a": { "type": "string" } }, "required": ["a", "b"] }),
        json!({ "properties": { "a": { "type": "string" } }, "additionalProperties": true }),
        json!({ "properties": { "a": { "type": "string" } }, "anyOf": [{ "required": ["a"] }] }),
        deep,
    ] {
        let schema = schema(unfit);
        let lowered = lowered(&schema, Form::OpenAi, true);
        assert_eq!(lowered["strict"], false, "{}", schema.as_value());
        if schema.as_value().get("anyOf").is_none() {
            assert_eq!(&lowered["parameters"], schema.as_value());
        }
    }
    assert!(strict(json!({ "properties": {}, "additionalProperties": false })).is_some());
}

/// Gives every nested object its type, which only the root gets by itself.
fn close(schema: &mut Value) {
    if schema.get("properties").is_some() {
        schema["type"] = json!("object");
        close(&mut schema["properties"]["p"]);
    }
}

#[test]
fn one_of_becomes_any_of_only_if_the_branches_exclude_each_other() {
    let tagged = json!([
        { "type": "object", "properties": { "kind": { "const": "a" } }, "required": ["kind"] },
        { "type": "object", "properties": { "kind": { "const": "b" } }, "required": ["kind"] },
    ]);
    let parameters = strict(json!({ "properties": { "p": { "oneOf": tagged } } })).unwrap();
    assert_eq!(parameters["properties"]["p"]["anyOf"].as_array().unwrap().len(), 3);
    let alike = json!([{ "type": "string", "minLength": 3 }, { "type": "string", "maxLength": 5 }]);
    assert_eq!(strict(json!({ "properties": { "p": { "oneOf": alike } } })), None);
}

#[test]
fn a_choice_at_the_root_is_laid_open_for_providers() {
    let schema = schema(json!({
        "properties": { "id": { "type": "string" } },
        "required": ["id"],
        "oneOf": [
            { "properties": { "a": { "type": "string" }, "n": { "type": "string" } }, "required": ["a"] },
            { "properties": { "b": { "type": "string" }, "n": { "type": "integer" } }, "required": ["b"] },
        ],
    }));
    for form in [Form::OpenAi, Form::Anthropic] {
        let lowered = lowered(&schema, form, true);
        let parameters = lowered.get("parameters").or(lowered.get("input_schema")).unwrap();
        assert_eq!(
            parameters,
            &json!({
                "type": "object",
                "properties": {
                    "id": { "type": "string" },
                    "a": { "type": "string" },
                    "n": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
                    "b": { "type": "string" },
                },
                "required": ["id"],
                "description": "Give `a`, or `b`.",
            })
        );
    }
    assert_eq!(lowered(&schema, Form::Mcp, false)["inputSchema"], *schema.as_value());
}

#[test]
fn gemini_gets_upper_case_types_and_no_foreign_keywords() {
    assert_eq!(
        lowered(&read(), Form::Gemini, true),
        json!({
            "name": "read",
            "description": "Reads a file.",
            "parameters": {
                "type": "OBJECT",
                "required": ["file_path"],
                "properties": {
                    "file_path": { "type": "STRING", "description": "The file.", "minLength": 1 },
                    "limit": { "type": "INTEGER", "description": "Lines. Default: 2000.", "minimum": 1 },
                    "mode": { "type": "STRING", "description": "How.", "enum": ["a", "b"] },
                },
            },
        })
    );
}

#[test]
fn gemini_gets_no_parameters_where_there_are_none() {
    let none = schema(json!({ "properties": {}, "additionalProperties": false }));
    assert_eq!(
        lowered(&none, Form::Gemini, false),
        json!({ "name": "read", "description": "Reads a file." })
    );
}

#[test]
fn gemini_gets_what_it_cannot_express_in_another_way() {
    for (given, expected) in [
        (json!({ "const": "x" }), json!({ "type": "STRING", "enum": ["x"] })),
        (
            json!({ "enum": ["a", null] }),
            json!({ "type": "STRING", "enum": ["a"], "nullable": true }),
        ),
        (
            json!({ "type": "integer", "enum": [1, 2] }),
            json!({ "type": "INTEGER", "description": "One of: 1, 2." }),
        ),
        (json!({ "type": "integer", "format": "int64" }), json!({ "type": "INTEGER" })),
        (
            json!({ "type": "string", "format": "uri" }),
            json!({ "type": "STRING", "description": "Format: uri." }),
        ),
        (json!({ "type": ["string", "null"] }), json!({ "type": "STRING", "nullable": true })),
        (
            json!({ "type": ["string", "integer", "null"], "minLength": 2, "minimum": 3 }),
            json!({ "anyOf": [
                { "type": "STRING", "minLength": 2, "nullable": true },
                { "type": "INTEGER", "minimum": 3, "nullable": true },
            ] }),
        ),
        (
            json!({ "description": "D.", "oneOf": [{ "type": "string" }, { "type": "null" }] }),
            json!({ "type": "STRING", "description": "D.", "nullable": true }),
        ),
        (
            json!({ "description": "D.", "oneOf": [{ "type": "string" }, { "type": "boolean" }] }),
            json!({ "anyOf": [
                { "type": "STRING", "description": "D." }, { "type": "BOOLEAN", "description": "D." },
            ] }),
        ),
        (
            json!({ "type": "integer", "exclusiveMinimum": 0 }),
            json!({ "type": "INTEGER", "minimum": 1 }),
        ),
        (
            json!({ "type": "number", "exclusiveMaximum": 0.5 }),
            json!({ "type": "NUMBER", "description": "Less than 0.5." }),
        ),
        (
            json!({ "type": "array", "prefixItems": [{ "type": "string" }, { "type": "integer" }] }),
            json!({ "type": "ARRAY", "items": { "anyOf": [{ "type": "STRING" }, { "type": "INTEGER" }] } }),
        ),
        (
            json!({ "description": "Map", "type": "object", "additionalProperties": { "type": "string" } }),
            json!({ "type": "STRING", "description": "Map. A JSON object, written as text." }),
        ),
        (
            json!({ "allOf": [{ "type": "string" }, { "maxLength": 3 }] }),
            json!({ "type": "STRING", "maxLength": 3 }),
        ),
        (
            json!({}),
            json!({ "anyOf": [{ "type": "STRING" }, { "type": "NUMBER" }, { "type": "BOOLEAN" }] }),
        ),
    ] {
        assert_eq!(gemini(given.clone()), expected, "{given}");
    }
}

/// What a strict model sends: everything there, null for what it leaves out.
fn with_nulls(schema: &Value, value: &Value) -> Value {
    if let Some(Value::Array(branches)) = schema.get("oneOf") {
        let meant = |one: &&Value| one["properties"]["kind"]["const"] == value["kind"];
        return with_nulls(branches.iter().find(meant).unwrap(), value);
    }
    let (Some(Value::Object(properties)), Value::Object(map)) = (schema.get("properties"), value)
    else {
        return match (schema.get("items"), value) {
            (Some(items), Value::Array(list)) => {
                list.iter().map(|item| with_nulls(items, item)).collect()
            }
            _ => value.clone(),
        };
    };
    let filled = properties.iter().map(|(name, property)| {
        let value = map.get(name).map_or(Value::Null, |value| with_nulls(property, value));
        (name.clone(), value)
    });
    Value::Object(filled.collect::<Map<_, _>>())
}

proptest! {
    #[test]
    fn what_fits_the_strict_form_fits_the_tool(args in arguments::valid_arguments()) {
        // Without what keeps the sample from being strict, and without a null that means something.
        let mut source = arguments::sample_schema().as_value().clone();
        let mut args = args;
        for loose in ["env", "any", "pair", "maybe"] {
            source["properties"].as_object_mut().unwrap().shift_remove(loose);
            args.as_object_mut().unwrap().shift_remove(loose);
        }
        let schema = schema(source);
        let lowered = lowered(&schema, Form::OpenAi, true);
        prop_assert_eq!(&lowered["strict"], &json!(true));
        let sent = with_nulls(schema.as_value(), &args);
        let strict = jsonschema::validator_for(&lowered["parameters"]).unwrap();
        prop_assert!(strict.is_valid(&sent), "{} {}", sent, lowered);
        prop_assert_eq!(fit("t", &schema, sent).unwrap().value, args);
    }
}
