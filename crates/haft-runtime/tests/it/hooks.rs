//! Hooks rewrite, refuse, and are told; one that fails refuses.

use std::sync::{Arc, Mutex};

use haft_runtime::permission::Action;
use haft_runtime::{BoxFuture, CancellationToken, Context, Hook, Output, ToolError};
use serde_json::{Value, json};

use crate::world::{World, rules};

type Before = fn(Value) -> Result<Value, ToolError>;
type After = fn(Output) -> Result<Output, ToolError>;

struct Scripted {
    before: Before,
    after: After,
    failures: Arc<Mutex<Vec<String>>>,
}

impl Hook for Scripted {
    fn before<'a>(
        &'a self,
        _: &'a str,
        args: Value,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async { (self.before)(args) })
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
    ) -> BoxFuture<'a, ()> {
        self.failures.lock().unwrap().push(format!("{tool}: {}", error.kind()));
        Box::pin(async {})
    }
}

async fn world(before: Before, after: After) -> (World, Arc<Mutex<Vec<String>>>) {
    let failures = Arc::default();
    let hook = Scripted { before, after, failures: Arc::clone(&failures) };
    let allow = rules(&[("*", "*", Action::Allow)]);
    (World::with(|builder| builder.policy(allow).hook(hook)).await, failures)
}

#[tokio::test]
async fn rewritten_arguments_are_validated_again() {
    let (mut world, failures) = world(|_| Ok(json!({ "what": 3 })), Ok).await;
    let settled = world.run(json!({ "what": "say" })).await;
    assert_eq!(settled.result.unwrap_err().kind(), "invalid_params");
    assert_eq!(world.kinds(), ["call.pending", "call.error"]);
    assert_eq!(*failures.lock().unwrap(), ["obey: invalid_params"]);
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
    fn failed<'a>(&'a self, _: &'a str, _: &'a ToolError, _: &'a Context) -> BoxFuture<'a, ()> {
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
