//! Conversations as files: recorded while a provider replies, and replayed in its place.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use haft_runtime::{BoxFuture, Form};
use haft_workspace::read_small;
use serde::{Deserialize, Serialize};

use super::{Hear, Piece, Prompt, Provider, ProviderError, Stop, Usage};
use crate::message::{Message, Said};
use crate::reply::Reply;

/// The format of a recording; the first line names it.
const VERSION: u32 = 1;

/// Longest recording that is read: thousands of replies.
const MOST: u64 = 64 * 1024 * 1024;

/// The first line of a recording.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// The format.
    haft_conversation: u32,
}

/// Every other line: one reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Recorded {
    said: Vec<Said>,
    #[serde(default)]
    usage: Usage,
    stop: Stop,
}

/// Why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// It is no recording, or one of a later version.
    #[error("this is no recording that haft can replay; `haft run --record FILE` writes one")]
    Unknown,
    /// A line of it cannot be read.
    #[error("line {line} of the recording cannot be read: {why}")]
    Line {
        /// Its number.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
}

/// Replies as they were recorded, one after the other, whatever is asked.
pub struct Replay {
    replies: Vec<Recorded>,
    next: AtomicUsize,
}

impl Replay {
    /// Reads a recording from a file.
    ///
    /// # Errors
    /// If there is none, or it is longer than any that was recorded here.
    pub fn open(path: &Path) -> Result<Self, ReplayError> {
        let bytes = read_small(path, MOST)?;
        Self::parse(std::str::from_utf8(&bytes).map_err(|_| ReplayError::Unknown)?)
    }

    /// Reads a recording.
    ///
    /// # Errors
    /// If the text is none.
    pub fn parse(text: &str) -> Result<Self, ReplayError> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let head = lines.next().and_then(|(_, line)| serde_json::from_str::<Head>(line).ok());
        if head.is_none_or(|head| head.haft_conversation != VERSION) {
            return Err(ReplayError::Unknown);
        }
        let read = |(index, line): (usize, &str)| {
            let reply = serde_json::from_str(line);
            reply.map_err(|error| ReplayError::Line { line: index + 1, why: error.to_string() })
        };
        let replies = lines.map(read).collect::<Result<_, _>>()?;
        Ok(Self { replies, next: AtomicUsize::new(0) })
    }

    /// The reply that follows. A conversation that goes on, in another process too, goes on where it was.
    fn take(&self, prompt: Prompt<'_>) -> Option<&Recorded> {
        let is_reply = |message: &&Message| matches!(message, Message::Assistant { .. });
        let said = prompt.messages.iter().filter(is_reply).count();
        let next = self.next.load(Ordering::Relaxed).max(said);
        self.next.store(next + 1, Ordering::Relaxed);
        self.replies.get(next)
    }
}

impl Provider for Replay {
    fn form(&self) -> Form {
        Form::Anthropic
    }

    fn reply<'a>(
        &'a self,
        prompt: Prompt<'a>,
        hear: &'a mut Hear<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            let Some(reply) = self.take(prompt) else {
                let why = format!(
                    "the recording ends after {} replies, and the conversation wants another",
                    self.replies.len()
                );
                return Err(ProviderError::Setup { why });
            };
            (0..).zip(&reply.said).for_each(|(index, said)| say(index, said, hear));
            hear(Piece::Usage(reply.usage));
            hear(Piece::Stopped(reply.stop));
            Ok(())
        })
    }
}

/// One part of a reply as pieces.
fn say(index: u64, said: &Said, hear: &mut Hear<'_>) {
    match said {
        Said::Text { text } => hear(Piece::Text(text.clone())),
        // The seal is of a conversation that is over.
        Said::Reasoning { text, .. } => hear(Piece::Reasoning(text.clone())),
        Said::Call(call) => {
            hear(Piece::CallBegun { index, id: call.id.to_string(), tool: call.tool.clone() });
            hear(Piece::Arguments { index, text: call.arguments.clone() });
            hear(Piece::CallEnded { index });
        }
    }
}

/// A provider whose replies are written to a file, from which [`Replay`] repeats them.
pub struct Recording<P> {
    provider: P,
    file: Mutex<File>,
}

impl<P: Provider> Recording<P> {
    /// Records what `provider` replies in a new file.
    ///
    /// # Errors
    /// If the file is there already, or cannot be written.
    pub fn create(provider: P, path: &Path) -> Result<Self, ReplayError> {
        let file = fs_err::OpenOptions::new().write(true).create_new(true).open(path)?;
        let recording = Self { provider, file: Mutex::new(file.into_parts().0) };
        recording.write(&Head { haft_conversation: VERSION })?;
        Ok(recording)
    }

    fn write(&self, line: &impl Serialize) -> std::io::Result<()> {
        let line = serde_json::to_string(line)? + "\n";
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes())
    }
}

impl<P: Provider> Provider for Recording<P> {
    fn form(&self) -> Form {
        self.provider.form()
    }

    fn reply<'a>(
        &'a self,
        prompt: Prompt<'a>,
        hear: &'a mut Hear<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            let mut reply = Reply::default();
            let mut listen = |piece: Piece| {
                reply.hear(piece.clone());
                hear(piece);
            };
            self.provider.reply(prompt, &mut listen).await?;
            let (usage, stop) = (reply.usage, reply.stop());
            let said = reply.finish(|_| false);
            self.write(&Recorded { said, usage, stop }).map_err(|error| ProviderError::Setup {
                why: format!("the reply cannot be recorded: {error}"),
            })
        })
    }
}
