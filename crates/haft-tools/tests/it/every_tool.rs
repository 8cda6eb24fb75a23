//! What must be true of every tool, whoever wrote it.

use std::time::{Duration, Instant};

use haft_runtime::permission::Reply;
use haft_runtime::{Advertised, CancellationToken, Form, lower, undescribed};
use serde_json::{Value, json};

use crate::world::{World, tree_hash};

/// A call of each tool that would do all it can.
fn samples() -> Vec<(&'static str, Value)> {
    let todos = json!([{ "content": "write it", "status": "in_progress", "priority": "high" }]);
    let option = |label| json!({ "label": label });
    let question =
        json!({ "question": "Which?", "header": "Which", "options": [option("a"), option("b")] });
    vec![
        ("read", json!({ "file_path": "a.txt", "offset": 1, "limit": 2, "mode": "slice" })),
        ("list", json!({ "path": ".", "ignore": ["*.log"], "depth": 2 })),
        ("glob", json!({ "pattern": "*.txt", "path": ".", "limit": 5, "offset": 0 })),
        (
            "grep",
            json!({ "pattern": "alpha", "path": ".", "include": "*.txt", "output_mode": "content",
                "context": 1, "type": "txt", "limit": 5, "offset": 0 }),
        ),
        ("write", json!({ "file_path": "new/b.txt", "content": "beta\n" })),
        ("edit", json!({ "file_path": "a.txt", "old_string": "alpha", "new_string": "beta" })),
        (
            "apply_patch",
            json!({ "patch": "*** Begin Patch\n*** Add File: c.txt\n+gamma\n*** End Patch" }),
        ),
        ("undo", json!({ "call": "none" })),
        (
            "bash",
            json!({ "command": "echo hi > made.txt", "description": "make a file", "timeout": 10000, "workdir": ".", "stdin": "x" }),
        ),
        ("job", json!({ "action": "read", "id": 1, "offset": 0 })),
        (
            "webfetch",
            json!({ "url": "https://docs.test/", "format": "text", "offset": 0, "timeout": 5 }),
        ),
        ("websearch", json!({ "query": "words", "num_results": 3 })),
        ("codesearch", json!({ "query": "words", "tokens": 2_000 })),
        ("todowrite", json!({ "todos": todos })),
        ("todoread", json!({})),
        ("question", json!({ "questions": [question] })),
        (
            "batch",
            json!({ "calls": [
            { "tool": "todoread", "args": {} },
            { "tool": "todowrite", "args": { "todos": todos } },
        ] }),
        ),
    ]
}

pub(crate) const ASK_ALL: &str = "[permission]\n\"*\" = \"ask\"\n";
const DENY_ALL: &str = "[permission]\n\"*\" = \"deny\"\n";

#[tokio::test]
async fn every_tool_has_a_sample() {
    let sampled: Vec<&str> = samples().iter().map(|(tool, _)| *tool).collect();
    assert_eq!(World::new().await.toolset.names(), sampled);
}

#[tokio::test]
async fn denied_means_untouched() {
    for rules in [ASK_ALL, DENY_ALL] {
        let world = World::ruled(rules, Reply::Reject { feedback: None }).await;
        let before = tree_hash(&world.workspace());
        for (tool, args) in samples() {
            let answer = world.call(tool, args).await;
            assert_eq!(answer["error"]["kind"], "denied", "{tool}: {answer}");
        }
        assert_eq!(tree_hash(&world.workspace()), before);
        let todos = world.reopened().await.text("todoread", json!({})).await;
        assert_eq!(todos, "The list is empty.");
    }
}

#[tokio::test]
async fn a_workspace_is_left_alone_by_tools_that_have_no_business_there() {
    let world = World::new().await;
    let before = tree_hash(&world.workspace());
    for (tool, args) in samples() {
        world.call(tool, args).await;
    }
    assert_eq!(tree_hash(&world.workspace()), before);
}

#[tokio::test]
async fn a_fired_token_ends_any_call_in_time() {
    let world = World::new().await;
    for (tool, args) in samples() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let begin = Instant::now();
        world.toolset.execute(world.prepare(tool, args), cancel).await;
        // The grace, and as much again for a machine that is busy with other tests.
        assert!(begin.elapsed() < Duration::from_secs(1), "{tool}: {:?}", begin.elapsed());
    }
}

#[tokio::test]
async fn what_is_no_object_never_fits() {
    let world = World::new().await;
    let huge = Value::from("x".repeat(10 * 1024 * 1024));
    for tool in world.toolset.names() {
        for args in [Value::Null, json!([]), json!(true), json!(7), json!("text"), huge.clone()] {
            world.error(&tool, args, "invalid_params").await;
        }
    }
}

#[tokio::test]
async fn a_wrong_value_anywhere_is_refused_and_named() {
    let world = World::new().await;
    let huge = Value::from("x".repeat(10 * 1024 * 1024));
    for (tool, sample) in samples() {
        for property in sample.as_object().unwrap().keys() {
            for wrong in [json!(true), json!(7), json!({ "a": 1 }), json!([7]), huge.clone()] {
                if wrong.is_number() && sample[property].is_number() {
                    continue;
                }
                let mut args = sample.clone();
                args[property] = wrong.clone();
                let message = world.error(tool, args, "invalid_params").await;
                assert!(message.contains(property.as_str()), "{tool}.{property}: {message}");
                assert!(message.len() < 8 * 1024 + 512);
            }
        }
        let mut args = sample.clone();
        args["no_such_thing"] = json!(1);
        assert!(world.error(tool, args, "invalid_params").await.contains("no_such_thing"));
    }
}

#[tokio::test]
async fn what_a_call_asks_is_what_was_explained() {
    let world = World::ruled(ASK_ALL, Reply::Once).await;
    for (tool, args) in samples() {
        world.host.asked.lock().unwrap().clear();
        let explained = world.toolset.explain(&world.prepare(tool, args.clone())).await.unwrap();
        assert!(world.host.asked.lock().unwrap().is_empty(), "{tool}: explaining asks nobody");
        world.call(tool, args).await;
        for effect in world.asked_effects() {
            let named = explained
                .effects
                .iter()
                .any(|one| (one.kind, &one.value) == (effect.kind, &effect.value));
            assert!(named, "{tool} asked for {effect:?}, which was not explained");
        }
    }
}

#[tokio::test]
async fn every_property_is_described_and_every_description_fits_its_budget() {
    let world = World::new().await;
    for tool in world.toolset.advertised() {
        let definition = tool.definition();
        assert_eq!(undescribed(definition.schema), Vec::<String>::new(), "{}", tool.id());
        assert_eq!(definition.schema.as_value()["type"], "object");
        let first_line = definition.description.lines().next().unwrap();
        assert!((20..=100).contains(&first_line.len()), "{}: {first_line}", tool.id());
        assert!(definition.description.len() <= 1_200, "{}", tool.id());
    }
}

/// All definitions as a host sends them. `HAFT_UPDATE_SNAPSHOTS=1 cargo test` writes them anew.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test is told by the environment to write")]
async fn definitions_change_only_on_purpose() {
    let world = World::new().await;
    let all: Vec<Value> = world
        .toolset
        .advertised()
        .map(|tool: Advertised<'_>| lower(&tool.definition(), Form::Mcp, false))
        .collect();
    // Hosts have their own plans, questions and batches, and most users no account for searches; the
    // rest is what they are offered.
    let own = ["todowrite", "todoread", "question", "batch", "websearch", "codesearch"];
    let offered: Vec<&Value> =
        all.iter().filter(|tool| !own.contains(&tool["name"].as_str().unwrap())).collect();
    for (set, most) in [(offered, 12_000), (all.iter().collect(), 18 * 1024)] {
        let size = serde_json::to_string(&set).unwrap().len();
        assert!(size <= most, "{size} bytes are too many to send with every request");
    }
    let text = serde_json::to_string_pretty(&all).unwrap() + "\n";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/snapshots/definitions.json");
    if std::env::var_os("HAFT_UPDATE_SNAPSHOTS").is_some() {
        fs_err::write(&path, &text).unwrap();
    }
    assert!(
        fs_err::read_to_string(&path).unwrap() == text,
        "definitions differ from {}",
        path.display()
    );
}

#[test]
fn the_rules_that_come_with_the_tools_ask_for_secrets_and_for_nothing_else() {
    use haft_runtime::permission::rules_file::{self, Expand};
    use haft_runtime::permission::{Action, Effect, EffectKind, LayerKind, Policy};
    let rules = haft_tools::DEFAULT_RULES;
    let layer =
        rules_file::parse(rules, LayerKind::BuiltIn, "built-in", &Expand::nothing()).unwrap();
    let policy = Policy::new(vec![layer]);
    let read = |path: &str| {
        let root = std::path::Path::new("/project");
        policy.decide(&Effect::on_path(EffectKind::Read, &root.join(path), root)).action
    };
    let secrets = [
        ".env",
        "a/.env",
        ".env.local",
        "a/b/.env.production",
        "prod.env",
        ".envrc",
        "deploy/key.pem",
        "id_rsa",
        "home/.ssh/config",
        "x/.aws/credentials",
        ".npmrc",
        "a/.netrc",
        "terraform.tfstate",
        "gcp-credentials.json",
    ];
    for path in secrets {
        assert_eq!(read(path), Action::Ask, "{path}");
    }
    for path in [
        "src/main.rs",
        ".env.example",
        "a/.env.sample",
        "environment.rs",
        "keys.rs",
        "id_rsa.pub",
        ".envoy/x",
    ] {
        assert_eq!(read(path), Action::Allow, "{path}");
    }
    let edit = Effect::on_path(
        EffectKind::Write,
        std::path::Path::new("/project/a"),
        std::path::Path::new("/project"),
    );
    for effect in [
        edit,
        Effect::run("ls"),
        Effect::connect("https://example.org"),
        Effect::using("anything", "*"),
    ] {
        assert_eq!(policy.decide(&effect).action, Action::Ask, "{effect:?}");
    }
}
