//! `invalid` through the pipeline.

use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn a_tool_that_does_not_exist_is_answered_with_those_that_do() {
    let world = World::new().await;
    let message = world.error("teleport", json!({ "to": "mars" }), "unknown").await;
    assert_eq!(
        message,
        "there is no tool `teleport`; available: read, list, glob, grep, write, edit, apply_patch, undo, bash, job, webfetch, websearch, codesearch, todowrite, todoread, question, batch"
    );
}

#[tokio::test]
async fn it_is_never_advertised() {
    assert!(!World::new().await.toolset.names().contains(&"invalid".to_owned()));
}

#[tokio::test]
async fn a_host_can_send_it_arguments_that_could_not_be_read() {
    let world = World::new().await;
    let args = json!({ "tool": "todowrite", "error": "expected a comma" });
    let message = world.error("invalid", args, "invalid_params").await;
    assert!(message.contains("todowrite") && message.contains("expected a comma"), "{message}");
}

#[tokio::test]
async fn a_name_of_any_length_is_quoted_in_a_few_words() {
    let world = World::new().await;
    let message = world.error(&"x\u{1b}".repeat(1_000_000), json!({}), "unknown").await;
    assert!(message.len() < 1_000 && !message.contains('\u{1b}'), "{}", message.len());
}
