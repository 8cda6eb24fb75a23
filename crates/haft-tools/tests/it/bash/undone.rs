//! Undo of what commands and scripts changed.

use serde_json::json;

use super::{open, run, said};

#[tokio::test]
async fn undo_takes_back_what_a_command_changed() {
    let world = open().await;
    world.put("gone.txt", "gone\n");
    let before = crate::world::tree_hash(&world.workspace());
    let script =
        "echo more >> a.txt; rm gone.txt; mkdir -p new/deep; echo x > new/deep/f; ln -s a.txt link";
    let answer = run(&world, script).await;
    assert!(!said(&answer).contains("cannot take back"), "{answer}");
    assert_eq!(answer["metadata"]["undoable"], 6, "{answer}");
    let after = crate::world::tree_hash(&world.workspace());
    assert_ne!(after, before);
    world.text("undo", json!({})).await;
    assert_eq!(crate::world::tree_hash(&world.workspace()), before);
    world.text("undo", json!({ "redo": true })).await;
    assert_eq!(crate::world::tree_hash(&world.workspace()), after);
}

#[tokio::test]
async fn undo_takes_back_what_a_script_did_that_nobody_could_foresee() {
    let world = open().await;
    for name in ["changed", "gone", "moved", "barred", "deep/er/left"] {
        world.put(name, format!("{name}\n"));
    }
    let script = "echo new > changed; rm gone; mv moved elsewhere; chmod 600 barred; rm -r deep\n\
                  mkdir made; echo x > made/x; chmod 700 made; echo more >> a.txt\n";
    world.put("build.sh", script);
    let before = crate::world::tree_hash(&world.workspace());
    for round in 0..2 {
        let answer = run(&world, &format!("sh build.sh; : {round}")).await;
        assert!(!said(&answer).contains("cannot take back"), "{answer}");
        assert_eq!(answer["metadata"]["undoable"], 11, "{answer}");
        world.text("undo", json!({})).await;
        assert_eq!(crate::world::tree_hash(&world.workspace()), before);
    }
}

#[tokio::test]
async fn what_undo_cannot_take_back_is_named() {
    let world = open().await;
    world.put("large.bin", "x".repeat(9 << 20));
    world.put("sneak.sh", "echo new > large.bin; echo y > made.txt\n");
    let answer = run(&world, "sh sneak.sh").await;
    assert!(said(&answer).contains("[undo cannot take back: large.bin]"), "{answer}");
    assert_eq!(answer["metadata"]["not_undoable"], json!(["large.bin"]));
    world.text("undo", json!({})).await;
    assert!(!world.workspace().join("made.txt").exists());
    assert_eq!(world.get("large.bin"), b"new\n");
    run(&world, "cat a.txt").await;
    let message = world.error("undo", json!({}), "failed").await;
    assert!(!message.is_empty(), "what only looks leaves nothing to undo");
}

#[tokio::test]
async fn in_a_large_workspace_undo_covers_what_is_named_and_says_so() {
    let world = open().await;
    for number in 0..20_050 {
        fs_err::write(world.workspace().join(format!("{number}")), "").unwrap();
    }
    world.put("sub/named.txt", "old\n");
    world.put("run.sh", ":\n");
    let answer = run(&world, "echo new > sub/named.txt; mkdir -p a/b; cp a.txt a/b").await;
    assert!(!said(&answer).contains("is large"), "what is told is enough: {answer}");
    assert_eq!(answer["metadata"]["undoable"], 4, "{answer}");
    world.text("undo", json!({})).await;
    assert_eq!(world.get("sub/named.txt"), b"old\n");
    assert!(!world.workspace().join("a").exists());
    let answer = run(&world, "sh run.sh > sub/named.txt").await;
    assert!(said(&answer).contains("the workspace is large"), "{answer}");
    assert_eq!(answer["metadata"]["undo_partial"], true);
    world.text("undo", json!({})).await;
    assert_eq!(world.get("sub/named.txt"), b"old\n");
}
