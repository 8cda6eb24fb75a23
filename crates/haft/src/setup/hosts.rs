//! The programs that haft can be plugged into: where each keeps its config, and what an entry looks like.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use serde_json::{Value, json};

use super::{Format, Spot};
use crate::environment::Environment;

/// A program that talks to MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HostName {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// opencode
    Opencode,
    /// Gemini CLI
    Gemini,
    /// Zed
    Zed,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    Vscode,
}

/// Whose config it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// Yours, for all you work on
    User,
    /// The workspace's, for all who work on it
    Project,
}

/// Where an entry belongs.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) file: PathBuf,
    pub(crate) format: Format,
    pub(crate) table: &'static str,
    /// The folders in which others are made for the file.
    pub(crate) within: Vec<PathBuf>,
}

impl Target {
    /// The place of the entry with this name.
    pub(crate) fn spot<'a>(&'a self, name: &'a str) -> Spot<'a> {
        Spot { table: self.table, name }
    }

    /// Takes away the folders that were made for the file, as far as nothing else is in them.
    pub(crate) fn remove_empty_folders(&self) {
        let is_made = |folder: &&Path| {
            let is_in = |outer: &PathBuf| folder.starts_with(outer);
            self.within.iter().any(is_in) && self.within.iter().all(|outer| outer != *folder)
        };
        let made = self.file.ancestors().skip(1).take_while(is_made);
        // One that holds anything cannot be removed.
        made.map(fs_err::remove_dir).take_while(Result::is_ok).for_each(drop);
    }
}

impl HostName {
    /// All of them.
    pub(crate) const ALL: [Self; 7] = [
        Self::Claude,
        Self::Codex,
        Self::Opencode,
        Self::Gemini,
        Self::Zed,
        Self::Cursor,
        Self::Vscode,
    ];

    /// As it is written on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Zed => "zed",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
        }
    }

    /// What it is started by.
    pub(crate) fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Zed => &["zed", "zeditor"],
            Self::Cursor => &["cursor", "cursor-agent"],
            Self::Vscode => &["code", "code-insiders", "codium"],
            Self::Claude => &["claude"],
            Self::Codex => &["codex"],
            Self::Opencode => &["opencode"],
            Self::Gemini => &["gemini"],
        }
    }

    /// The file that it reads, and where in it servers are listed.
    pub(crate) fn target(
        self,
        scope: Scope,
        environment: &Environment,
        root: &Path,
    ) -> anyhow::Result<Target> {
        let file = match scope {
            Scope::Project => self.project_file(root),
            Scope::User => self.user_file(environment).with_context(|| {
                format!("your config of {} cannot be found: HOME is not set", self.word())
            })?,
        };
        let (format, table) = match self {
            Self::Claude => (Format::Json, "mcpServers"),
            Self::Codex => (Format::Toml, "mcp_servers"),
            Self::Opencode => (Format::Jsonc, "mcp"),
            Self::Gemini | Self::Cursor => (Format::Jsonc, "mcpServers"),
            Self::Zed => (Format::Jsonc, "context_servers"),
            Self::Vscode => (Format::Jsonc, "servers"),
        };
        let within = match scope {
            Scope::Project => vec![root.to_owned()],
            Scope::User => environment
                .home
                .iter()
                .cloned()
                .chain(environment.folder("XDG_CONFIG_HOME"))
                .collect(),
        };
        Ok(Target { file, format, table, within })
    }

    /// What it is to know of haft: the program, and what it is started with.
    pub(crate) fn entry(self, scope: Scope, program: &str, extra: &[String]) -> Value {
        let mut args = vec!["mcp".to_owned()];
        // These two do not start servers in the workspace, but know how to name it.
        if scope == Scope::Project && matches!(self, Self::Cursor | Self::Vscode) {
            args.extend(["--dir".to_owned(), "${workspaceFolder}".to_owned()]);
        }
        args.extend(extra.iter().cloned());
        match self {
            Self::Claude | Self::Vscode => {
                json!({ "type": "stdio", "command": program, "args": args })
            }
            Self::Codex | Self::Gemini | Self::Cursor => {
                json!({ "command": program, "args": args })
            }
            Self::Zed => json!({ "source": "custom", "command": program, "args": args, "env": {} }),
            Self::Opencode => {
                args.insert(0, program.to_owned());
                json!({ "type": "local", "command": args, "enabled": true })
            }
        }
    }

    fn project_file(self, root: &Path) -> PathBuf {
        match self {
            Self::Claude => root.join(".mcp.json"),
            Self::Codex => root.join(".codex/config.toml"),
            Self::Opencode => first_there(root, &["opencode.json", "opencode.jsonc"]),
            Self::Gemini => root.join(".gemini/settings.json"),
            Self::Zed => root.join(".zed/settings.json"),
            Self::Cursor => root.join(".cursor/mcp.json"),
            Self::Vscode => root.join(".vscode/mcp.json"),
        }
    }

    fn user_file(self, environment: &Environment) -> Option<PathBuf> {
        let named = |variable| environment.folder(variable);
        let in_home = |path: &str| environment.home.as_ref().map(|home| home.join(path));
        let config = named("XDG_CONFIG_HOME").or_else(|| in_home(".config"));
        match self {
            Self::Claude => named("CLAUDE_CONFIG_DIR")
                .map(|dir| dir.join(".claude.json"))
                .or_else(|| in_home(".claude.json")),
            Self::Codex => {
                Some(named("CODEX_HOME").or_else(|| in_home(".codex"))?.join("config.toml"))
            }
            Self::Opencode => named("OPENCODE_CONFIG").or_else(|| {
                let dir = named("OPENCODE_CONFIG_DIR").or(Some(config?.join("opencode")))?;
                Some(first_there(&dir, &["opencode.json", "opencode.jsonc", "config.json"]))
            }),
            Self::Gemini => Some(
                named("GEMINI_CLI_HOME").or_else(|| in_home(""))?.join(".gemini/settings.json"),
            ),
            Self::Zed => Some(config?.join("zed/settings.json")),
            Self::Cursor => in_home(".cursor/mcp.json"),
            Self::Vscode if cfg!(target_os = "macos") => {
                in_home("Library/Application Support/Code/User/mcp.json")
            }
            Self::Vscode => Some(config?.join("Code/User/mcp.json")),
        }
    }
}

/// The first of these files that is there, else the first of the names.
fn first_there(dir: &Path, names: &[&str]) -> PathBuf {
    let mut paths = names.iter().map(|name| dir.join(name));
    let first = paths.next().unwrap_or_default();
    if first.exists() { first } else { paths.find(|path| path.exists()).unwrap_or(first) }
}
