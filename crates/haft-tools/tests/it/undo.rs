//! `undo` through the pipeline.

use haft_runtime::CancellationToken;
use haft_runtime::permission::Reply;
use serde_json::{Value, json};

use crate::world::{World, tree_hash};
use crate::write::ALLOW_ALL;

async fn write(world: &World, path: &str, content: &str) -> String {
    let args = json!({ "file_path": path, "content": content });
    let answer = world.call("write", args).await;
    assert_eq!(answer["state"], "completed", "{answer}");
    answer["metadata"]["call"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_last_change_is_taken_back_and_done_again() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    let before = tree_hash(&world.workspace());
    write(&world, "new/folder/b.txt", "one\n").await;
    let after = tree_hash(&world.workspace());
    write(&world, "new/folder/b.txt", "two\n").await;
    let text = world.text("undo", json!({})).await;
    assert!(text.contains("- put back new/folder/b.txt\n"), "{text}");
    assert!(text.contains("1 - two\n1 + one"), "{text}");
    assert_eq!(tree_hash(&world.workspace()), after);
    let text = world.text("undo", json!({})).await;
    assert!(
        text.contains("- removed new/folder/b.txt\n- removed new/folder\n- removed new\n"),
        "{text}"
    );
    assert_eq!(tree_hash(&world.workspace()), before);
    let nothing = world.error("undo", json!({}), "failed").await;
    assert_eq!(nothing, "this session has no change that can be undone");
    world.text("undo", json!({ "redo": true })).await;
    assert_eq!(tree_hash(&world.workspace()), after);
}

#[tokio::test]
async fn a_call_in_the_middle_is_taken_back_by_its_id_unless_something_was_built_on_it() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    let first = write(&world, "b", "1\n").await;
    let other = write(&world, "c", "1\n").await;
    write(&world, "b", "2\n").await;
    let refused = world.error("undo", json!({ "call": first }), "failed").await;
    assert!(refused.contains("b was changed by somebody else"), "{refused}");
    world.text("undo", json!({ "call": other })).await;
    assert_eq!(world.get("b"), b"2\n");
    assert!(!world.workspace().join("c").exists());
    let unknown = world.error("undo", json!({ "call": "nonsense" }), "failed").await;
    assert!(unknown.contains("call nonsense has no change in the journal"), "{unknown}");
}

#[tokio::test]
async fn what_somebody_else_changed_since_is_reported_and_left() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    write(&world, "b", "1\n").await;
    world.put("b", "theirs\n");
    let refused = world.error("undo", json!({}), "failed").await;
    assert!(
        refused.contains("nothing was changed") && refused.contains("b was changed"),
        "{refused}"
    );
    assert_eq!(world.get("b"), b"theirs\n");
}

#[tokio::test]
async fn a_batch_is_taken_back_as_a_whole() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    let before = tree_hash(&world.workspace());
    let call =
        |path: &str| json!({ "tool": "write", "args": { "file_path": path, "content": "x" } });
    let batch = world.prepare("batch", json!({ "calls": [call("x/1"), call("x/2"), call("y")] }));
    let id = batch.id.to_string();
    let settled = world.toolset.execute(batch, CancellationToken::new()).await;
    assert!(settled.result.is_ok(), "{}", settled.text());
    assert_eq!(world.get("x/2"), b"x");
    world.text("undo", json!({ "call": id })).await;
    assert_eq!(tree_hash(&world.workspace()), before);
}

#[tokio::test]
async fn taking_back_asks_as_an_edit_and_shows_the_diff() {
    let world = World::ruled(crate::every_tool::ASK_ALL, Reply::Once).await;
    write(&world, "b", "1\n").await;
    write(&world, "b", "2\n").await;
    world.host.asked.lock().unwrap().clear();
    world.text("undo", json!({})).await;
    let effects: Vec<Value> =
        world.asked_effects().iter().map(|it| json!([it.key, it.value])).collect();
    assert_eq!(effects, [json!(["undo", "*"]), json!(["read", "b"]), json!(["edit", "b"])]);
    let diff = world.host.asked.lock().unwrap()[0].ask.metadata["diff"].clone();
    assert!(diff.as_str().unwrap().contains("-2\n+1\n"), "{diff}");
}

#[tokio::test]
async fn one_session_does_not_take_back_what_another_did_by_chance() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    write(&world, "b", "1\n").await;
    let mut other = world.again(ALLOW_ALL).await;
    other.session = haft_runtime::SessionId::fresh();
    other.error("undo", json!({}), "failed").await;
    assert_eq!(world.get("b"), b"1\n");
}
