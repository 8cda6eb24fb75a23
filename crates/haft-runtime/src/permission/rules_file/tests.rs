//! What rules files say, and what is said of broken ones.

use std::path::Path;

use proptest::prelude::*;
use toml::de::DeTable;

use super::{Expand, RulesError, parse, parse_table, to_toml};
use crate::permission::{Action, Effect, EffectKind, Layer, LayerKind, Pattern, Policy, Rule};

fn read(text: &str) -> Result<Layer, RulesError> {
    let resolve = |path: &str| (path == "/link").then(|| "/real".to_owned());
    let expand = Expand { home: Some("/home/me"), resolve: &resolve };
    parse(text, LayerKind::Project, "haft.toml", &expand)
}

/// The rules as lines of key, pattern, action and place.
fn lines(layer: &Layer) -> Vec<String> {
    layer.rules.iter().map(|rule| rule.to_ref().to_string()).collect()
}

#[track_caller]
fn refused(text: &str, place: &str, words: &[&str]) {
    let error = read(text).expect_err(text).to_string();
    assert!(error.starts_with(&format!("haft.toml:{place}: ")), "{error}");
    for word in words {
        assert!(error.contains(word), "no `{word}` in: {error}");
    }
}

const EXAMPLE: &str = r#"
title = "anything else"

[permission]
"*" = "ask"
edit = "deny"

[permission.bash]
"git *" = "allow"
"git push *" = { action = "deny", reason = "releases go through CI", match = ["git push -f"], not_match = ["git pull"] }
[permission.bash."rm *"]
action = "ask"

[other]
x = 1
"#;

#[test]
fn rules_are_read_in_order_with_their_lines() {
    let layer = read(EXAMPLE).unwrap();
    assert_eq!(
        lines(&layer),
        [
            "`* * = ask` (haft.toml:5)",
            "`edit * = deny` (haft.toml:6)",
            "`bash git * = allow` (haft.toml:9)",
            "`bash git push * = deny` (haft.toml:10)",
            "`bash rm * = ask` (haft.toml:11)",
        ]
    );
    assert_eq!(layer.rules[3].reason(), Some("releases go through CI"));
    assert_eq!((layer.kind, &*layer.source), (LayerKind::Project, "haft.toml"));
}

#[test]
fn the_order_is_that_of_the_file_and_not_of_the_tables() {
    let text = "[permission]\nbash.\"a\" = \"ask\"\nedit = \"ask\"\nbash.\"*\" = \"allow\"\n";
    assert_eq!(
        lines(&read(text).unwrap()),
        [
            "`bash a = ask` (haft.toml:2)",
            "`edit * = ask` (haft.toml:3)",
            "`bash * = allow` (haft.toml:4)",
        ]
    );
    let text = "[permission.bash]\na = \"deny\"\n[permission]\n\"*\" = \"ask\"\n";
    assert_eq!(
        lines(&read(text).unwrap()),
        ["`bash a = deny` (haft.toml:2)", "`* * = ask` (haft.toml:4)"]
    );
}

#[test]
fn a_table_found_by_somebody_else_gives_the_same_rules() {
    let document = DeTable::parse(EXAMPLE).unwrap();
    let table = document.get_ref().get("permission").unwrap();
    let nothing = Expand::nothing();
    let layer = parse_table(table, EXAMPLE, LayerKind::Project, "haft.toml", &nothing).unwrap();
    assert_eq!(layer, read(EXAMPLE).unwrap());
}

#[test]
fn a_file_without_rules_has_no_opinion() {
    assert_eq!(read("").unwrap().rules, []);
    assert_eq!(read("[other]\n").unwrap().rules, []);
    assert_eq!(read("[permission.bash]\n").unwrap().rules, []);
}

#[test]
fn patterns_are_expanded_and_resolved() {
    let text = "[permission]\nread = { \"~/x/*\" = \"allow\", \"/link/*\" = \"deny\" }\n";
    let policy = Policy::new(vec![read(text).unwrap()]);
    let decide = |path| {
        let effect = Effect::on_path(EffectKind::Read, Path::new(path), Path::new("/ws"));
        policy.decide(&effect).action
    };
    assert_eq!(decide("/home/me/x/y"), Action::Allow);
    assert_eq!(decide("/link/y"), Action::Deny);
    assert_eq!(decide("/real/y"), Action::Deny);
    assert_eq!(decide("/realest/y"), Action::Ask);
}

#[test]
fn only_paths_are_resolved() {
    let patterns = |key: &str| {
        let layer = read(&format!("[permission]\n\"{key}\".\"/link/*\" = \"allow\"\n")).unwrap();
        layer.rules[0].patterns().count()
    };
    assert_eq!(["read", "edit", "external_directory", "*"].map(patterns), [2, 2, 2, 2]);
    assert_eq!(["bash", "mcp_*"].map(patterns), [1, 1]);
}

#[test]
fn a_home_that_is_not_known_is_an_error_and_not_a_rule_that_never_matches() {
    let text = "[permission]\nread.\"~/.ssh/*\" = \"deny\"\n";
    let error = parse(text, LayerKind::User, "f", &Expand::nothing()).unwrap_err().to_string();
    let expected = "f:2: `~/.ssh/*` needs a home directory, and none is known; \
                    write the path in full";
    assert_eq!(error, expected);
}

/// PE-18
#[test]
fn broken_files_are_refused_with_their_line() {
    refused("[permission]\nedit = \"ask", "2", &["no TOML"]);
    refused("[permission]\nedit = \"ask\"\nedit = \"allow\"\n", "3", &["no TOML", "duplicate"]);
    refused("\n\n[permission]\nedit = \"yes\"\n", "4", &["`yes` is no action", "\"deny\""]);
    refused("[permission]\nedit = \"Allow\"\n", "2", &["`Allow` is no action"]);
    refused("[permission]\nedit = true\n", "2", &["`edit` is a boolean", "\"allow\""]);
    refused("[permission]\nedit = [\"ask\"]\n", "2", &["`edit` is an array"]);
    refused("permission = \"allow\"\n", "1", &["is a string", "[permission]"]);
    refused("[[permission]]\n", "1", &["is an array"]);
    refused("[permission]\nbash.ls = 1\n", "2", &["`ls` is an integer"]);
    refused("[permission]\n\"\" = \"ask\"\n", "2", &["is empty", "`*`"]);
    refused("[permission]\nbash.\"\" = \"ask\"\n", "2", &["is empty"]);
    refused("[permission]\n\"bash \" = \"ask\"\n", "2", &["blanks"]);
    refused("[permission]\nbash.\"a\\nb\" = \"ask\"\n", "2", &["U+000A"]);
    refused("[permission]\n\"a\\u001b\" = \"ask\"\n", "2", &["U+001B"]);
    refused("[permission]\nbash.\"a\\u202Eb\" = \"ask\"\n", "2", &["U+202E"]);
}

#[test]
fn broken_rule_tables_are_refused_with_their_line() {
    let rule =
        |fields: &str| format!("[permission.bash]\n\"*\" = \"ask\"\n\"ls\" = {{ {fields} }}\n");
    refused(&rule("reason = \"x\""), "3", &["no action"]);
    refused(&rule(""), "3", &["no action"]);
    refused(&rule("action = \"maybe\""), "3", &["`maybe` is no action"]);
    refused(&rule("action = 1"), "3", &["an action is an integer"]);
    refused(&rule("action = \"ask\", reasn = \"x\""), "3", &["no field `reasn`", "`reason`"]);
    refused(&rule("action = \"ask\", reason = 1"), "3", &["a reason is an integer"]);
    refused(&rule("action = \"ask\", reason = \"a\\nb\""), "3", &["U+000A"]);
    refused(&rule("action = \"ask\", match = \"ls\""), "3", &["`match` is no list", "["]);
    refused(&rule("action = \"ask\", not_match = [1]"), "3", &["`not_match` is no list"]);
}

#[test]
fn a_dotted_pattern_without_quotes_is_refused() {
    refused("[permission.edit]\nsrc.rs = \"ask\"\n", "2", &["no field `rs`", "quotes"]);
}

#[test]
fn a_rule_table_for_a_whole_permission_is_refused() {
    refused("[permission]\nbash = { action = \"deny\" }\n", "2", &["`action`", "\"*\" ="]);
    let quoted = read("[permission.bash]\n\"action\" = \"deny\"\n").unwrap();
    assert_eq!(lines(&quoted), ["`bash action = deny` (haft.toml:2)"]);
}

#[test]
fn an_example_that_does_not_match_is_refused() {
    let text =
        "[permission.bash]\n\"git *\" = { action = \"allow\", match = [\n\"git x\",\n\"gitk\"] }\n";
    refused(text, "4", &["`gitk`, an example of `git *`, does not match it"]);
    let text = "[permission.bash]\n\"git *\" = { action = \"allow\", not_match = [\"git\"] }\n";
    refused(text, "2", &["`git` should not match `git *`, and does"]);
}

#[test]
fn an_example_that_another_rule_decides_is_refused() {
    let text = "[permission]\nbash.\"git *\" = { action = \"allow\", match = [\"git x\"] }\n\
                bash.\"*\" = \"ask\"\n";
    refused(text, "2", &["`git x`", "is decided by `bash * = ask` (haft.toml:3)", "after"]);
    let other = text.replace("bash.\"*\"", "edit.\"*\"");
    assert!(read(&other).is_ok(), "a rule for another permission decides nothing here");
}

#[test]
fn examples_know_the_home_directory() {
    let text = "[permission.read]\n\"~/x/*\" = { action = \"allow\", match = [\"~/x/y\", \"/home/me/x/z\"] }\n";
    assert!(read(text).is_ok());
}

#[test]
fn a_written_layer_leaves_out_what_cannot_win() {
    let layer = Layer::new(LayerKind::User, "x")
        .rule("bash", "ls", Action::Allow)
        .rule("bash", "*", Action::Ask)
        .rule("bash", "ls", Action::Deny);
    assert_eq!(
        to_toml(&layer),
        "[permission]\n\"bash\".\"*\" = \"ask\"\n\"bash\".\"ls\" = \"deny\"\n"
    );
}

/// Pieces that files are made of, so that random texts get past the first line.
const PIECES: [&str; 24] = [
    "[permission]\n",
    "[permission.bash]\n",
    "permission",
    ".",
    "\"*\"",
    "bash",
    "edit",
    "\"git *\"",
    " = ",
    "\"allow\"",
    "\"ask\"",
    "{ ",
    " }",
    "action = \"deny\"",
    ", ",
    "reason",
    "match = [\"x\"]",
    "not_match = []",
    "\n",
    "\"~/x\"",
    "'",
    "[",
    "é",
    "\\u0000",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        drop(read(&text));
    }

    #[test]
    fn no_text_of_likely_pieces_makes_the_reader_panic(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..24)
    ) {
        drop(read(&pieces.concat()));
    }

    #[test]
    fn a_written_layer_reads_back(
        rules in prop::collection::vec(
            (
                "[ab*\"\\\\.é#= ]{0,3}[ab*\"\\\\.é#=]",
                "[ab*?\"'\\\\.é~/$ ]{1,6}",
                prop::sample::select(&[Action::Allow, Action::Ask, Action::Deny][..]),
                prop::option::of("[a-z\"\\\\ ]{1,6}"),
            ),
            0..6,
        )
    ) {
        let mut layer = Layer::new(LayerKind::User, "x");
        for (key, pattern, action, reason) in &rules {
            let key = key.trim();
            let rule = Rule::new(
                key, Pattern::new(pattern), *action, "x",
            );
            let again = |rule: &Rule| {
                rule.key().as_str() == key && rule.pattern().as_str() == pattern
            };
            if !layer.rules.iter().any(again) {
                layer.rules.push(match reason {
                    Some(reason) => rule.because(reason),
                    None => rule,
                });
            }
        }
        let essence = |layer: &Layer| -> Vec<_> {
            let essence = |rule: &Rule| {
                let shown = rule.to_ref();
                (shown.key, shown.pattern, shown.action, shown.reason)
            };
            layer.rules.iter().map(essence).collect()
        };
        let text = to_toml(&layer);
        let back = read(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(essence(&back), essence(&layer), "{}", text);
    }
}
