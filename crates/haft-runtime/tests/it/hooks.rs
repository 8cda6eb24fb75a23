//! Hooks rewrite, refuse, and are told; one that fails refuses.

use std::sync::{Arc, Mutex};

use haft_runtime::permission::{
    Action, Escalation, LayerKind, PendingAsk, Policy, Protected, Reply,
};
use haft_runtime::{
    Allowed, Before, Beginning, BoxFuture, CancellationToken, Context, Hook, Output, Said,
    SessionId, ToolError, Word,
};
use serde_json::{Value, json};

use crate::world::{Scripted as Host, World, layer, rules};

type Rewrite = fn(Value) -> Result<Value, ToolError>;
type After = fn(Output) -> Result<Output, ToolError>;

struct Scripted {
    before: Rewrite,
    after: After,
    failures: Arc<Mutex<Vec<String>>>,
}

impl Hook for Scripted {
    fn before<'a>(
        &'a self,
        _: &'a str,
        args: Value,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Before, ToolError>> {
        Box::pin(async { (self.before)(args).map(Into::into) })
    }

    fn after<'a>(
        &'a self,
        _: &'a str,
        output: Output,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async { (self.after)(output) })
    }

    fn failed<'a>(
        &'a self,
        tool: &'a str,
        error: &'a ToolError,
        _: &'a Context,
    ) -> BoxFuture<'a, Option<String>> {
        self.failures.lock().unwrap().push(format!("{tool}: {}", error.kind()));
        Box::pin(async { None })
    }
}

async fn world(before: Rewrite, after: After) -> (World, Arc<Mutex<Vec<String>>>) {
    let failures = Arc::default();
    let hook = Scripted { before, after, failures: Arc::clone(&failures) };
    let allow = rules(&[("*", "*", Action::Allow)]);
    (World::with(|builder| builder.policy(allow).hook(hook)).await, failures)
}

#[tokio::test]
async fn rewritten_arguments_are_validated_again() {
    let (mut world, failures) = world(|_| Ok(json!({ "what": 3 })), Ok).await;
    let error = world.run(json!({ "what": "say" })).await.result.unwrap_err().to_string();
    assert!(error.starts_with("blocked by a hook: it rewrote the arguments of obey"), "{error}");
    assert!(error.contains("what") && !error.contains("Rewrite the call"), "{error}");
    assert_eq!(world.kinds(), ["call.pending", "call.error"]);
    // What did not fit before is the model's to mend.
    let error = world.run(json!({ "what": "nothing known" })).await.result.unwrap_err();
    assert_eq!(error.kind(), "invalid_params");
    assert_eq!(*failures.lock().unwrap(), ["obey: blocked", "obey: invalid_params"]);
}

#[tokio::test]
async fn rewritten_arguments_are_what_runs_and_what_is_recorded() {
    let (mut world, _) = world(|_| Ok(json!({ "what": "say", "text": "b" })), Ok).await;
    let settled = world.run(json!({ "what": "say", "text": "a" })).await;
    assert_eq!(settled.result.unwrap().output, "b");
    let running = serde_json::to_value(&world.happened()[1]).unwrap();
    assert_eq!(running["args"]["text"], "b");
}

#[tokio::test]
async fn a_refusal_before_stops_the_tool() {
    let refuse = |_| Err(ToolError::Blocked { reason: "not today".into() });
    let (mut world, failures) = world(refuse, Ok).await;
    let settled = world.run(json!({ "what": "say" })).await;
    assert_eq!(settled.result.unwrap_err().to_string(), "blocked by a hook: not today");
    assert_eq!(world.kinds(), ["call.pending", "call.error"]);
    assert_eq!(*failures.lock().unwrap(), ["obey: blocked"]);
}

#[tokio::test]
async fn a_hook_that_panics_ends_the_call_and_nothing_else() {
    let (mut world, _) = world(|_| panic!("a bug"), Ok).await;
    assert_eq!(world.run(json!({ "what": "say" })).await.result.unwrap_err().kind(), "panicked");
    assert_eq!(world.kinds(), ["call.pending", "call.error"]);
}

#[tokio::test]
async fn a_hook_sees_the_whole_answer_and_what_it_makes_of_it_is_bounded() {
    let longer = |output: Output| {
        assert_eq!(output.output.len(), 5_999);
        Ok(Output { output: output.output.repeat(100), ..output })
    };
    let (world, _) = world(Ok, longer).await;
    let settled = world.run(json!({ "what": "say", "text": "x", "times": 3000 })).await;
    let output = settled.result.unwrap();
    assert!(output.truncated);
    assert!(output.output.len() <= 50 * 1024);
}

#[tokio::test]
async fn an_answer_that_a_hook_refuses_is_an_error() {
    let (mut world, _) = world(Ok, |_| Err(ToolError::Blocked { reason: "secret".into() })).await;
    assert_eq!(world.run(json!({ "what": "say" })).await.result.unwrap_err().kind(), "blocked");
    assert_eq!(world.kinds(), ["call.pending", "call.running", "call.error"]);
}

/// Hangs wherever it is called.
struct Hanging;

impl Hook for Hanging {
    fn failed<'a>(
        &'a self,
        _: &'a str,
        _: &'a ToolError,
        _: &'a Context,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_hangs_when_told_of_a_failure_does_not_outlast_the_grace() {
    let allow = rules(&[("*", "*", Action::Allow)]);
    let world = World::with(|builder| builder.policy(allow).hook(Hanging)).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let begin = tokio::time::Instant::now();
    let call = world.call(json!({ "what": "hang" }));
    let settled = world.toolset.execute(call, cancel).await;
    assert_eq!(settled.result.unwrap_err().kind(), "cancelled");
    assert_eq!(begin.elapsed(), std::time::Duration::from_millis(500));
}

/// Has a word for every call, and an answer to every ask.
#[derive(Clone, Default)]
struct Opinion {
    word: Option<Word>,
    answer: Option<Allowed>,
    context: Option<String>,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl Hook for Opinion {
    fn before<'a>(
        &'a self,
        _: &'a str,
        args: Value,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Before, ToolError>> {
        let (word, context) = (self.word.clone(), self.context.clone());
        Box::pin(async { Ok(Before { args, word, context }) })
    }

    fn asked<'a>(
        &'a self,
        _: &'a PendingAsk,
        cx: &'a Context,
    ) -> BoxFuture<'a, Result<Option<Allowed>, ToolError>> {
        self.seen.lock().unwrap().push((*cx.input()).clone());
        Box::pin(async { Ok(self.answer) })
    }

    fn failed<'a>(
        &'a self,
        _: &'a str,
        _: &'a ToolError,
        _: &'a Context,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { self.context.clone() })
    }

    fn session_started<'a>(
        &'a self,
        session: &'a SessionId,
        how: Beginning,
    ) -> BoxFuture<'a, Result<Said, ToolError>> {
        let context = vec![format!("{session} {how:?}")];
        Box::pin(async { Ok(Said { context, messages: Vec::new() }) })
    }
}

fn demand() -> Option<Word> {
    Some(Word::Ask { reason: "look at it".into() })
}

/// One call that asks, under `policy` and `hooks`; whether it came through, and what the user was asked.
async fn asking(policy: Policy, hooks: Vec<Opinion>, reply: Reply) -> (bool, Vec<PendingAsk>) {
    let host = Host::always_says(reply);
    let asked = Arc::clone(&host.asked);
    let world = World::with(|builder| {
        let builder = builder.policy(policy).host(host);
        hooks.into_iter().fold(builder, |builder, hook| builder.hook(hook))
    })
    .await;
    let settled = world.run(json!({ "what": "ask", "text": "guarded" })).await;
    let asked = asked.lock().unwrap().clone();
    (settled.result.is_ok(), asked)
}

#[tokio::test]
async fn a_hook_that_wants_the_user_asked_beats_every_allow() {
    let allow = || rules(&[("*", "*", Action::Allow)]);
    let demanding = Opinion { word: demand(), ..Opinion::default() };
    let lax = Opinion { word: Some(Word::Allow), answer: Some(Allowed), ..Opinion::default() };
    for hooks in [
        vec![demanding.clone()],
        vec![demanding.clone(), lax.clone()],
        vec![lax.clone(), demanding.clone()],
    ] {
        let (done, asked) = asking(allow(), hooks.clone(), Reply::Once).await;
        assert!(done);
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].escalation, Some(Escalation::Hook));
        assert_eq!(asked[0].rule.as_ref().unwrap().reason.as_deref(), Some("look at it"));
        assert!(asked[0].ask.always.is_empty(), "always would not help the next time");
        let (done, _) = asking(allow(), hooks, Reply::Unattended).await;
        assert!(!done);
    }
}

#[tokio::test]
async fn a_tool_that_asks_for_nothing_is_asked_about_as_well_if_a_hook_says_so() {
    let host = Host::always_says(Reply::Reject { feedback: None });
    let asked = Arc::clone(&host.asked);
    let hook = Opinion { word: demand(), ..Opinion::default() };
    let allow = rules(&[("*", "*", Action::Allow)]);
    let world = World::with(|builder| builder.policy(allow).host(host).hook(hook)).await;
    let settled = world.run(json!({ "what": "nothing", "text": "quiet" })).await;
    assert_eq!(settled.result.unwrap_err().kind(), "denied");
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_allow_of_a_hook_answers_asks_and_beats_neither_deny_nor_protection() {
    let lax = || vec![Opinion { word: Some(Word::Allow), ..Opinion::default() }];
    let answers = || vec![Opinion { answer: Some(Allowed), ..Opinion::default() }];
    for hooks in [lax, answers] {
        let ask = rules(&[("*", "*", Action::Ask)]);
        let (done, asked) = asking(ask.clone(), hooks(), Reply::Unattended).await;
        assert!(done && asked.is_empty());
        let deny = rules(&[("*", "*", Action::Allow), ("obey", "guarded", Action::Deny)]);
        let (done, asked) = asking(deny, hooks(), Reply::Once).await;
        assert!(!done && asked.is_empty());
        let protected = ask.clone().protect([Protected::new("obey", ["guarded"])]);
        let (done, asked) = asking(protected, hooks(), Reply::Unattended).await;
        assert!(!done);
        assert_eq!(asked.len(), 1);
        let parent = Policy::new(vec![layer(LayerKind::User, &[("*", "*", Action::Ask)])]);
        let under =
            parent.clone().under(Arc::new(parent.protect([Protected::new("obey", ["guarded"])])));
        let (done, _) = asking(under, hooks(), Reply::Unattended).await;
        assert!(!done, "a hook of the child opens nothing of the parent");
    }
}

#[tokio::test]
async fn whoever_is_shown_an_ask_sees_the_arguments_that_run() {
    let hook = Opinion { answer: Some(Allowed), ..Opinion::default() };
    let seen = Arc::clone(&hook.seen);
    asking(rules(&[]), vec![hook], Reply::Unattended).await;
    assert_eq!(*seen.lock().unwrap(), [json!({ "what": "ask", "text": "guarded" })]);
}

#[tokio::test]
async fn what_hooks_add_stands_below_the_answer_and_below_the_error() {
    let hook = Opinion { context: Some("mind the gap".into()), ..Opinion::default() };
    let allow = rules(&[("*", "*", Action::Allow)]);
    let world = World::with(|builder| builder.policy(allow).hook(hook)).await;
    let settled = world.run(json!({ "what": "say", "text": "hello" })).await;
    assert_eq!(settled.text(), "hello\n\n[from a hook]\nmind the gap");
    let settled = world.run(json!({ "what": "fail", "text": "it broke" })).await;
    let added = "\n\n[from a hook]\nmind the gap";
    assert_eq!(settled.text(), format!("it broke{added}{added}"));
    assert_eq!(settled.to_json()["error"]["message"], settled.text());
}

#[tokio::test]
async fn a_session_begins_with_what_hooks_have_to_say() {
    let world = World::with(|builder| builder.hook(Opinion::default())).await;
    let said = world.runtime.begin_session(&world.session, Beginning::Resume).await.unwrap();
    assert_eq!(said.context, [format!("{} Resume", world.session)]);
}
