//! What a call costs that does nothing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haft_runtime::permission::{Action, Ask, Layer, LayerKind, Policy};
use haft_runtime::{
    AgentId, Audience, Call, CancellationToken, Context, InitContext, InitError, Output, Registry,
    Runtime, SessionId, Tool, ToolError, Toolset, Traits,
};
use haft_store::{Options, SqliteStore};
use serde_json::json;

use crate::measure::{Row, median};

/// A tool that does nothing; `CHANGES` says whether it claims that it may.
struct Noop<const CHANGES: bool>;

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Anything.
    text: String,
}

impl<const CHANGES: bool> Tool for Noop<CHANGES> {
    const ID: &'static str = "noop";
    const DESCRIPTION: &'static str = "Does nothing.";
    type Params = Params;

    async fn init(_: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self)
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        cx.ask(Ask::new("nothing", self.effects(&params, cx).await?)).await?;
        Ok(Output::new("done", params.text))
    }

    fn traits(&self) -> Traits {
        Traits { read_only: !CHANGES, ..Traits::READ_ONLY }
    }
}

pub(crate) fn rows() -> Vec<Row> {
    let bare = time::<false>(false);
    let added = |stored: Duration| stored.saturating_sub(bare);
    let within = |micros, name, figure| Row {
        name,
        figure,
        floor: Duration::from_micros(micros),
        bound: 1.0,
    };
    let reads = "what the store adds to a call that only reads: one commit";
    let changes = "what it adds to a call that may change things: two commits";
    vec![
        within(15, "a no-op call through the whole pipeline, no store", bare),
        within(60, reads, added(time::<false>(true))),
        within(60, changes, added(time::<true>(true))),
    ]
}

/// The median time of a call, one after another.
fn time<const CHANGES: bool>(stored: bool) -> Duration {
    let threads =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("threads");
    let dir = tempfile::tempdir().expect("a temporary folder");
    let toolset = threads.block_on(toolset::<CHANGES>(stored.then_some(dir.path())));
    let session = SessionId::fresh();
    let mut count = 0;
    median(41, 200, || {
        count += 1;
        let call = Call::new(session.clone(), "noop", json!({ "text": count.to_string() }));
        let settled = threads.block_on(toolset.execute(call, CancellationToken::new()));
        assert!(settled.result.is_ok());
    })
}

async fn toolset<const CHANGES: bool>(store: Option<&Path>) -> Toolset {
    let mut registry = Registry::new();
    registry.tool::<Noop<CHANGES>>();
    let rules = Layer::new(LayerKind::User, "bench").rule("noop", "*", Action::Allow);
    let mut builder =
        Runtime::builder("/bench").registry(registry).policy(Policy::new(vec![rules]));
    if let Some(dir) = store {
        let store = SqliteStore::open(dir, Options::default()).expect("a store");
        builder = builder.store(Arc::new(store));
    }
    let runtime = builder.build();
    runtime.toolset(&Audience::of(AgentId::parse("bench").expect("an id"))).await
}
