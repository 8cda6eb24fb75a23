//! Puts everything together for one command: workspace, config, rules, store, runtime.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use haft_mcp::client::Servers;
use haft_runtime::permission::rules_file::{self, Expand};
use haft_runtime::permission::{LayerKind, Policy, Protected};
use haft_runtime::{
    AgentId, Audience, Host, Limits, NewSession, Registry, Runtime, SessionId, Store, ToolError,
    Toolset,
};
use haft_store::{LazyStore, Options};
use haft_workspace::Workspace;

use crate::args::Common;
use crate::config::{self, Loaded};
use crate::environment::Environment;
use crate::trust;

/// What every command works with.
pub(crate) struct Haft {
    pub(crate) environment: Environment,
    pub(crate) common: Common,
    /// The workspace root, canonical.
    pub(crate) root: PathBuf,
    /// The same, as projects are named in the store.
    pub(crate) project: String,
    /// The config files that were found, least specific first.
    pub(crate) configs: Vec<Loaded>,
    /// The file that `--policy` names.
    policy_file: Option<Loaded>,
    /// What a person should know about them.
    pub(crate) warnings: Vec<String>,
    /// Opened when it is first used.
    pub(crate) store: Arc<LazyStore>,
    /// Other servers whose tools are offered; started when they are needed.
    pub(crate) servers: Arc<Servers>,
}

impl Haft {
    pub(crate) fn open(environment: Environment, common: Common) -> anyhow::Result<Self> {
        let root = environment.workspace(common.dir.as_deref())?;
        let project = root.to_string_lossy().into_owned();
        let mut configs = find_configs(&environment, &root)?;
        let options = store_options(&configs);
        let store = Arc::new(match &environment.state_dir {
            Some(dir) => LazyStore::new(dir, options),
            None => LazyStore::nowhere(options),
        });
        let policy_file = find_policy(&environment, &common)?;
        let mut warnings = unknown_keys(configs.iter().chain(&policy_file));
        warnings.extend(policy_file.as_ref().and_then(no_rules));
        for config in configs.iter_mut().filter(|config| config.kind == LayerKind::Project) {
            warnings.extend(trust::heed(config, store.as_ref(), &project)?);
        }
        known_agent(&common.agent, &configs)?;
        let servers = Arc::new(Servers::none());
        let mut haft = Self {
            environment,
            common,
            root,
            project,
            configs,
            policy_file,
            warnings,
            store,
            servers,
        };
        let (servers, warnings) = haft.find_servers()?;
        haft.servers = servers;
        haft.warnings.extend(warnings);
        Ok(haft)
    }

    /// The rules in force for the agent of this command.
    pub(crate) fn policy(&self) -> anyhow::Result<Policy> {
        let built_in = rules_file::parse(
            haft_tools::DEFAULT_RULES,
            LayerKind::BuiltIn,
            "built-in",
            &Expand::nothing(),
        )?;
        let mut layers = vec![built_in];
        layers.extend(self.configs.iter().map(|config| config.rules.clone()));
        // A layer for each file: put together, the project's word would overrule the user's deny.
        let agent = self.common.agent.as_str();
        layers.extend(self.configs.iter().filter_map(|config| config.agents.get(agent).cloned()));
        let Common { allow_edits, allow_all, .. } = self.common;
        let policy = self.policy_file.as_ref();
        layers.extend(config::command_line_layers(policy, allow_edits, allow_all));
        Ok(Policy::new(layers).protect(self.protected()))
    }

    /// The folder that is worked in.
    pub(crate) fn workspace(&self) -> anyhow::Result<Workspace> {
        let home = self.environment.home.clone();
        Workspace::open(&self.root, home)
            .with_context(|| format!("{} cannot be opened", self.root.display()))
    }

    /// The runtime, with `host` to answer asks.
    pub(crate) fn runtime(&self, host: impl Host) -> anyhow::Result<Runtime> {
        self.runtime_of(self.registry(), host)
    }

    /// Every tool that exists.
    pub(crate) fn registry(&self) -> Registry {
        let mut registry = Registry::new();
        haft_tools::register(&mut registry);
        registry
    }

    /// The runtime of these tools, with `host` to answer asks.
    pub(crate) fn runtime_of(
        &self,
        registry: Registry,
        host: impl Host,
    ) -> anyhow::Result<Runtime> {
        let workspace = self.workspace()?;
        let mut runtime = Runtime::builder(&self.project).registry(registry);
        if let Some(journal) = self.journal() {
            runtime = runtime.share(Arc::new(journal));
        }
        let runtime = runtime
            .share(Arc::new(workspace))
            .share(Arc::new(self.commands()))
            .share(Arc::new(self.web()))
            .policy(self.policy()?)
            .host(host)
            .store(Arc::clone(&self.store) as Arc<dyn Store>)
            .limits(self.limits());
        Ok(runtime.build())
    }

    /// What the agent of this command is shown.
    pub(crate) async fn toolset(&self, runtime: &Runtime) -> Toolset {
        self.servers.offer(runtime, |_| true).await;
        runtime.toolset(&self.audience()).await
    }

    /// The same for a call of this tool: only the servers are started that it mentions.
    pub(crate) async fn toolset_for(&self, runtime: &Runtime, tool: &str, args: &str) -> Toolset {
        self.offer_mentioned(runtime, &[tool, args]).await;
        runtime.toolset(&self.audience()).await
    }

    /// The session of this command: the named one, or a new one.
    pub(crate) async fn session(&self, runtime: &Runtime) -> Result<SessionId, ToolError> {
        let id = self.common.session.clone().unwrap_or_else(SessionId::fresh);
        let project = self.project.clone();
        let agent = self.common.agent.clone();
        runtime.open_session(NewSession { id: id.clone(), project, parent: None, agent }).await?;
        Ok(id)
    }

    /// How much a model reads of one answer: the most specific config that says so.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits { hint: haft_tools::KEPT_HINT.to_owned(), ..Limits::default() };
        for config in &self.configs {
            limits.lines = config.file.limits.lines.unwrap_or(limits.lines);
            limits.bytes = config.file.limits.bytes.unwrap_or(limits.bytes);
        }
        limits
    }

    /// For whom tools are chosen.
    pub(crate) fn audience(&self) -> Audience {
        let mut audience = Audience::of(self.common.agent.clone());
        audience.model = self.common.model.clone();
        audience.features =
            self.configs.iter().flat_map(|config| config.file.features.clone()).collect();
        audience
    }

    /// What only a rule that names it can open: whoever writes here decides what runs later.
    fn protected(&self) -> Vec<Protected> {
        let inside = |name: &str| {
            let absolute = format!("{}/{name}", self.project);
            Protected::new("edit", [name, absolute.as_str()])
        };
        let mut protected: Vec<Protected> =
            [".git", ".git/config", ".git/hooks", ".git/hooks/*", "haft.toml", ".haft", ".haft/*"]
                .map(inside)
                .into();
        for nested in ["*/.git", "*/.git/config", "*/.git/hooks", "*/.git/hooks/*"] {
            protected.push(Protected::new("edit", [nested]));
        }
        let Environment { config_dir, state_dir, .. } = &self.environment;
        let dirs = [config_dir.as_deref(), state_dir.as_deref()];
        let managed = self.environment.managed_config.parent();
        for dir in dirs.into_iter().chain([managed]).flatten() {
            protected.push(Protected::new("edit", [everything_in(dir).as_str()]));
        }
        protected
    }
}

fn everything_in(dir: &Path) -> String {
    format!("{}/*", dir.display())
}

/// The config files there are, least specific first.
fn find_configs(environment: &Environment, root: &Path) -> anyhow::Result<Vec<Loaded>> {
    let user = environment.config_dir.as_ref().map(|dir| dir.join("config.toml"));
    let places = [
        (LayerKind::Managed, Some(environment.managed_config.clone())),
        (LayerKind::User, user),
        (LayerKind::Project, Some(root.join("haft.toml"))),
    ];
    let mut configs = Vec::new();
    for (kind, path) in places {
        if let Some(path) = path {
            configs.extend(config::load(kind, &path, environment.home.as_deref())?);
        }
    }
    Ok(configs)
}

/// An agent that nobody has described is most likely a misspelt one, and its rules would not hold.
fn known_agent(name: &AgentId, configs: &[Loaded]) -> anyhow::Result<()> {
    let known = configs.iter().any(|config| config.file.agent.contains_key(name.as_str()));
    if !known && name.as_str() != "build" {
        bail!("there is no agent `{name}`; name one that a config file has as [agent.{name}]");
    }
    Ok(())
}

fn find_policy(environment: &Environment, common: &Common) -> anyhow::Result<Option<Loaded>> {
    let Some(path) = &common.policy else { return Ok(None) };
    let path = environment.current_dir.join(path);
    config::load_policy(&path, environment.home.as_deref()).map(Some)
}

/// What stands in a file for `--policy` and means nothing there.
fn no_rules(policy: &Loaded) -> Option<String> {
    let ignored = policy.beside_rules().join(", ");
    let path = policy.path.display();
    (!ignored.is_empty())
        .then(|| format!("{path}: --policy takes only [permission]; ignored: {ignored}"))
}

fn unknown_keys<'a>(configs: impl Iterator<Item = &'a Loaded>) -> Vec<String> {
    let warn = |config: &Loaded| {
        let path = config.path.display().to_string();
        let keys = config.unknown_keys.clone();
        keys.into_iter().map(move |key| format!("{path}: unknown key `{key}`, ignored"))
    };
    configs.flat_map(warn).collect()
}

fn store_options(configs: &[Loaded]) -> Options {
    let mut options = Options::default();
    // The project's word is not yet known to be trusted here, and its limits are not the user's disk.
    for config in configs.iter().filter(|config| config.kind != LayerKind::Project) {
        if let Some(days) = config.file.limits.keep_days {
            options.keep_age = Duration::from_secs(u64::from(days) * 24 * 60 * 60);
        }
        if let Some(mib) = config.file.limits.keep_mib {
            options.keep_bytes = u64::from(mib) * 1024 * 1024;
        }
    }
    options
}
