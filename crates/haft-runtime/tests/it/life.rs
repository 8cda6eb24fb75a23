//! Exactly one end, whatever happens in between.

use std::time::Duration;

use haft_runtime::{CancellationToken, ToolError};
use serde_json::json;
use tokio::time::Instant;

use crate::world::World;

#[tokio::test]
async fn a_call_is_pending_then_running_then_completed() {
    let mut world = World::new().await;
    let settled = world.run(json!({ "what": "say", "text": "hello" })).await;
    assert_eq!(settled.result.unwrap().output, "hello");
    assert_eq!(world.kinds(), ["call.pending", "call.running", "call.completed"]);
}

#[tokio::test]
async fn arguments_that_do_not_fit_never_run() {
    let mut world = World::new().await;
    let settled = world.run(json!({ "what": "nonsense" })).await;
    assert_eq!(settled.result.unwrap_err().kind(), "invalid_params");
    assert_eq!(world.kinds(), ["call.pending", "call.error"]);
}

#[tokio::test]
async fn a_failure_is_told_in_the_tools_own_words() {
    let mut world = World::new().await;
    let settled = world.run(json!({ "what": "fail", "text": "no such thing; try another" })).await;
    assert_eq!(settled.result.unwrap_err().to_string(), "no such thing; try another");
    assert_eq!(world.kinds(), ["call.pending", "call.running", "call.error"]);
}

#[tokio::test]
async fn a_panic_is_an_error_that_does_not_show_its_payload() {
    let mut world = World::new().await;
    let settled = world.run(json!({ "what": "panic" })).await;
    let error = settled.result.unwrap_err();
    assert_eq!(error.kind(), "panicked");
    assert!(!error.to_string().contains("told to"));
    assert_eq!(world.kinds(), ["call.pending", "call.running", "call.error"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_ignores_cancellation_is_dropped_after_the_grace() {
    let mut world = World::new().await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let begin = Instant::now();
    let call = world.call(json!({ "what": "hang_with_progress", "text": "half of it" }));
    let settled = world.toolset.execute(call, cancel).await;
    assert_eq!(begin.elapsed(), Duration::from_millis(500));
    match settled.result.unwrap_err() {
        ToolError::Cancelled { partial } => assert_eq!(partial, "half of it"),
        other => panic!("{other}"),
    }
    assert_eq!(world.kinds(), ["call.pending", "call.running", "call.progress", "call.error"]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_heeds_cancellation_ends_at_once_with_what_it_has() {
    let world = World::new().await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let begin = Instant::now();
    let call = world.call(json!({ "what": "stop_when_told", "text": "so much" }));
    let settled = world.toolset.execute(call, cancel).await;
    assert_eq!(begin.elapsed(), Duration::ZERO);
    assert_eq!(settled.result.unwrap_err().to_string(), "cancelled; so far:\nso much");
}

#[tokio::test]
async fn a_call_whose_future_is_dropped_still_ends_once() {
    let mut world = World::new().await;
    {
        let call = world.call(json!({ "what": "hang" }));
        let work = world.toolset.execute(call, CancellationToken::new());
        tokio::select! {
            biased;
            _ = work => panic!("it hangs"),
            () = std::future::ready(()) => {}
        }
    }
    assert_eq!(world.kinds(), ["call.pending", "call.running", "call.error"]);
}

#[tokio::test]
async fn a_child_goes_through_the_same_pipeline_and_names_its_parent() {
    let mut world = World::new().await;
    let settled = world.run(json!({ "what": "nest", "text": "inner" })).await;
    assert_eq!(settled.result.unwrap().output, "inner");
    let events = world.happened();
    let kinds: Vec<String> = events.iter().map(crate::world::kind).collect();
    let child = ["call.pending", "call.running", "call.completed"];
    assert_eq!(kinds, [&child[..2], &child, &child[2..]].concat());
    let parent = serde_json::to_value(&events[2]).unwrap()["parent"].clone();
    assert_eq!(parent, json!(settled.call));
}

#[tokio::test]
async fn the_wire_form_has_exactly_these_keys() {
    let world = World::new().await;
    let keys = |value: serde_json::Value| {
        value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
    };
    let good = world.run(json!({ "what": "say" })).await.to_json();
    assert_eq!(keys(good), "state tool title output metadata attachments");
    let bad = world.run(json!({ "what": "fail", "text": "x" })).await.to_json();
    assert_eq!(keys(bad["error"].clone()), "kind message");
    assert_eq!(keys(bad), "state tool error metadata");
}
