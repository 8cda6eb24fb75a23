//! What is repaired, what is refused, and in which words.

use serde_json::{Value, json};

use super::{Arguments, Fitted, fit};
use crate::ToolError;
use crate::schema::Schema;

mod faults;

/// A schema with one of everything that repair looks at.
pub(crate) fn sample() -> Schema {
    Schema::from_value(json!({
        "type": "object",
        "properties": {
            "file_path": { "type": "string", "x-aliases": ["path", "filename"] },
            "limit": { "type": "integer", "minimum": 1, "maximum": 2000 },
            "ratio": { "type": "number" },
            "replace_all": { "type": "boolean" },
            "mode": {
                "type": "string",
                "enum": ["slice", "in_order"],
                "x-value-aliases": { "lines": "slice" },
            },
            "tags": { "type": "array", "items": { "type": "string", "minLength": 1 }, "uniqueItems": true },
            "todos": {
                "type": "array",
                "maxItems": 3,
                "items": {
                    "type": "object",
                    "properties": {
                        "content": { "type": "string", "maxLength": 10 },
                        "status": { "type": "string", "enum": ["open", "done"] },
                        "priority": { "type": "integer" },
                    },
                    "required": ["content", "status"],
                    "additionalProperties": false,
                },
            },
            "pair": {
                "type": "array",
                "prefixItems": [{ "type": "integer" }, { "type": "boolean" }],
                "items": { "type": "number" },
            },
            "env": { "type": "object", "additionalProperties": { "type": "integer" } },
            "either": { "anyOf": [{ "type": "integer" }, { "type": "array", "items": { "type": "integer" } }] },
            "maybe": { "type": ["integer", "null"] },
            "any": {},
            "shape": {
                "oneOf": [
                    {
                        "type": "object",
                        "properties": { "kind": { "const": "a" }, "n": { "type": "integer" } },
                        "required": ["kind", "n"],
                    },
                    {
                        "type": "object",
                        "properties": { "kind": { "const": "b" }, "s": { "type": "string" } },
                        "required": ["kind"],
                    },
                ],
            },
        },
        "required": ["file_path"],
        "additionalProperties": false,
    }))
    .unwrap()
}

#[track_caller]
fn repairs(given: Value, expected: Value, notes: &[&str]) {
    let fitted = fit("read", &sample(), given).unwrap();
    assert_eq!(fitted.value, expected);
    assert_eq!(fitted.repaired, notes);
    let again = fit("read", &sample(), fitted.value.clone()).unwrap();
    assert_eq!(again, Fitted { value: fitted.value, repaired: Vec::new() });
}

#[track_caller]
fn refused(given: Value) -> String {
    match fit("read", &sample(), given) {
        Err(ToolError::InvalidParams { tool, detail }) => {
            assert_eq!(tool, "read");
            assert!(detail.len() <= 4096, "{} bytes", detail.len());
            detail
        }
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[track_caller]
fn parsed(text: &str) -> Fitted {
    Arguments::Text(text.to_owned()).parse("read").unwrap()
}

#[track_caller]
fn unparsed(text: &str) -> String {
    match Arguments::Text(text.to_owned()).parse("read") {
        Err(ToolError::InvalidParams { detail, .. }) => detail,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn a_name_that_says_what_is_done_anyway_is_dropped_and_noted() {
    let schema = json!({
        "type": "object",
        "properties": { "pattern": { "type": "string" } },
        "additionalProperties": false,
        "x-unneeded": ["-n"],
    });
    let schema = Schema::from_value(schema).unwrap();
    assert!(!schema.as_value().to_string().contains("x-unneeded"));
    let fitted = fit("grep", &schema, json!({ "pattern": "x", "-n": true })).unwrap();
    assert_eq!(fitted.value, json!({ "pattern": "x" }));
    assert_eq!(fitted.repaired, ["`-n` dropped: it is always so"]);
    assert!(fit("grep", &schema, json!({ "pattern": "x", "-m": true })).is_err());
}

#[test]
fn blank_text_counts_as_no_arguments() {
    for text in ["", "  \n\t", "\u{feff}"] {
        assert_eq!(parsed(text), Fitted { value: json!({}), repaired: vec![] });
    }
}

#[test]
fn valid_json_is_taken_as_it_is() {
    assert_eq!(parsed(" {\"a\": [1]} ").value, json!({ "a": [1] }));
    assert_eq!(parsed("null").value, json!(null));
    let value = json!({ "a": 1 });
    let fitted = Arguments::Parsed(value.clone()).parse("read").unwrap();
    assert_eq!(fitted, Fitted { value, repaired: vec![] });
}

#[test]
fn doubly_encoded_arguments_are_unwrapped_and_said() {
    let notes = vec!["the arguments were JSON within a JSON string".to_owned()];
    let expected = Fitted { value: json!({ "a": 1 }), repaired: notes };
    assert_eq!(parsed(r#""{\"a\": 1}""#), expected);
    assert_eq!(Arguments::Parsed(json!("{\"a\": 1}")).parse("read").unwrap(), expected);
    assert_eq!(parsed(r#""plain text""#).value, json!("plain text"));
}

#[test]
fn a_fence_around_the_arguments_is_dropped_and_said() {
    for text in ["```json\n{\"a\": 1}\n```", "```\n{\"a\": 1}", "````json {\"a\": 1} ````"] {
        let fitted = parsed(text);
        assert_eq!(fitted.value, json!({ "a": 1 }));
        assert_eq!(fitted.repaired, ["a Markdown fence around the arguments was dropped"]);
    }
}

#[test]
fn chaff_after_the_arguments_is_dropped_but_never_a_second_value() {
    assert_eq!(parsed("{\"a\": 1}}").repaired, ["dropped after the arguments: \"}\""]);
    assert_eq!(parsed("{\"a\": 1}\n```").value, json!({ "a": 1 }));
    assert_eq!(parsed("{\"a\": 1}</tool_call>").value, json!({ "a": 1 }));
    assert_eq!(
        unparsed("{\"a\": 1}{\"b\": 2}"),
        r#"(arguments): text follows the JSON: "{\"b\": 2}""#
    );
    unparsed("{\"a\": 1}, limit: 5");
    unparsed("12 13");
}

#[test]
fn text_that_is_no_json_is_refused_with_its_place() {
    let detail = unparsed("{\"a\":\n 1,, }");
    assert_eq!(detail, "(arguments): not valid JSON at line 2, column 4: key must be a string");
    assert!(unparsed("read the file").contains("line 1, column 1"));
}

#[test]
fn every_cut_of_valid_arguments_is_told_apart_from_wrong_ones() {
    let whole =
        r#"{"a": "x\n\u00e9\ud83d\ude00é", "b": [-1.5e+3, true, null, {"c": {}}], "d": ""}"#;
    for (end, _) in whole.char_indices().skip(1) {
        let cut = whole.get(..end).unwrap();
        match Arguments::Text(cut.to_owned()).parse("read") {
            Err(ToolError::CutOff { tool, received }) => {
                assert_eq!((tool.as_str(), received), ("read", cut.len()));
            }
            other => panic!("{cut:?} gave {other:?}"),
        }
    }
    for cut in ["```json\n{\"a\": ", "\"{\\\"a\\\": ", "```", "\"{\\\"a\\\": 1\""] {
        let result = Arguments::Text(cut.to_owned()).parse("read");
        assert!(matches!(result, Err(ToolError::CutOff { .. })), "{cut}: {result:?}");
    }
}

#[test]
fn deep_nesting_is_refused_and_never_overflows() {
    for opening in ["[", "{\"a\":"] {
        assert!(unparsed(&opening.repeat(100_000)).contains("recursion limit"));
    }
    let deep = (0..1_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    assert_eq!(refused(json!({ "file_path": "a", "any": deep })), "(arguments): nested too deeply");
    let text = "[".repeat(127) + &"]".repeat(127);
    let deeper = json!({ "file_path": "a", "todos": [[text]], "tags": "[]" });
    assert!(!refused(deeper).contains("nested too deeply"));
    let inner = json!({ "properties": { "list": { "type": "array" } } });
    let outer = (0..5).fold(inner, |inner, _| json!({ "properties": { "p": inner } }));
    let given = (0..5).fold(
        json!({ "list": "[".repeat(127) + &"]".repeat(127) }),
        |inner, _| json!({ "p": inner }),
    );
    let error = fit("t", &Schema::from_value(outer).unwrap(), given).unwrap_err();
    assert!(error.to_string().contains("nested too deeply"), "{error}");
    let text = "[".repeat(200) + &"]".repeat(200);
    assert!(
        refused(json!({ "file_path": "a", "tags": text })).starts_with("tags: expected an array")
    );
}

#[test]
fn names_are_repaired_by_alias_and_by_spelling() {
    for name in ["filePath", "FilePath", "file-path", "FILE_PATH", "filepath", "path", "fileName"] {
        let note = format!("`{name}` taken as `file_path`");
        repairs(json!({ name: "a" }), json!({ "file_path": "a" }), &[&note]);
    }
}

#[test]
fn a_name_given_twice_must_say_the_same() {
    repairs(
        json!({ "file_path": "a", "path": "a" }),
        json!({ "file_path": "a" }),
        &["`path` dropped: it repeats `file_path`"],
    );
    repairs(
        json!({ "file_path": "a", "replaceAll": null }),
        json!({ "file_path": "a" }),
        &["`replaceAll`: null taken as absent"],
    );
    assert_eq!(
        refused(json!({ "file_path": "a", "path": "b" })),
        "(arguments): `file_path` and `path` name the same parameter but differ; give only `file_path`"
    );
    assert_eq!(
        refused(json!({ "filePath": "a", "path": "b" })),
        "(arguments): `filePath` and `path` name the same parameter but differ; give only `file_path`"
    );
}

#[test]
fn numbers_and_booleans_in_quotes_are_taken_for_what_they_say() {
    repairs(
        json!({ "file_path": "1", "limit": "10", "ratio": " 0.5 ", "replace_all": "True" }),
        json!({ "file_path": "1", "limit": 10, "ratio": 0.5, "replace_all": true }),
        &[
            "`limit`: \"10\" taken as 10",
            "`ratio`: \" 0.5 \" taken as 0.5",
            "`replace_all`: \"True\" taken as true",
        ],
    );
    repairs(
        json!({ "file_path": "a", "limit": 10.0, "maybe": "3.0" }),
        json!({ "file_path": "a", "limit": 10, "maybe": 3 }),
        &["`limit`: 10.0 taken as 10", "`maybe`: \"3.0\" taken as 3"],
    );
    assert_eq!(
        refused(json!({ "file_path": "a", "limit": "ten" })),
        "limit: expected an integer, got \"ten\""
    );
    assert_eq!(
        refused(json!({ "file_path": "a", "limit": 1.5 })),
        "limit: expected an integer, got 1.5"
    );
    assert_eq!(
        refused(json!({ "file_path": "a", "limit": "" })),
        "limit: expected an integer, got \"\""
    );
}

#[test]
fn json_in_a_string_is_taken_where_no_string_is_wanted() {
    repairs(
        json!({ "file_path": "[1]", "tags": "[\"a\"]", "env": "{\"A\": \"1\"}" }),
        json!({ "file_path": "[1]", "tags": ["a"], "env": { "A": 1 } }),
        &[
            "`tags`: \"[\\\"a\\\"]\" taken as [\"a\"]",
            "`env`: \"{\\\"A\\\": \\\"1\\\"}\" taken as {\"A\":\"1\"}",
            "`env.A`: \"1\" taken as 1",
        ],
    );
    repairs(
        json!({ "file_path": "a", "any": "{\"A\": 1}" }),
        json!({ "file_path": "a", "any": "{\"A\": 1}" }),
        &[],
    );
}

#[test]
fn null_stands_for_an_absent_optional_at_any_depth() {
    repairs(
        json!({
            "file_path": "a", "limit": null, "any": null, "maybe": null,
            "todos": [{ "content": "x", "status": "open", "priority": null }],
        }),
        json!({
            "file_path": "a", "any": null, "maybe": null,
            "todos": [{ "content": "x", "status": "open" }],
        }),
        &["`limit`: null taken as absent", "`todos[0].priority`: null taken as absent"],
    );
    assert_eq!(refused(json!({ "file_path": null })), "file_path: expected a string, got null");
}

#[test]
fn enum_values_are_repaired_by_case_and_by_alias() {
    for (given, meant) in [("SLICE", "slice"), ("Lines", "slice"), ("in-order", "in_order")] {
        let note = format!("`mode`: \"{given}\" taken as \"{meant}\"");
        repairs(
            json!({ "file_path": "a", "mode": given }),
            json!({ "file_path": "a", "mode": meant }),
            &[&note],
        );
    }
    assert_eq!(
        refused(json!({ "file_path": "a", "mode": "other" })),
        "mode: expected one of \"slice\", \"in_order\", got \"other\""
    );
}

#[test]
fn repair_reaches_into_items_tuples_maps_and_branches() {
    repairs(
        json!({
            "file_path": "a",
            "todos": [{ "Content": "x", "status": "Open" }],
            "pair": ["1", "true", "2"],
            "env": { "A": "1" },
            "either": "7",
            "shape": { "kind": "a", "n": "5" },
        }),
        json!({
            "file_path": "a",
            "todos": [{ "content": "x", "status": "open" }],
            "pair": [1, true, 2],
            "env": { "A": 1 },
            "either": 7,
            "shape": { "kind": "a", "n": 5 },
        }),
        &[
            "`todos[0].Content` taken as `content`",
            "`todos[0].status`: \"Open\" taken as \"open\"",
            "`pair[0]`: \"1\" taken as 1",
            "`pair[1]`: \"true\" taken as true",
            "`pair[2]`: \"2\" taken as 2",
            "`env.A`: \"1\" taken as 1",
            "`either`: \"7\" taken as 7",
            "`shape.n`: \"5\" taken as 5",
        ],
    );
    repairs(
        json!({ "file_path": "a", "either": "[\"1\"]" }),
        json!({ "file_path": "a", "either": [1] }),
        &["`either`: \"[\\\"1\\\"]\" taken as [\"1\"]", "`either[0]`: \"1\" taken as 1"],
    );
}

#[test]
fn in_an_open_object_a_foreign_name_is_only_taken_for_what_is_missing() {
    let schema = Schema::from_value(json!({
        "properties": { "file_path": { "type": "string" }, "max_size": { "type": "integer" } },
        "required": ["file_path"],
    }));
    let schema = schema.unwrap();
    let fitted = fit("t", &schema, json!({ "filePath": "a", "maxSize": "1" })).unwrap();
    assert_eq!(fitted.value, json!({ "file_path": "a", "maxSize": "1" }));
    assert_eq!(fitted.repaired, ["`filePath` taken as `file_path`"]);
}
