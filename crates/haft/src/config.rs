//! Config files: which there are, what they say, and how far the project's own is heeded.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use haft_custom::{AgentMode, HookEntry, HookEvent, hook_files, tree};
use haft_runtime::permission::rules_file::{self, Expand};
use haft_runtime::permission::{Action, Layer, LayerKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::de::DeTable;

use crate::agents::TasksTable;
use crate::provider::ProviderTable;
use crate::servers::McpTable;
use crate::shell::SandboxTable;
use crate::small_file;
use crate::web::WebTable;

/// A config file: `haft.toml`, the user's `config.toml`, or the machine's `managed.toml`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ConfigFile {
    /// Rules: permission → action, or permission → pattern → action, where an action is "allow",
    /// "ask", "deny", or a table with `action`, `reason`, `match` and `not_match`. The last match wins.
    pub(crate) permission: BTreeMap<String, serde_json::Value>,
    /// How much a model reads, and how much is kept.
    pub(crate) limits: LimitsTable,
    /// Things to switch on.
    pub(crate) features: BTreeSet<String>,
    /// How far commands are confined.
    pub(crate) sandbox: SandboxTable,
    /// MCP servers whose tools are offered, by name.
    pub(crate) mcp: BTreeMap<String, McpTable>,
    /// How the web is reached, and who searches it.
    pub(crate) web: WebTable,
    /// Commands that are run around calls, by event.
    pub(crate) hooks: BTreeMap<HookEvent, Vec<HookEntry>>,
    /// How many agents a model may start.
    pub(crate) tasks: TasksTable,
    /// Agents, by name.
    pub(crate) agent: BTreeMap<String, AgentTable>,
    /// The model that works, as PROVIDER/MODEL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Providers of models, by name.
    pub(crate) provider: BTreeMap<String, ProviderTable>,
}

/// How much a model reads of one answer, and how much is kept of what it does not.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct LimitsTable {
    /// Most lines of one answer (2000).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lines: Option<usize>,
    /// Most bytes of one answer (51200).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<usize>,
    /// Most bytes of definitions of added tools that are sent with every request (16384); those beyond
    /// are found by tool_search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_bytes: Option<usize>,
    /// Days for which the whole of a cut answer is kept (7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keep_days: Option<u32>,
    /// Most MiB of kept answers (512).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keep_mib: Option<u32>,
    /// Days for which a change can be undone (30).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) journal_days: Option<u32>,
    /// Most MiB of old contents, compressed, in one workspace's journal (1024).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) journal_mib: Option<u32>,
}

/// An agent's own settings.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct AgentTable {
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    /// Who may start it: `primary` (the user), `subagent` (another agent) or `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<AgentMode>,
    /// The model it works with, as PROVIDER/MODEL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// What it is told before anything else.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) prompt: String,
    /// Its own rules, on top of the others; a deny of theirs still holds.
    pub(crate) permission: BTreeMap<String, serde_json::Value>,
}

/// One config file as it was found.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) kind: LayerKind,
    pub(crate) path: PathBuf,
    pub(crate) file: ConfigFile,
    pub(crate) rules: Layer,
    pub(crate) agents: BTreeMap<String, Layer>,
    pub(crate) unknown_keys: Vec<String>,
    /// What binds trust to this very content.
    pub(crate) hash: String,
}

/// Reads one config file; `None` if there is none.
///
/// A file that cannot be used is an error that names the line, never a silent default.
pub(crate) fn load(
    kind: LayerKind,
    path: &Path,
    home: Option<&Path>,
) -> anyhow::Result<Option<Loaded>> {
    let text = match small_file::read(path) {
        // While a confined command runs, an empty folder stands for a file that is missing.
        Err(_) if haft_exec::sandbox::stands_for_nothing(path) => None,
        text => text?,
    };
    let Some(text) = text else { return Ok(None) };
    let name = path.display().to_string();
    let home = home.map(|home| home.to_string_lossy().into_owned());
    let resolve = |prefix: &str| {
        let real = fs_err::canonicalize(prefix).ok()?;
        Some(real.to_string_lossy().into_owned())
    };
    let expand = Expand { home: home.as_deref(), resolve: &resolve };
    let rules = rules_file::parse(&text, kind, &name, &expand)?;
    let agents = agent_rules(&text, &name, &expand)?;
    let (file, unknown_keys) = deserialize(&text, &name)?;
    let hash = content(&text, &file, path.parent().unwrap_or(path));
    Ok(Some(Loaded { kind, path: path.to_owned(), file, rules, agents, unknown_keys, hash }))
}

/// The hash of a config file, and of the files below `root` that its hooks run.
fn content(text: &str, file: &ConfigFile, root: &Path) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(text.as_bytes());
    for hook in file.hooks.values().flatten() {
        for path in hook_files(&hook.command, root) {
            hasher.update(path.as_os_str().as_encoded_bytes());
            let of_file = tree::hash(&path).unwrap_or_else(|error| error.to_string());
            hasher.update(of_file.as_bytes());
        }
    }
    hasher.finalize().to_hex().to_string()
}

/// The rules of every `[agent.NAME.permission]`.
fn agent_rules(
    text: &str,
    name: &str,
    expand: &Expand<'_>,
) -> anyhow::Result<BTreeMap<String, Layer>> {
    let document = DeTable::parse(text).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    let mut layers = BTreeMap::new();
    let Some(agents) =
        document.get_ref().get("agent").and_then(|agents| agents.get_ref().as_table())
    else {
        return Ok(layers);
    };
    for (agent, settings) in agents {
        let settings = settings.get_ref().as_table();
        if let Some(table) = settings.and_then(|settings| settings.get("permission")) {
            let layer = rules_file::parse_table(table, text, LayerKind::Agent, name, expand)?;
            layers.insert(agent.get_ref().to_string(), layer);
        }
    }
    Ok(layers)
}

fn deserialize(text: &str, name: &str) -> anyhow::Result<(ConfigFile, Vec<String>)> {
    let mut unknown = Vec::new();
    let deserializer = toml::Deserializer::parse(text).with_context(|| name.to_owned())?;
    let file = serde_ignored::deserialize(deserializer, |path| unknown.push(path.to_string()));
    // The parser's message carries the line.
    let file = file.map_err(|error: toml::de::Error| anyhow::anyhow!("{name}: {error}"))?;
    Ok((file, unknown))
}

impl AgentTable {
    /// Whether it says who the agent is, and not only what it may not do.
    fn is_more_than_rules(&self) -> bool {
        self.mode.is_some() || self.model.is_some() || !self.prompt.is_empty()
    }
}

impl Loaded {
    /// What of it would let anything happen that would not without it; empty if it only restricts.
    pub(crate) fn widens(&self) -> Vec<String> {
        let layers = std::iter::once(&self.rules).chain(self.agents.values());
        let rules = layers.flat_map(|layer| &layer.rules);
        let allows = rules.filter(|rule| rule.action() == Action::Allow);
        let allows = allows.map(|rule| rule.to_ref().to_string());
        allows.chain(self.settings()).collect()
    }

    /// The parts that are neither rules nor agents.
    fn settings(&self) -> Vec<String> {
        let mut settings = Vec::new();
        let LimitsTable {
            lines,
            bytes,
            tool_bytes,
            keep_days,
            keep_mib,
            journal_days,
            journal_mib,
        } = &self.file.limits;
        let numbers = [keep_days, keep_mib, journal_days, journal_mib];
        if lines.or(*bytes).or(*tool_bytes).is_some() || numbers.iter().any(|it| it.is_some()) {
            settings.push("[limits]".to_owned());
        }
        if !self.file.features.is_empty() {
            settings.push("features".to_owned());
        }
        if self.file.model.is_some() {
            settings.push("model".to_owned());
        }
        if self.file.tasks != TasksTable::default() {
            settings.push("[tasks]".to_owned());
        }
        let told = self.file.agent.iter().filter(|(_, agent)| agent.is_more_than_rules());
        settings.extend(
            told.map(|(name, _)| format!("what [agent.{name}] is told, or who replies for it")),
        );
        settings.extend(self.file.provider.keys().map(|name| format!("[provider.{name}]")));
        let used = self.file.mcp.iter().filter(|(_, table)| table.enabled != Some(false));
        settings.extend(used.map(|(name, table)| {
            format!("[mcp.{}] {}", haft_runtime::plain(name), table.described())
        }));
        if self.file.web != WebTable::default() {
            settings.push("[web]".to_owned());
        }
        let hooks =
            self.file.hooks.iter().flat_map(|(event, all)| all.iter().map(move |it| (event, it)));
        settings.extend(hooks.map(|(event, hook)| {
            format!("a hook at {} that runs `{}`", event.as_str(), hook.command)
        }));
        settings
    }

    /// Everything but its own rules: what has no meaning in a file for `--policy`.
    pub(crate) fn beside_rules(&self) -> Vec<String> {
        let agents = self.file.agent.keys().map(|name| format!("[agent.{name}]"));
        let sandbox =
            (self.file.sandbox != SandboxTable::default()).then(|| "[sandbox]".to_owned());
        self.settings().into_iter().chain(sandbox).chain(agents).collect()
    }

    /// Leaves only what restricts.
    pub(crate) fn restrain(&mut self) {
        for layer in std::iter::once(&mut self.rules).chain(self.agents.values_mut()) {
            layer.rules.retain(|rule| rule.action() != Action::Allow);
        }
        self.file.limits = LimitsTable::default();
        self.file.features.clear();
        // Whoever names the provider is sent the key, and all that is read.
        self.file.model = None;
        self.file.provider.clear();
        self.file.tasks = TasksTable::default();
        for agent in self.file.agent.values_mut() {
            (agent.mode, agent.model, agent.prompt) = (None, None, String::new());
        }
        // A server that is switched off is less, not more.
        self.file.mcp.retain(|_, table| table.enabled == Some(false));
        self.file.web = WebTable::default();
        self.file.hooks.clear();
    }
}

/// Reads the file that `--policy` names.
pub(crate) fn load_policy(path: &Path, home: Option<&Path>) -> anyhow::Result<Loaded> {
    match load(LayerKind::CommandLine, path, home)? {
        Some(loaded) => Ok(loaded),
        None => bail!("{} does not exist", path.display()),
    }
}

/// The rules that a `--policy` file and the flags amount to.
pub(crate) fn command_line_layers(
    policy: Option<&Loaded>,
    allow_edits: bool,
    allow_all: bool,
) -> Vec<Layer> {
    let flag = |name: &str, key: &str| {
        Layer::new(LayerKind::CommandLine, name).rule(key, "*", Action::Allow)
    };
    // The flags come first, so that what the file says in more words overrules them.
    let mut layers = Vec::new();
    layers.extend(allow_all.then(|| flag("--allow-all", "*")));
    layers.extend(allow_edits.then(|| flag("--allow-edits", "edit")));
    layers.extend(policy.map(|policy| policy.rules.clone()));
    layers
}
