//! A workspace, a store, the tools, and what the user has added.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use haft_custom::Programs;
use haft_exec::Keeper;
use haft_runtime::permission::rules_file::{self, Expand};
use haft_runtime::permission::{LayerKind, PendingAsk, Policy, Reply};
use haft_runtime::{
    AgentId, Audience, BoxFuture, Builder, Call, CancellationToken, Host, Registry, Runtime,
    SessionId, Toolset,
};
use haft_store::{Options, SqliteStore};
use haft_tools::{CommandSettings, Commands};
use haft_workspace::Workspace;
use haft_workspace::journal::Journal;
use serde_json::Value;

/// Everything is allowed that is not denied elsewhere.
pub(crate) const ALLOW: &str = "[permission]\n\"*\" = \"allow\"\n";

/// Answers as it was told to, and remembers what it was asked.
#[derive(Clone)]
pub(crate) struct Scripted {
    reply: Reply,
    pub(crate) asked: Arc<Mutex<Vec<PendingAsk>>>,
}

impl Host for Scripted {
    fn approve<'a>(&'a self, ask: &'a PendingAsk) -> BoxFuture<'a, Reply> {
        self.asked.lock().unwrap().push(ask.clone());
        Box::pin(async { self.reply.clone() })
    }
}

/// A folder in which a world is about to be.
pub(crate) struct Ground {
    dir: tempfile::TempDir,
    path: String,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ground = Self { dir, path: "/usr/local/bin:/usr/bin:/bin".to_owned() };
        ground.put("workspace/a.txt", "alpha\n");
        ground
    }

    /// Another `PATH` for all that is run.
    pub(crate) fn with_path(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        fs_err::canonicalize(self.dir.path()).unwrap().join(path)
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, content).unwrap();
        path
    }

    /// The same, and it can be run.
    pub(crate) fn program(&self, path: &str, content: &str) -> PathBuf {
        let path = self.put(path, content);
        fs_err::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    pub(crate) fn get(&self, path: &str) -> String {
        fs_err::read_to_string(self.path(path)).unwrap_or_default()
    }

    pub(crate) fn workspace(&self) -> Arc<Workspace> {
        Arc::new(Workspace::open(&self.path("workspace"), None).unwrap())
    }
}

pub(crate) struct World {
    pub(crate) ground: Ground,
    pub(crate) runtime: Runtime,
    pub(crate) toolset: Toolset,
    pub(crate) session: SessionId,
    pub(crate) host: Scripted,
}

impl World {
    /// A world under these rules, with what `add` adds.
    pub(crate) async fn new(
        ground: Ground,
        rules: &str,
        reply: Reply,
        add: impl FnOnce(Builder, Programs, Policy) -> Builder,
    ) -> Self {
        let host = Scripted { reply, asked: Arc::default() };
        let layer = rules_file::parse(rules, LayerKind::User, "rules", &Expand::nothing()).unwrap();
        let policy = Policy::new(vec![layer]);
        let state = ground.path("state");
        let store = SqliteStore::open(&state, Options::default()).unwrap();
        let workspace = ground.workspace();
        let journal =
            Journal::of(workspace.root(), &state, haft_workspace::journal::Options::default());
        let mut settings = CommandSettings::new(haft_exec::shell(None));
        settings.environment =
            vec![("PATH".into(), ground.path.clone().into()), ("API_TOKEN".into(), "hush".into())];
        settings.hidden = vec![state.clone()];
        settings.protected = vec![haft_exec::sandbox::Protected::folder(".haft")];
        let keeper = Keeper::new(env!("CARGO_BIN_EXE_haft-custom-keeper"));
        let commands = Arc::new(Commands::new(keeper, settings));
        let programs = Programs::new(Arc::clone(&commands), Arc::clone(&workspace));
        let mut registry = Registry::new();
        haft_tools::register(&mut registry);
        let builder = Runtime::builder(workspace.root().to_string_lossy())
            .registry(registry)
            .share(workspace)
            .share(Arc::new(journal))
            .share(commands)
            .policy(policy.clone())
            .host(host.clone())
            .store(Arc::new(store));
        let runtime = add(builder, programs, policy).build();
        let toolset = runtime.toolset(&Audience::of(AgentId::parse("build").unwrap())).await;
        Self { ground, runtime, toolset, session: SessionId::fresh(), host }
    }

    /// Shows the agent what has come since.
    pub(crate) async fn refresh(&mut self) {
        let audience = Audience::of(AgentId::parse("build").unwrap());
        self.toolset = self.runtime.toolset(&audience).await;
    }

    /// What every surface gets.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> Value {
        self.call_until(tool, args, CancellationToken::new()).await
    }

    pub(crate) async fn call_until(
        &self,
        tool: &str,
        args: Value,
        cancel: CancellationToken,
    ) -> Value {
        let call = Call::new(self.session.clone(), tool, args);
        self.toolset.execute(call, cancel).await.to_json()
    }

    /// The text of an answer that is no error.
    pub(crate) async fn text(&self, tool: &str, args: Value) -> String {
        let answer = self.call(tool, args).await;
        assert_eq!(answer["state"], "completed", "{answer}");
        answer["output"].as_str().unwrap().to_owned()
    }

    /// The message of an answer that is an error of this kind.
    pub(crate) async fn error(&self, tool: &str, args: Value, kind: &str) -> String {
        let answer = self.call(tool, args).await;
        assert_eq!(answer["error"]["kind"], kind, "{answer}");
        answer["error"]["message"].as_str().unwrap().to_owned()
    }

    pub(crate) fn asks(&self) -> usize {
        self.host.asked.lock().unwrap().len()
    }
}
