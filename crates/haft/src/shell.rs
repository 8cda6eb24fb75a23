//! How commands are run: the shell, its environment, and what the config files say of the sandbox.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use haft_exec::Keeper;
use haft_exec::sandbox::{Demand, Network, Protected};
use haft_runtime::permission::LayerKind;
use haft_tools::{CommandSettings, Commands, SandboxMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::Loaded;
use crate::environment::Environment;
use crate::open::Haft;

/// How far commands are confined. A project's own file can only make it stricter, and so can the
/// machine's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct SandboxTable {
    /// `off`, `workspace-write` (the default) or `read-only`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<SandboxMode>,
    /// Whether a command is refused where the kernel lacks a layer of the sandbox (false).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) required: Option<bool>,
    /// Whether every command can reach the whole network (false); else hosts that rules allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<bool>,
    /// Folders beside the workspace that commands may change; not taken from a project.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) writable: Vec<String>,
    /// Variables that commands get though they look like secrets; not taken from a project.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) keep_env: Vec<String>,
}

/// What the user has below the home folder that commands have no business with.
const SECRETS: [&str; 12] = [
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".azure",
    ".config/gcloud",
    ".docker/config.json",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".password-store",
];

impl Haft {
    /// What the tools for commands need.
    pub(crate) fn commands(&self) -> Commands {
        // A link to this very program, also after its file was replaced.
        Commands::new(Keeper::new("/proc/self/exe"), self.command_settings())
    }

    /// How commands are run here.
    pub(crate) fn command_settings(&self) -> CommandSettings {
        let Environment { home, state_dir, config_dir, .. } = &self.environment;
        let combined = combine(&self.configs, self.common.sandbox);
        let mut settings =
            CommandSettings::new(haft_exec::shell(self.environment.shell.as_deref()));
        settings.environment.clone_from(&self.environment.variables);
        settings.home.clone_from(home);
        settings.sandbox = combined.mode.unwrap_or(SandboxMode::WorkspaceWrite);
        if combined.required == Some(true) {
            settings.demand = Demand::Everything;
        }
        if combined.network == Some(true) {
            settings.network = Network::Full;
        }
        settings.keep_env = combined.keep_env;
        let writable = combined.writable.iter().filter_map(|text| folder(text, home.as_deref()));
        settings.writable = writable.collect();
        let secrets = home.iter().flat_map(|home| SECRETS.map(|name| home.join(name)));
        let own =
            state_dir.iter().cloned().chain(config_dir.iter().flat_map(|dir| all_but_custom(dir)));
        let hidden = secrets.chain(own).map(|path| fs_err::canonicalize(&path).unwrap_or(path));
        settings.hidden = hidden.collect();
        settings.protected = vec![
            Protected::folder(".git/hooks"),
            Protected::file(".git/config"),
            // Where it is missing, a folder stands for it: git passes over empty ones.
            Protected::folder("haft.toml"),
            Protected::folder(".haft"),
        ];
        settings.scratch = state_dir.as_ref().map(|dir| dir.join("scratch"));
        settings
    }
}

/// What all files say together: the user's word, within what the machine's and the project's allow.
fn combine(configs: &[Loaded], flag: Option<SandboxMode>) -> SandboxTable {
    let of = |kind| configs.iter().filter(move |it| it.kind == kind).map(|it| &it.file.sandbox);
    let mut all = SandboxTable::default();
    for table in of(LayerKind::Managed).chain(of(LayerKind::User)) {
        all.mode = table.mode.or(all.mode);
        all.network = table.network.or(all.network);
        all.writable.extend(table.writable.iter().cloned());
        all.keep_env.extend(table.keep_env.iter().cloned());
    }
    all.mode = flag.or(all.mode);
    let stricter = of(LayerKind::Managed).chain(of(LayerKind::Project).filter(|_| flag.is_none()));
    for table in stricter {
        let mode = all.mode.unwrap_or(SandboxMode::WorkspaceWrite);
        all.mode = Some(table.mode.map_or(mode, |other| other.max(mode)));
    }
    for config in configs {
        let table = &config.file.sandbox;
        all.required = Some(all.required == Some(true) || table.required == Some(true));
        if table.network == Some(false) && config.kind != LayerKind::User {
            all.network = Some(false);
        }
    }
    all
}

/// What the user's config folder holds, but for what the user adds: programs there are to be run.
fn all_but_custom(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs_err::read_dir(dir) else { return vec![dir.to_owned()] };
    let custom = ["tools", "hooks", "skills"].map(OsStr::new);
    let entries =
        entries.flatten().filter(|entry| !custom.contains(&entry.file_name().as_os_str()));
    entries.map(|entry| entry.path()).collect()
}

/// A folder as a config file names it; none if it is not there.
pub(crate) fn folder(text: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    };
    fs_err::canonicalize(path).ok().filter(|path| path.parent().is_some())
}
