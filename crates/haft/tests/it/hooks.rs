//! Hooks of config files, at the command line.

use haft_scripted::{Model, Turn};
use serde_json::json;

use crate::mcp::{self, Client, Era, Forms};
use crate::run;
use crate::world::World;

const BLOCK: &str = "[[hooks.PreToolUse]]\nmatcher = \"todo.*\"\ncommand = \"echo not now >&2; exit 2\"\ntimeout = 10\n";

#[test]
fn a_users_hook_blocks_and_only_what_it_is_for() {
    let world = World::new();
    world.user_config(BLOCK);
    let ran = world.call("todoread", &json!({}), &[]).coded(1);
    assert_eq!(ran.kind(), "blocked");
    assert!(ran.message().contains("not now"), "{}", ran.message());
    world.call("list", &json!({}), &[]).done();
}

#[test]
fn a_projects_hook_runs_only_once_it_is_trusted() {
    let world = World::new();
    world.project_config("[[hooks.PreToolUse]]\ncommand = \"touch ran\"\n");
    let ran = world.call("todoread", &json!({}), &[]).done();
    assert!(ran.stderr.contains("a hook at PreToolUse that runs `touch ran`"), "{}", ran.stderr);
    assert!(!world.path("work/ran").exists());
    world.haft(&["trust", "give"]).run().done();
    world.call("todoread", &json!({}), &[]).done();
    assert!(world.path("work/ran").exists());
}

#[test]
fn sessions_tell_hooks_whether_they_are_new() {
    let world = World::new();
    world.user_config(
        "[[hooks.SessionStart]]\ncommand = \"cat >> started; echo >> started\"\n[[hooks.SessionEnd]]\ncommand = \"touch ended\"\n",
    );
    world.call("todoread", &json!({}), &["--session", "s1"]).done();
    world.call("todoread", &json!({}), &["--session", "s1"]).done();
    let started = fs_err::read_to_string(world.path("work/started")).unwrap();
    let sources: Vec<bool> = started.lines().map(|line| line.contains("\"startup\"")).collect();
    assert_eq!(sources, [true, false]);
    assert!(world.path("work/ended").exists());
}

#[test]
fn what_a_hook_tells_the_user_is_on_standard_error() {
    let world = World::new();
    world.user_config(
        "[[hooks.PreToolUse]]\ncommand = \"echo '{\\\"systemMessage\\\":\\\"mind\\\"}'\"\n",
    );
    let ran = world.call("todoread", &json!({}), &[]).done();
    assert!(ran.stderr.contains("mind"), "{ran:#?}");
}

#[test]
fn a_hook_that_cannot_be_used_stops_haft_with_its_reason() {
    let world = World::new();
    world.user_config("[[hooks.PreToolUse]]\nmatcher = \"(\"\ncommand = \"true\"\n");
    let ran = world.call("todoread", &json!({}), &[]).coded(2);
    assert!(ran.stderr.contains("is no pattern"), "{}", ran.stderr);
    world.user_config("[[hooks.BeforeLunch]]\ncommand = \"true\"\n");
    let ran = world.call("todoread", &json!({}), &[]).coded(2);
    assert!(ran.stderr.contains("BeforeLunch"), "{}", ran.stderr);
}

/// A world of a scripted model, and these hooks.
fn world_with(model: &Model, hooks: &str) -> World {
    let world = run::world(model, "anthropic");
    let config = fs_err::read_to_string(world.path("config/haft/config.toml")).unwrap();
    world.user_config(&format!("{config}{hooks}"));
    world
}

const STOP: &str = "[[hooks.PreToolUse]]\nmatcher = \"list\"\n\
    command = \"echo '{\\\"continue\\\":false,\\\"stopReason\\\":\\\"budget is spent\\\"}'\"\n";

#[test]
fn a_hook_that_stops_the_work_ends_the_run_with_every_call_settled() {
    let write = |name: &str| json!({ "file_path": name, "content": "x" });
    let turn = Turn::call("list", json!({ "path": "." })).and("write", write("late.txt"));
    let model = Model::start(vec![turn, Turn::say("Never said.")]).unwrap();
    let world = world_with(&model, STOP);
    let args = ["run", "go", "--allow-all", "--session", "s1", "--json"];
    let ran = world.haft(&args).env("TEST_KEY", "k").run().coded(4).json();
    assert_eq!((&ran["why"], &ran["reason"]), (&json!("stopped"), &json!("budget is spent")));
    assert_eq!(model.requests().len(), 1);
    let calls = world.calls("s1");
    let kinds: Vec<&str> =
        calls.iter().map(|call| call["error"]["kind"].as_str().unwrap_or("done")).collect();
    assert!(kinds.contains(&"stopped") && calls.len() == 2, "{calls:#?}");
    // A person reads why; and the session can go on, because the user says so.
    let ran = world.haft(&["run", "-c", "--allow-all"]).env("TEST_KEY", "k").run().done();
    assert_eq!(ran.stdout, "Never said.\n");
    let batch =
        json!({ "calls": [{ "tool": "todoread", "args": {} }, { "tool": "list", "args": {} }] });
    let model = Model::start(vec![Turn::call("batch", batch), Turn::say("Never said.")]).unwrap();
    let world = world_with(&model, STOP);
    let ran = world.haft(&["run", "go", "--allow-all"]).env("TEST_KEY", "k").run().coded(4);
    assert!(ran.stderr.contains("stopped by a hook: budget is spent"), "{}", ran.stderr);
}

#[test]
fn a_run_tells_hooks_of_its_ends_and_the_model_what_they_say() {
    let model = Model::start(vec![Turn::say("Hello.")]).unwrap();
    let world = world_with(
        &model,
        "[[hooks.SessionStart]]\nmatcher = \"startup\"\ncommand = \"echo the branch is main\"\n\
         [[hooks.SessionStart]]\nmatcher = \"resume\"\n\
         command = \"echo '{\\\"systemMessage\\\":\\\"welcome back\\\"}'\"\n\
         [[hooks.SessionEnd]]\ncommand = \"echo over >> ended\"\n",
    );
    world.haft(&["run", "go"]).env("TEST_KEY", "k").run().done();
    let asked = model.requests()[0].body["messages"].to_string();
    assert!(asked.contains("from a hook") && asked.contains("the branch is main"), "{asked}");
    let ran = world.haft(&["run", "again", "-c"]).env("TEST_KEY", "k").run().done();
    assert!(ran.stderr.contains("welcome back"), "{}", ran.stderr);
    assert_eq!(fs_err::read_to_string(world.path("work/ended")).unwrap(), "over\nover\n");
}

#[test]
fn a_hook_that_refuses_the_session_keeps_the_model_from_being_asked() {
    let model = Model::start(vec![Turn::say("Hello.")]).unwrap();
    let world =
        world_with(&model, "[[hooks.SessionStart]]\ncommand = \"echo not today >&2; exit 2\"\n");
    let ran = world.haft(&["run", "go"]).env("TEST_KEY", "k").run().coded(1);
    assert!(ran.stderr.contains("not today") && model.requests().is_empty(), "{}", ran.stderr);
}

#[test]
fn a_session_over_mcp_begins_with_its_first_call_and_ends_with_the_client() {
    let world = World::new();
    world.user_config(
        "[[hooks.SessionStart]]\ncommand = \"echo the branch is main\"\n\
         [[hooks.SessionEnd]]\ncommand = \"echo over >> ended\"\n",
    );
    let mut client = Client::start(&world, Era::Old, Forms::Unknown, &[]);
    let first = client.call("list", &json!({}));
    assert!(first.to_string().contains("the branch is main"), "{first}");
    let second = client.call("list", &json!({}));
    assert!(!mcp::text(&second).is_empty() && !second.to_string().contains("branch"), "{second}");
    assert_eq!(client.close(), 0);
    assert_eq!(fs_err::read_to_string(world.path("work/ended")).unwrap(), "over\n");
}
