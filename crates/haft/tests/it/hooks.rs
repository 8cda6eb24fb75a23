//! Hooks of config files, at the command line.

use serde_json::json;

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
