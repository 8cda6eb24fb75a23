//! What a hook's program reads and answers: the JSON that Claude Code's hooks speak.

use haft_runtime::permission::PendingAsk;
use haft_runtime::{Beginning, Context, Output, SessionId, ToolError};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::HookEvent;

/// What a hook answers.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Answer {
    /// Whether the agent goes on at all.
    #[serde(rename = "continue")]
    pub(super) go_on: Option<bool>,
    /// Why not.
    pub(super) stop_reason: Option<String>,
    /// For the user.
    pub(super) system_message: Option<String>,
    /// The older form of a decision.
    pub(super) decision: Option<Decision>,
    /// Why it was made.
    pub(super) reason: Option<String>,
    /// What only some events have.
    #[serde(deserialize_with = "or_nothing")]
    pub(super) hook_specific_output: Specific,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Specific {
    pub(super) hook_event_name: Option<String>,
    pub(super) permission_decision: Option<Decision>,
    pub(super) permission_decision_reason: Option<String>,
    pub(super) updated_input: Option<Value>,
    pub(super) additional_context: Option<String>,
    #[serde(alias = "updatedMCPToolOutput")]
    pub(super) updated_tool_output: Option<Value>,
    pub(super) decision: Option<Behaviour>,
}

/// The answer to a request for permission.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Behaviour {
    pub(super) behavior: Decision,
    pub(super) message: Option<String>,
    pub(super) updated_input: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Decision {
    #[serde(alias = "approve")]
    Allow,
    #[serde(alias = "block")]
    Deny,
    Ask,
}

fn or_nothing<'de, D: Deserializer<'de>>(from: D) -> Result<Specific, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

/// Reads an answer; nothing said is nothing to say.
pub(super) fn answer(event: HookEvent, said: &[u8]) -> Result<Answer, String> {
    let text = std::str::from_utf8(said).map_err(|_| "it did not answer with UTF-8 text")?;
    if text.trim().is_empty() {
        return Ok(Answer::default());
    }
    let bad = |error| format!("its answer is not the JSON of a hook: {error}");
    let value: Value = serde_json::from_str(text).map_err(bad)?;
    let specific = value.get("hookSpecificOutput").filter(|it| !it.is_null());
    // A list would pass for an object without opinions.
    if !value.is_object() || specific.is_some_and(|it| !it.is_object()) {
        return Err("its answer is not the JSON of a hook: it is no object".to_owned());
    }
    let answer: Answer = serde_json::from_value(value).map_err(bad)?;
    match &answer.hook_specific_output.hook_event_name {
        Some(name) if name != event.as_str() => {
            Err(format!("its answer is for `{}`", super::shown(name)))
        }
        _ => Ok(answer),
    }
}

/// What every hook of a call reads.
pub(super) fn of_call(event: HookEvent, tool: &str, input: &Value, cx: &Context) -> Value {
    json!({
        "hook_event_name": event.as_str(),
        "session_id": cx.session.as_str(),
        "permission_mode": "default",
        "agent": cx.agent.as_str(),
        "tool_name": tool,
        "tool_input": input,
        "tool_use_id": cx.call.as_str(),
    })
}

/// What there is to know of an answer.
pub(super) fn response(output: &Output) -> Value {
    json!({ "title": output.title, "output": output.output, "metadata": output.metadata })
}

/// Adds what went wrong.
pub(super) fn add_failure(to: &mut Value, error: &ToolError) {
    if let Some(map) = to.as_object_mut() {
        map.insert("error".into(), error.to_string().into());
        map.insert("error_kind".into(), error.kind().into());
        let is_interrupt = matches!(error, ToolError::Cancelled { .. });
        map.insert("is_interrupt".into(), is_interrupt.into());
    }
}

/// Adds what is asked for.
pub(super) fn add_ask(to: &mut Value, ask: &PendingAsk) {
    if let Some(map) = to.as_object_mut() {
        map.insert("title".into(), ask.ask.title.clone().into());
        map.insert("effects".into(), json!(ask.ask.effects));
        map.insert("permission_suggestions".into(), json!(ask.ask.always));
        map.insert("escalation".into(), json!(ask.escalation));
    }
}

/// What a hook reads when a session begins.
pub(super) fn of_start(session: &SessionId, how: Beginning) -> Value {
    let event = HookEvent::SessionStart.as_str();
    json!({ "hook_event_name": event, "session_id": session.as_str(), "source": how })
}

/// What a hook reads when a session ends.
pub(super) fn of_end(session: &SessionId, why: &str) -> Value {
    let event = HookEvent::SessionEnd.as_str();
    json!({ "hook_event_name": event, "session_id": session.as_str(), "reason": why })
}
