//! A store that fails, is busy, or is slow costs no call its one end.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use haft_runtime::permission::Action;
use haft_runtime::{CancellationToken, Store};
use serde_json::json;

use crate::memory::Memory;
use crate::world::{World, is_terminal, kind, rules};

async fn world(store: &Arc<Memory>) -> World {
    let store: Arc<dyn Store> = store.clone();
    World::with(|builder| builder.policy(rules(&[("*", "*", Action::Allow)])).store(store)).await
}

/// Events come from the log's thread: they are waited for.
async fn until_the_end(world: &mut World) -> Vec<haft_runtime::Event> {
    let mut events = Vec::new();
    while !events.last().is_some_and(is_terminal) {
        match world.events.next().await.unwrap() {
            haft_runtime::Delivery::Event(event) => events.push(event),
            haft_runtime::Delivery::Missed(_) => panic!(),
        }
    }
    events
}

#[tokio::test]
async fn what_is_delivered_is_what_is_kept() {
    let store = Arc::new(Memory::new());
    let mut world = world(&store).await;
    assert!(world.run(json!({ "what": "say", "text": "x" })).await.result.is_ok());
    assert_eq!(until_the_end(&mut world).await, store.all_events());
}

#[tokio::test]
async fn a_call_that_cannot_be_recorded_is_not_run_and_still_ends() {
    let store = Arc::new(Memory::new());
    let mut world = world(&store).await;
    store.fails.store(u32::MAX, Ordering::SeqCst);
    let settled = world.run(json!({ "what": "say", "text": "x" })).await;
    let message = settled.result.unwrap_err().to_string();
    assert!(message.contains("was not run") && message.contains("is full"), "{message}");
    let events = until_the_end(&mut world).await;
    assert_eq!(events.iter().filter(|event| is_terminal(event)).count(), 1);
}

#[tokio::test]
async fn a_result_that_cannot_be_recorded_is_given_all_the_same_and_says_so() {
    let store = Arc::new(Memory::new());
    let world = world(&store).await;
    // The first append is that of `running`, the second and its second try those of the end.
    store.fails.store(0b110, Ordering::SeqCst);
    let settled = world.run(json!({ "what": "say", "text": "x" })).await;
    let output = settled.result.unwrap();
    assert_eq!(output.output, "x");
    assert!(output.metadata["unrecorded"].as_str().unwrap().contains("is full"));
}

#[tokio::test]
async fn while_another_process_writes_the_thread_waits_for_it() {
    let store = Arc::new(Memory::new());
    let mut world = world(&store).await;
    store.busy.store(u32::MAX, Ordering::SeqCst);
    for _ in 0..20 {
        assert!(world.run(json!({ "what": "say", "text": "x" })).await.result.is_ok());
        let kinds: Vec<String> = until_the_end(&mut world).await.iter().map(kind).collect();
        assert_eq!(kinds, ["call.pending", "call.running", "call.completed"]);
    }
}

#[tokio::test]
async fn an_id_that_was_used_is_not_run_again() {
    let store = Arc::new(Memory::new());
    let mut world = world(&store).await;
    let call = world.call(json!({ "what": "say", "text": "x" }));
    let again = call.clone();
    assert!(world.toolset.execute(call, CancellationToken::new()).await.result.is_ok());
    until_the_end(&mut world).await;
    let settled = world.toolset.execute(again, CancellationToken::new()).await;
    assert!(settled.result.unwrap_err().to_string().contains("already used"));
    assert_eq!(store.all_events().len(), 3, "the first record is as it was");
    assert_eq!(kind(until_the_end(&mut world).await.last().unwrap()), "call.error");
}

#[tokio::test]
async fn everything_recorded_is_written_before_the_runtime_is_gone() {
    let store = Arc::new(Memory::new());
    let world = world(&store).await;
    for _ in 0..10 {
        let call = world.call(json!({ "what": "hang" }));
        let work = world.toolset.execute(call, CancellationToken::new());
        tokio::select! {
            biased;
            _ = work => panic!("it hangs"),
            () = std::future::ready(()) => {}
        }
    }
    drop(world);
    let events = store.all_events();
    assert_eq!(events.iter().filter(|event| is_terminal(event)).count(), 10);
    assert_eq!(Arc::strong_count(&store), 1, "nothing holds on to it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_beside_each_other_lose_nothing_and_keep_order() {
    let store = Arc::new(Memory::new());
    let mut world = world(&store).await;
    for round in 0..20u32 {
        // Now and then somebody else is writing.
        store.busy.store(0x1248_1248u32.rotate_left(round), Ordering::SeqCst);
        let work: Vec<_> = (0..16)
            .map(|index| {
                let (toolset, call) = (
                    world.toolset.clone(),
                    world.call(json!({ "what": "say", "text": index.to_string() })),
                );
                tokio::spawn(async move { toolset.execute(call, CancellationToken::new()).await })
            })
            .collect();
        for call in work {
            assert!(call.await.unwrap().result.is_ok());
        }
    }
    let delivered = world.happened();
    assert_eq!(delivered.len(), 20 * 16 * 3);
    let numbers: Vec<u64> = delivered.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=960).collect::<Vec<_>>());
    assert_eq!(delivered, store.all_events());
}
