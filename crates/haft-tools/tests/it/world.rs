//! A workspace, a store and a host that records what it is asked.

use std::path::Path;
use std::sync::{Arc, Mutex};

use haft_exec::Keeper;
use haft_runtime::permission::rules_file::{self, Expand};
use haft_runtime::permission::{Effect, LayerKind, PendingAsk, Policy, Reply};
use haft_runtime::{
    AgentId, Answer, Audience, BoxFuture, Call, CancellationToken, Host, Question, Registry,
    Runtime, SessionId, Toolset,
};
use haft_store::{Options, SqliteStore};
use haft_tools::{CommandSettings, Commands, Web, WebSettings};
use haft_web::search::{Account, Key, Service};
use haft_web::{Client, Settings};
use haft_workspace::Workspace;
use haft_workspace::journal::Journal;
use serde_json::Value;

use crate::site::Names;

/// Answers as it was told to, and remembers what it was asked.
#[derive(Clone)]
pub(crate) struct Scripted {
    reply: Reply,
    answers: Option<Vec<Answer>>,
    pub(crate) asked: Arc<Mutex<Vec<PendingAsk>>>,
    pub(crate) questions: Arc<Mutex<Vec<Question>>>,
}

impl Host for Scripted {
    fn approve<'a>(&'a self, ask: &'a PendingAsk) -> BoxFuture<'a, Reply> {
        self.asked.lock().unwrap().push(ask.clone());
        Box::pin(async { self.reply.clone() })
    }

    fn question<'a>(&'a self, questions: &'a [Question]) -> BoxFuture<'a, Option<Vec<Answer>>> {
        self.questions.lock().unwrap().extend_from_slice(questions);
        Box::pin(async { self.answers.clone() })
    }
}

pub(crate) struct World {
    dir: Arc<tempfile::TempDir>,
    runtime: Runtime,
    pub(crate) toolset: Toolset,
    pub(crate) session: SessionId,
    pub(crate) host: Scripted,
}

impl World {
    /// The rules that come with the tools; whoever asks gets no answer.
    pub(crate) async fn new() -> Self {
        Self::with(haft_tools::DEFAULT_RULES, Reply::Unattended, None).await
    }

    /// Other rules, in the form of a rules file.
    pub(crate) async fn ruled(rules: &str, reply: Reply) -> Self {
        Self::with(rules, reply, None).await
    }

    pub(crate) async fn answering(answers: Option<Vec<Answer>>) -> Self {
        Self::with(haft_tools::DEFAULT_RULES, Reply::Unattended, answers).await
    }

    /// Commands that are run as `change` says.
    pub(crate) async fn running(rules: &str, change: impl Fn(&mut CommandSettings)) -> Self {
        Self::on_with(folder(), rules, Reply::Unattended, None, change).await
    }

    /// A web of its own.
    pub(crate) async fn surfing(rules: &str, reply: Reply, web: Web) -> Self {
        Self::on_all(folder(), rules, reply, None, |_| (), web).await
    }

    async fn with(rules: &str, reply: Reply, answers: Option<Vec<Answer>>) -> Self {
        Self::on(folder(), rules, reply, answers).await
    }

    /// The same workspace, store and session under the rules that come with the tools.
    pub(crate) async fn reopened(&self) -> Self {
        let dir = Arc::clone(&self.dir);
        let again = Self::on(dir, haft_tools::DEFAULT_RULES, Reply::Unattended, None).await;
        Self { session: self.session.clone(), ..again }
    }

    /// The same workspace, store and session under other rules, as after a restart.
    pub(crate) async fn again(&self, rules: &str) -> Self {
        let again = Self::on(Arc::clone(&self.dir), rules, Reply::Unattended, None).await;
        Self { session: self.session.clone(), ..again }
    }

    async fn on(
        dir: Arc<tempfile::TempDir>,
        rules: &str,
        reply: Reply,
        answers: Option<Vec<Answer>>,
    ) -> Self {
        Self::on_with(dir, rules, reply, answers, |_| ()).await
    }

    async fn on_with(
        dir: Arc<tempfile::TempDir>,
        rules: &str,
        reply: Reply,
        answers: Option<Vec<Answer>>,
        change: impl Fn(&mut CommandSettings),
    ) -> Self {
        let web = Web::new(
            Client::with_resolver(Settings::default(), Arc::new(Names::default())),
            searching(),
        );
        Self::on_all(dir, rules, reply, answers, change, web).await
    }

    async fn on_all(
        dir: Arc<tempfile::TempDir>,
        rules: &str,
        reply: Reply,
        answers: Option<Vec<Answer>>,
        change: impl Fn(&mut CommandSettings),
        web: Web,
    ) -> Self {
        let host = Scripted { reply, answers, asked: Arc::default(), questions: Arc::default() };
        let layer = rules_file::parse(rules, LayerKind::User, "rules", &Expand::nothing()).unwrap();
        let store = SqliteStore::open(&dir.path().join("state"), Options::default()).unwrap();
        let workspace = Workspace::open(&dir.path().join("workspace"), None).unwrap();
        let state = dir.path().join("state");
        let journal =
            Journal::of(workspace.root(), &state, haft_workspace::journal::Options::default());
        let mut settings = CommandSettings::new(haft_exec::shell(None));
        settings.environment = vec![
            ("PATH".into(), "/usr/sbin:/usr/bin:/sbin:/bin".into()),
            ("API_TOKEN".into(), "hush".into()),
        ];
        settings.hidden = vec![fs_err::canonicalize(&state).unwrap()];
        settings.scratch = Some(fs_err::canonicalize(&state).unwrap().join("scratch"));
        settings.protected = vec![
            haft_exec::sandbox::Protected::folder(".git/hooks"),
            haft_exec::sandbox::Protected::folder("haft.toml"),
        ];
        change(&mut settings);
        let keeper = Keeper::new(env!("CARGO_BIN_EXE_haft-tools-keeper"));
        let commands = Commands::new(keeper, settings);
        let mut registry = Registry::new();
        haft_tools::register(&mut registry);
        let runtime = Runtime::builder(dir.path().join("workspace").to_string_lossy())
            .registry(registry)
            .share(Arc::new(workspace))
            .share(Arc::new(journal))
            .share(Arc::new(commands))
            .share(Arc::new(web))
            .policy(Policy::new(vec![layer]))
            .host(host.clone())
            .store(Arc::new(store))
            .build();
        let toolset = runtime.toolset(&Audience::of(AgentId::parse("build").unwrap())).await;
        Self { dir, runtime, toolset, session: SessionId::fresh(), host }
    }

    pub(crate) fn workspace(&self) -> std::path::PathBuf {
        self.dir.path().join("workspace")
    }

    /// Lets the folder outlive this world.
    pub(crate) fn keep_folder(&self) -> Arc<tempfile::TempDir> {
        Arc::clone(&self.dir)
    }

    /// Puts a file into the workspace.
    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.workspace().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> Vec<u8> {
        fs_err::read(self.workspace().join(path)).unwrap()
    }

    /// What listeners are told of this session from now on.
    pub(crate) fn events(&self) -> haft_runtime::Events {
        self.runtime.events(Some(self.session.clone()))
    }

    pub(crate) fn prepare(&self, tool: &str, args: Value) -> Call {
        Call::new(self.session.clone(), tool, args)
    }

    /// What every surface gets.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> Value {
        self.toolset.execute(self.prepare(tool, args), CancellationToken::new()).await.to_json()
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

    pub(crate) fn asked_effects(&self) -> Vec<Effect> {
        let asked = self.host.asked.lock().unwrap();
        asked.iter().flat_map(|ask| ask.ask.effects.clone()).collect()
    }
}

/// A search service where nobody listens.
fn searching() -> WebSettings {
    let base_url = Some("http://127.0.0.1:65535".to_owned());
    let search = Account { service: Service::Exa, base_url, key: Some(Key::new("key")) };
    WebSettings { search, ..WebSettings::default() }
}

/// A folder with a workspace in it.
fn folder() -> Arc<tempfile::TempDir> {
    let dir = tempfile::tempdir().unwrap();
    fs_err::create_dir(dir.path().join("workspace")).unwrap();
    fs_err::write(dir.path().join("workspace/a.txt"), "alpha\n").unwrap();
    Arc::new(dir)
}

/// A hash of everything below a folder: names, kinds, modes and contents.
pub(crate) fn tree_hash(dir: &Path) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let mut waiting = vec![dir.to_path_buf()];
    while let Some(path) = waiting.pop() {
        let meta = fs_err::symlink_metadata(&path).unwrap();
        hasher.update(path.to_string_lossy().as_bytes());
        hasher.update(format!("{:?}{:?}", meta.file_type(), meta.permissions()).as_bytes());
        if meta.is_dir() {
            let mut entries: Vec<_> =
                fs_err::read_dir(&path).unwrap().map(|e| e.unwrap().path()).collect();
            entries.sort();
            waiting.extend(entries);
        } else if meta.is_file() {
            hasher.update(&fs_err::read(&path).unwrap());
        }
    }
    hasher.finalize()
}
