//! What is said of arguments that do not fit.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{fit, typed};
use super::{refused, sample};
use crate::ToolError;
use crate::schema::Schema;

#[test]
fn an_unknown_property_names_the_nearest_known_one() {
    let schema = Schema::from_value(json!({
        "properties": { "pattern": { "type": "string" }, "path": { "type": "string" } },
        "additionalProperties": false,
    }));
    let error = fit("grep", &schema.unwrap(), json!({ "pattren": "x", "zzz": 1 })).unwrap_err();
    let ToolError::InvalidParams { detail, .. } = error else { panic!("{error}") };
    assert_eq!(
        detail,
        "(arguments): unknown property `pattren`; did you mean `pattern`? known: pattern, path\n\
         (arguments): unknown property `zzz`; known: pattern, path"
    );
    let none = Schema::from_value(json!({ "properties": {}, "additionalProperties": false }));
    let error = fit("todoread", &none.unwrap(), json!({ "a": 1 })).unwrap_err();
    assert!(error.to_string().contains("unknown property `a`; none are taken"), "{error}");
}

#[test]
fn all_faults_are_told_in_order_of_their_place() {
    let detail = refused(json!({
        "limit": 0,
        "tags": ["", "a", "a"],
        "todos": [
            { "content": "x", "status": "open" },
            { "content": "far too long for this", "status": "closed" },
            { "status": 3, "extra": true },
        ],
        "shape": { "kind": "a" },
        "either": {},
        "pair": [{}],
    }));
    assert_eq!(
        detail.lines().collect::<Vec<_>>(),
        [
            "either: expected an integer or an array, got {}",
            "file_path: required, but missing; expected a string",
            "limit: expected at least 1, got 0",
            "pair[0]: expected an integer, got {}",
            "shape.n: required, but missing; expected an integer",
            "tags: expected items that all differ, got [\"\",\"a\",\"a\"]",
            "tags[0]: expected at least 1 character, got \"\"",
            "todos[1].content: expected at most 10 characters, got \"far too long for this\"",
            "todos[1].status: expected one of \"open\", \"done\", got \"closed\"",
            "todos[2]: unknown property `extra`; known: content, status, priority",
            "and 3 more",
        ]
    );
}

#[test]
fn a_root_that_is_no_object_is_refused_by_every_tool() {
    let none = Schema::from_value(json!({ "properties": {} })).unwrap();
    for root in [json!(null), json!([]), json!("x"), json!(3), json!(true)] {
        let expected = format!("(arguments): expected a JSON object, got {root}");
        assert_eq!(refused(root.clone()), expected);
        assert!(matches!(fit("t", &none, root), Err(ToolError::InvalidParams { .. })));
    }
    assert_eq!(fit("t", &none, json!({})).unwrap().value, json!({}));
}

#[test]
fn what_came_is_cut_and_cleaned() {
    let detail = refused(json!({ "file_path": ["é".repeat(500)] }));
    assert_eq!(detail, format!("file_path: expected a string, got [\"{}…", "é".repeat(77)));
    let detail = refused(json!({ "file_path": "a", "limit": "\u{202e}\n\u{7}\"".repeat(100) }));
    assert!(
        detail.starts_with(r#"limit: expected an integer, got "\u{202e}\n\u{7}\"\u{202e}"#),
        "{detail}"
    );
    assert_eq!(detail.lines().count(), 1);
    let detail = refused(json!({ "file_path": "a", "\n".repeat(10_000): 1 }));
    assert!(detail.len() < 400 && detail.lines().count() == 1, "{detail}");
}

#[test]
fn many_faults_are_counted_and_the_message_stays_small() {
    let long = "ü".repeat(2_000);
    let items = vec![json!({ "content": long, "status": long, long.clone(): long }); 300];
    let detail =
        refused(json!({ "file_path": "a", "todos": items, "tags": vec![json!({}); 100_000] }));
    assert_eq!(detail.lines().count(), 11);
    assert!(detail.lines().last().unwrap().starts_with("and "), "{detail}");
}

#[test]
fn many_repairs_are_counted() {
    let fitted = fit("read", &sample(), json!({ "path": "a", "pair": vec!["1"; 1] })).unwrap();
    assert_eq!(fitted.repaired.len(), 2);
    let env: Value =
        (0..100).map(|n| (format!("K{n}"), json!("1"))).collect::<serde_json::Map<_, _>>().into();
    let fitted = fit("read", &sample(), json!({ "file_path": "a", "env": env })).unwrap();
    assert_eq!(fitted.repaired.len(), 21);
    assert_eq!(fitted.repaired.last().unwrap(), "and 80 more");
}

#[test]
fn ten_megabytes_of_text_are_taken_whole_or_refused_in_a_few_words() {
    let big = "x".repeat(10_000_000);
    let fitted = fit("read", &sample(), json!({ "path": big })).unwrap();
    assert_eq!(fitted.value["file_path"].as_str().map(str::len), Some(10_000_000));
    let big = fitted.value["file_path"].clone();
    let wrong =
        json!({ "file_path": "a", "limit": big, "mode": big, "either": big, "todos": [big] });
    let detail = refused(wrong);
    assert!(
        detail.len() < 4 * 1024 && detail.contains("limit") && detail.contains("todos[0]"),
        "{}",
        detail.len()
    );
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Edits {
    edits: Vec<Edit>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Edit {
    line: std::num::NonZeroU8,
}

#[test]
fn a_typed_value_comes_out_or_its_first_fault_with_the_path() {
    let edits: Edits = typed("edit", json!({ "edits": [{ "line": 3 }] })).unwrap();
    assert_eq!(edits.edits[0].line.get(), 3);
    let error = typed::<Edits>("edit", json!({ "edits": [{ "line": 3 }, { "line": 0 }] }));
    let Err(ToolError::InvalidParams { tool, detail }) = error else { panic!("{error:?}") };
    assert_eq!(tool, "edit");
    assert!(detail.starts_with("edits[1].line: invalid value: integer `0`"), "{detail}");
    let error = typed::<Edits>("edit", json!({})).unwrap_err().to_string();
    assert!(error.contains("(arguments): missing field `edits`"), "{error}");
    let error = typed::<Edits>("edit", json!({ "edits": "x".repeat(1_000_000) })).unwrap_err();
    assert!(error.to_string().len() < 1_000);
}
