//! Puts everything together for one command: workspace, config, rules, store, runtime.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use haft_custom::{AgentDefinition, Broken, CommandHooks, Origin, Programs};
use haft_mcp::client::Servers;
use haft_runtime::permission::rules_file::{self, Expand};
use haft_runtime::permission::{Layer, LayerKind, Policy, Protected, Switch};
use haft_runtime::{
    AgentId, Beginning, Host, LeftOut, Limits, Model, NewSession, Registry, Runtime, Said,
    SessionId, Store, ToolError, Toolset,
};
use haft_store::{LazyStore, Options};
use haft_workspace::Workspace;

use crate::agents::{self, BUILD, plan_rules};
use crate::args::Common;
use crate::config::{self, Loaded};
use crate::custom::{self, Supplied};
use crate::environment::Environment;
use crate::trust;

/// Bytes of definitions: about what the built-in tools take.
const TOOL_ROOM: usize = 16 * 1024;

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
    /// What the project supplies beside its config file.
    pub(crate) supplied: Supplied,
    /// Every agent there is.
    pub(crate) agents: Vec<AgentDefinition>,
    /// The one that works.
    pub(crate) agent: AgentId,
    /// What the user or the project added and cannot be used, once a runtime was made.
    pub(crate) unusable: Mutex<Vec<LeftOut>>,
    /// On while only plans are made.
    pub(crate) planning: Switch,
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
        let (supplied, untrusted) = custom::look(&environment, &root, store.as_ref(), &project)?;
        warnings.extend(untrusted);
        let (agents, broken) = agents::find(&environment, &supplied, &configs)?;
        let says = |one: &Broken| format!("{} is ignored: {}", one.path.display(), one.reason);
        warnings.extend(broken.iter().map(says));
        let agent = common.agent.clone().map_or_else(|| AgentId::parse(BUILD), Ok)?;
        known_agent(&agent, &agents)?;
        let unusable = Mutex::default();
        let servers = Arc::new(Servers::none());
        let mut haft = Self {
            environment,
            common,
            root,
            project,
            configs,
            policy_file,
            warnings,
            supplied,
            agents,
            agent,
            unusable,
            planning: Switch::default(),
            store,
            servers,
        };
        let (servers, warnings) = haft.find_servers()?;
        haft.servers = servers;
        haft.warnings.extend(warnings);
        Ok(haft)
    }

    /// The same for another agent and, perhaps, another model.
    pub(crate) fn with(mut self, agent: AgentId, model: Option<Model>) -> anyhow::Result<Self> {
        known_agent(&agent, &self.agents)?;
        self.agent = agent;
        self.common.model = model;
        // What they may see of the workspace is a matter of the agent's rules. What is wrong with the
        // others has been said.
        self.servers = self.find_servers()?.0;
        Ok(self)
    }

    /// The rules in force for the agent of this command.
    pub(crate) fn policy(&self) -> anyhow::Result<Policy> {
        self.policy_with(self.agent_rules(self.agent.as_str()))
    }

    /// The rules in force, with these of an agent.
    fn policy_with(&self, agent: Vec<Layer>) -> anyhow::Result<Policy> {
        let built_in = rules_file::parse(
            haft_tools::DEFAULT_RULES,
            LayerKind::BuiltIn,
            "built-in",
            &Expand::nothing(),
        )?;
        let mut layers = vec![built_in];
        layers.extend(agent);
        layers.extend(self.configs.iter().map(|config| config.rules.clone()));
        let Common { allow_edits, allow_all, .. } = self.common;
        let policy = self.policy_file.as_ref();
        layers.extend(config::command_line_layers(policy, allow_edits, allow_all));
        let policy = Policy::new(layers).protect(self.protected());
        Ok(policy.under_while(&self.planning, Arc::new(plan_rules()?)))
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
        self.runtime_with(registry, host, self.tool_room())
    }

    /// The same, with so much room for the definitions of tools that were added.
    pub(crate) fn runtime_with(
        &self,
        registry: Registry,
        host: impl Host,
        tool_room: usize,
    ) -> anyhow::Result<Runtime> {
        let workspace = Arc::new(self.workspace()?);
        let commands = Arc::new(self.commands());
        let programs = Programs::new(Arc::clone(&commands), Arc::clone(&workspace));
        // Agents bring their own rules.
        let (policy, own) = (self.policy_with(Vec::new())?, self.policy()?);
        let mut runtime = Runtime::builder(&self.project).registry(registry);
        let hooks = self.hooks(programs.clone(), &own)?;
        if !hooks.is_empty() {
            runtime = runtime.hook(hooks);
        }
        if let Some(journal) = self.journal() {
            runtime = runtime.share(Arc::new(journal));
        }
        let runtime = runtime
            .share(workspace)
            .share(commands)
            .share(Arc::new(self.web()))
            .policy(policy)
            .host(host)
            .store(Arc::clone(&self.store) as Arc<dyn Store>)
            .limits(self.limits())
            .tool_room(tool_room);
        let runtime = runtime.build();
        let unusable = self.add_tools(&runtime, &programs, &own);
        *self.unusable.lock().unwrap_or_else(PoisonError::into_inner) = unusable;
        Ok(runtime)
    }

    /// The commands that config files have for events, the least specific file's first.
    fn hooks(&self, programs: Programs, policy: &Policy) -> anyhow::Result<CommandHooks> {
        let files = self.configs.iter().map(|config| (origin(config), config.file.hooks.clone()));
        CommandHooks::new(programs, policy.clone(), files).map_err(|error| anyhow!(error))
    }

    /// What the agent of this command is not shown, and why.
    pub(crate) fn left_out(&self, toolset: &Toolset) -> Vec<LeftOut> {
        let unusable = self.unusable.lock().unwrap_or_else(PoisonError::into_inner);
        toolset.left_out().iter().chain(unusable.iter()).cloned().collect()
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
        self.open_session(runtime, id.clone()).await?;
        Ok(id)
    }

    /// Tells the hooks that work in a session begins, and gives what they say.
    pub(crate) async fn begin(
        &self,
        runtime: &Runtime,
        session: &SessionId,
    ) -> Result<Said, ToolError> {
        if self.configs.iter().all(|config| config.file.hooks.is_empty()) {
            return Ok(Said::default());
        }
        let is_known = self.store.events(session, 0, 1).is_ok_and(|events| !events.is_empty());
        let how = if is_known { Beginning::Resume } else { Beginning::Startup };
        runtime.begin_session(session, how).await
    }

    /// How much is told of tools that were added before any is searched for.
    fn tool_room(&self) -> usize {
        let mut said = self.configs.iter().filter_map(|config| config.file.limits.tool_bytes);
        said.next_back().unwrap_or(TOOL_ROOM)
    }

    /// Opens a session of this project for the agent of this command.
    pub(crate) async fn open_session(
        &self,
        runtime: &Runtime,
        id: SessionId,
    ) -> Result<(), ToolError> {
        let (project, agent) = (self.project.clone(), self.agent.clone());
        runtime.open_session(NewSession { id, project, parent: None, agent }).await?;
        Ok(())
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

    /// What only a rule that names it can open: whoever writes here decides what runs later.
    fn protected(&self) -> Vec<Protected> {
        let absolute = |name: &str| format!("{}/{name}", self.project);
        let own = |name: &str| Protected::new("edit", [name, absolute(name).as_str()]);
        // Below the root too, and one thing with it: the rule for one of the names is enough.
        let git = |name: &str| {
            let nested = format!("*/{name}");
            Protected::new("edit", [name, absolute(name).as_str(), nested.as_str()])
        };
        let mut protected: Vec<Protected> = Vec::new();
        protected.extend([".git", ".git/config", ".git/hooks", ".git/hooks/*"].map(git));
        protected.extend(["haft.toml", ".haft", ".haft/*"].map(own));
        // Whoever allows everything has not agreed to a plan.
        protected.push(Protected::new("plan_exit", ["leave"]));
        let Environment { config_dir, state_dir, .. } = &self.environment;
        let dirs = [config_dir.as_deref(), state_dir.as_deref()];
        let managed = self.environment.managed_config.parent();
        for dir in dirs.into_iter().chain([managed]).flatten() {
            protected.push(Protected::new("edit", [everything_in(dir).as_str()]));
        }
        protected
    }
}

/// Whose word a config file is.
fn origin(config: &Loaded) -> Origin {
    match config.kind {
        LayerKind::Project => Origin::Project,
        _ => Origin::User,
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
fn known_agent(name: &AgentId, agents: &[AgentDefinition]) -> anyhow::Result<()> {
    if agents.iter().any(|agent| agent.name == *name) {
        return Ok(());
    }
    let known: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    bail!(
        "there is no agent `{name}`; there are {}, and any that a config file has as [agent.{name}] \
         or a trusted .haft/agents/{name}.md",
        known.join(", ")
    )
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
