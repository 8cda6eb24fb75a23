//! Asks: who answers them, what the answer covers, and what becomes of the others.

use std::sync::Arc;

use haft_runtime::permission::{Action, LayerKind, Policy, Reply};
use haft_runtime::{Agent, Audience, CancellationToken, Settled, Store, ToolError};
use serde_json::json;

use crate::memory::Memory;
use crate::world::{Scripted, World, audience, layer, rules};

fn ask(text: &str) -> serde_json::Value {
    json!({ "what": "ask", "text": text })
}

/// Starts a call, and comes back when its ask is open.
async fn start(world: &World, text: &str) -> tokio::task::JoinHandle<Settled> {
    let before = world.runtime.asks().len();
    let (toolset, call) = (world.toolset.clone(), world.call(ask(text)));
    let work = tokio::spawn(async move { toolset.execute(call, CancellationToken::new()).await });
    while world.runtime.asks().len() == before {
        tokio::task::yield_now().await;
    }
    work
}

#[tokio::test]
async fn an_allow_needs_no_answer_and_a_deny_takes_none() {
    let policy = rules(&[("obey", "*", Action::Allow), ("obey", "bad *", Action::Deny)]);
    let host = Scripted::always_says(Reply::Always);
    let world = World::with(|builder| builder.policy(policy).host(host.clone())).await;
    assert!(world.run(ask("good thing")).await.result.is_ok());
    let error = world.run(ask("bad thing")).await.result.unwrap_err();
    assert!(error.to_string().contains("`obey bad * = deny` (test)"), "{error}");
    assert!(host.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn with_nobody_there_the_message_names_what_would_allow_it() {
    let world = World::with(|builder| builder).await;
    let settled = world.run(ask("thing")).await.to_json();
    assert_eq!(settled["error"]["kind"], "denied");
    let message = settled["error"]["message"].as_str().unwrap();
    assert!(message.contains(r#"[permission.obey] "thing" = "allow""#), "{message}");
    assert_eq!(settled["error"]["denial"]["by"], "unattended");
}

#[tokio::test]
async fn all_that_was_not_allowed_is_named_on_a_no() {
    for (reply, words) in [
        (Reply::Unattended, "free `x` and obey `y` need permission"),
        (Reply::Reject { feedback: None }, "rejected free `x` and obey `y`"),
    ] {
        let world = World::with(|builder| builder.host(Scripted::always_says(reply))).await;
        let settled = world.run(json!({ "what": "ask_two", "text": "y" })).await.to_json();
        let message = settled["error"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
        assert_eq!(settled["error"]["denial"]["more"][0]["value"], "y");
    }
}

#[tokio::test]
async fn the_users_own_words_reach_the_model() {
    let feedback = Some("use the other file".to_owned());
    let host = Scripted::always_says(Reply::Reject { feedback });
    let world = World::with(|builder| builder.host(host)).await;
    let error = world.run(ask("thing")).await.result.unwrap_err();
    assert!(error.to_string().ends_with("said: use the other file"), "{error}");
}

#[tokio::test]
async fn always_holds_for_what_was_shown_and_for_nothing_else() {
    let store = Arc::new(Memory::new());
    let host = Scripted::always_says(Reply::Always);
    let shared: Arc<dyn Store> = store.clone();
    let world = World::with(|builder| builder.host(host.clone()).store(shared)).await;
    assert!(world.run(ask("thing")).await.result.is_ok());
    assert!(world.run(ask("thing")).await.result.is_ok());
    assert_eq!(host.asked.lock().unwrap().len(), 1, "the second was covered");
    *host.reply.lock().unwrap() = Some(Reply::Reject { feedback: None });
    assert!(world.run(ask("things")).await.result.is_err());
    let grants = store.grants(Some("/project")).unwrap();
    assert_eq!((grants[0].key.as_str(), grants[0].pattern.as_str()), ("obey", "thing"));
    store.revoke_grant(&grants[0].id).unwrap();
    assert!(world.run(ask("thing")).await.result.is_err(), "a revoked grant is gone at once");
}

#[tokio::test]
async fn no_always_is_offered_where_it_would_cover_more_than_was_shown() {
    let host = Scripted::always_says(Reply::Always);
    let world = World::with(|builder| builder.host(host.clone())).await;
    assert!(world.run(ask("rm *")).await.result.is_ok());
    assert!(world.run(ask("rm everything")).await.result.is_ok());
    let asked = host.asked.lock().unwrap();
    assert_eq!(asked.len(), 2);
    assert!(asked[0].ask.always.is_empty());
}

#[tokio::test]
async fn a_grant_never_beats_a_deny() {
    let store = Arc::new(Memory::new());
    let host = Scripted::always_says(Reply::Always);
    let (a, b): (Arc<dyn Store>, Arc<dyn Store>) = (store.clone(), store.clone());
    let open = World::with(|builder| builder.host(host.clone()).store(a)).await;
    assert!(open.run(ask("thing")).await.result.is_ok());
    let policy = rules(&[("obey", "thing", Action::Deny)]);
    let closed = World::with(|builder| builder.host(host).store(b).policy(policy)).await;
    assert_eq!(closed.run(ask("thing")).await.result.unwrap_err().kind(), "denied");
}

#[tokio::test]
async fn a_reply_from_outside_answers_once() {
    let world = World::with(|builder| builder.host(Scripted::default())).await;
    let work = start(&world, "thing").await;
    let id = world.runtime.asks()[0].id.clone();
    assert!(world.runtime.reply(&id, Reply::Once));
    assert!(!world.runtime.reply(&id, Reply::Once), "it waits no longer");
    assert!(work.await.unwrap().result.is_ok());
}

#[tokio::test]
async fn a_rejection_drops_what_else_the_session_waits_for() {
    let mut world = World::with(|builder| builder.host(Scripted::default())).await;
    let first = start(&world, "one").await;
    let second = start(&world, "two").await;
    let session = std::mem::replace(&mut world.session, haft_runtime::SessionId::fresh());
    let other = start(&world, "three").await;
    let id = world.runtime.asks().iter().find(|ask| ask.session == session).unwrap().id.clone();
    world.runtime.reply(&id, Reply::Reject { feedback: None });
    assert!(first.await.unwrap().result.unwrap_err().to_string().contains("the user rejected"));
    assert!(second.await.unwrap().result.unwrap_err().to_string().contains("was dropped"));
    assert_eq!(world.runtime.asks().len(), 1, "another session goes on waiting");
    other.abort();
}

#[tokio::test]
async fn always_lets_go_the_waiting_asks_that_it_covers() {
    let world = World::with(|builder| builder.host(Scripted::default())).await;
    let first = start(&world, "same").await;
    let second = start(&world, "same").await;
    let third = start(&world, "different").await;
    let id = world.runtime.asks()[0].id.clone();
    world.runtime.reply(&id, Reply::Always);
    assert!(first.await.unwrap().result.is_ok());
    assert!(second.await.unwrap().result.is_ok());
    assert_eq!(world.runtime.asks()[0].ask.effects[0].value, "different");
    third.abort();
}

#[tokio::test]
async fn a_dropped_call_takes_its_ask_with_it() {
    let mut world = World::with(|builder| builder.host(Scripted::default())).await;
    let work = start(&world, "thing").await;
    work.abort();
    assert!(work.await.unwrap_err().is_cancelled());
    assert!(world.runtime.asks().is_empty());
    let kinds = world.kinds();
    assert_eq!(kinds[2..], ["ask.opened", "ask.closed", "call.error"]);
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_call_that_waits_for_an_answer_ends_it_at_once() {
    let world = World::with(|builder| builder.host(Scripted::default())).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let call = world.call(ask("thing"));
    let begin = tokio::time::Instant::now();
    let settled = world.toolset.execute(call, cancel).await;
    assert!(matches!(settled.result, Err(ToolError::Cancelled { .. })));
    assert_eq!(begin.elapsed(), std::time::Duration::ZERO);
}

#[tokio::test]
async fn an_agents_own_rules_count_and_a_child_never_exceeds_its_parent() {
    let policy = rules(&[("obey", "*", Action::Allow)]);
    let world = World::with(|builder| builder.policy(policy)).await;
    let with = |rules, ceiling| Audience {
        agent: Agent { rules, ceiling, ..audience().agent },
        ..audience()
    };
    let careful = layer(LayerKind::Agent, &[("obey", "danger", Action::Deny)]);
    let parent = world.runtime.toolset(&with(vec![careful], None)).await;
    let run = |toolset: &haft_runtime::Toolset, text| {
        let (toolset, call) = (toolset.clone(), world.call(ask(text)));
        async move { toolset.execute(call, CancellationToken::new()).await.result }
    };
    assert!(run(&parent, "safe").await.is_ok());
    assert!(run(&parent, "danger").await.is_err());
    let bold = layer(LayerKind::Agent, &[("obey", "*", Action::Allow)]);
    let child = world.runtime.toolset(&with(vec![bold], Some(Arc::clone(parent.policy())))).await;
    assert!(run(&child, "safe").await.is_ok());
    assert!(run(&child, "danger").await.is_err(), "what the parent may not, the child may not");
}

#[tokio::test]
async fn what_is_explained_is_what_happens() {
    let policy = || {
        rules(&[
            ("obey", "*", Action::Ask),
            ("obey", "a*", Action::Allow),
            ("obey", "ab*", Action::Deny),
        ])
    };
    let host = Scripted::always_says(Reply::Unattended);
    let world = World::with(|builder| builder.policy(policy()).host(host.clone())).await;
    for (text, decision) in [("x", Action::Ask), ("ax", Action::Allow), ("abx", Action::Deny)] {
        let explanation = world.toolset.explain(&world.call(ask(text))).await.unwrap();
        assert_eq!(explanation.decision, decision);
        host.asked.lock().unwrap().clear();
        let ran = world.run(ask(text)).await.result.is_ok();
        let asked = !host.asked.lock().unwrap().is_empty();
        assert_eq!((ran, asked), (decision == Action::Allow, decision == Action::Ask), "{text}");
    }
}

#[tokio::test]
async fn explaining_leaves_no_trace() {
    let mut world = World::with(|builder| builder.policy(Policy::default())).await;
    world.toolset.explain(&world.call(ask("x"))).await.unwrap();
    assert!(world.happened().is_empty());
}

#[tokio::test]
async fn an_answer_that_was_accepted_is_the_answer() {
    for _ in 0..50 {
        let host = Scripted::default();
        let world = World::with(|builder| builder.host(host.clone())).await;
        let work = start(&world, "thing").await;
        let id = world.runtime.asks()[0].id.clone();
        // Both answer before the call is polled again.
        host.answer_now(Reply::Once);
        assert!(world.runtime.reply(&id, Reply::Reject { feedback: None }));
        assert_eq!(work.await.unwrap().result.unwrap_err().kind(), "denied");
    }
}

#[tokio::test]
async fn no_grant_is_offered_for_what_a_rule_allows_already() {
    let policy = rules(&[("free", "*", Action::Allow)]);
    let host = Scripted::always_says(Reply::Once);
    let world = World::with(|builder| builder.policy(policy).host(host.clone())).await;
    assert!(world.run(json!({ "what": "ask_two", "text": "x" })).await.result.is_ok());
    let asked = host.asked.lock().unwrap();
    assert_eq!(asked[0].ask.always.len(), 1);
    assert_eq!(asked[0].ask.always[0].key, "obey");
}

#[tokio::test]
async fn a_denial_is_bounded_wherever_it_is_quoted() {
    let world = World::with(|builder| builder).await;
    let error = world.run(ask(&"y".repeat(1_000_000))).await.to_json()["error"].to_string();
    assert!(error.len() < 20_000, "{}", error.len());
}
