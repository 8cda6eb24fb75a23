//! A reply as it grows from its pieces, and the message that it becomes.

use haft_runtime::CallId;

use crate::message::{Said, Seal, ToolCall};
use crate::provider::{Piece, Stop, Usage};

/// A reply that is being heard.
#[derive(Debug, Default)]
pub struct Reply {
    parts: Vec<Part>,
    /// What it has cost so far.
    pub usage: Usage,
    stop: Option<Stop>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Reasoning { text: String, seal: Option<Seal> },
    Call { index: u64, id: String, tool: String, arguments: String },
}

impl Reply {
    /// Takes in the next piece.
    pub fn hear(&mut self, piece: Piece) {
        match piece {
            Piece::Text(more) => match self.parts.last_mut() {
                Some(Part::Text(text)) => text.push_str(&more),
                _ => self.parts.push(Part::Text(more)),
            },
            Piece::Reasoning(more) => match self.parts.last_mut() {
                Some(Part::Reasoning { text, seal: None }) => text.push_str(&more),
                _ => self.parts.push(Part::Reasoning { text: more, seal: None }),
            },
            Piece::Sealed { protocol, block } => {
                let made = Some(Seal { protocol: protocol.to_owned(), block });
                match self.parts.last_mut() {
                    Some(Part::Reasoning { seal: seal @ None, .. }) => *seal = made,
                    _ => self.parts.push(Part::Reasoning { text: String::new(), seal: made }),
                }
            }
            Piece::CallBegun { index, id, tool } => {
                self.parts.push(Part::Call { index, id, tool, arguments: String::new() });
            }
            Piece::Arguments { index: of, text } => {
                let call = self.parts.iter_mut().rev().find_map(|part| match part {
                    Part::Call { index, arguments, .. } if *index == of => Some(arguments),
                    _ => None,
                });
                if let Some(arguments) = call {
                    arguments.push_str(&text);
                }
            }
            Piece::CallEnded { .. } => {}
            Piece::Usage(usage) => self.usage = usage,
            Piece::Stopped(stop) => self.stop = Some(stop),
            Piece::Again { .. } => *self = Self::default(),
        }
    }

    /// Why it ended; a provider that did not say has said all.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.stop.unwrap_or(Stop::Done)
    }

    /// What was said, with an id for every call that `is_used` does not know and no other has.
    ///
    /// The provider's own id is kept where it can be: small servers number the calls of every reply
    /// from 0, and a call is never run twice under one id.
    #[must_use]
    pub fn finish(self, is_used: impl Fn(&CallId) -> bool) -> Vec<Said> {
        let mut ids: Vec<CallId> = Vec::new();
        let mut unique = |id: &str| {
            let own = CallId::parse(id).ok().filter(is_plain);
            let free = own.filter(|id| !is_used(id) && !ids.contains(id));
            let id = free.unwrap_or_else(CallId::fresh);
            ids.push(id.clone());
            id
        };
        let said = |part| match part {
            Part::Text(text) => Said::Text { text },
            Part::Reasoning { text, seal } => Said::Reasoning { text, seal },
            Part::Call { id, tool, arguments, .. } => {
                Said::Call(ToolCall { id: unique(&id), tool, arguments })
            }
        };
        self.parts.into_iter().map(said).collect()
    }

    /// What was said when it was cut short: calls may not be whole, and are left out.
    #[must_use]
    pub fn interrupted(self) -> Vec<Said> {
        let words = |part| match part {
            Part::Text(text) if !text.trim().is_empty() => Some(Said::Text { text }),
            _ => None,
        };
        self.parts.into_iter().filter_map(words).collect()
    }
}

/// Whether every provider takes it as an id, should the conversation go on with another.
fn is_plain(id: &CallId) -> bool {
    let id = id.as_str();
    id.len() <= 40 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(index: u64, id: &str) -> Piece {
        Piece::CallBegun { index, id: id.into(), tool: "read".into() }
    }

    fn ids(said: &[Said]) -> Vec<String> {
        let id = |said: &Said| match said {
            Said::Call(call) => Some(call.id.to_string()),
            _ => None,
        };
        said.iter().filter_map(id).collect()
    }

    #[test]
    fn arguments_find_their_call_when_several_are_open() {
        let mut reply = Reply::default();
        let more = |index, text: &str| Piece::Arguments { index, text: text.into() };
        for piece in [call(0, "a"), call(1, "b"), more(1, "{\"x\""), more(0, "{}"), more(1, ":1}")]
        {
            reply.hear(piece);
        }
        let calls: Vec<String> = reply
            .finish(|_| false)
            .into_iter()
            .filter_map(|said| match said {
                Said::Call(call) => Some(call.arguments),
                _ => None,
            })
            .collect();
        assert_eq!(calls, ["{}", "{\"x\":1}"]);
    }

    #[test]
    fn an_id_that_was_used_or_that_not_everybody_takes_is_replaced() {
        let mut reply = Reply::default();
        for (index, id) in ["new", "used", "new", "", "a.b", "c d"].into_iter().enumerate() {
            reply.hear(call(index as u64, id));
        }
        let ids = ids(&reply.finish(|id| id.as_str() == "used"));
        assert_eq!(ids[0], "new");
        assert!(ids[1..].iter().all(|id| id.starts_with("call_")), "{ids:?}");
    }

    #[test]
    fn what_was_heard_before_another_try_is_void() {
        let mut reply = Reply::default();
        reply.hear(Piece::Text("half".into()));
        reply.hear(call(0, "a"));
        reply.hear(Piece::Again { why: "cut".into() });
        reply.hear(Piece::Text("whole".into()));
        assert_eq!(reply.finish(|_| false), [Said::Text { text: "whole".into() }]);
    }

    #[test]
    fn calls_of_a_reply_that_was_cut_short_are_not_made() {
        let mut reply = Reply::default();
        reply.hear(Piece::Text("I shall".into()));
        reply.hear(call(0, "a"));
        assert_eq!(reply.interrupted(), [Said::Text { text: "I shall".into() }]);
    }
}
