//! What a model says to `task`, and what is meant by it.

use std::time::Duration;

use haft_runtime::{AgentId, Model, SessionId, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::crew::{Attended, Until, Urgency};

/// Every one of them.
pub(super) const ALL: Until = Until::All;
/// How long is waited if it is not told otherwise, in ms.
const WAIT: u64 = 600_000;

/// What to do, and with which agent or task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    /// run if left out.
    #[schemars(extend("x-aliases" = ["op", "command"]))]
    action: Option<Action>,
    /// For run: the work in three to five words.
    #[schemars(length(max = 500), extend("x-aliases" = ["title", "task_name", "name"]))]
    description: Option<String>,
    /// For run and message: what to do, and all that has to be known for it.
    #[schemars(length(min = 1, max = 400000), extend("x-aliases" = ["message", "input", "instructions"]))]
    prompt: Option<String>,
    /// For run: the agent.
    #[schemars(length(min = 1, max = 128), extend("x-aliases" = ["agent", "agent_type", "subagent"]))]
    subagent_type: Option<String>,
    /// The task that is meant; with run, one that goes on.
    #[schemars(length(min = 1, max = 128), extend("x-aliases" = ["id", "target", "agent_id", "session_id", "resume"]))]
    task_id: Option<String>,
    /// For wait and cancel: several tasks. wait without any waits for all.
    #[schemars(length(min = 1, max = 200), extend("x-aliases" = ["ids", "targets"]))]
    task_ids: Option<Vec<String>>,
    /// For run: do not wait for the answer.
    #[schemars(extend("x-aliases" = ["run_in_background"]))]
    background: Option<bool>,
    /// For run: let the agent read this conversation first.
    #[schemars(extend("x-aliases" = ["fork_context"]))]
    fork: Option<bool>,
    /// For run: PROVIDER/MODEL, if not the agent's own.
    #[schemars(length(min = 1, max = 200))]
    model: Option<String>,
    /// For message: stop what it does now.
    interrupt: Option<bool>,
    /// For wait: the first end, or every one; all if left out.
    until: Option<Ends>,
    /// For wait, in ms; 600000 if left out.
    #[schemars(range(max = 3600000), extend("x-aliases" = ["timeout_ms"]))]
    timeout: Option<u64>,
}

/// What can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Action {
    Run,
    Wait,
    Message,
    List,
    Cancel,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Ends {
    Any,
    All,
}

/// What is meant.
#[derive(Debug)]
pub(super) enum Job {
    Start { target: Target, prompt: String, attended: Attended },
    Message { id: SessionId, prompt: String, urgency: Urgency },
    Wait { ids: Vec<SessionId>, until: Until, timeout: Duration },
    List,
    Cancel { ids: Vec<SessionId> },
}

/// Who is to work.
#[derive(Debug)]
pub(super) enum Target {
    /// One that was started before.
    Task(SessionId),
    /// A new one.
    Agent { agent: AgentId, model: Option<Model>, description: String, fork: bool },
}

/// Makes sense of what the model said.
pub(super) fn read(args: Value) -> Result<Job, ToolError> {
    let params: Params = serde_json::from_value(args)
        .map_err(|error| invalid(format!("the arguments cannot be read: {error}")))?;
    let ids = params.ids()?;
    let prompt = |action: &str| {
        let missing = || invalid(format!("prompt: {action} needs it"));
        params.prompt.clone().ok_or_else(missing)
    };
    match params.action.unwrap_or(Action::Run) {
        Action::Run => Ok(Job::Start {
            prompt: prompt("run")?,
            attended: params.attended(),
            target: params.target()?,
        }),
        Action::Message => {
            let id = ids.into_iter().next();
            let id = id.ok_or_else(|| invalid("task_id: message needs it"))?;
            let urgency = match params.interrupt {
                Some(true) => Urgency::AtOnce,
                _ => Urgency::Soon,
            };
            Ok(Job::Message { id, prompt: prompt("message")?, urgency })
        }
        Action::Wait => {
            let until = if params.until == Some(Ends::Any) { Until::Any } else { Until::All };
            let timeout = Duration::from_millis(params.timeout.unwrap_or(WAIT));
            Ok(Job::Wait { ids, until, timeout })
        }
        Action::List => Ok(Job::List),
        Action::Cancel if ids.is_empty() => Err(invalid("task_id: cancel needs it, or task_ids")),
        Action::Cancel => Ok(Job::Cancel { ids }),
    }
}

impl Params {
    fn ids(&self) -> Result<Vec<SessionId>, ToolError> {
        let several = self.task_ids.iter().flatten();
        let all = self.task_id.iter().chain(several).map(|id| SessionId::parse(id));
        all.map(|id| id.map_err(|error| invalid(format!("task_id: {error}")))).collect()
    }

    fn attended(&self) -> Attended {
        match self.background {
            Some(true) => Attended::Background,
            _ => Attended::Foreground,
        }
    }

    fn target(&self) -> Result<Target, ToolError> {
        if let Some(id) = self.ids()?.into_iter().next() {
            return Ok(Target::Task(id));
        }
        let missing = || invalid("subagent_type: run needs it, or the task_id of one to continue");
        let name = self.subagent_type.as_deref().ok_or_else(missing)?;
        let agent = AgentId::parse(name.trim())
            .map_err(|error| invalid(format!("subagent_type: {error}")))?;
        let description = self.description.clone().unwrap_or_else(|| "a task".to_owned());
        let model = self.model.as_deref().map(model).transpose()?;
        Ok(Target::Agent { agent, model, description, fork: self.fork == Some(true) })
    }
}

fn model(text: &str) -> Result<Model, ToolError> {
    let wrong = || invalid("model: write it as PROVIDER/MODEL");
    let (provider, id) = text.split_once('/').ok_or_else(wrong)?;
    Ok(Model { provider: provider.to_owned(), id: id.to_owned() })
}

fn invalid(detail: impl Into<String>) -> ToolError {
    ToolError::InvalidParams { tool: super::ID.to_owned(), detail: detail.into() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_models_know_from_elsewhere_starts_an_agent() {
        let job = read(json!({ "description": "d", "prompt": "p", "subagent_type": "explore" }));
        let Ok(Job::Start { target: Target::Agent { agent, fork: false, .. }, attended, .. }) = job
        else {
            panic!("{job:?}")
        };
        assert_eq!((agent.as_str(), attended), ("explore", Attended::Foreground));
    }

    #[test]
    fn what_is_missing_is_named_before_anything_runs() {
        let cases = [
            (json!({ "prompt": "p" }), "subagent_type"),
            (json!({ "subagent_type": "explore" }), "prompt"),
            (json!({ "action": "message", "prompt": "p" }), "task_id"),
            (json!({ "action": "cancel" }), "task_id"),
            (json!({ "prompt": "p", "subagent_type": "a", "model": "x" }), "PROVIDER/MODEL"),
        ];
        for (args, names) in cases {
            let error = read(args).unwrap_err().to_string();
            assert!(error.contains(names), "{error}");
        }
    }
}
