//! Events: numbered, in order, never waited for.

use haft_runtime::{CancellationToken, Delivery, EventKind, SessionId};
use serde_json::json;

use crate::world::{World, kind};

#[tokio::test]
async fn numbers_rise_by_one_in_each_session() {
    let mut world = World::new().await;
    for _ in 0..3 {
        world.run(json!({ "what": "say", "text": "x" })).await;
    }
    world.session = SessionId::fresh();
    world.run(json!({ "what": "say" })).await;
    let numbers: Vec<u64> = world.happened().iter().map(|event| event.seq).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3]);
}

#[tokio::test]
async fn a_listener_of_one_session_hears_no_other() {
    let mut world = World::new().await;
    let mut events = world.runtime.events(Some(world.session.clone()));
    world.run(json!({ "what": "say" })).await;
    world.session = SessionId::fresh();
    world.run(json!({ "what": "say" })).await;
    let heard: Vec<_> = std::iter::from_fn(|| events.try_next()).collect();
    assert_eq!(heard.len(), 3);
}

#[tokio::test]
async fn a_slow_listener_blocks_nobody_and_is_told_what_it_missed() {
    let mut world = World::new().await;
    for _ in 0..2_000 {
        assert!(world.run(json!({ "what": "say" })).await.result.is_ok());
    }
    let Some(Delivery::Missed(missed)) = world.events.try_next() else { panic!("nothing missed") };
    let rest = world.happened();
    assert_eq!(missed + rest.len() as u64, 6_000);
    assert_eq!(rest[0].seq, missed + 1);
}

#[tokio::test(start_paused = true)]
async fn progress_is_told_ten_times_a_second_the_first_and_the_last_always() {
    let mut world = World::new().await;
    // A thousand reports, one a millisecond.
    world.run(json!({ "what": "progress", "times": 1000 })).await;
    let events = world.happened();
    let counts: Vec<u64> = events
        .iter()
        .filter_map(|event| match &*event.kind {
            EventKind::CallProgress { metadata, .. } => metadata["count"].as_u64(),
            _ => None,
        })
        .collect();
    assert_eq!(counts.first(), Some(&0));
    assert_eq!(counts.last(), Some(&999));
    assert!((9..=13).contains(&counts.len()), "{counts:?}");
    assert_eq!(kind(events.last().unwrap()), "call.completed", "nothing comes after the end");
}

#[tokio::test(start_paused = true)]
async fn the_last_progress_of_a_tool_that_falls_silent_is_delivered_in_time() {
    let mut world = World::new().await;
    let cancel = CancellationToken::new();
    let call = world.call(json!({ "what": "hang_with_progress", "text": "x" }));
    let toolset = world.toolset.clone();
    let stop = cancel.clone();
    let work = tokio::spawn(async move { toolset.execute(call, stop).await });
    let mut kinds = Vec::new();
    while kinds.last().map(String::as_str) != Some("call.progress") {
        let Some(Delivery::Event(event)) = world.events.next().await else { panic!() };
        kinds.push(kind(&event));
    }
    cancel.cancel();
    assert!(work.await.unwrap().result.is_err());
}

#[tokio::test]
async fn adding_and_removing_a_tool_is_told_to_everyone() {
    let mut world = World::new().await;
    assert!(!world.runtime.remove_tool("nothing"));
    assert!(world.runtime.remove_tool("obey"));
    assert_eq!(world.kinds(), ["tools.changed"]);
}
