//! A store that fails, is busy, or is slow costs no call its one end.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use haft_runtime::permission::Action;
use haft_runtime::{
    Before, BoxFuture, Call, CancellationToken, Context, Delivery, Hook, InitContext, InitError,
    Output, Registry, Runtime, SessionId, Store, Tool, ToolError, Traits,
};
use serde_json::{Value, json};

use crate::memory::Memory;
use crate::world::{World, audience, is_terminal, kind, rules};

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
    store.refuses_ends.store(true, Ordering::SeqCst);
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
async fn an_id_that_is_in_use_is_not_run_beside_itself() {
    let store = Arc::new(Memory::new());
    let world = world(&store).await;
    let call = world.call(json!({ "what": "stop_when_told" }));
    let (again, cancel) = (call.clone(), CancellationToken::new());
    let (toolset, stop) = (world.toolset.clone(), cancel.clone());
    let first = tokio::spawn(async move { toolset.execute(call, stop).await });
    while store.all_events().len() < 2 {
        tokio::task::yield_now().await;
    }
    let second = world.toolset.execute(again, CancellationToken::new()).await;
    assert!(second.result.unwrap_err().to_string().contains("was not run"));
    cancel.cancel();
    assert_eq!(first.await.unwrap().result.unwrap_err().kind(), "cancelled");
    let kinds: Vec<String> = store.all_events().iter().map(kind).collect();
    assert_eq!(kinds, ["call.pending", "call.running", "call.error"], "the record of the first");
}

#[tokio::test]
async fn a_store_that_panics_has_failed_and_takes_nobody_with_it() {
    let store = Arc::new(Memory::new());
    let mut world = world(&store).await;
    store.panics.store(u32::MAX, Ordering::SeqCst);
    let settled = world.run(json!({ "what": "say", "text": "x" })).await;
    assert!(settled.result.unwrap_err().to_string().contains("defect"));
    assert_eq!(kind(until_the_end(&mut world).await.last().unwrap()), "call.error");
    store.panics.store(0, Ordering::SeqCst);
    assert!(world.run(json!({ "what": "say", "text": "x" })).await.result.is_ok());
}

/// Waits before it lets a call go on.
struct Slow;

impl Hook for Slow {
    fn before<'a>(
        &'a self,
        _: &'a str,
        args: Value,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Before, ToolError>> {
        Box::pin(async {
            tokio::task::yield_now().await;
            Ok(args.into())
        })
    }
}

#[tokio::test]
async fn a_call_that_only_reads_is_told_to_run_while_it_runs() {
    for slow in [false, true] {
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        let mut registry = Registry::new();
        registry.tool::<Look>();
        let policy = rules(&[("*", "*", Action::Allow)]);
        let builder = Runtime::builder("/project").registry(registry).policy(policy).store(store);
        let runtime = if slow { builder.hook(Slow) } else { builder }.build();
        let toolset = runtime.toolset(&audience()).await;
        let mut events = runtime.events(None);
        let cancel = CancellationToken::new();
        let call = Call::new(SessionId::fresh(), "look", json!({ "how": "on" }));
        let stop = cancel.clone();
        let work = tokio::spawn(async move { toolset.execute(call, stop).await });
        // It hangs until it is told to stop: that this comes is the point.
        loop {
            let Some(Delivery::Event(event)) = events.next().await else { panic!() };
            if kind(&event) == "call.running" {
                break;
            }
        }
        cancel.cancel();
        assert!(work.await.unwrap().result.is_err());
    }
}

/// A tool that only looks.
struct Look;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct How {
    how: Long,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Long {
    Once,
    /// Until it is told to stop.
    On,
}

impl Tool for Look {
    const ID: &'static str = "look";
    const DESCRIPTION: &'static str = "Looks.";
    type Params = How;

    async fn init(_: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self)
    }

    async fn run(&self, params: How, cx: &Context) -> Result<Output, ToolError> {
        match params.how {
            Long::Once => Ok(Output::new("look", "seen")),
            Long::On => {
                cx.cancel.cancelled().await;
                Err(ToolError::cancelled())
            }
        }
    }

    fn traits(&self) -> Traits {
        Traits::READ_ONLY
    }
}

async fn glance(runtime: &Runtime) -> Output {
    let call = Call::new(SessionId::fresh(), "look", json!({ "how": "once" }));
    let toolset = runtime.toolset(&audience()).await;
    toolset.execute(call, CancellationToken::new()).await.result.unwrap()
}

fn glancing(store: &Arc<Memory>) -> Runtime {
    let mut registry = Registry::new();
    registry.tool::<Look>();
    let store: Arc<dyn Store> = store.clone();
    let policy = rules(&[("*", "*", Action::Allow)]);
    Runtime::builder("/project").registry(registry).policy(policy).store(store).build()
}

#[tokio::test]
async fn what_only_reads_is_answered_before_it_is_on_record_and_whoever_looks_finds_it_there() {
    let store = Arc::new(Memory::new());
    let runtime = glancing(&store);
    store.held.store(true, Ordering::SeqCst);
    assert_eq!(glance(&runtime).await.output, "seen");
    assert_eq!(store.all_events(), []);
    store.held.store(false, Ordering::SeqCst);
    runtime.write_down().await;
    let kinds: Vec<String> = store.all_events().iter().map(kind).collect();
    assert_eq!(kinds, ["call.pending", "call.running", "call.completed"]);
}

#[tokio::test]
async fn what_is_written_down_while_the_store_waits_holds_up_nobody_else() {
    let store = Arc::new(Memory::new());
    let runtime = glancing(&store);
    store.held.store(true, Ordering::SeqCst);
    store.busy.store(u32::MAX, Ordering::SeqCst);
    glance(&runtime).await;
    // The only thread goes on, and so lets the store go on.
    let others = async { store.held.store(false, Ordering::SeqCst) };
    tokio::join!(runtime.write_down(), others);
    assert_eq!(store.all_events().len(), 3);
}

#[tokio::test]
async fn while_nothing_can_be_kept_what_only_reads_waits_and_says_so() {
    let store = Arc::new(Memory::new());
    let runtime = glancing(&store);
    store.fails.store(u32::MAX, Ordering::SeqCst);
    assert!(!glance(&runtime).await.metadata.contains_key("unrecorded"), "nobody knows yet");
    runtime.write_down().await;
    let output = glance(&runtime).await;
    assert_eq!(output.output, "seen");
    assert!(output.metadata["unrecorded"].as_str().unwrap().contains("is full"));
    store.fails.store(0, Ordering::SeqCst);
    assert!(!glance(&runtime).await.metadata.contains_key("unrecorded"));
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
    for round in 0..60u32 {
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
    assert_eq!(delivered.len(), 60 * 16 * 3);
    let numbers: Vec<u64> = delivered.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=2880).collect::<Vec<_>>());
    assert_eq!(delivered, store.all_events());
}
