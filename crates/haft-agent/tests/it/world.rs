//! A workspace with real tools and a real store, and a scripted model that works in it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_agent::message::{Content, Message};
use haft_agent::provider::{Patience, Patient, Protocol};
use haft_agent::{Agent, AgentError, Ended, ModelSettings, Price, Session};
use haft_runtime::permission::rules_file::{self, Expand};
use haft_runtime::permission::{LayerKind, PendingAsk, Policy, Reply};
use haft_runtime::{
    AgentId, Audience, BoxFuture, CancellationToken, Host, Registry, Runtime, SessionId, Toolset,
};
use haft_scripted::Model;
use haft_store::{Options, SqliteStore};
use haft_workspace::Workspace;
use haft_workspace::journal::Journal;

use crate::talk::remote;

/// Everything is allowed, but what is called `secret` is asked for.
const RULES: &str = "[permission]\n\"*\" = \"allow\"\n[permission.edit]\n\"*\" = \"allow\"\n\"*secret*\" = \"ask\"\n";

/// Somebody who never answers.
struct Silent;

impl Host for Silent {
    fn approve<'a>(&'a self, _: &'a PendingAsk) -> BoxFuture<'a, Reply> {
        Box::pin(std::future::pending())
    }
}

pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) runtime: Runtime,
    pub(crate) toolset: Toolset,
    pub(crate) session: SessionId,
}

impl World {
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs_err::create_dir(dir.path().join("work")).unwrap();
        fs_err::write(dir.path().join("work/a.txt"), "alpha\n").unwrap();
        let runtime = runtime(&dir);
        let toolset = runtime.toolset(&Audience::of(AgentId::parse("build").unwrap())).await;
        Self { dir, runtime, toolset, session: SessionId::fresh() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("work").join(name)
    }

    pub(crate) fn get(&self, name: &str) -> String {
        fs_err::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn agent(&self, model: &Model, protocol: Protocol) -> Agent {
        let patience = Patience { first: Duration::from_millis(1), ..Patience::default() };
        let price = Price { input: 1e4, output: 1e5, ..Price::default() };
        Agent {
            provider: Arc::new(Patient::new(remote(model, protocol), patience)),
            model: ModelSettings {
                id: "o9".into(),
                context: 200_000,
                max_tokens: 8_000,
                price: Some(price),
            },
            system: "Be brief.".into(),
            toolset: self.toolset.clone(),
            steps: 50,
        }
    }

    /// The session of this world, as any process would open it.
    pub(crate) async fn open(&self, model: &Model) -> Session {
        Session::open(self.agent(model, Protocol::Anthropic), self.session.clone()).await.unwrap()
    }
}

fn runtime(dir: &tempfile::TempDir) -> Runtime {
    let (root, state) = (dir.path().join("work"), dir.path().join("state"));
    let layer = rules_file::parse(RULES, LayerKind::User, "rules", &Expand::nothing()).unwrap();
    let store = SqliteStore::open(&state, Options::default()).unwrap();
    let workspace = Workspace::open(&root, None).unwrap();
    let journal =
        Journal::of(workspace.root(), &state, haft_workspace::journal::Options::default());
    let mut registry = Registry::new();
    haft_tools::register(&mut registry);
    Runtime::builder(root.to_string_lossy())
        .registry(registry)
        .share(Arc::new(workspace))
        .share(Arc::new(journal))
        .policy(Policy::new(vec![layer]))
        .host(Silent)
        .store(Arc::new(store))
        .build()
}

/// Says something and waits for the end.
pub(crate) async fn prompt(session: &mut Session, text: &str) -> Result<Ended, AgentError> {
    session.prompt(vec![Content::text(text)], &CancellationToken::new()).await
}

/// The texts of all results, in order.
pub(crate) fn results(messages: &[Message]) -> Vec<String> {
    let of = |message: &Message| match message {
        Message::Results { results } => results.iter().map(|result| result.text.clone()).collect(),
        _ => Vec::new(),
    };
    messages.iter().flat_map(of).collect()
}
