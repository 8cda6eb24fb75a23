//! Agents: what each is for, how it is told so, and what it may do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_runtime::permission::rules_file::{self, Expand};
use haft_runtime::permission::{Action, Layer, LayerKind, Pattern, Rule};
use haft_runtime::{AgentId, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::front_matter;
use crate::hooks::shown;
use crate::program::{Origin, shortened};
use crate::tools::Broken;

/// Most agents of one folder.
const AGENTS: usize = 200;

/// An agent, put together from all that speaks of it.
#[derive(Debug, Clone)]
pub struct AgentDefinition {
    /// Its name.
    pub name: AgentId,
    /// What it is for.
    pub description: String,
    /// Who may start it.
    pub mode: AgentMode,
    /// The model it works with, if it has one of its own.
    pub model: Option<Model>,
    /// What it is told before anything else; empty if nothing.
    pub prompt: String,
    /// Its rules, the least specific first.
    pub rules: Vec<Layer>,
}

/// Who may start an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentMode {
    /// The user.
    Primary,
    /// Another agent.
    Subagent,
    /// Both.
    #[default]
    All,
}

/// What stands at the head of an agent's file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Head {
    description: String,
    mode: Option<AgentMode>,
    model: Option<String>,
    tools: Option<Tools>,
    permission: BTreeMap<String, Patterns>,
}

/// The tools an agent is shown: only these, or all but those that are `false`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Tools {
    Line(String),
    Only(Vec<String>),
    Each(BTreeMap<String, bool>),
}

/// Rules for a permission: one for all of it, or one for each pattern.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Patterns {
    All(Action),
    Each(Vec<Pair>),
    Map(BTreeMap<String, Action>),
}

#[derive(Debug, Deserialize)]
struct Pair {
    pattern: String,
    action: Action,
}

/// The agents that come with haft.
#[must_use]
pub fn built_in_agents() -> Vec<AgentDefinition> {
    let agent = |name: &str, description: &str, mode, prompt: &str, rules: Vec<Layer>| {
        let name = AgentId::parse(name).ok()?;
        let (description, prompt) = (description.to_owned(), prompt.trim().to_owned());
        Some(AgentDefinition { name, description, mode, model: None, prompt, rules })
    };
    [
        agent("build", "Does the work: reads, edits, runs.", AgentMode::Primary, "", Vec::new()),
        agent(
            "plan",
            "Reads and thinks, and changes nothing: for a plan before the work.",
            AgentMode::Primary,
            include_str!("agents/plan.txt"),
            vec![looking("plan")],
        ),
        agent(
            "explore",
            "Finds things out about the code, and changes nothing: where something is, how it works.",
            AgentMode::Subagent,
            include_str!("agents/explore.txt"),
            vec![no_other_command(), no_secrets()],
        ),
        agent(
            "general",
            "Does one piece of work on its own, in several steps.",
            AgentMode::Subagent,
            include_str!("agents/general.txt"),
            Vec::new(),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The rules of an agent that only looks: no edits by any tool, and commands that only read.
fn looking(name: &str) -> Layer {
    let source = format!("built-in agent {name}");
    let text = include_str!("agents/looking.toml");
    // A deny for everything is what is left if it could not be read.
    rules_file::parse(text, LayerKind::BuiltIn, &source, &Expand::nothing())
        .unwrap_or_else(|_| Layer::new(LayerKind::BuiltIn, source).rule("*", "*", Action::Deny))
}

/// What would be asked about is not run at all by an agent that nobody watches.
fn no_other_command() -> Layer {
    let mut layer = looking("explore");
    let everything = Pattern::new("*");
    let rule = Rule::new("bash", everything, Action::Deny, Arc::clone(&layer.source));
    layer.rules.insert(0, rule);
    layer
}

/// What is asked about for others is not read at all by an agent that nobody watches.
fn no_secrets() -> Layer {
    let source = "built-in agent explore";
    let mut layer = Layer::new(LayerKind::BuiltIn, source);
    let defaults = haft_tools::DEFAULT_RULES;
    let defaults = rules_file::parse(defaults, LayerKind::BuiltIn, source, &Expand::nothing());
    for rule in defaults.into_iter().flat_map(|layer| layer.rules) {
        if rule.key().to_string() == "read" {
            let action = if rule.action() == Action::Ask { Action::Deny } else { rule.action() };
            let pattern = rule.pattern().clone();
            layer = layer.with(Rule::new("read", pattern, action, source));
        }
    }
    layer
}

/// What the files of a folder say of agents.
#[derive(Debug, Default)]
pub struct FoundAgents {
    /// Those that are in order, by name.
    pub agents: Vec<AgentDefinition>,
    /// The others.
    pub broken: Vec<Broken>,
}

/// The agents' files of a folder.
#[must_use]
pub fn agent_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs_err::read_dir(folder).into_iter().flatten().flatten().take(10_000);
    let is_agent = |path: &PathBuf| path.extension().is_some_and(|it| it == "md");
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_agent).collect();
    all.sort();
    all.truncate(AGENTS);
    all
}

/// Reads every agent of a folder.
#[must_use]
pub fn find_agents(folder: &Path, origin: Origin) -> FoundAgents {
    let mut found = FoundAgents::default();
    for path in agent_files(folder) {
        match load(&path, origin) {
            Ok(agent) => found.agents.push(agent),
            Err(reason) => {
                let reason = shortened(&reason, 600);
                found.broken.push(Broken { path, reason });
            }
        }
    }
    found
}

impl AgentDefinition {
    /// Lets a more specific file speak: its words replace these, its rules come on top.
    pub fn overlay(&mut self, other: Self) {
        let Self { description, mode, model, prompt, rules, .. } = other;
        if !description.is_empty() {
            self.description = description;
        }
        if !prompt.is_empty() {
            self.prompt = prompt;
        }
        self.model = model.or(self.model.take());
        self.mode = mode;
        self.rules.extend(rules);
    }
}

fn load(path: &Path, origin: Origin) -> Result<AgentDefinition, String> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = AgentId::parse(&stem).map_err(|error| error.to_string())?;
    let real = match origin {
        Origin::User => fs_err::canonicalize(path).map_err(|error| error.to_string())?,
        Origin::Project => path.to_owned(),
    };
    let (head, prompt): (Head, String) = front_matter::read(&real)?;
    if head.description.trim().is_empty() || head.description.len() > 1024 {
        return Err("its description needs 1 to 1024 bytes".to_owned());
    }
    let model = head.model.as_deref().map(model).transpose()?;
    let source = path.display().to_string();
    let mut layer = Layer::new(LayerKind::Agent, source);
    for (key, patterns) in head.permission {
        layer = add(layer, &key, patterns);
    }
    layer = head.tools.iter().fold(layer, shown_only);
    let mode = head.mode.unwrap_or_default();
    let description = head.description.trim().to_owned();
    Ok(AgentDefinition { name, description, mode, model, prompt, rules: vec![layer] })
}

fn model(text: &str) -> Result<Model, String> {
    let (provider, id) = text
        .split_once('/')
        .ok_or_else(|| format!("its model `{}` must be PROVIDER/MODEL", shown(text)))?;
    Ok(Model { provider: provider.to_owned(), id: id.to_owned() })
}

fn add(layer: Layer, key: &str, patterns: Patterns) -> Layer {
    match patterns {
        Patterns::All(action) => layer.rule(key, "*", action),
        Patterns::Each(pairs) => {
            pairs.iter().fold(layer, |layer, pair| layer.rule(key, &pair.pattern, pair.action))
        }
        // A map has no order that could be relied on: what is stricter comes last, and wins.
        Patterns::Map(map) => {
            let mut pairs: Vec<_> = map.into_iter().collect();
            pairs.sort_by_key(|(pattern, action)| (pattern != "*", *action));
            pairs.iter().fold(layer, |layer, (pattern, action)| layer.rule(key, pattern, *action))
        }
    }
}

/// The rules that show an agent only some tools.
fn shown_only(layer: Layer, tools: &Tools) -> Layer {
    let only = |names: Vec<&str>| {
        let nothing = layer.clone().rule("tool", "*", Action::Deny);
        names.iter().fold(nothing, |layer, name| {
            layer.rule("tool", &name.trim().to_lowercase(), Action::Allow)
        })
    };
    match tools {
        Tools::Line(line) => only(line.split([',', ' ']).filter(|it| !it.is_empty()).collect()),
        Tools::Only(list) => only(list.iter().map(String::as_str).collect()),
        Tools::Each(map) => map.iter().fold(layer.clone(), |layer, (name, is_shown)| {
            let action = if *is_shown { Action::Allow } else { Action::Deny };
            layer.rule("tool", &name.to_lowercase(), action)
        }),
    }
}
