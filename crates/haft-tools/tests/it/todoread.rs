//! `todoread` through the pipeline.

use haft_runtime::SessionId;
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn an_empty_list_says_so() {
    let world = World::new().await;
    assert_eq!(world.text("todoread", json!({})).await, "The list is empty.");
}

#[tokio::test]
async fn each_session_has_its_own_list() {
    let mut world = World::new().await;
    world.text("todowrite", json!({ "todos": [{ "content": "mine", "status": "pending" }] })).await;
    let first = std::mem::replace(&mut world.session, SessionId::fresh());
    assert_eq!(world.text("todoread", json!({})).await, "The list is empty.");
    world.session = first;
    let answer = world.call("todoread", json!({})).await;
    assert_eq!(answer["output"], "[ ] 1. mine");
    assert_eq!(answer["title"], "1 of 1 open");
    let todo = json!({ "id": "1", "content": "mine", "status": "pending", "priority": "medium" });
    assert_eq!(answer["metadata"]["todos"], json!([todo]));
}

#[tokio::test]
async fn a_hundred_writers_at_once_leave_one_whole_list() {
    let world = World::new().await;
    let calls = (0..100).map(|index| {
        let todos: Vec<_> =
            (0..5).map(|_| json!({ "content": index.to_string(), "status": "pending" })).collect();
        world.call("todowrite", json!({ "todos": todos }))
    });
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer["state"], "completed");
    }
    let answer = world.call("todoread", json!({})).await;
    let todos = answer["metadata"]["todos"].as_array().unwrap();
    assert_eq!(todos.len(), 5);
    assert!(todos.iter().all(|todo| todo["content"] == todos[0]["content"]), "{todos:?}");
}
