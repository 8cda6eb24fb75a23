//! Agents as config files and folders have them: what each is told, may do, and may start.

use anyhow::bail;
use haft_agent::{CrewLimits, PLAN_RULES};
use haft_custom::{AgentDefinition, AgentMode, Broken};
use haft_runtime::permission::rules_file::{self, Expand};
use haft_runtime::permission::{Layer, LayerKind, Policy};
use haft_runtime::{Agent, AgentId, Audience, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{AgentTable, Loaded};
use crate::custom::{self, Supplied};
use crate::environment::Environment;
use crate::open::Haft;

/// The agent that plans.
pub(crate) const PLAN: &str = "plan";
/// The agent that works once a plan is agreed on.
pub(crate) const BUILD: &str = "build";

/// How many agents a model may start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct TasksTable {
    /// How deep agents may be nested (2); 1 lets a started one start no other, 0 lets none be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) depth: Option<usize>,
    /// How many may work at once (10).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) running: Option<usize>,
    /// How many one session may start in all (200).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<usize>,
}

/// Every agent there is, with what the config files say of it on top.
pub(crate) fn find(
    environment: &Environment,
    supplied: &Supplied,
    configs: &[Loaded],
) -> anyhow::Result<(Vec<AgentDefinition>, Vec<Broken>)> {
    let (mut agents, broken) = custom::agents(environment, supplied);
    for (name, table) in configs.iter().flat_map(|config| &config.file.agent) {
        let name = AgentId::parse(name)?;
        if let Some(agent) = agents.iter_mut().find(|agent| agent.name == name) {
            describe(agent, table)?;
            continue;
        }
        let (description, prompt) = (String::new(), String::new());
        let (mode, model, rules) = (AgentMode::default(), None, Vec::new());
        let mut agent = AgentDefinition { name, description, mode, model, prompt, rules };
        describe(&mut agent, table)?;
        agents.push(agent);
    }
    Ok((agents, broken))
}

/// Lets a config file speak of an agent; its rules are a layer of their own.
fn describe(agent: &mut AgentDefinition, table: &AgentTable) -> anyhow::Result<()> {
    let AgentTable { description, mode, model, prompt, permission: _ } = table;
    if !description.is_empty() {
        agent.description.clone_from(description);
    }
    if !prompt.is_empty() {
        agent.prompt.clone_from(prompt);
    }
    agent.mode = mode.unwrap_or(agent.mode);
    if let Some(text) = model {
        let Some((provider, id)) = text.split_once('/') else {
            bail!("[agent.{}] model = \"{text}\": write it as PROVIDER/MODEL", agent.name);
        };
        agent.model = Some(Model { provider: provider.to_owned(), id: id.to_owned() });
    }
    Ok(())
}

impl Haft {
    /// What is known of an agent.
    pub(crate) fn definition(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.iter().find(|agent| agent.name.as_str() == name)
    }

    /// An agent's own rules, the least specific first.
    pub(crate) fn agent_rules(&self, name: &str) -> Vec<Layer> {
        let own = self.definition(name).into_iter().flat_map(|agent| agent.rules.clone());
        // A layer for each file: put together, the project's word would overrule the user's deny.
        let configs = self.configs.iter().filter_map(|config| config.agents.get(name).cloned());
        own.chain(configs).collect()
    }

    /// For whom tools are chosen: the agent of this command.
    pub(crate) fn audience(&self) -> Audience {
        self.audience_of(&self.agent)
    }

    /// For whom tools are chosen where this agent works.
    pub(crate) fn audience_of(&self, name: &AgentId) -> Audience {
        let rules = self.agent_rules(name.as_str());
        Audience {
            agent: Agent { id: name.clone(), rules, ceiling: None },
            model: self.common.model.clone(),
            features: self.configs.iter().flat_map(|it| it.file.features.clone()).collect(),
            ..Audience::of(name.clone())
        }
    }

    /// How many agents a model may start.
    pub(crate) fn crew_limits(&self) -> CrewLimits {
        let mut limits = CrewLimits::default();
        for table in self.configs.iter().map(|config| &config.file.tasks) {
            limits.depth = table.depth.unwrap_or(limits.depth);
            limits.running = table.running.unwrap_or(limits.running);
            limits.total = table.total.unwrap_or(limits.total);
        }
        limits
    }
}

/// What holds above all other rules while only plans are made.
pub(crate) fn plan_rules() -> anyhow::Result<Policy> {
    let layer = rules_file::parse(PLAN_RULES, LayerKind::BuiltIn, "plan mode", &Expand::nothing())?;
    Ok(Policy::new(vec![layer]))
}
