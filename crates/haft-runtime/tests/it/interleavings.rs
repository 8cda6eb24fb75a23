//! The life of a call under random interleavings of cancel, panic, drop, failing hooks and a failing store.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use haft_runtime::permission::{Action, Reply};
use haft_runtime::{Before, BoxFuture, CancellationToken, Context, Hook, Output, Store, ToolError};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::memory::Memory;
use crate::world::{Scripted, World, is_terminal, kind, rules};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mood {
    Fine,
    Slow,
    Fails,
    Panics,
    Hangs,
}

fn mood() -> impl Strategy<Value = Mood> {
    prop_oneof![
        4 => Just(Mood::Fine),
        2 => Just(Mood::Slow),
        1 => Just(Mood::Fails),
        1 => Just(Mood::Panics),
        1 => Just(Mood::Hangs),
    ]
}

async fn act(mood: Mood) -> Result<(), ToolError> {
    match mood {
        Mood::Fine => Ok(()),
        Mood::Slow => {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            Ok(())
        }
        Mood::Fails => Err(ToolError::Blocked { reason: "in a mood".into() }),
        Mood::Panics => panic!("in a mood"),
        Mood::Hangs => std::future::pending().await,
    }
}

struct Moody {
    before: Mood,
    after: Mood,
    failed: Mood,
}

impl Hook for Moody {
    fn before<'a>(
        &'a self,
        _: &'a str,
        args: Value,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Before, ToolError>> {
        Box::pin(async { act(self.before).await.map(|()| args.into()) })
    }

    fn after<'a>(
        &'a self,
        _: &'a str,
        output: Output,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async { act(self.after).await.map(|()| output) })
    }

    fn failed<'a>(
        &'a self,
        _: &'a str,
        _: &'a ToolError,
        _: &'a Context,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { act(self.failed).await.err().map(|error| error.to_string()) })
    }
}

#[derive(Debug, Clone)]
struct Script {
    what: &'static str,
    before: Mood,
    after: Mood,
    failed: Mood,
    reply: Option<Reply>,
    stored: bool,
    fails: u32,
    busy: u32,
    cancel_after: Option<u8>,
    drop_after: Option<u8>,
}

fn script() -> impl Strategy<Value = Script> {
    let what = prop::sample::select(vec![
        "say",
        "ask",
        "fail",
        "panic",
        "hang",
        "hang_with_progress",
        "stop_when_told",
        "progress",
        "nest",
    ]);
    let reply = prop_oneof![
        Just(None),
        Just(Some(Reply::Once)),
        Just(Some(Reply::Always)),
        Just(Some(Reply::Reject { feedback: None })),
        Just(Some(Reply::Unattended)),
    ];
    let store = (any::<bool>(), prop_oneof![3 => Just(0), 1 => any::<u32>()], any::<u32>());
    let ends = (prop::option::of(0u8..12), prop::option::weighted(0.3, 0u8..12));
    (what, (mood(), mood(), mood()), reply, store, ends).prop_map(
        |(
            what,
            (before, after, failed),
            reply,
            (stored, fails, busy),
            (cancel_after, drop_after),
        )| Script {
            what,
            before,
            after,
            failed,
            reply,
            stored,
            fails,
            busy,
            cancel_after,
            drop_after,
        },
    )
}

async fn yields(count: Option<u8>) {
    match count {
        None => std::future::pending().await,
        Some(count) => {
            for _ in 0..count {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// Plays a script, and returns what was heard.
async fn play(script: &Script, store: Arc<Memory>, host: Scripted) -> Vec<haft_runtime::Event> {
    let shared: Arc<dyn Store> = store.clone();
    host.reply.lock().unwrap().clone_from(&script.reply);
    let hook = Moody { before: script.before, after: script.after, failed: script.failed };
    let policy = rules(&[("*", "*", Action::Allow), ("obey", "ask", Action::Ask)]);
    let mut world = World::with(|builder| {
        let builder = builder.policy(policy).host(host).hook(hook);
        if script.stored {
            builder.store(shared)
        } else {
            drop(shared);
            builder
        }
    })
    .await;
    store.fails.store(script.fails, Ordering::SeqCst);
    store.busy.store(script.busy, Ordering::SeqCst);
    let cancel = CancellationToken::new();
    let call = world.call(json!({ "what": script.what, "text": "ask", "times": 3 }));
    {
        let mut work = std::pin::pin!(world.toolset.execute(call, cancel.clone()));
        let mut cancelled = std::pin::pin!(yields(script.cancel_after));
        let mut dropped = std::pin::pin!(yields(script.drop_after));
        let mut told = false;
        // A script that would wait for ever is cancelled in the end.
        let mut patience = std::pin::pin!(tokio::time::sleep(std::time::Duration::from_secs(60)));
        loop {
            tokio::select! {
                biased;
                _ = &mut work => break,
                () = &mut dropped => break,
                () = &mut cancelled, if !told => { told = true; cancel.cancel(); }
                () = &mut patience, if !told => { told = true; cancel.cancel(); }
            }
        }
    }
    assert!(world.runtime.asks().is_empty(), "an ask was left behind");
    let mut heard = world.happened();
    let mut events = std::mem::replace(&mut world.events, world.runtime.events(None));
    drop(world);
    // What the log's thread delivers on its way out.
    while let Some(haft_runtime::Delivery::Event(event)) = events.next().await {
        heard.push(event);
    }
    heard
}

fn check(script: &Script) -> Result<(), TestCaseError> {
    let threads = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let (store, host) = (Arc::new(Memory::new()), Scripted::default());
    let asked = Arc::clone(&host.asked);
    let heard = threads.block_on(play(script, Arc::clone(&store), host));
    // Waits for what was still under way on other threads.
    drop(threads);
    let mut calls: Vec<String> = Vec::new();
    for event in &heard {
        let value = serde_json::to_value(event).unwrap();
        let call =
            value["call"].as_str().or(value["ask"]["call"].as_str()).unwrap_or_default().to_owned();
        if !call.is_empty() && !calls.contains(&call) {
            calls.push(call);
        }
    }
    for call in calls {
        let of_call: Vec<&haft_runtime::Event> = heard
            .iter()
            .filter(|event| serde_json::to_value(event).unwrap()["call"] == json!(call))
            .collect();
        let kinds: Vec<String> = of_call.iter().map(|event| kind(event)).collect();
        prop_assert_eq!(kinds.first().map(String::as_str), Some("call.pending"));
        prop_assert_eq!(
            of_call.iter().filter(|event| is_terminal(event)).count(),
            1,
            "{:?}",
            kinds
        );
        prop_assert!(is_terminal(of_call.last().unwrap()), "{:?}", kinds);
        prop_assert!(kinds.iter().filter(|kind| *kind == "call.running").count() <= 1);
    }
    let numbers: Vec<u64> = heard.iter().map(|event| event.seq).filter(|seq| *seq != 0).collect();
    prop_assert!(numbers.is_sorted_by(|a, b| a < b), "numbers rise: {numbers:?}");
    if script.fails == 0 {
        prop_assert_eq!(numbers.len(), heard.len(), "each has one");
    }
    if script.stored && script.fails == 0 {
        let kept: Vec<_> =
            heard.iter().filter(|event| kind(event) != "call.progress").cloned().collect();
        prop_assert_eq!(kept, store.all_events());
    }
    let held = (Arc::strong_count(&store), Arc::strong_count(&asked));
    prop_assert_eq!(held, (1, 1), "something is held on to");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn one_end_in_order_and_nothing_leaked(script in script()) {
        check(&script)?;
    }
}
