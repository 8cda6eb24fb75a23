//! What the model is to say, turn by turn.

use serde_json::Value;

use crate::conversation::Shown;

/// One answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// What it thinks before; may be empty.
    pub thought: String,
    /// What it says first; may be empty.
    pub text: String,
    /// The tools it calls; none in the last turn.
    pub calls: Vec<ToolCall>,
    /// Whether it falls silent after a few bytes, until the agent goes away.
    pub silent: bool,
}

/// A tool that is called.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool's name, or the end of it: `haft_read` is also what a host calls `mcp__haft__read`.
    pub tool: String,
    /// Its arguments. `{{N:WORD}}` in a text stands for what follows WORD in the N-th result, from 0,
    /// up to the next blank.
    pub arguments: Value,
}

impl Turn {
    /// A turn that ends the conversation with a text.
    pub fn say(text: impl Into<String>) -> Self {
        Self { thought: String::new(), text: text.into(), calls: Vec::new(), silent: false }
    }

    /// A turn that begins and never ends.
    #[must_use]
    pub fn silence() -> Self {
        Self { silent: true, ..Self::say("Never said to its end.") }
    }

    /// A turn that calls one tool.
    pub fn call(tool: impl Into<String>, arguments: Value) -> Self {
        Self::say("").and(tool, arguments)
    }

    /// The same turn after a thought, beside which its provider sends things that nobody knows.
    #[must_use]
    pub fn thinking(mut self, thought: impl Into<String>) -> Self {
        self.thought = thought.into();
        self
    }

    /// The same turn with one call more.
    #[must_use]
    pub fn and(mut self, tool: impl Into<String>, arguments: Value) -> Self {
        self.calls.push(ToolCall { tool: tool.into(), arguments });
        self
    }
}

/// The turn that follows when `answered` calls have been answered, and the number of its first call.
///
/// It is found from the conversation alone, so a request that is sent twice gets the same answer twice.
pub(crate) fn next(script: &[Turn], answered: usize) -> (Turn, usize) {
    let mut made = 0;
    for turn in script {
        if turn.calls.is_empty() || made + turn.calls.len() > answered {
            return (turn.clone(), made);
        }
        made += turn.calls.len();
    }
    (Turn::say("The script ends here."), made)
}

/// Arguments with what earlier results said put in.
pub(crate) fn filled(arguments: &Value, results: &[Shown]) -> Value {
    match arguments {
        Value::String(text) => filled_text(text, results).into(),
        Value::Array(all) => all.iter().map(|one| filled(one, results)).collect(),
        Value::Object(all) => {
            all.iter().map(|(name, one)| (name.clone(), filled(one, results))).collect()
        }
        other => other.clone(),
    }
}

fn filled_text(text: &str, results: &[Shown]) -> String {
    let found = |place: &str| {
        let (number, word) = place.split_once(':')?;
        let (_, after) = results.get(number.parse::<usize>().ok()?)?.text.split_once(word)?;
        after.split_whitespace().next()
    };
    let mut parts = text.split("{{");
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (place, rest) = part.split_once("}}").unwrap_or((part, ""));
        all.push_str(found(place).unwrap_or("nothing"));
        all.push_str(rest);
    }
    all
}

/// A tool that a request offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offered {
    /// The group it is called in, for the protocol that has groups.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl Offered {
    /// Group and name as one.
    pub(crate) fn full(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}__{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The offered tool that is meant by `wanted`: itself, or one whose name ends with it as a word.
///
/// Hosts put a server's name before a tool's with one `_` or two: both are the same here.
pub(crate) fn offered<'a>(wanted: &str, tools: &'a [Offered]) -> Option<&'a Offered> {
    let wanted = wanted.replace("__", "_");
    let is_meant = |tool: &&Offered| {
        let full = tool.full().replace("__", "_");
        full.strip_suffix(&wanted).is_some_and(|before| before.ends_with(['_', '.', '-', '/']))
    };
    let exact = tools.iter().find(|tool| tool.full().replace("__", "_") == wanted);
    exact.or_else(|| tools.iter().find(is_meant))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_next_turn_follows_from_how_many_calls_were_answered() {
        let two = Turn::call("a", json!({})).and("b", json!({}));
        let script = [two.clone(), Turn::call("c", json!({})), Turn::say("end")];
        assert_eq!(next(&script, 0), (two.clone(), 0));
        assert_eq!(next(&script, 1), (two, 0));
        assert_eq!(next(&script, 2).1, 2);
        assert_eq!(next(&script, 3).0, Turn::say("end"));
        assert_eq!(next(&script, 9).0, Turn::say("end"));
        assert_eq!(next(&[], 0).0.text, "The script ends here.");
    }

    #[test]
    fn arguments_quote_earlier_results() {
        let shown = |text: &str| Shown { call: "c".into(), text: text.into() };
        let results = [shown("x"), shown("task_id: ses_1\nstate: done")];
        let arguments = json!({ "ids": ["{{1:task_id:}}"], "say": "a {{1:state:}} b", "n": 1 });
        let wanted = json!({ "ids": ["ses_1"], "say": "a done b", "n": 1 });
        assert_eq!(filled(&arguments, &results), wanted);
        assert_eq!(filled(&json!("{{7:x}}"), &results), json!("nothing"));
    }

    #[test]
    fn a_tool_is_found_behind_the_prefix_of_a_host() {
        let tool = |name: &str| Offered { namespace: None, name: name.into() };
        let grouped = Offered { namespace: Some("mcp__haft".into()), name: "edit".into() };
        let tools = [tool("read"), tool("mcp__haft__read"), tool("spread"), grouped.clone()];
        assert_eq!(offered("haft_read", &tools), Some(&tool("mcp__haft__read")));
        assert_eq!(offered("read", &tools), Some(&tool("read")));
        assert_eq!(offered("haft_edit", &tools), Some(&grouped));
        assert_eq!(offered("write", &tools), None);
    }
}
