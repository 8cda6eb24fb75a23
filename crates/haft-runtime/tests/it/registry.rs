//! What an agent is shown, what it is not and why, and what that means for its calls.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use haft_runtime::permission::{Action, Effect};
use haft_runtime::{
    Audience, BoxFuture, Call, CancellationToken, Client, Context, DynTool, InitContext, InitError,
    Model, Output, Registry, Runtime, Schema, SessionId, Tool, ToolError,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::world::{Obey, World, audience, rules};

#[derive(Deserialize, JsonSchema)]
struct NoParams {}

macro_rules! simple_tool {
    ($name:ident, $id:literal, init: $init:expr, offered: $offered:expr) => {
        struct $name;
        impl Tool for $name {
            const ID: &'static str = $id;
            const DESCRIPTION: &'static str = "For a test.";
            type Params = NoParams;
            fn offered(audience: &Audience) -> Result<(), String> {
                $offered(audience)
            }
            async fn init(_: &InitContext<'_>) -> Result<Self, InitError> {
                $init
            }
            async fn run(&self, _: NoParams, _: &Context) -> Result<Output, ToolError> {
                Ok(Output::new("done", "done"))
            }
        }
    };
}

static BUILT: AtomicU32 = AtomicU32::new(0);

simple_tool!(Fine, "fine", init: { BUILT.fetch_add(1, Ordering::SeqCst); Ok(Self) }, offered: |_| Ok(()));
simple_tool!(Broken, "broken", init: Err(InitError::new("no engine found")), offered: |_| Ok(()));
simple_tool!(Bursting, "bursting", init: panic!("a bug"), offered: |_| Ok(()));
simple_tool!(Stuck, "stuck", init: std::future::pending().await, offered: |_| Ok(()));
simple_tool!(Picky, "picky", init: Ok(Self), offered: |audience: &Audience| {
    match &audience.model {
        Some(model) if model.provider == "openai" => Ok(()),
        _ => Err("only for models of openai".to_owned()),
    }
});
simple_tool!(Flagged, "flagged", init: Ok(Self), offered: |audience: &Audience| {
    if audience.features.contains("flag") { Ok(()) } else { Err("switch on `flag`".to_owned()) }
});
simple_tool!(Homely, "homely", init: Ok(Self), offered: |audience: &Audience| {
    if audience.client == Client::Mcp { Err("not over MCP".to_owned()) } else { Ok(()) }
});

fn runtime() -> Runtime {
    let mut registry = Registry::new();
    registry
        .tool::<Obey>()
        .tool::<Broken>()
        .tool::<Bursting>()
        .tool::<Stuck>()
        .tool::<Picky>()
        .tool::<Flagged>()
        .tool::<Homely>();
    let policy = rules(&[("*", "*", Action::Allow)]);
    Runtime::builder("/project").registry(registry).policy(policy).build()
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_cannot_be_built_is_left_out_and_takes_no_other_with_it() {
    let toolset = runtime().toolset(&audience()).await;
    assert_eq!(toolset.names(), ["obey", "homely"]);
    let reasons: Vec<(&str, &str)> =
        toolset.left_out().iter().map(|out| (out.id.as_str(), out.reason.as_str())).collect();
    let expected = [
        ("broken", "no engine found"),
        ("bursting", "it panicked while it was built"),
        ("stuck", "it was not ready within 10 s"),
        ("picky", "only for models of openai"),
        ("flagged", "switch on `flag`"),
    ];
    assert_eq!(reasons, expected);
}

#[tokio::test(start_paused = true)]
async fn model_feature_and_client_decide_what_is_shown() {
    let model = Some(Model { provider: "openai".into(), id: "gpt".into() });
    let features = ["flag".to_owned()].into();
    let everything = Audience { model, features, client: Client::Mcp, ..audience() };
    let toolset = runtime().toolset(&everything).await;
    assert_eq!(toolset.names(), ["obey", "picky", "flagged"]);
}

#[tokio::test]
async fn a_tool_that_was_not_shown_cannot_be_called_by_any_name() {
    let policy = rules(&[("*", "*", Action::Allow), ("obey", "*", Action::Deny)]);
    let world = World::with(|builder| builder.policy(policy)).await;
    assert!(world.toolset.left_out()[0].reason.contains("`obey * = deny`"));
    for (name, kind) in
        [("obey", "denied"), ("Obey", "denied"), ("follow", "unknown"), ("obeyy", "unknown")]
    {
        let call = Call::new(world.session.clone(), name, json!({ "what": "say" }));
        let settled = world.toolset.execute(call, CancellationToken::new()).await;
        assert_eq!(settled.result.unwrap_err().kind(), kind, "{name}");
    }
}

#[tokio::test]
async fn a_toolset_is_built_once_per_audience() {
    let mut registry = Registry::new();
    registry.tool::<Fine>();
    let runtime = Runtime::builder("/project").registry(registry).build();
    let before = BUILT.load(Ordering::SeqCst);
    for _ in 0..3 {
        runtime.toolset(&audience()).await;
    }
    assert_eq!(BUILT.load(Ordering::SeqCst) - before, 1);
    runtime.toolset(&Audience { client: Client::Http, ..audience() }).await;
    assert_eq!(BUILT.load(Ordering::SeqCst) - before, 2);
}

static TRIED: AtomicU32 = AtomicU32::new(0);

simple_tool!(Lacking, "lacking", init: {
    TRIED.fetch_add(1, Ordering::SeqCst);
    Err(InitError::new("no engine found"))
}, offered: |_| Ok(()));

#[tokio::test]
async fn a_tool_that_says_what_it_lacks_is_not_asked_again_for_each_call() {
    let mut registry = Registry::new();
    registry.tool::<Lacking>();
    let runtime = Runtime::builder("/project").registry(registry).build();
    for _ in 0..3 {
        assert_eq!(runtime.toolset(&audience()).await.left_out()[0].reason, "no engine found");
    }
    assert_eq!(TRIED.load(Ordering::SeqCst), 1);
    runtime.add_tool(Arc::new(Dynamic("ape"))).unwrap();
    runtime.toolset(&audience()).await;
    assert_eq!(TRIED.load(Ordering::SeqCst), 2, "when something has changed, it may be there");
}

/// A tool that is data.
struct Dynamic(&'static str);

impl DynTool for Dynamic {
    fn id(&self) -> &str {
        self.0
    }

    fn description(&self) -> Cow<'_, str> {
        "Made at run time.".into()
    }

    fn schema(&self) -> Result<Schema, String> {
        Schema::from_value(json!({
            "type": "object",
            "properties": { "count": { "type": "integer", "maximum": 3 } },
            "required": ["count"],
        }))
    }

    fn effects<'a>(
        &'a self,
        _: Value,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<Effect>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn prepare<'a>(
        &'a self,
        args: Value,
        _: &'a Context,
    ) -> Result<BoxFuture<'a, Result<Output, ToolError>>, ToolError> {
        Ok(Box::pin(async move { Ok(Output::new("dynamic", args.to_string())) }))
    }
}

#[tokio::test]
async fn a_tool_added_at_run_time_is_validated_like_any_other() {
    let world = World::new().await;
    world.runtime.add_tool(Arc::new(Dynamic("zebra"))).unwrap();
    world.runtime.add_tool(Arc::new(Dynamic("ape"))).unwrap();
    assert_eq!(world.toolset.names(), ["obey"], "what was shown stays as it was shown");
    let toolset = world.runtime.toolset(&audience()).await;
    assert_eq!(toolset.names(), ["obey", "ape", "zebra"], "in one order, however they came");
    let run = |args| {
        let call = Call::new(SessionId::fresh(), "ape", args);
        let toolset = toolset.clone();
        async move { toolset.execute(call, CancellationToken::new()).await.to_json() }
    };
    assert_eq!(run(json!({ "count": "2" })).await["output"], r#"{"count":2}"#);
    let message = run(json!({ "count": 4 })).await["error"]["message"].to_string();
    assert!(
        message.contains("count") && message.contains('3') && message.contains('4'),
        "{message}"
    );
}

#[tokio::test]
async fn a_tool_cannot_take_anothers_name_or_one_that_providers_refuse() {
    let world = World::new().await;
    for name in ["obey", "", "a b", "évil", "x\u{1b}[2J", &"x".repeat(65)] {
        let name: &'static str = String::leak(name.to_owned());
        let error = world.runtime.add_tool(Arc::new(Dynamic(name))).unwrap_err();
        assert!(!error.to_string().contains('\u{1b}'));
    }
}

/// Takes two turns of the scheduler to be built.
struct Leisurely;

impl Tool for Leisurely {
    const ID: &'static str = "leisurely";
    const DESCRIPTION: &'static str = "For a test.";
    type Params = NoParams;

    async fn init(_: &InitContext<'_>) -> Result<Self, InitError> {
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        Ok(Self)
    }

    async fn run(&self, _: NoParams, _: &Context) -> Result<Output, ToolError> {
        Ok(Output::new("done", "done"))
    }
}

#[tokio::test]
async fn a_tool_that_comes_while_a_toolset_is_built_is_in_the_next_one() {
    let mut registry = Registry::new();
    registry.tool::<Leisurely>();
    let runtime = Runtime::builder("/project").registry(registry).build();
    let audience = audience();
    let (first, ()) = tokio::join!(runtime.toolset(&audience), async {
        runtime.add_tool(Arc::new(Dynamic("extra"))).unwrap();
    });
    assert_eq!(first.names(), ["leisurely"]);
    assert_eq!(runtime.toolset(&audience).await.names(), ["leisurely", "extra"]);
    let renewed = first.renewed().await.unwrap();
    assert_eq!(renewed.names(), ["leisurely", "extra"]);
    assert!(renewed.renewed().await.is_none(), "nothing has changed since");
    runtime.remove_tool("extra");
    assert_eq!(renewed.renewed().await.unwrap().names(), ["leisurely"]);
}

#[tokio::test]
async fn where_two_tools_could_be_meant_none_is() {
    let world = World::new().await;
    world.runtime.add_tool(Arc::new(Dynamic("prod__drop"))).unwrap();
    world.runtime.add_tool(Arc::new(Dynamic("staging__drop"))).unwrap();
    let toolset = world.runtime.toolset(&audience()).await;
    for name in ["drop", "test__drop", "mcp__x__drop"] {
        let call = Call::new(SessionId::fresh(), name, json!({ "count": 1 }));
        let settled = toolset.execute(call, CancellationToken::new()).await;
        assert_eq!(settled.result.unwrap_err().kind(), "unknown", "{name}");
    }
}
