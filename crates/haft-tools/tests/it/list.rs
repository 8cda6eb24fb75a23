//! `list` through the pipeline.

use haft_runtime::permission::Reply;
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn a_tree_has_folders_first_and_says_what_it_leaves_out() {
    let world = World::new().await;
    for file in ["src/lib.rs", "src/deep/er/x.rs", "target/debug/haft", "z.md", ".hidden"] {
        world.put(file, "");
    }
    world.put(".gitignore", "target\n");
    let text = world.text("list", json!({})).await;
    let expected = "./\n  src/\n    deep/\n      er/\n    lib.rs\n  .gitignore\n  .hidden\n  a.txt\n  z.md\n\n\
                    Left out: 1 folders not opened, 1 ignored.";
    assert_eq!(text, expected);
    let text = world.text("list", json!({ "path": "src", "depth": 5, "ignore": ["lib.*"] })).await;
    assert_eq!(text, "src/\n  deep/\n    er/\n      x.rs\n\nLeft out: 1 ignored.");
    let text = world.text("list", json!({ "path": "src/deep/er" })).await;
    assert_eq!(text, "src/deep/er/\n  x.rs\n\nNothing is left out.");
}

#[tokio::test]
async fn a_large_folder_is_cut_after_it_is_sorted_and_counted() {
    let world = World::new().await;
    for number in 0..1_500 {
        world.put(&format!("many/{number:04}"), "");
    }
    let answer = world.call("list", json!({ "path": "many" })).await;
    let text = answer["output"].as_str().unwrap();
    assert!(text.starts_with("many/\n  0000\n  0001\n"), "{text}");
    assert!(text.contains("  0999\n  … 500 more\n") && !text.contains("1000\n"), "{text}");
    assert_eq!(
        (&answer["metadata"]["shown"], &answer["metadata"]["truncated"]),
        (&json!(1000), &json!(true))
    );
}

#[tokio::test]
async fn a_file_is_no_folder_and_what_is_missing_has_neighbours() {
    let world = World::new().await;
    world.put("source/x", "");
    assert!(world.error("list", json!({ "path": "a.txt" }), "failed").await.contains("use read"));
    let message = world.error("list", json!({ "path": "sorce" }), "failed").await;
    assert!(message.contains("does not exist; did you mean source?"), "{message}");
}

#[tokio::test]
async fn outside_the_workspace_it_asks_with_the_real_target() {
    let world = World::ruled(haft_tools::DEFAULT_RULES, Reply::Reject { feedback: None }).await;
    let outside = world.workspace().parent().unwrap().join("outside");
    fs_err::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, world.workspace().join("link")).unwrap();
    world.error("list", json!({ "path": "link" }), "denied").await;
    let asked = world.asked_effects();
    let real = fs_err::canonicalize(&outside).unwrap();
    assert_eq!(
        (asked[0].key.as_ref(), asked[0].value.as_str()),
        ("external_directory", real.to_str().unwrap())
    );
}

#[tokio::test]
async fn a_pattern_that_cannot_be_read_is_quoted() {
    let world = World::new().await;
    let message = world.error("list", json!({ "ignore": ["a{"] }), "failed").await;
    assert!(message.contains("a{"), "{message}");
}
