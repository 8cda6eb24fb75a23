//! What an agent sent, whichever protocol it speaks.

use serde_json::Value;

use crate::script::Offered;
use crate::{anthropic, chat, responses};

/// The protocols a model is spoken to in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions, and all that are compatible with it.
    Chat,
}

/// A tool's result as the model was shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The id of the call.
    pub call: String,
    /// The text of it; of several parts, joined by line ends.
    pub text: String,
}

impl Protocol {
    /// The protocol that is spoken at this path.
    pub(crate) fn at(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or(path).trim_end_matches('/');
        [
            ("/messages", Self::Anthropic),
            ("/responses", Self::Responses),
            ("/completions", Self::Chat),
        ]
        .into_iter()
        .find_map(|(end, protocol)| path.ends_with(end).then_some(protocol))
    }

    /// The tools that the request offers.
    pub(crate) fn tools(self, request: &Value) -> Vec<Offered> {
        let name = |tool: &Value| Some(tool.get("name")?.as_str()?.to_owned());
        let named = |tool: &Value, namespace: Option<&String>| {
            let tool = if self == Self::Chat { tool.get("function")? } else { tool };
            Some(Offered { namespace: namespace.cloned(), name: name(tool)? })
        };
        let of_one = |tool: &Value| match tool.get("tools") {
            // A group of tools, which only Responses has.
            Some(Value::Array(group)) => {
                let namespace = name(tool);
                group.iter().filter_map(|tool| named(tool, namespace.as_ref())).collect()
            }
            _ => Vec::from_iter(named(tool, None)),
        };
        items(request, "tools").iter().flat_map(of_one).collect()
    }

    /// What the user said first.
    pub(crate) fn opening(self, request: &Value) -> String {
        let name = if self == Self::Responses { "input" } else { "messages" };
        let mut users = items(request, name).iter();
        let first = users.find(|item| item.get("role").is_some_and(|role| role == "user"));
        first.and_then(|item| item.get("content")).map(text).unwrap_or_default()
    }

    /// The results that the request carries, in order.
    pub(crate) fn results(self, request: &Value) -> Vec<Shown> {
        match self {
            Self::Anthropic => anthropic::results(request),
            Self::Responses => responses::results(request),
            Self::Chat => chat::results(request),
        }
    }
}

/// The text of a content that is a text, or a list of parts of which some have one.
pub(crate) fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> =
                parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// The items of a list inside the request; none where there is no list.
pub(crate) fn items<'a>(request: &'a Value, name: &str) -> &'a [Value] {
    request.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
