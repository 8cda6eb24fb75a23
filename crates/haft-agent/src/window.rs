//! Keeps a conversation within what a model can read: old tool outputs go first, then a summary stands for all.

use crate::message::{Content, Message, Said, ToolResult};

/// About how many bytes of text are a token; a careful guess for code.
const BYTES_PER_TOKEN: u64 = 3;
/// About how many tokens a picture takes.
const PICTURE: u64 = 1_600;
/// The last answers of tools that are never taken away: the model is working with them.
const KEPT_TURNS: usize = 2;
/// An output that is no longer than this is not worth taking away.
const SHORT: usize = 400;
/// Pruning goes on until so much of the room is used: what was pruned is read anew by the provider, so
/// that it should not happen every turn.
const PRUNED_TO: f64 = 0.6;

/// What stands for an output that was taken away.
const PRUNED: &str =
    "[this output was taken away to save room; call the tool again if you need it]";

/// What the model is told to do when a summary has to stand for the conversation.
pub(crate) const SUMMARISE: &str = include_str!("summarise.txt");

/// What opens the conversation after it was summarised.
const RESUMED: &str = "The conversation so far was summarised to save room. Go on from here.\n\n";

/// How much a model can read, and how much of it is used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// Tokens that a prompt may have.
    room: u64,
    /// The size of a prompt with so many messages, as the provider counted it.
    counted: Option<(usize, u64)>,
}

impl Window {
    /// Of a model that reads `context` tokens, of which a reply may take `max_tokens`.
    pub(crate) fn new(context: u64, max_tokens: u32) -> Self {
        // A margin of a twentieth: our guesses are guesses.
        let room = context.saturating_sub(u64::from(max_tokens) + context / 20);
        Self { room: room.max(context / 4), counted: None }
    }

    /// Remembers what the provider counted for a conversation with so many messages.
    pub(crate) fn counted(&mut self, messages: usize, tokens: u64) {
        self.counted = (tokens > 0).then_some((messages, tokens));
    }

    /// Forgets it, because the conversation was changed.
    pub(crate) fn changed(&mut self) {
        self.counted = None;
    }

    /// Whether the conversation is too long.
    pub(crate) fn is_full(&self, messages: &[Message]) -> bool {
        self.used(messages) > self.room
    }

    fn used(&self, messages: &[Message]) -> u64 {
        match self.counted.and_then(|(count, tokens)| Some((messages.get(count..)?, tokens))) {
            Some((since, tokens)) => tokens + estimate(since),
            None => estimate(messages),
        }
    }

    /// Takes old outputs away, the oldest first, until there is room again.
    pub(crate) fn prune(&mut self, messages: &mut [Message]) {
        let goal = (self.room as f64 * PRUNED_TO) as u64;
        let mut used = self.used(messages);
        let turns = messages.iter_mut().filter_map(|message| match message {
            Message::Results { results } => Some(results),
            _ => None,
        });
        let turns: Vec<&mut Vec<ToolResult>> = turns.collect();
        let old = turns.len().saturating_sub(KEPT_TURNS);
        for result in turns.into_iter().take(old).flatten() {
            if used <= goal {
                break;
            }
            let before = of_result(result);
            if result.text.len() > SHORT || !result.images.is_empty() {
                PRUNED.clone_into(&mut result.text);
                result.images.clear();
            }
            used = used.saturating_sub(before - of_result(result));
        }
        self.changed();
    }

    /// The conversation as text, for whoever summarises it: the end of it, where it is too long.
    pub(crate) fn transcript(&self, messages: &[Message]) -> String {
        let text: String = messages.iter().map(told).collect();
        let most = usize::try_from(self.room * BYTES_PER_TOKEN / 2).unwrap_or(usize::MAX);
        let start = text.ceil_char_boundary(text.len().saturating_sub(most));
        text.get(start..).unwrap_or_default().to_owned()
    }
}

/// The message that stands for a conversation which was summarised.
pub(crate) fn resumed(summary: &str) -> String {
    format!("{RESUMED}{summary}")
}

fn estimate(messages: &[Message]) -> u64 {
    let shown = |content: &Content| match content {
        Content::Text { text } => tokens(text),
        Content::Image { .. } => PICTURE,
    };
    let said = |said: &Said| match said {
        Said::Text { text } => tokens(text),
        Said::Reasoning { text, seal } => {
            seal.as_ref().map_or(0, |seal| tokens(&seal.block.to_string())).max(tokens(text))
        }
        Said::Call(call) => tokens(&call.arguments) + 20,
    };
    let of_message = |message: &Message| -> u64 {
        match message {
            Message::User { content } => content.iter().map(shown).sum(),
            Message::Assistant { content } => content.iter().map(said).sum(),
            Message::Results { results } => results.iter().map(of_result).sum(),
        }
    };
    messages.iter().map(of_message).sum()
}

fn of_result(result: &ToolResult) -> u64 {
    tokens(&result.text) + PICTURE * result.images.len() as u64 + 10
}

fn tokens(text: &str) -> u64 {
    text.len() as u64 / BYTES_PER_TOKEN
}

/// A message as a line or more of a transcript.
fn told(message: &Message) -> String {
    match message {
        Message::User { content } => {
            let words = content.iter().map(|content| match content {
                Content::Text { text } => text.as_str(),
                Content::Image { .. } => "[a picture]",
            });
            format!("USER: {}\n\n", words.collect::<Vec<_>>().join("\n"))
        }
        Message::Assistant { content } => {
            let part = |said: &Said| match said {
                Said::Text { text } => format!("ASSISTANT: {text}\n"),
                Said::Reasoning { .. } => String::new(),
                Said::Call(call) => format!("CALL {}: {}\n", call.tool, call.arguments),
            };
            content.iter().map(part).collect::<String>() + "\n"
        }
        Message::Results { results } => {
            results.iter().map(|result| format!("RESULT: {}\n\n", result.text)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_runtime::CallId;

    use super::*;
    use crate::message::Outcome;

    fn results(text: &str) -> Message {
        let outcome = Outcome::Done;
        let call = CallId::fresh();
        Message::Results {
            results: vec![ToolResult { call, text: text.into(), images: Vec::new(), outcome }],
        }
    }

    fn text(message: &Message) -> &str {
        match message {
            Message::Results { results } => &results[0].text,
            _ => "",
        }
    }

    #[test]
    fn old_outputs_go_first_and_no_more_than_needed() {
        let long = "x".repeat(3_000);
        let mut messages: Vec<Message> = (0..10).map(|_| results(&long)).collect();
        messages.insert(0, results("short"));
        let mut window = Window::new(10_000, 1_000);
        assert!(window.is_full(&messages));
        window.prune(&mut messages);
        assert!(!window.is_full(&messages));
        assert_eq!(text(&messages[0]), "short");
        assert_eq!(text(&messages[1]), PRUNED);
        assert_eq!(text(&messages[10]), long, "the last ones stay");
        let left = messages.iter().filter(|message| text(message) == long).count();
        assert_eq!(left, 4, "as many as fit into six tenths of the room");
    }

    #[test]
    fn what_the_provider_counted_is_believed() {
        let messages = [results("x"), results("y")];
        let mut window = Window::new(10_000, 1_000);
        window.counted(1, 9_000);
        assert!(window.is_full(&messages));
        window.changed();
        assert!(!window.is_full(&messages));
    }

    #[test]
    fn a_transcript_is_bounded_and_keeps_the_end() {
        let messages = [Message::user("é".repeat(50_000)), Message::user("the end")];
        let transcript = Window::new(10_000, 1_000).transcript(&messages);
        assert!(transcript.len() < 15_000);
        assert!(transcript.ends_with("USER: the end\n\n"));
    }
}
