//! Everything the model reads is bounded, and what is cut is kept.

use std::sync::Arc;

use haft_runtime::permission::Action;
use haft_runtime::{Limits, Store};
use serde_json::json;

use crate::memory::Memory;
use crate::world::{World, rules};

async fn world(store: &Arc<Memory>) -> World {
    let allow = rules(&[("*", "*", Action::Allow)]);
    let limits = Limits { hint: "read takes this path".into(), ..Limits::default() };
    let store: Arc<dyn Store> = store.clone();
    World::with(|builder| builder.policy(allow).limits(limits).store(store)).await
}

#[tokio::test]
async fn a_long_answer_is_cut_counted_and_kept_whole() {
    let store = Arc::new(Memory::new());
    let world = world(&store).await;
    let settled = world.run(json!({ "what": "say", "text": "line", "times": 10_000 })).await;
    let output = settled.result.unwrap();
    assert!(output.truncated && output.metadata["truncated"] == true);
    assert!(output.output.len() <= 50 * 1024 && output.output.lines().count() <= 2_000);
    let whole = vec!["line"; 10_000].join("\n");
    let path = output.metadata["output_path"].as_str().unwrap();
    assert_eq!(fs_err::read_to_string(path).unwrap(), whole);
    assert!(
        output.output.contains(&format!("the whole text is kept at {path}; read takes this path"))
    );
    assert!(output.output.contains(&format!("of {} bytes", whole.len())));
    let shown = output.output.lines().filter(|line| *line == "line").count();
    assert!(output.output.contains(&format!("[{} lines, ", 10_000 - shown)), "{}", 10_000 - shown);
    assert!(store.kept(std::path::Path::new(path)).unwrap().is_some());
}

#[tokio::test]
async fn without_a_store_the_text_says_that_the_rest_is_gone() {
    let world = World::new().await;
    let settled = world.run(json!({ "what": "say", "text": "é".repeat(200_000) })).await;
    let output = settled.result.unwrap();
    assert!(output.output.contains("it was not kept: there is no store"));
    assert!(output.output.len() <= 50 * 1024);
}

#[tokio::test]
async fn an_error_is_bounded_too() {
    let world = World::new().await;
    let settled =
        world.run(json!({ "what": "fail", "text": "é".repeat(1_000_000) })).await.to_json();
    let message = settled["error"]["message"].as_str().unwrap();
    assert!(message.len() <= 8 * 1024, "{}", message.len());
    assert!(message.starts_with("éé") && message.ends_with("éé"));
}

#[tokio::test(start_paused = true)]
async fn progress_metadata_is_bounded_too() {
    let mut world = World::new().await;
    let cancel = haft_runtime::CancellationToken::new();
    cancel.cancel();
    let call = world.call(json!({ "what": "hang_with_progress", "text": "x".repeat(1_000_000) }));
    world.toolset.execute(call, cancel).await;
    for event in world.happened().iter().skip(2) {
        let size = serde_json::to_string(event).unwrap().len();
        assert!(size < 70_000, "{size}");
    }
}

#[tokio::test]
async fn a_title_is_bounded_and_a_long_line_after_a_short_one_is_shown_in_part() {
    let world = World::new().await;
    let output = world.run(json!({ "what": "long" })).await.result.unwrap();
    assert!(output.title.chars().count() <= 201);
    assert!((40_000..=50 * 1024).contains(&output.output.len()), "{}", output.output.len());
    assert!(output.output.starts_with("head\nxxx"));
}
