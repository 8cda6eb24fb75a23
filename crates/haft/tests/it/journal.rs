//! `haft log`, `haft undo` and `haft redo`, and what is left by a process that was killed.

use serde_json::{Value, json};

use crate::world::World;

const FLAGS: [&str; 3] = ["--allow-edits", "--session", "s"];

fn write(world: &World, path: &str, content: &str) -> String {
    let args = json!({ "file_path": path, "content": content });
    let answer = world.call("write", &args, &FLAGS).done().json();
    answer["metadata"]["call"].as_str().unwrap().to_owned()
}

fn get(world: &World, path: &str) -> Option<String> {
    fs_err::read_to_string(world.path("work").join(path)).ok()
}

#[test]
fn changes_are_listed_undone_and_redone_across_processes() {
    let world = World::new();
    let first = write(&world, "deep/a.txt", "one\ntwo\n");
    let second = write(&world, "deep/a.txt", "one\n2\n");
    let log = world.haft(&["log", "--json"]).run().done().json();
    let calls: Vec<&Value> = log.as_array().unwrap().iter().map(|it| &it["call"]).collect();
    assert_eq!(calls, [&json!(second), &json!(first)]);
    assert_eq!(log[0]["title"], "write deep/a.txt");
    assert_eq!(log[1]["changes"][0]["kind"], "created");

    let shown = world.haft(&["log", "--diff"]).run().done().stdout;
    assert!(shown.contains("    2 - two\n    2 + 2\n"), "{shown}");

    let dry = world.haft(&["undo", "--dry-run"]).run().done();
    assert!(dry.stderr.contains("would be undone: write deep/a.txt"), "{dry:?}");
    assert_eq!(get(&world, "deep/a.txt").unwrap(), "one\n2\n");
    let ran = world.haft(&["undo"]).run().done();
    assert!(ran.stdout.contains("    2 - 2\n    2 + two\n"), "{ran:?}");
    assert_eq!(get(&world, "deep/a.txt").unwrap(), "one\ntwo\n");
    let ran = world.haft(&["undo", "--json"]).run().done().json();
    assert_eq!(ran["calls"], json!([first]));
    assert!(!world.path("work/deep").exists());
    let ran = world.haft(&["undo"]).run().coded(1);
    assert_eq!(ran.stderr, "there is no change that can be undone\n");
    let log = world.haft(&["log", "--json"]).run().done().json();
    let undone: Vec<&Value> = log.as_array().unwrap().iter().map(|it| &it["undone"]).collect();
    assert_eq!(undone, [&json!(false), &json!(false), &json!(true), &json!(true)]);

    world.haft(&["redo"]).run().done();
    world.haft(&["redo"]).run().done();
    assert_eq!(get(&world, "deep/a.txt").unwrap(), "one\n2\n");
    world.haft(&["undo", "--all"]).run().done();
    assert!(!world.path("work/deep").exists());
}

#[test]
fn a_conflict_is_reported_with_its_path_and_nothing_is_touched() {
    let world = World::new();
    let call = write(&world, "a", "1\n");
    world.put("work/a", "theirs\n");
    let ran = world.haft(&["undo", &call]).run().coded(1);
    assert!(ran.stderr.contains("somebody has worked on this since:\n"), "{ran:?}");
    assert!(ran.stderr.contains("work/a was changed by somebody else"), "{ran:?}");
    let ran = world.haft(&["undo", &call, "--json"]).run().coded(1).json();
    assert_eq!(ran["conflicts"][0]["why"], "was changed by somebody else");
    assert_eq!(get(&world, "a").unwrap(), "theirs\n");
}

#[test]
fn a_forgotten_session_takes_its_changes_out_of_the_journal() {
    let world = World::new();
    write(&world, "a", "secret\n");
    write(&world, "a", "public\n");
    let kept = |world: &World| {
        let state = world.tree("state");
        state.keys().filter(|path| path.parent().unwrap().ends_with("kept")).count()
    };
    assert_eq!(kept(&world), 1);
    world.haft(&["sessions", "forget", "s"]).run().done();
    assert_eq!(world.haft(&["log", "--json"]).run().done().json(), json!([]));
    assert_eq!(kept(&world), 0);
    assert_eq!(get(&world, "a").unwrap(), "public\n");
}

#[test]
fn an_interrupted_change_is_taken_back_at_the_next_call_and_told() {
    let world = World::new();
    write(&world, "a", "1\n");
    // As a killed process leaves it: an entry that is open, and one of its two files written.
    let journal = fs_err::read_dir(world.path("state/haft/journal")).unwrap().next().unwrap();
    let journal = journal.unwrap().path();
    let done = fs_err::read_dir(journal.join("done")).unwrap().next().unwrap().unwrap().path();
    let mut entry: Value = serde_json::from_slice(&fs_err::read(&done).unwrap()).unwrap();
    let path = entry["changes"][0]["path"].as_str().unwrap().to_owned();
    let mut other = entry["changes"][0].clone();
    other["path"] = json!(format!("{path}-too"));
    entry["changes"].as_array_mut().unwrap().push(other);
    fs_err::remove_file(&done).unwrap();
    let open = journal.join("open").join(done.file_name().unwrap());
    fs_err::write(open, entry.to_string()).unwrap();
    world.put("work/.haft-1-0123456789abcdef.tmp", "left behind");

    world.haft(&["tools"]).run().done();
    assert_eq!(get(&world, "a").unwrap(), "1\n", "looking around changes nothing");
    let ran = world.call("todoread", &json!({}), &[]).done();
    assert!(ran.stderr.contains("`write a` was interrupted and has been taken back"), "{ran:?}");
    assert_eq!(world.tree("work").len(), 0);
    let ran = world.call("todoread", &json!({}), &[]).done();
    assert_eq!(ran.stderr, "");
}
