//! A model that goes in circles is asked about.

use std::sync::Arc;

use haft_runtime::Store;
use haft_runtime::permission::{Action, Reply};
use serde_json::json;

use crate::memory::Memory;
use crate::world::{Scripted, World, rules};

async fn world(host: Scripted) -> World {
    let policy = rules(&[("*", "*", Action::Allow), ("doom_loop", "*", Action::Ask)]);
    World::with(|builder| builder.policy(policy).host(host)).await
}

#[tokio::test]
async fn the_third_equal_call_with_equal_results_asks_before_it_runs() {
    let host = Scripted::always_says(Reply::Reject { feedback: None });
    let mut world = world(host.clone()).await;
    let same = json!({ "what": "say", "text": "x" });
    assert!(world.run(same.clone()).await.result.is_ok());
    assert!(world.run(same.clone()).await.result.is_ok());
    world.happened();
    assert_eq!(world.run(same.clone()).await.result.unwrap_err().kind(), "denied");
    assert_eq!(world.run(same).await.result.unwrap_err().kind(), "denied", "a no is no way out");
    assert!(!world.kinds().contains(&"call.running".to_owned()));
    let asked = host.asked.lock().unwrap();
    assert_eq!(
        (asked[0].ask.effects[0].key.as_ref(), asked[0].ask.effects[0].value.as_str()),
        ("doom_loop", "obey")
    );
}

#[tokio::test]
async fn another_call_in_between_starts_the_count_anew() {
    let world = world(Scripted::always_says(Reply::Reject { feedback: None })).await;
    for text in ["x", "x", "y", "x", "x"] {
        assert!(world.run(json!({ "what": "say", "text": text })).await.result.is_ok());
    }
}

#[tokio::test]
async fn an_answer_of_yes_lets_it_go_on_and_counts_anew() {
    let host = Scripted::always_says(Reply::Once);
    let world = world(host.clone()).await;
    for _ in 0..5 {
        assert!(world.run(json!({ "what": "say", "text": "x" })).await.result.is_ok());
    }
    assert_eq!(host.asked.lock().unwrap().len(), 2, "before the third and the fifth");
}

#[tokio::test]
async fn failures_count_as_results() {
    let world = world(Scripted::always_says(Reply::Reject { feedback: None })).await;
    let same = json!({ "what": "fail", "text": "x" });
    let mut kinds = Vec::new();
    for _ in 0..3 {
        kinds.push(world.run(same.clone()).await.result.unwrap_err().kind());
    }
    assert_eq!(kinds, ["failed", "failed", "denied"]);
}

#[tokio::test]
async fn long_results_are_equal_although_each_is_kept_under_a_path_of_its_own() {
    let policy = rules(&[("*", "*", Action::Allow), ("doom_loop", "*", Action::Ask)]);
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let world = World::with(|builder| builder.policy(policy).store(store)).await;
    let mut ok = Vec::new();
    for _ in 0..4 {
        ok.push(
            world.run(json!({ "what": "say", "text": "x", "times": 5000 })).await.result.is_ok(),
        );
    }
    assert_eq!(ok, [true, true, false, false]);
}
