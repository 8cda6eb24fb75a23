//! An entry put in and taken out again leaves every byte as it was, whatever the file looks like.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Format, Left, Spot};

const SPOT: Spot<'static> = Spot { table: "mcpServers", name: "haft" };

fn entry() -> Value {
    json!({ "type": "stdio", "command": "/usr/bin/\"haft\"", "args": ["mcp", "--asks", "é\\"] })
}

/// Puts the entry in, looks at it, and takes it out: the bytes are those from before.
#[track_caller]
fn there_and_back(format: Format, text: &str) -> String {
    let with = format.with(Some(text), SPOT, &entry()).unwrap();
    assert_eq!(format.entry(Some(&with), SPOT).unwrap(), Some(entry()), "{with}");
    let again = format.with(Some(&with), SPOT, &entry()).unwrap();
    assert_eq!(format.entry(Some(&again), SPOT).unwrap(), Some(entry()), "{again}");
    assert_eq!(format.without(&with, SPOT).unwrap(), Left::Text(text.to_owned()), "{with}");
    with
}

#[test]
fn a_file_that_was_made_for_the_entry_goes_with_it() {
    for format in [Format::Json, Format::Jsonc, Format::Toml] {
        let made = format.with(None, SPOT, &entry()).unwrap();
        assert!(made.ends_with('\n'), "{made}");
        assert_eq!(format.entry(Some(&made), SPOT).unwrap(), Some(entry()));
        assert_eq!(format.without(&made, SPOT).unwrap(), Left::Nothing, "{made}");
    }
}

#[test]
fn json_of_every_shape_is_as_it_was_afterwards() {
    let texts = [
        "{}",
        "{}\n",
        "{ }",
        "{\n}\n",
        "{\r\n}\r\n",
        r#"{"a":1}"#,
        r#"{ "a": 1 }"#,
        "{\"a\": 1\n}",
        "{\n  \"a\": 1\n}\n",
        "{\r\n\t\"a\": 1\r\n}",
        "{   \n    \"a\": [1, {\"mcpServers\": {\"haft\": 1}}]\n}",
        r#"{"mcpServers":{}}"#,
        r#"{"mcpServers": { }}"#,
        "{\n  \"mcpServers\": {}\n}\n",
        "{\n  \"mcpServers\": {\n  }\n}\n",
        "{\n  \"mcpServers\": {\n\n  },\n  \"b\": 2\n}\n",
        "{\n  \"mcpServers\": {\"x\": {}}\n}\n",
        "{\n  \"mcpServers\": { \"x\": {} }\n}\n",
        "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"x\": {\"command\": \"haft\"},\n    \"y\": {}\n  }\n}",
        "\u{feff}{\n  \"a\": 1\n}\n",
    ];
    for text in texts {
        there_and_back(Format::Jsonc, text);
        there_and_back(Format::Json, text);
    }
}

#[test]
fn comments_and_last_commas_stay_where_they_are() {
    let texts = [
        "// top\n{ // of the brace\n  // of a\n  \"a\": 1, // after a\n}\n// end",
        "{ /* one\n two */ \"a\": 1 }",
        "{/* c */\"a\": 1,}",
        "{ // nothing yet\n}",
        "{\n  \"mcpServers\": { // none\n  },\n}\n",
        "{\n  \"mcpServers\": {/* none */},\n}\n",
        "{\n  \"mcpServers\": { // some\n    \"x\": {}, // x\n  },\n  \"url\": \"http://x/*y*/\", }\n",
    ];
    for text in texts {
        there_and_back(Format::Jsonc, text);
    }
    let with = there_and_back(Format::Jsonc, "{ // settings\n  // of a\n  \"a\": 1,\n}\n");
    let expected =
        "{ // settings\n  \"mcpServers\": {\n    \"haft\": {\n      \"type\": \"stdio\",\n";
    assert!(with.starts_with(expected), "{with}");
    assert!(with.ends_with("  },\n  // of a\n  \"a\": 1,\n}\n"), "{with}");
}

#[test]
fn toml_of_every_shape_is_as_it_was_afterwards() {
    let texts = [
        "",
        "\n",
        "\r\n",
        "# only words",
        "model = \"x\"",
        "model = \"x\"\n",
        "model = \"x\"\r\n",
        "model = \"x\"\n\n\n",
        "[mcpServers.other]\ncommand = \"x\"",
        "[mcpServers]\n\n[profiles.\"a b\"] # words\nx = '''\n[mcpServers.haft]\n'''\n",
        "mcpServers.other.command = \"x\"\n",
        "[[list]]\na = 1\n[[list]]\na = 2",
    ];
    for text in texts {
        there_and_back(Format::Toml, text);
    }
    let with = there_and_back(Format::Toml, "model = \"x\" # mine\n");
    let block = "\n[mcpServers.haft]\ntype = \"stdio\"\ncommand = ";
    assert!(with.starts_with(&format!("model = \"x\" # mine\n{block}")), "{with}");
}

#[test]
fn what_was_added_after_the_entry_stays() {
    let toml = Format::Toml.with(Some("a = 1\n"), SPOT, &entry()).unwrap();
    let more = format!("{toml}\n# mine\n[other]\nb = 2\n");
    let left = Format::Toml.without(&more, SPOT).unwrap();
    assert_eq!(left, Left::Text("a = 1\n\n# mine\n[other]\nb = 2\n".to_owned()));
    for (text, expected) in [
        ("{\"mcpServers\": {\"x\": 1, \"haft\": {}}}", "{\"mcpServers\": {\"x\": 1}}"),
        ("{\"mcpServers\": {\"x\": 1, \"haft\": {},}}", "{\"mcpServers\": {\"x\": 1,}}"),
        (
            "{\"mcpServers\": {\n  \"x\": 1,\n  \"haft\": {}\n}}",
            "{\"mcpServers\": {\n  \"x\": 1\n}}",
        ),
    ] {
        let left = Format::Jsonc.without(text, SPOT).unwrap();
        assert_eq!(left, Left::Text(expected.to_owned()));
    }
}

#[test]
fn an_entry_of_the_same_name_is_replaced_in_its_place() {
    let text = "{\n  // one\n  \"mcpServers\": {\n    \"haft\": 1, // two\n    \"x\": 2\n  }\n}\n";
    let with = Format::Jsonc.with(Some(text), SPOT, &json!({ "command": "haft" })).unwrap();
    assert_eq!(with, text.replace("\"haft\": 1", "\"haft\": {\"command\": \"haft\"}"));
    let text =
        "[mcpServers.haft]\ncommand = \"old\"\n[mcpServers.haft.env]\nA = \"1\"\n\n[z]\nq = 1\n";
    let with = Format::Toml.with(Some(text), SPOT, &json!({ "command": "new" })).unwrap();
    assert_eq!(with, "\n[z]\nq = 1\n\n[mcpServers.haft]\ncommand = \"new\"\n");
}

#[test]
fn what_cannot_be_read_or_changed_safely_is_refused() {
    for (format, text, says) in [
        (Format::Json, "{} // words", "trailing characters at line 1"),
        (Format::Json, "{\"a\": 1,}", "trailing comma"),
        (Format::Jsonc, "{\"a\": }", "expected value"),
        (Format::Jsonc, "{ /* \"a\": 1 }", "never ends"),
        (Format::Jsonc, "", "EOF"),
        (Format::Jsonc, "[{}]", "is not an object"),
        (Format::Jsonc, "{\"mcpServers\": []}", "`mcpServers` is not an object"),
        (Format::Jsonc, "{\"mcpServers\": {}, \"mcp\\u0053ervers\": {}}", "twice"),
        (Format::Jsonc, "{\"mcpServers\": {\"haft\": 1, \"haft\": 2}}", "twice"),
        (Format::Toml, "a = ", "line 1"),
        (Format::Toml, "mcpServers = 3\n", "by hand"),
        (Format::Toml, "mcpServers = { x = { a = 1 } }\n", "by hand"),
    ] {
        let error = format.with(Some(text), SPOT, &entry()).unwrap_err();
        assert!(error.contains(says), "{text}: {error}");
    }
    let apart = "[mcpServers.haft]\na = 1\n[b]\nc = 1\n[mcpServers.haft.env]\nd = 1\n";
    assert!(Format::Toml.without(apart, SPOT).unwrap_err().contains("by hand"));
}

/// Space and comments between tokens; no break where that would end an object's first line.
fn gap() -> impl Strategy<Value = String> {
    let parts = ["", " ", "\n", "\r\n", "\t", "  \n    ", "// words \"{\n", "/* a\n\"b\" */"];
    prop::collection::vec(prop::sample::select(parts.to_vec()), 0..3).prop_map(|it| it.concat())
}

/// Objects, lists and scalars with comments, breaks and last commas anywhere.
fn value() -> impl Strategy<Value = String> {
    let scalars = ["1", "-2.5e3", "true", "null", "\"\"", "\"// é \\\" } /*\"", "{}", "[]"];
    let scalar = prop::sample::select(scalars.to_vec()).prop_map(str::to_owned);
    scalar.prop_recursive(3, 24, 4, |inner| {
        let keys = ["a", "haft", "mcpServers", "b\\u0020", "c//"].to_vec();
        let item = (gap(), inner.clone(), gap()).prop_map(|(a, value, b)| a + &value + &b);
        let list = (prop::collection::vec(item, 1..4), any::<bool>()).prop_map(|(items, last)| {
            format!("[{}{}]", items.join(","), if last { "," } else { "" })
        });
        prop_oneof![list, object(keys, inner)]
    })
}

fn object(
    keys: Vec<&'static str>,
    value: impl Strategy<Value = String>,
) -> impl Strategy<Value = String> {
    let count = keys.len();
    let members = prop::collection::vec((gap(), gap(), value, gap()), 0..count);
    (members, prop::sample::subsequence(keys, count), gap(), any::<bool>()).prop_map(
        |(members, keys, end, last)| {
            let members = members.into_iter().zip(keys);
            let members =
                members.map(|((a, b, value, c), key)| format!("{a}\"{key}\":{b}{value}{c}"));
            braced(members.collect(), last, &end)
        },
    )
}

fn braced(members: Vec<String>, last: bool, end: &str) -> String {
    let comma = if last && !members.is_empty() { "," } else { "" };
    format!("{{{}{comma}{end}}}", members.join(","))
}

/// A config: at its top the table may be missing, empty, or have other entries.
fn file() -> impl Strategy<Value = String> {
    let table = object(vec!["x", "y", "z"], value());
    let table = (gap(), table, gap()).prop_map(|(a, it, b)| format!("{a}\"mcpServers\": {it}{b}"));
    let other = (gap(), gap(), value(), gap());
    let others = prop::collection::vec(other, 0..3);
    (gap(), others, prop::option::of((table, any::<prop::sample::Index>())), gap(), any::<bool>())
        .prop_map(|(before, others, table, after, last)| {
            let others = others.into_iter().enumerate();
            let mut members: Vec<String> =
                others.map(|(i, (a, b, value, c))| format!("{a}\"k{i}\"{b}:{value}{c}")).collect();
            if let Some((table, index)) = table {
                members.insert(index.index(members.len() + 1), table);
            }
            format!("{before}{}{after}", braced(members, last, &after))
        })
}

/// Lines of TOML: values, tables, words, breaks of both kinds.
fn toml_file() -> impl Strategy<Value = String> {
    let lines = [
        "# [mcpServers.haft]",
        "",
        "   ",
        "k# = \"v\" # words",
        "k# = '''\n[mcpServers.haft]\n'''",
        "k# = { a = 1, b = [1,\n2] }",
        "[t#]",
        "[mcpServers.s#]",
        "[[l#]]",
        "[t#.\"mcpServers.haft\"]",
    ];
    let line = prop::sample::select(lines.to_vec());
    (prop::collection::vec(line, 0..12), any::<bool>(), any::<bool>()).prop_map(
        |(lines, ends, returns)| {
            let numbered = lines.iter().enumerate().map(|(i, it)| it.replace('#', &i.to_string()));
            let lines: Vec<String> = numbered
                .zip(&lines)
                .map(|(new, old)| if old.starts_with('#') { (*old).to_owned() } else { new })
                .collect();
            let mut text = lines.join("\n").replace("\" 3 words", "\" # words");
            if ends {
                text.push('\n');
            }
            if returns { text.replace('\n', "\r\n") } else { text }
        },
    )
}

proptest! {
    #[test]
    fn any_json_with_comments_is_as_it_was_afterwards(text in file()) {
        if Format::Jsonc.entry(Some(&text), SPOT).is_ok() {
            there_and_back(Format::Jsonc, &text);
        }
    }

    #[test]
    fn any_toml_is_as_it_was_afterwards(text in toml_file()) {
        if let Ok(None) = Format::Toml.entry(Some(&text), SPOT) {
            there_and_back(Format::Toml, &text);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,40}", made in "[{}\\[\\]\",:/* \\n\\\\a1.=]{0,40}") {
        for text in [text, made] {
            for format in [Format::Json, Format::Jsonc, Format::Toml] {
                if format.with(Some(&text), SPOT, &entry()).is_ok() {
                    prop_assert!(format.entry(Some(&text), SPOT).is_ok());
                }
                drop(format.without(&text, SPOT));
            }
        }
    }
}
