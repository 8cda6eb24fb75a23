//! Who works in `haft run`: the agent for the user, and those that it starts.

use std::io::ErrorKind;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use haft_agent::provider::{Patience, Patient, Provider, Recording, Remote, Replay, ReplayError};
use haft_agent::{Agent, Instructions, Mode, ModelSettings, Part, Roster, Surroundings};
use haft_custom::AgentMode;
use haft_runtime::permission::{Action, Effect};
use haft_runtime::{AgentId, Audience, BoxFuture, Client, Model, Runtime, ToolError, Toolset};
use jiff::Timestamp;

use crate::agents::{BUILD, PLAN};
use crate::args::RunArgs;
use crate::open::Haft;
use crate::small_file;

/// What every agent is told that another has started.
const CHILD: &str = include_str!("child.txt");
/// Most agents that a model is told of.
const OFFERED: usize = 50;
/// Most characters of what is said of each.
const ABOUT: usize = 400;

/// Makes agents ready to work.
pub(super) struct Cast {
    haft: Arc<Haft>,
    steps: u32,
    /// Who works when no plan is made.
    home: AgentId,
    /// Who makes plans.
    planner: AgentId,
    /// The model of this command, for all that have none of their own.
    chosen: Chosen,
    source: Source,
    /// Those that another agent may start.
    offered: Vec<(AgentId, String)>,
}

#[derive(Clone)]
struct Chosen {
    provider: Arc<dyn Provider>,
    model: Model,
    settings: ModelSettings,
}

/// Where replies come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Models,
    /// One recording for all.
    Recording,
}

impl Cast {
    /// The agents of this command.
    pub(super) fn new(haft: &Arc<Haft>, args: &RunArgs) -> anyhow::Result<Self> {
        let name = &haft.agent;
        let definition = haft.definition(name.as_str());
        if definition.is_some_and(|agent| agent.mode == AgentMode::Subagent) {
            bail!(
                "{name} is an agent for other agents to start, with the tool task; it cannot work for \
                 you directly, unless its mode is `primary` or `all`"
            );
        }
        let (planner, build) = (AgentId::parse(PLAN)?, AgentId::parse(BUILD)?);
        let home = if *name == planner { build } else { name.clone() };
        let (chosen, source) = chosen(haft, args)?;
        let (offered, steps) = (offered(haft)?, args.steps);
        Ok(Self { haft: Arc::clone(haft), steps, home, planner, chosen, source, offered })
    }

    /// The mode that the command asks for; none if it is the session's own.
    pub(super) fn wanted(&self) -> Option<Mode> {
        (self.haft.agent == self.planner).then_some(Mode::Plan)
    }

    async fn leader(&self, runtime: &Runtime, mode: Mode) -> anyhow::Result<Agent> {
        let name = if mode == Mode::Plan { &self.planner } else { &self.home };
        let mut audience = self.haft.audience_of(name);
        if mode == Mode::Plan && self.wanted().is_none() {
            // Whoever begins to plan may do no more for that.
            let home = self.audience(self.haft.audience_of(&self.home), &self.chosen.model);
            audience.agent.ceiling = Some(Arc::clone(runtime.toolset(&home).await.policy()));
        }
        let chosen = match (&self.haft.common.model, self.own_model(name)) {
            (None, Some(model)) => self.of_model(&model)?,
            _ => self.chosen.clone(),
        };
        self.agent(runtime, audience, chosen, "").await
    }

    async fn started(&self, runtime: &Runtime, part: Part) -> anyhow::Result<Agent> {
        let Part { agent, model, ceiling, rules } = part;
        let mut audience = self.haft.audience_of(&agent);
        audience.agent.rules.push(rules);
        audience.agent.ceiling = Some(ceiling);
        let chosen = match model.or_else(|| self.own_model(&agent)) {
            Some(model) => self.of_model(&model)?,
            None => self.chosen.clone(),
        };
        self.agent(runtime, audience, chosen, CHILD).await
    }

    async fn agent(
        &self,
        runtime: &Runtime,
        audience: Audience,
        chosen: Chosen,
        more: &str,
    ) -> anyhow::Result<Agent> {
        let Chosen { provider, model, settings } = chosen;
        let name = audience.agent.id.clone();
        let toolset = runtime.toolset(&self.audience(audience, &model)).await;
        let mut system = system(&self.haft, &toolset)?;
        let own = self.haft.definition(name.as_str()).map_or("", |agent| agent.prompt.trim());
        for part in [own, more.trim()].into_iter().filter(|part| !part.is_empty()) {
            system.push_str(&format!("\n# Your part\n\n{part}\n"));
        }
        Ok(Agent { provider, model: settings, system, toolset, steps: self.steps })
    }

    fn audience(&self, audience: Audience, model: &Model) -> Audience {
        Audience { client: Client::Agent, model: Some(model.clone()), ..audience }
    }

    fn own_model(&self, name: &AgentId) -> Option<Model> {
        self.haft.definition(name.as_str())?.model.clone()
    }

    fn of_model(&self, model: &Model) -> anyhow::Result<Chosen> {
        if *model == self.chosen.model || self.source == Source::Recording {
            return Ok(self.chosen.clone());
        }
        let (remote, settings) = remote(&self.haft, model)?;
        Ok(Chosen { provider: Arc::new(remote), model: model.clone(), settings })
    }
}

impl Roster for Cast {
    fn offered(&self) -> Vec<(AgentId, String)> {
        self.offered.clone()
    }

    fn child<'a>(
        &'a self,
        runtime: &'a Runtime,
        part: Part,
    ) -> BoxFuture<'a, Result<Agent, ToolError>> {
        Box::pin(async { self.started(runtime, part).await.map_err(failed) })
    }

    fn lead<'a>(
        &'a self,
        runtime: &'a Runtime,
        mode: Mode,
    ) -> BoxFuture<'a, Result<Agent, ToolError>> {
        Box::pin(async move { self.leader(runtime, mode).await.map_err(failed) })
    }
}

/// The agents that another may start, but for those that a rule denies.
fn offered(haft: &Haft) -> anyhow::Result<Vec<(AgentId, String)>> {
    let policy = haft.policy()?;
    let is_denied = |name: &AgentId| {
        policy.decide(&Effect::using("task", name.to_string())).action == Action::Deny
    };
    let agents = haft.agents.iter().filter(|agent| agent.mode != AgentMode::Primary);
    let agents = agents.filter(|agent| !is_denied(&agent.name)).take(OFFERED);
    let about = |text: &str| text.chars().take(ABOUT).collect();
    Ok(agents.map(|agent| (agent.name.clone(), about(&agent.description))).collect())
}

fn failed(error: anyhow::Error) -> ToolError {
    ToolError::failed(format!("the agent cannot work: {error:#}"))
}

/// The model of this command, and whoever lets it reply.
fn chosen(haft: &Haft, args: &RunArgs) -> anyhow::Result<(Chosen, Source)> {
    let here = |path: &std::path::PathBuf| haft.environment.current_dir.join(path);
    if let Some(path) = args.replay.as_ref().map(here) {
        let replay = Replay::open(&path).map_err(|error| match error {
            // It names the file by itself.
            ReplayError::File(error) => anyhow!(error),
            other => anyhow!(other).context(path.display().to_string()),
        })?;
        let model = Model { provider: "replay".to_owned(), id: "recorded".to_owned() };
        let (context, max_tokens) = (1_000_000, 8_192);
        let settings = ModelSettings { id: model.id.clone(), context, max_tokens, price: None };
        return Ok((Chosen { provider: Arc::new(replay), model, settings }, Source::Recording));
    }
    let own = haft.definition(haft.agent.as_str()).and_then(|agent| agent.model.clone());
    let model = match (&haft.common.model, own) {
        (None, Some(model)) => model,
        _ => haft.model()?,
    };
    let (remote, settings) = remote(haft, &model)?;
    let provider: Arc<dyn Provider> = match args.record.as_ref().map(here) {
        None => Arc::new(remote),
        Some(path) => match Recording::create(remote, &path) {
            Ok(recording) => Arc::new(recording),
            Err(ReplayError::File(error)) if error.kind() == ErrorKind::AlreadyExists => {
                bail!("{} exists already; choose another name or remove it", path.display())
            }
            Err(error) => return Err(error).context(path.display().to_string()),
        },
    };
    Ok((Chosen { provider, model, settings }, Source::Models))
}

fn remote(haft: &Haft, model: &Model) -> anyhow::Result<(Patient<Remote>, ModelSettings)> {
    let (endpoint, settings) = haft.endpoint(model)?;
    let remote = Remote::new(endpoint, Arc::new(haft.web_client()))?;
    Ok((Patient::new(remote, Patience::default()), settings))
}

/// What a model is told before the conversation.
fn system(haft: &Haft, toolset: &Toolset) -> anyhow::Result<String> {
    let workspace = haft.workspace()?;
    let around = Surroundings {
        workspace: &workspace,
        folder: &haft.environment.current_dir,
        policy: toolset.policy(),
        today: Timestamp::now().strftime("%Y-%m-%d").to_string(),
        system: std::env::consts::OS,
    };
    let mut instructions = Instructions::find(&around);
    let own = haft.environment.config_dir.as_ref().map(|dir| dir.join("AGENTS.md"));
    if let Some(path) = own
        && let Some(text) = small_file::read(&path)?
    {
        instructions = instructions.and(path.display().to_string(), text);
    }
    Ok(instructions.system(&around))
}
