//! What haft prints about itself: schemas, completions, pages, config, health.

use serde_json::{Value, json};

use crate::world::{TOOLS, World, keys, todos};

const FORMS: [&str; 6] = ["mcp", "openai", "openai-chat", "anthropic", "gemini", "json-schema"];
const COMMANDS: [&str; 15] = [
    "call",
    "tools",
    "schema",
    "policy",
    "grants",
    "sessions",
    "log",
    "undo",
    "redo",
    "config",
    "trust",
    "setup",
    "doctor",
    "completions",
    "man",
];

/// The name and the parameters of a definition in any form.
fn parts(form: &str, definition: &Value) -> (String, Value) {
    let (name, parameters) = match form {
        "mcp" => (&definition["name"], &definition["inputSchema"]),
        "openai" | "gemini" => (&definition["name"], &definition["parameters"]),
        "openai-chat" => (&definition["function"]["name"], &definition["function"]["parameters"]),
        "anthropic" => (&definition["name"], &definition["input_schema"]),
        "json-schema" => (&definition["title"], definition),
        other => panic!("no form {other}"),
    };
    (name.as_str().unwrap_or_else(|| panic!("{definition}")).to_owned(), parameters.clone())
}

/// Every keyword of a schema; names of properties are no keywords.
fn keywords(schema: &Value, found: &mut Vec<String>) {
    let Some(object) = schema.as_object() else { return };
    for (key, value) in object {
        found.push(key.clone());
        match (key.as_str(), value) {
            ("properties" | "$defs" | "patternProperties", Value::Object(named)) => {
                named.values().for_each(|one| keywords(one, found));
            }
            (_, Value::Array(items)) => items.iter().for_each(|one| keywords(one, found)),
            (_, other) => keywords(other, found),
        }
    }
}

#[test]
fn the_schema_in_every_form_names_the_tools_in_order_without_references() {
    let world = World::new();
    for form in FORMS {
        for strict in [&[][..], &["--strict"]] {
            let mut args = vec!["schema", "--format", form];
            args.extend(strict);
            let text = world.haft(&args).run().done().stdout;
            let definitions: Vec<Value> = serde_json::from_str(&text).unwrap();
            let all: Vec<_> = definitions.iter().map(|one| parts(form, one)).collect();
            let names: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, TOOLS, "{form} {strict:?}");
            for (name, parameters) in &all {
                let mut found = Vec::new();
                keywords(parameters, &mut found);
                if form == "json-schema" {
                    let title = found.iter().position(|key| key == "title").unwrap();
                    found.remove(title);
                }
                for banned in ["$ref", "$defs", "title", "x-aliases", "x-value-aliases"] {
                    assert!(!found.contains(&banned.to_owned()), "{form} {name}: {banned}");
                }
            }
            assert_eq!(world.haft(&args).run().stdout, text, "twice the same");
        }
    }
}

#[test]
fn strict_schemas_close_every_object_where_the_form_has_them() {
    let world = World::new();
    let args = ["schema", "--format", "openai", "--strict", "--json", "todowrite"];
    let definitions = world.haft(&args).run().done().json();
    assert_eq!(definitions.as_array().unwrap().len(), 1);
    assert_eq!(definitions[0]["strict"], true);
    let item = &definitions[0]["parameters"]["properties"]["todos"]["items"];
    assert_eq!(item["additionalProperties"], false);
    let properties = keys(&item["properties"]).len();
    assert_eq!(item["required"].as_array().unwrap().len(), properties);
}

#[test]
fn an_unknown_form_or_tool_is_a_usage_error_that_lists_the_choices() {
    let world = World::new();
    let ran = world.haft(&["schema", "--format", "yaml"]).run().coded(2);
    assert_eq!(ran.stdout, "");
    for form in FORMS {
        assert!(ran.stderr.contains(form), "{}", ran.stderr);
    }
    let ran = world.haft(&["schema", "nope"]).run().coded(2);
    assert!(ran.stderr.contains("todowrite, todoread"), "{}", ran.stderr);
}

#[test]
fn completions_know_every_command() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = world.haft(&["completions", shell]).run().done().stdout;
        for command in COMMANDS {
            assert!(text.contains(command), "{shell}: {command}");
        }
    }
    world.haft(&["completions", "cobol"]).run().coded(2);
}

#[test]
fn bash_itself_understands_its_completions() {
    let world = World::new();
    let text = world.haft(&["completions", "bash"]).run().done().stdout;
    let file = world.put("complete.bash", text);
    let mut bash = std::process::Command::new("bash");
    world.enclose(&mut bash);
    let script = format!(
        "source {file}; COMP_WORDS=(haft to); COMP_CWORD=1; _haft haft to haft; echo ${{COMPREPLY[@]}}"
    );
    let output = bash.args(["--norc", "-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "tools\n", "{output:?}");
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let world = World::new();
    let main = world.haft(&["man"]).run().done().stdout;
    assert!(main.contains(".TH haft 1"), "{main}");
    for command in COMMANDS {
        let page = world.haft(&["man", command]).run().done().stdout;
        assert!(page.contains(".SH NAME"), "{command}: {page}");
        assert!(page.contains(&format!("haft\\-{command}")), "{command}: {page}");
    }
    world.haft(&["man", "nope"]).run().coded(2);
}

#[test]
fn help_exists_for_every_command_and_tells_the_exit_codes() {
    let world = World::new();
    let main = world.haft(&["--help"]).run().done().stdout;
    for command in COMMANDS {
        assert!(main.contains(&format!("\n  {command} ")), "{command}: {main}");
        let help = world.haft(&[command, "--help"]).run().done().stdout;
        assert!(help.contains(&format!("Usage: haft {command}")), "{help}");
        let first = help.lines().next().unwrap();
        assert!(first.len() > 5 && !first.starts_with("Usage"), "{command}: {first}");
    }
    for (group, commands) in [
        ("policy", &["explain", "check", "simulate"][..]),
        ("grants", &["list", "revoke"]),
        ("sessions", &["list", "show"]),
        ("config", &["show", "schema"]),
        ("trust", &["show", "give", "withdraw"]),
    ] {
        for command in commands {
            let help = world.haft(&[group, command, "--help"]).run().done().stdout;
            assert!(help.contains(&format!("Usage: haft {group} {command}")), "{help}");
        }
    }
    let call = world.haft(&["call", "--help"]).run().done().stdout;
    assert!(call.contains("0 done, 1 tool error, 2 usage, 3 denied, 124 timeout, 130 cancelled"));
    assert!(world.haft(&["--version"]).run().done().stdout.starts_with("haft "));
}

#[test]
fn the_config_schema_is_a_json_schema_of_an_object() {
    let text = World::new().haft(&["config", "schema"]).run().done().stdout;
    let schema: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["type"], "object");
    for key in ["permission", "limits", "features", "sandbox", "web", "mcp", "agent"] {
        assert!(schema["properties"].get(key).is_some(), "{key}: {schema}");
    }
}

#[test]
fn config_show_tells_what_holds_and_where_it_comes_from() {
    let world = World::new();
    world.user_config("[permission]\nbash = \"deny\"\n[limits]\nlines = 9\n");
    let shown = world.haft(&["config", "show", "--json"]).run().done().json();
    assert_eq!(keys(&shown), ["root", "state", "files", "limits", "layers"]);
    assert_eq!(shown["root"], world.path("work").to_str().unwrap());
    assert_eq!(shown["limits"]["lines"], 9);
    assert_eq!(shown["files"], json!([world.path("config/haft/config.toml")]));
    assert_eq!(shown["layers"][0]["source"], "built-in");
    assert_eq!(shown["layers"][1]["rules"][0]["action"], "deny");
    let text = world.haft(&["config", "show"]).run().done().stdout;
    assert!(text.contains("`bash * = deny`"), "{text}");
}

#[test]
fn doctor_looks_at_everything_and_is_content() {
    let world = World::new();
    let findings = world.haft(&["doctor", "--json"]).run().done().json();
    let findings = findings.as_array().unwrap();
    let mut what: Vec<_> = findings.iter().map(|one| one["what"].as_str().unwrap()).collect();
    what.dedup();
    let all = [
        "haft",
        "terminal",
        "workspace",
        "config",
        "rules",
        "store",
        "journal",
        "shell",
        "sandbox",
        "tools",
        "mcp",
        "model",
    ];
    assert_eq!(what, all);
    assert!(findings.iter().all(|one| one["state"] != "broken"), "{findings:?}");
    let model = findings.last().unwrap();
    assert_eq!(model["state"], "note");
    assert!(model["says"].as_str().unwrap().contains("set ANTHROPIC_API_KEY"), "{model}");
    let text = world.haft(&["doctor"]).env("OPENAI_API_KEY", "hush").run().done().stdout;
    let says = "✓ model      haft run uses openai/gpt-5 at https://api.openai.com/v1\n";
    assert!(text.contains(says) && !text.contains("hush"), "{text}");
    let args = ["doctor", "--model", "anthropic/claude-sonnet-5"];
    let text = world.haft(&args).run().done().stdout;
    assert!(text.contains("anthropic needs a key: set ANTHROPIC_API_KEY"), "{text}");
    assert!(findings.iter().all(|one| keys(one) == ["what", "state", "says"]));
    for says in ["protocol 2025-11-25", "protocol 2026-07-28"] {
        assert!(findings.iter().any(|one| one["says"].to_string().contains(says)), "{says}");
    }
    world.user_config("[permission]\nbash = \"perhaps\"\n");
    let ran = world.haft(&["doctor", "--json"]).run().coded(1);
    let broken = ran.json().as_array().unwrap().last().unwrap().clone();
    assert_eq!(broken["state"], "broken");
    assert!(broken["says"].as_str().unwrap().contains("config.toml:2"), "{broken}");
}

#[test]
fn doctor_tells_which_rule_wins_and_which_server_and_host_is_there() {
    let world = World::new();
    world.user_config(
        "[permission]\nbash = \"deny\"\n[mcp.gone]\ncommand = [\"no-such-program\"]\n",
    );
    world.put("bin/codex", "#!/bin/sh\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs_err::set_permissions(world.path("bin/codex"), mode).unwrap();
    world.haft(&["setup", "claude", "--scope", "project", "--write", "--yes"]).run().done();
    let doctor = |args: &[&str]| {
        world.haft(args).env("PATH", format!("{}:/usr/bin:/bin", world.path("bin").display()))
    };
    let text = doctor(&["doctor"]).run().coded(1).stdout;
    let file = world.path("config/haft/config.toml");
    for says in [
        &format!("run a command: deny, by `bash * = deny` ({}:2)", file.display()),
        "read a file: allow",
        "✗ server     gone: no-such-program was not found",
        "· host       claude: not found, but set up in",
        "codex; `haft setup codex --write` plugs haft in",
        "\n1 broken, ",
    ] {
        assert!(text.contains(says), "{says}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "no colours in a pipe");
    world.haft(&["setup", "codex", "--write", "--yes"]).run().done();
    let text = doctor(&["doctor"]).run().coded(1).stdout;
    assert!(text.contains("codex: set up in"), "{text}");
}

#[test]
fn help_fills_its_lines_at_every_width() {
    let world = World::new();
    for (args, first) in [
        (vec!["run", "--help"], "Exit codes"),
        (vec!["sessions", "replay", "--help"], "Exit codes"),
        (vec!["mcp", "--help"], "Who answers asks; rules"),
    ] {
        for columns in [80, 100] {
            let run = world.haft(&args).env("COLUMNS", columns.to_string());
            let help = run.run().done().stdout;
            let lines: Vec<&str> =
                help.lines().skip_while(|line| !line.trim_start().starts_with(first)).collect();
            assert!(lines.len() > 5, "{help}");
            for pair in lines.windows(2) {
                let width = pair[0].chars().count();
                assert!(width <= columns, "{}", pair[0]);
                // What is set in is a list or an example, with lines of its own.
                let next = pair[1].split(' ').next().unwrap();
                let ends = pair[0].starts_with(' ') || pair[0].is_empty() || next.is_empty();
                assert!(ends || width + 1 + next.chars().count() > columns, "{pair:?}");
            }
        }
    }
}

#[test]
fn sessions_are_listed_and_shown() {
    let world = World::new();
    assert_eq!(world.haft(&["sessions", "--json"]).run().done().json(), json!([]));
    world.call("todowrite", &todos(&["x"]), &["--session", "one"]).done();
    world.call("todoread", &json!({}), &["--session", "two"]).done();
    let list = world.haft(&["sessions", "list", "--json"]).run().done().json();
    let ids: Vec<_> = list.as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["two", "one"], "the last used first");
    assert_eq!(keys(&list[0]), ["id", "project", "agent", "created", "updated", "calls"]);
    let shown = world.haft(&["sessions", "show", "one", "--json"]).run().done().json();
    assert_eq!(keys(&shown), ["session", "calls"]);
    assert_eq!(shown["calls"][0]["tool"], "todowrite");
    assert_eq!(shown["calls"][0]["state"], "completed");
    let ran = world.haft(&["sessions", "show", "three"]).run().coded(2);
    assert!(ran.stderr.contains("no session `three`"), "{}", ran.stderr);
    let other = world.put("other/file", "");
    let dir = other.trim_end_matches("/file");
    let list = world.haft(&["sessions", "list", "--json", "--dir", dir]).run().done().json();
    assert_eq!(list, json!([]));
}

#[test]
fn events_after_a_number_and_up_to_a_limit() {
    let world = World::new();
    world.call("todowrite", &todos(&["x"]), &["--session", "s"]).done();
    let run = world.haft(&["sessions", "show", "s", "--events", "--after", "1", "--limit", "2"]);
    let events = run.run().done().lines();
    let numbers: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [2, 3]);
}

#[test]
fn a_session_can_be_forgotten() {
    let world = World::new();
    world.call("todowrite", &todos(&["x"]), &["--session", "gone"]).done();
    world.call("todowrite", &todos(&["y"]), &["--session", "kept"]).done();
    let ran = world.haft(&["sessions", "forget", "gone", "absent", "--json"]).run().coded(1);
    assert_eq!(ran.json(), json!({ "forgotten": ["gone"], "unknown": ["absent"] }));
    assert_eq!(world.todos("gone"), Vec::<String>::new());
    assert_eq!(world.todos("kept"), ["y"]);
    let ran = world.haft(&["sessions", "forget", "--older-than", "1", "--json"]).run().done();
    assert_eq!(ran.json()["forgotten"], json!([]), "nothing is that old");
    let ran = world.haft(&["sessions", "forget", "--older-than", "0", "--json"]).run().done();
    assert_eq!(ran.json()["forgotten"].as_array().unwrap().len(), 2);
    world.haft(&["sessions", "forget"]).run().coded(2);
}

#[test]
fn the_log_of_a_session_is_one_object_or_a_line_for_each_event() {
    let world = World::new();
    world.call("todoread", &json!({}), &["--session", "s"]).done();
    let lines = world.haft(&["sessions", "show", "s", "--events"]).run().done().lines();
    let object = world.haft(&["sessions", "show", "s", "--events", "--json"]).run().done().json();
    assert_eq!(object["events"].as_array().unwrap(), &lines);
}

#[test]
fn a_model_is_named_with_its_provider() {
    let world = World::new();
    world.haft(&["tools", "--model", "openai/gpt-5"]).run().done();
    let ran = world.haft(&["tools", "--model", "gpt-5"]).run().coded(2);
    assert!(ran.stderr.contains("PROVIDER/MODEL"), "{}", ran.stderr);
}
