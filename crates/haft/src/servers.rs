//! MCP servers from the config files: whose word counts, what they run as, and which are needed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_exec::sandbox::{Network, Protected};
use haft_exec::{Command, Confinement, Keeper, Reach as EnvironmentReach, Rules, Sandbox};
use haft_mcp::client::{Reach, ServerSettings, Servers, ToolFilter, Trouble};
use haft_runtime::permission::{Action, Effect, EffectKind, LayerKind, Policy};
use haft_runtime::{Runtime, plain};
use haft_tools::{CommandSettings, SandboxMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Loaded;
use crate::environment::Environment;
use crate::open::Haft;
use crate::shell::folder;

/// How long a server may be silent during a call, unless the config says otherwise.
const TIMEOUT: u64 = 60;

/// How long a server may take to start, unless the config says otherwise.
const START_TIMEOUT: u64 = 15;

/// How long a start waits for the servers that have not answered.
const EARLY: Duration = Duration::from_secs(2);

/// Most secrets of the workspace that are hidden one by one.
const HIDDEN: usize = 200;

/// Places that every confined command has for itself.
const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// An MCP server whose tools are offered as `<server>_<tool>`. A project's own is inert until the
/// project is trusted, and cannot take the name of one of the user's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct McpTable {
    /// The program and its arguments, for a server on standard input and output.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    command: Vec<String>,
    /// The address, for a server over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Variables for the program; `${NAME}` stands for one of the user's own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    /// Headers of every request; `${NAME}` stands for one of the user's variables.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    /// Which of its tools are offered.
    tools: ToolsTable,
    /// Seconds that a call may take without a sign of life (60).
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u64>,
    /// Seconds that it may take to start (15).
    #[serde(skip_serializing_if = "Option::is_none")]
    start_timeout: Option<u64>,
    /// Whether it is used at all (true).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enabled: Option<bool>,
    /// Whether the program can reach the network (as `[sandbox]` says).
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<bool>,
    /// How far the program is confined (as `[sandbox]` says); a project's own can only be stricter.
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<SandboxMode>,
    /// Folders beside the workspace that the program may change; not taken from a project.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    writable: Vec<String>,
}

/// Which tools are offered, by the server's own names; `*` stands for any part of one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ToolsTable {
    /// If there are any, only these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allow: Vec<String>,
    /// None of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deny: Vec<String>,
}

impl McpTable {
    /// What it would do, for whoever decides about trust.
    pub(crate) fn described(&self) -> String {
        let what = match &self.url {
            Some(url) => format!("sends to {}", plain(url)),
            None => format!("runs `{}`", plain(&self.command.join(" "))),
        };
        let network = if self.network == Some(true) { " with the network" } else { "" };
        let values = self.env.values().chain(self.headers.values());
        let own = values.filter(|value| value.contains("${")).cloned().collect::<Vec<_>>();
        let own = match own.is_empty() {
            true => String::new(),
            false => format!(", given {}", plain(&own.join(" "))),
        };
        format!("{what}{network}{own}")
    }
}

/// A server that a file names, and whose file that is.
struct Named<'a> {
    name: &'a str,
    table: &'a McpTable,
    kind: LayerKind,
}

impl Haft {
    /// The servers of all config files, none of them started, and what is wrong with the others.
    pub(crate) fn find_servers(&self) -> anyhow::Result<(Arc<Servers>, Vec<String>)> {
        let (named, mut warnings) = named(&self.configs);
        let mut settings = Vec::new();
        if !named.is_empty() {
            let around = Around {
                commands: self.command_settings(),
                environment: &self.environment,
                root: &self.root,
                policy: self.policy()?,
                client: Arc::new(self.web_client()),
            };
            for one in &named {
                match around.settings(one) {
                    Ok(found) => settings.push(found),
                    Err(why) => {
                        warnings.push(format!("[mcp.{}] is left out: {why}", plain(one.name)));
                    }
                }
            }
        }
        let keeper = Arc::new(Keeper::new("/proc/self/exe"));
        Ok((Arc::new(Servers::new(settings, keeper)), warnings))
    }

    /// Gives the runtime the tools of the servers that these words mention.
    pub(crate) async fn offer_mentioned(&self, runtime: &Runtime, words: &[&str]) {
        let mentioned = |name: &str| {
            // A name may come as a model writes it: with another case, or after a host's own.
            let name = name.to_lowercase();
            words.iter().any(|words| words.to_lowercase().contains(&name))
        };
        self.servers.offer(runtime, mentioned).await;
    }

    /// Gives the runtime the tools of all servers; those that take long come later.
    pub(crate) async fn offer_early(&self, runtime: &Runtime) {
        // What has not answered by then comes later, by itself.
        drop(tokio::time::timeout(EARLY, self.servers.offer(runtime, |_| true)).await);
    }
}

/// What to say of a server whose tools nobody has.
pub(crate) fn told(trouble: &Trouble) -> String {
    let Trouble { server, why } = trouble;
    format!("the MCP server `{}` does not work: {}", plain(server), plain(why))
}

/// The servers that count, by name: the user's before the project's, and a no from anybody.
fn named(configs: &[Loaded]) -> (Vec<Named<'_>>, Vec<String>) {
    let (mut all, mut warnings): (BTreeMap<&str, Named<'_>>, _) = (BTreeMap::new(), Vec::new());
    for config in configs {
        for (name, table) in &config.file.mcp {
            let new = Named { name, table, kind: config.kind };
            match all.get(name.as_str()) {
                Some(_) if config.kind == LayerKind::Project => {
                    if table.enabled != Some(false) {
                        let path = config.path.display();
                        warnings.push(format!(
                            "{path}: [mcp.{}] is ignored: your own config has that name",
                            plain(name)
                        ));
                    }
                }
                Some(old) if old.table.enabled == Some(false) && old.kind == LayerKind::Managed => {
                }
                _ => drop(all.insert(name, new)),
            }
        }
    }
    let off = |name: &str| {
        configs.iter().any(|config| {
            let says = config.file.mcp.get(name).and_then(|table| table.enabled);
            says == Some(false) && config.kind == LayerKind::Project
        })
    };
    let counts = |one: &Named<'_>| one.table.enabled != Some(false) && !off(one.name);
    (all.into_values().filter(counts).collect(), warnings)
}

/// What every server is made with.
struct Around<'a> {
    commands: CommandSettings,
    environment: &'a Environment,
    root: &'a Path,
    policy: Policy,
    /// Sends requests to those that are not on pipes.
    client: Arc<haft_web::Client>,
}

impl Around<'_> {
    fn settings(&self, one: &Named<'_>) -> Result<ServerSettings, String> {
        let Named { name, table, .. } = one;
        if !is_name(name) {
            return Err("its name must have 1 to 32 letters, digits, `_` or `-`".to_owned());
        }
        let reach = match (&table.url, table.command.split_first()) {
            (Some(url), None) => Reach::Http {
                url: self.expanded(url)?,
                headers: self.all_expanded(&table.headers)?,
                client: Arc::clone(&self.client),
            },
            (None, Some((program, args))) => {
                Reach::Command(Box::new(self.command(one, program, args)?))
            }
            (Some(_), Some(_)) => return Err("it has a command and a url; leave one".to_owned()),
            (None, None) => return Err("it has neither a command nor a url".to_owned()),
        };
        let ToolsTable { allow, deny } = table.tools.clone();
        Ok(ServerSettings {
            name: (*name).to_owned(),
            reach,
            tools: ToolFilter { allow, deny },
            timeout: Duration::from_secs(table.timeout.unwrap_or(TIMEOUT).clamp(1, 86_400)),
            start_timeout: Duration::from_secs(
                table.start_timeout.unwrap_or(START_TIMEOUT).clamp(1, 600),
            ),
        })
    }

    fn command(&self, one: &Named<'_>, program: &str, args: &[String]) -> Result<Command, String> {
        let home = self.environment.home.as_deref();
        let place = |word: &String| match (word.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest).into_os_string(),
            _ => OsString::from(word),
        };
        let program = place(&program.to_owned());
        // A path is the workspace's; a bare name is looked up.
        let program = match program.to_string_lossy().contains('/') {
            true => self.root.join(program),
            false => PathBuf::from(program),
        };
        let mut command = Command::new(program, self.root).args(args.iter().map(place));
        command.sandbox = self.sandbox(one, &command);
        let reach = match command.sandbox {
            Sandbox::Off => EnvironmentReach::Open,
            Sandbox::Confined(_) => EnvironmentReach::Confined,
        };
        let set = self.all_expanded(&one.table.env)?;
        let set = set.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let rules = Rules { keep: self.commands.keep_env.clone(), set, reach };
        command.env = haft_exec::environment(self.commands.environment.clone(), &rules);
        Ok(command)
    }

    /// The sandbox of commands, as the entry changes it.
    fn sandbox(&self, one: &Named<'_>, command: &Command) -> Sandbox {
        let (table, settings, root) = (one.table, &self.commands, self.root);
        let is_project = one.kind == LayerKind::Project;
        let mode = match table.sandbox {
            Some(mode) if is_project => mode.max(settings.sandbox),
            mode => mode.unwrap_or(settings.sandbox),
        };
        let mut confinement = match mode {
            SandboxMode::Off => return Sandbox::Off,
            SandboxMode::WorkspaceWrite if root.parent().is_some() => {
                let mut confinement = Confinement::workspace([root.to_owned()]);
                confinement
                    .writable
                    .extend(settings.writable.iter().filter(|it| it.exists()).cloned());
                if !is_project {
                    let home = self.environment.home.as_deref();
                    let own = table.writable.iter().filter_map(|text| folder(text, home));
                    confinement.writable.extend(own);
                }
                confinement
            }
            _ => Confinement::read_only(),
        };
        confinement.hidden = self.hidden();
        let protected = settings.protected.iter();
        let placed = protected.map(|it| Protected { path: root.join(&it.path), kind: it.kind });
        let is_there = |it: &Protected| {
            it.path.parent().is_some_and(|folder| folder == root || folder.is_dir())
        };
        confinement.protected = placed.filter(is_there).collect();
        // What the command line names stays readable, wherever it is.
        let named = command.args.iter().map(PathBuf::from).chain([command.program.clone()]);
        confinement.visible = named
            .chain([root.to_owned()])
            .filter(|path| PRIVATE.iter().any(|place| path.starts_with(place)) && path.exists())
            .collect();
        confinement.network = match table.network {
            Some(true) => Network::Full,
            Some(false) => Network::Off,
            None => settings.network,
        };
        confinement.demand = settings.demand;
        Sandbox::Confined(confinement)
    }

    /// What no server can read: what commands cannot, and what rules ask about in the workspace.
    fn hidden(&self) -> Vec<PathBuf> {
        let is_above = |path: &&PathBuf| !self.root.starts_with(path);
        let there = self.commands.hidden.iter().filter(|path| path.symlink_metadata().is_ok());
        let mut hidden: Vec<PathBuf> = there.filter(is_above).cloned().collect();
        let asked = |path: &PathBuf| {
            let effect = Effect::on_path(EffectKind::Read, path, self.root);
            self.policy.decide(&effect).action != Action::Allow
        };
        let secrets = haft_tools::perhaps_secret(self.root);
        hidden.extend(secrets.into_iter().filter(asked).take(HIDDEN));
        hidden
    }

    fn all_expanded(
        &self,
        values: &BTreeMap<String, String>,
    ) -> Result<Vec<(String, String)>, String> {
        values.iter().map(|(name, value)| Ok((name.clone(), self.expanded(value)?))).collect()
    }

    /// The text with each `${NAME}` replaced by the user's variable.
    fn expanded(&self, text: &str) -> Result<String, String> {
        let (mut whole, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = after.split_once('}') else { break };
            let variable = self.environment.variables.iter().find(|(one, _)| one == name);
            let value = variable.and_then(|(_, value)| value.to_str());
            let value = value.ok_or_else(|| format!("the variable {} is not set", plain(name)))?;
            whole.push_str(before);
            whole.push_str(value);
            rest = after;
        }
        Ok(whole + rest)
    }
}

/// Whether tools can be called after it.
fn is_name(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= 32 && name.chars().all(fine)
}
