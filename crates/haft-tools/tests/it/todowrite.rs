//! `todowrite` through the pipeline.

use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn a_new_list_is_shown_whole_and_a_changed_one_by_what_changed() {
    let world = World::new().await;
    let first = json!({ "todos": [
        { "content": "read", "status": "in_progress", "priority": "high" },
        { "content": "write", "status": "pending" },
    ] });
    assert_eq!(
        world.text("todowrite", first).await,
        "[>] 1. read (high)\n[ ] 2. write\n2 of 2 open"
    );
    let second = json!({ "todos": [
        { "content": "read", "status": "completed", "priority": "high" },
        { "content": "write", "status": "pending" },
    ] });
    assert_eq!(world.text("todowrite", second.clone()).await, "[x] 1. read (high)\n1 of 2 open");
    assert_eq!(world.text("todowrite", second).await, "Nothing changed.\n1 of 2 open");
    let third =
        json!({ "todos": [{ "content": "read", "status": "cancelled", "priority": "low" }] });
    assert_eq!(
        world.text("todowrite", third).await,
        "[-] 1. read (low)\nremoved: 2. write\n0 of 1 open"
    );
    assert_eq!(
        world.text("todowrite", json!({ "todos": [] })).await,
        "removed: 1. read\n0 of 0 open"
    );
}

#[tokio::test]
async fn the_spellings_of_other_programs_are_taken_and_listed() {
    let world = World::new().await;
    let answer = world
        .call(
            "TodoWrite",
            json!({ "items": "[{\"text\":\"x\",\"status\":\"done\",\"priority\":null}]" }),
        )
        .await;
    assert_eq!(answer["output"], "[x] 1. x\n0 of 1 open");
    let repaired = answer["metadata"]["repaired"].to_string();
    for part in ["TodoWrite", "items", "text", "done", "priority"] {
        assert!(repaired.contains(part), "{part}: {repaired}");
    }
}

#[tokio::test]
async fn two_items_in_progress_are_refused_and_the_list_stays() {
    let world = World::new().await;
    world.text("todowrite", json!({ "todos": [{ "content": "old", "status": "pending" }] })).await;
    let both = json!({ "todos": [
        { "content": "a", "status": "in_progress" },
        { "content": "b", "status": "in_progress" },
    ] });
    let message = world.error("todowrite", both, "invalid_params").await;
    assert!(message.contains("2 items are in_progress; at most one may be"), "{message}");
    assert_eq!(world.text("todoread", json!({})).await, "[ ] 1. old");
}

#[tokio::test]
async fn an_id_stands_in_a_list_once() {
    let world = World::new().await;
    let twice = json!({ "todos": [
        { "id": "a", "content": "x", "status": "pending" },
        { "id": "a", "content": "y", "status": "pending" },
    ] });
    assert!(world.error("todowrite", twice, "invalid_params").await.contains("todos[1].id"));
}

#[tokio::test]
async fn a_list_of_more_than_a_hundred_is_no_plan() {
    let world = World::new().await;
    let item = json!({ "content": "x", "status": "pending" });
    let message =
        world.error("todowrite", json!({ "todos": vec![item; 101] }), "invalid_params").await;
    assert!(message.contains("100"), "{message}");
}

#[tokio::test]
async fn listeners_are_told_of_the_new_list() {
    let world = World::new().await;
    let mut events = world.toolset.runtime().events(None);
    world.text("todowrite", json!({ "todos": [{ "content": "x", "status": "pending" }] })).await;
    let all: Vec<String> =
        std::iter::from_fn(|| events.try_next()).map(|event| format!("{event:?}")).collect();
    assert!(all.iter().any(|event| event.contains("todo.updated")), "{all:?}");
}
