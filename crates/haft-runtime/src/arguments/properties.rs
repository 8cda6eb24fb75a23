//! Properties that hold for any arguments whatever.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::tests::sample;
use super::{Arguments, fit, typed};
use crate::ToolError;
use crate::schema::Schema;

/// Names and texts that repair has an opinion about, so that random values meet the schemas.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,12}",
        prop::sample::select(vec![
            "file_path",
            "filePath",
            "path",
            "limit",
            "mode",
            "tags",
            "todos",
            "pair",
            "env",
            "either",
            "maybe",
            "any",
            "shape",
            "content",
            "status",
            "priority",
            "kind",
            "n",
            "open",
            "OPEN",
            "10",
            "1.0",
            "true",
            "null",
            "[1, \"2\"]",
            "{\"A\": \"1\"}",
            "[",
            "a",
            "slice",
            "Lines",
            "replaceAll",
        ])
        .prop_map(str::to_owned),
    ]
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-20_i32..20).prop_map(|n| json!(f64::from(n) / 2.0)),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::vec((text(), anything()), 0..6)
        .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>()))
}

fn schemas() -> Vec<Schema> {
    let open = json!({
        "properties": {
            "path": { "anyOf": [{ "type": "string" }, { "type": "integer" }, { "type": "null" }] },
            "limit": { "type": ["integer", "boolean"] },
            "todos": { "allOf": [{ "type": "array" }, { "items": { "type": "object" } }] },
            "mode": { "enum": ["a", "A", 1, null] },
            "env": { "not": { "type": "string" } },
        },
        "patternProperties": { "^x": { "type": "integer" } },
        "required": ["limit"],
    });
    let map = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
    let odd = json!({
        "properties": {
            "file_path": { "x-aliases": ["path"], "type": "string" },
            "filepath": { "x-aliases": ["path", "limit"], "type": "integer" },
            "any": { "oneOf": [{ "type": "object", "properties": { "n": { "type": "integer" } } }, {}] },
        },
        "anyOf": [{ "required": ["file_path"] }, { "required": ["any"] }],
        "additionalProperties": false,
    });
    let foreign = [open, map, odd].map(|schema| Schema::from_value(schema).unwrap());
    std::iter::once(sample()).chain(foreign).collect()
}

/// Values that satisfy the sample schema as they are.
pub(crate) fn valid() -> impl Strategy<Value = Value> {
    let todo =
        (".{0,10}", prop::sample::select(vec!["open", "done"]), prop::option::of(any::<i64>()))
            .prop_map(|(content, status, priority)| {
                with_optional(json!({ "content": content, "status": status }), "priority", priority)
            });
    let shape = prop_oneof![
        any::<i64>().prop_map(|n| json!({ "kind": "a", "n": n })),
        text().prop_map(|s| json!({ "kind": "b", "s": s })),
    ];
    let either = prop_oneof![
        any::<i64>().prop_map(Value::from),
        prop::collection::vec(any::<i64>(), 0..3).prop_map(Value::from),
    ];
    let options = (
        prop::option::of(1..=2000_u32),
        prop::option::of(-1e9..1e9_f64),
        prop::option::of(any::<bool>()),
        prop::option::of(prop::sample::select(vec!["slice", "in_order"])),
        prop::option::of(prop::collection::hash_set(".{1,5}", 0..4)),
        prop::option::of(prop::collection::vec(todo, 0..=3)),
        prop::option::of((any::<i64>(), any::<bool>(), -1e9..1e9_f64)),
        prop::option::of(prop::collection::hash_map(text(), any::<i64>(), 0..3)),
        prop::option::of(either),
        prop::option::of(anything()),
        prop::option::of(shape),
    );
    (text(), options).prop_map(|(file_path, options)| {
        let (limit, ratio, replace_all, mode, tags, todos, pair, env, either, extra, shape) =
            options;
        let value = json!({ "file_path": file_path });
        let value = with_optional(value, "limit", limit);
        let value = with_optional(value, "ratio", ratio);
        let value = with_optional(value, "replace_all", replace_all);
        let value = with_optional(value, "mode", mode);
        let value = with_optional(value, "tags", tags.map(Vec::from_iter));
        let value = with_optional(value, "todos", todos);
        let value = with_optional(value, "pair", pair.map(|(a, b, c)| json!([a, b, c])));
        let value = with_optional(value, "env", env.map(|env| json!(env)));
        let value = with_optional(value, "either", either);
        let value = with_optional(value, "any", extra);
        with_optional(value, "shape", shape)
    })
}

/// The same call as a careless model writes it.
fn mangled(args: &Value) -> Value {
    let mut sloppy = Map::new();
    for (name, value) in args.as_object().unwrap() {
        let (name, value) = match name.as_str() {
            "file_path" => ("filePath", value.clone()),
            "replace_all" => ("replace-all", json!(value.to_string())),
            "limit" => ("Limit", json!(value.to_string())),
            "mode" => ("mode", json!(value.as_str().unwrap().to_uppercase())),
            "todos" | "tags" | "env" => (name.as_str(), json!(value.to_string())),
            _ => (name.as_str(), value.clone()),
        };
        sloppy.insert(name.to_owned(), value);
    }
    for absent in ["limit", "mode", "tags"] {
        if args.get(absent).is_none() {
            sloppy.insert(absent.to_owned(), Value::Null);
        }
    }
    Value::Object(sloppy)
}

fn with_optional(mut value: Value, name: &str, optional: Option<impl Into<Value>>) -> Value {
    if let Some(optional) = optional {
        value[name] = optional.into();
    }
    value
}

proptest! {
    #[test]
    fn fitting_is_total_bounded_and_done_in_one_go(args in object()) {
        for schema in schemas() {
            match fit("t", &schema, args.clone()) {
                Ok(fitted) => {
                    prop_assert!(schema.validator().unwrap().is_valid(&fitted.value));
                    let again = fit("t", &schema, fitted.value.clone()).unwrap();
                    prop_assert_eq!(again.value, fitted.value);
                    prop_assert_eq!(again.repaired, Vec::<String>::new());
                }
                Err(ToolError::InvalidParams { detail, .. }) => {
                    prop_assert!(!detail.is_empty() && detail.len() <= 4096);
                    prop_assert!(detail.lines().count() <= 11);
                    prop_assert!(!detail.contains(|c: char| c.is_control() && c != '\n'));
                }
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
    }

    #[test]
    fn only_objects_pass_at_the_root(value in anything()) {
        let fits = fit("t", &Schema::from_value(json!({ "properties": {} })).unwrap(), value.clone());
        prop_assert_eq!(fits.is_ok(), value.is_object());
    }

    #[test]
    fn what_satisfies_the_schema_is_not_touched(args in valid()) {
        let schema = sample();
        prop_assert!(schema.validator().unwrap().is_valid(&args), "{}", args);
        let fitted = fit("t", &schema, args.clone()).unwrap();
        prop_assert_eq!(fitted.value, args);
        prop_assert_eq!(fitted.repaired, Vec::<String>::new());
    }

    #[test]
    fn a_mangled_call_is_taken_for_what_was_meant(args in valid()) {
        let fitted = fit("t", &sample(), mangled(&args)).unwrap();
        prop_assert_eq!(fitted.value, args);
        prop_assert!(!fitted.repaired.is_empty());
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in "[\\PC\\s]{0,60}") {
        drop(Arguments::Text(text).parse("t").and_then(|args| fit("t", &sample(), args.value)));
    }

    #[test]
    fn json_text_comes_back_and_a_cut_one_is_told(args in object(), cut in any::<prop::sample::Index>()) {
        let text = args.to_string();
        let parsed = Arguments::Text(text.clone()).parse("t").unwrap();
        // Against the parser rather than the source, because floats may lose their last bit.
        prop_assert_eq!(parsed.value, serde_json::from_str::<Value>(&text).unwrap());
        prop_assert!(parsed.repaired.is_empty());
        let ends = text.char_indices().map(|(at, _)| at).skip(1).collect::<Vec<_>>();
        if !ends.is_empty() {
            let cut = text.get(..ends[cut.index(ends.len())]).unwrap().to_owned();
            let result = Arguments::Text(cut).parse("t");
            let told = matches!(result, Err(ToolError::CutOff { .. }));
            prop_assert!(told);
        }
    }

    #[test]
    fn typing_never_panics(args in anything()) {
        drop(typed::<std::collections::HashMap<String, Vec<u8>>>("t", args));
    }

    #[test]
    fn any_value_as_a_schema_is_taken_or_refused(value in anything()) {
        if let Ok(schema) = Schema::from_value(value) {
            drop(fit("t", &schema, json!({})));
        }
    }
}
