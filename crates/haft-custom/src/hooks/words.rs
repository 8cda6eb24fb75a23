//! What a hook's answer comes to, in words for whoever reads them.

use haft_exec::Exit;
use haft_runtime::{ToolError, plain};

use super::contract::Answer;
use super::entry::Ready;
use crate::program::shortened;

/// Most of a hook's words that anybody reads.
pub(super) const WORDS: usize = 10_000;

/// An answer that wants the agent to end its work is a refusal with consequences.
pub(super) fn heed_stop(hook: &Ready, answer: Answer) -> Result<Answer, ToolError> {
    if answer.go_on != Some(false) {
        return Ok(answer);
    }
    let reason = answer.stop_reason.or(answer.reason);
    let reason = reason.unwrap_or_else(|| shown(&hook.command));
    Err(ToolError::Stopped { reason: shortened(&reason, WORDS) })
}

pub(super) fn blocked(hook: &Ready, words: &str) -> ToolError {
    let command = shown(&hook.command);
    ToolError::Blocked { reason: format!("`{command}`: {}", shortened(words, WORDS)) }
}

/// The model must not think that nothing has happened.
pub(super) fn after_the_fact(error: ToolError) -> ToolError {
    match error {
        ToolError::Blocked { reason } => {
            ToolError::Blocked { reason: format!("{reason} (the call itself has run)") }
        }
        other => other,
    }
}

pub(super) fn joined(context: impl IntoIterator<Item = String>) -> Option<String> {
    let all: Vec<String> = context.into_iter().filter(|text| !text.trim().is_empty()).collect();
    (!all.is_empty()).then(|| shortened(&all.join("\n\n"), WORDS))
}

pub(super) fn ended(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) => format!("it ended with code {code}"),
        Some(Exit::Signal(signal)) => format!("it was ended by signal {signal}"),
        None => "it could not be ended".to_owned(),
    }
}

pub(super) fn quoted(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

pub(super) fn starts_json(said: &[u8]) -> bool {
    said.trim_ascii_start().starts_with(b"{")
}

/// A few words of something that somebody else wrote, for a message.
pub(crate) fn shown(text: &str) -> String {
    plain(&shortened(text.trim(), 200))
}
