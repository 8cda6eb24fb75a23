//! `haft sessions export` and `replay`: a session as a file, and made again in a copy.

use haft_scripted::{Model, Turn};
use serde_json::{Value, json};

use crate::run;
use crate::world::{World, keys};

/// A session that searches, reads, edits, writes, runs and takes back.
fn worked() -> World {
    let bash = |command: &str| {
        Turn::call("bash", json!({ "command": command, "description": "Do something" }))
    };
    let edit = |old: &str, new: &str| {
        Turn::call("edit", json!({ "file_path": "a.txt", "old_string": old, "new_string": new }))
    };
    let model = Model::start(vec![
        Turn::call("grep", json!({ "pattern": "alpha" }))
            .and("read", json!({ "file_path": "a.txt" })),
        edit("alpha", "beta"),
        bash("echo one >> log.txt; cat log.txt; date; pwd; mktemp -u"),
        Turn::call("write", json!({ "file_path": "new/b.txt", "content": "b\n" })),
        bash("echo two >> log.txt; rm new/b.txt; exit 3"),
        edit("beta", "gamma"),
        Turn::call("undo", json!({})),
        Turn::call("read", json!({ "file_path": "missing.txt" })).and("reed", json!({ "x": 1 })),
        Turn::call(
            "batch",
            json!({ "calls": [{ "tool": "read", "args": { "file_path": "a.txt" } }] }),
        ),
        Turn::say("Done."),
    ])
    .unwrap();
    let world = run::world(&model, "anthropic");
    world.put("work/log.txt", "zero\n");
    let args = ["run", "go", "--allow-all", "--session", "s1"];
    world.haft(&args).env("TEST_KEY", "k").run().done();
    world
}

#[test]
fn an_export_is_lines_in_the_order_in_which_things_happened() {
    let world = worked();
    let lines = world.haft(&["sessions", "export", "s1"]).run().done().lines();
    assert_eq!((&lines[0]["type"], &lines[0]["version"]), (&json!("haft.session"), &json!(1)));
    assert_eq!(lines[0]["session"]["id"], "s1");
    let numbers: Vec<u64> = lines.iter().filter_map(|line| line["seq"].as_u64()).collect();
    assert!(numbers.is_sorted() && numbers.len() == lines.len() - 2, "{numbers:?}");
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    assert_eq!(of("message")[0]["content"][0]["text"], "go");
    let calls = of("call");
    let tools: Vec<&str> = calls.iter().map(|call| call["tool"].as_str().unwrap()).collect();
    assert_eq!(tools[..4], ["grep", "read", "edit", "bash"]);
    assert_eq!(
        (&calls[1]["args"]["file_path"], &calls[1]["state"]),
        (&json!("a.txt"), &json!("completed"))
    );
    let last = lines.last().unwrap();
    assert_eq!(keys(last), ["type", "messages", "calls", "usage"]);
    assert_eq!((&last["calls"], &last["usage"]["input"]), (&json!(calls.len()), &json!(1000)));
    // The same twice; a file is new, and its owner's alone.
    assert_eq!(world.haft(&["sessions", "export", "s1"]).run().done().lines(), lines);
    let file = ["sessions", "export", "s1", "--output", "s1.jsonl"];
    world.haft(&file).run().done();
    world.haft(&file).run().coded(2);
    let mode = fs_err::metadata(world.path("work/s1.jsonl")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777, 0o600);
}

#[test]
fn a_session_is_replayed_from_where_it_began_and_the_original_is_not_touched() {
    let world = worked();
    let before = (world.tree("work"), world.calls("s1"));
    let ran = world.haft(&["sessions", "replay", "s1", "--json"]).run().done().json();
    assert_eq!(ran["difference"], Value::Null, "{ran:#}");
    assert_eq!(
        (&ran["calls"], &ran["same"], &ran["not_replayed"]),
        (&json!(11), &json!(11), &json!([]))
    );
    assert_eq!((world.tree("work"), world.calls("s1")), before);
    // Changed by another call since, it is still replayed from where it began.
    let edit = json!({ "file_path": "a.txt", "old_string": "beta", "new_string": "delta" });
    world.call("edit", &edit, &["--allow-edits"]).done();
    let shown = world.haft(&["sessions", "replay", "s1"]).run().done().stdout;
    assert!(shown.contains("11 of 11 calls came to the same; no difference"), "{shown}");
}

#[test]
fn the_first_difference_is_shown_with_what_was_expected() {
    let world = worked();
    world.put("work/c.txt", "alpha too\n");
    let ran = world.haft(&["sessions", "replay", "s1", "--json"]).run().coded(1).json();
    let difference = &ran["difference"];
    assert_eq!((&difference["tool"], &difference["part"]), (&json!("grep"), &json!("output")));
    let says = |key: &str| difference[key].as_str().unwrap().contains("alpha too");
    assert!(says("got") && !says("expected"), "{difference:#}");
    let folder = ran["folder"].as_str().unwrap().to_owned();
    assert!(fs_err::read_to_string(format!("{folder}/c.txt")).unwrap().contains("alpha too"));
    fs_err::remove_dir_all(std::path::Path::new(&folder).parent().unwrap()).unwrap();
    let shown =
        world.haft(&["sessions", "replay", "s1", "--into", "../copy"]).run().coded(1).stdout;
    assert!(shown.contains("differs:") && shown.contains("+ c.txt"), "{shown}");
    assert!(world.path("copy/c.txt").exists());
}

#[test]
fn a_file_is_replayed_anywhere_and_its_word_allows_no_command() {
    let world = worked();
    world.haft(&["sessions", "export", "s1", "--output", "../s1.jsonl"]).run().done();
    world.haft(&["sessions", "forget", "s1"]).run().done();
    world.put("start/a.txt", "alpha\n");
    world.put("start/log.txt", "zero\n");
    let replay = ["sessions", "replay", "../s1.jsonl", "--at", "../start", "--json"];
    let ran = world.haft(&[&replay[..], &["--allow-all"]].concat()).run().done().json();
    assert_eq!((&ran["same"], &ran["difference"]), (&json!(11), &Value::Null), "{ran:#}");
    let ran = world.haft(&replay).run().json();
    let left = ran["not_replayed"].as_array().unwrap();
    assert!(left.iter().all(|one| one["tool"] == "bash" && one["why"].as_str().unwrap().starts_with("it asks")), "{ran:#}");
    assert_eq!(world.tree("start").len(), 2);
}

#[test]
fn what_cannot_be_made_again_is_named() {
    let world = World::new();
    let run = |tool: &str, args: Value| {
        world.call(tool, &args, &["--session", "s1", "--allow-all"]);
    };
    run("webfetch", json!({ "url": "http://127.0.0.1:9/", "format": "text" }));
    run(
        "question",
        json!({ "questions": [{ "question": "Which?", "header": "Which",
        "options": [{ "label": "a", "description": "a" }, { "label": "b", "description": "b" }] }] }),
    );
    run("bash", json!({ "command": "curl -s http://example.com/", "description": "Fetch" }));
    run("todowrite", json!({ "todos": [{ "content": "x", "status": "pending" }] }));
    let ran = world.haft(&["sessions", "replay", "s1", "--json"]).run().done().json();
    let left: Vec<(&str, &str)> = ran["not_replayed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["tool"].as_str().unwrap(), one["why"].as_str().unwrap()))
        .collect();
    let expected = [
        ("webfetch", "it reaches beyond this machine"),
        ("question", "it asks the user"),
        ("bash", "it needs the network"),
    ];
    assert_eq!(left, expected, "{ran:#}");
    assert_eq!(ran["same"], 1);
    for (what, says) in [("nothing", "neither a session nor a file"), ("a.txt", "holds no session")]
    {
        world.put("work/a.txt", "no\n");
        let ran = world.haft(&["sessions", "replay", what]).run().coded(2);
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    }
}

#[test]
fn standing_answers_hold_for_the_users_own_sessions_and_not_for_a_file() {
    let world = World::new();
    let args = json!({ "command": "sed -i s/a/b/ a.txt && cat a.txt", "description": "Change" });
    world.put("work/a.txt", "a\n");
    let (first, call) = (args.to_string(), ["call", "bash"]);
    let seat = world.sit(&[&call[..], &[&first], &["--session", "s1"]].concat());
    assert_eq!(seat.sees("a always").types("a").ends().stdout.lines().next(), Some("b"));
    let replay = |what: &str| {
        let ran = world.haft(&["sessions", "replay", what, "--at", "../start", "--json"]).run();
        let ran = ran.done().json();
        (ran["same"].clone(), ran["not_replayed"].as_array().unwrap().len())
    };
    world.put("start/a.txt", "a\n");
    assert_eq!(replay("s1"), (json!(1), 0));
    world.haft(&["sessions", "export", "s1", "--output", "../s1.jsonl"]).run().done();
    assert_eq!(replay("../s1.jsonl"), (json!(0), 1));
}
