//! What a model's provider is to the loop: a prompt goes in, pieces of a reply come out as they arrive.

mod anthropic;
mod chat;
mod error;
mod http;
mod remote;
mod replay;
mod responses;
mod retry;
mod sse;

use haft_runtime::{BoxFuture, Form};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::Message;

pub use crate::usage::Usage;
pub use error::ProviderError;
pub use remote::{Endpoint, Key, Protocol, Remote};
pub use replay::{Recording, Replay, ReplayError};
pub use retry::{Patience, Patient};

/// Somebody who lets a model reply.
pub trait Provider: Send + Sync + 'static {
    /// The form in which it takes tools.
    fn form(&self) -> Form;

    /// Lets the model reply, and hands on every piece as it arrives.
    ///
    /// `Ok` means that the reply is whole: a stream that ends early is an error. Dropping the future
    /// ends the request.
    fn reply<'a>(
        &'a self,
        prompt: Prompt<'a>,
        hear: &'a mut Hear<'a>,
    ) -> BoxFuture<'a, Result<(), ProviderError>>;
}

/// Whoever hears the pieces of a reply.
pub type Hear<'a> = dyn FnMut(Piece) + Send + 'a;

/// What a model is asked.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    /// The model's name at its provider.
    pub model: &'a str,
    /// What it is told before the conversation.
    pub system: &'a str,
    /// The conversation so far.
    pub messages: &'a [Message],
    /// The tools it may call, in the provider's [`Provider::form`].
    pub tools: &'a [Value],
    /// Most tokens of its reply.
    pub max_tokens: u32,
}

/// A piece of a reply, in the order of the reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// More words for the user.
    Text(String),
    /// More of what the model thinks.
    Reasoning(String),
    /// The end of a block of reasoning, as its provider wants to see it again.
    Sealed {
        /// The protocol it is written in.
        protocol: &'static str,
        /// The whole block.
        block: Value,
    },
    /// A call begins. Several may be open at once.
    CallBegun {
        /// Tells it from the other calls of this reply.
        index: u64,
        /// The provider's id for it.
        id: String,
        /// The tool's name.
        tool: String,
    },
    /// More of a call's arguments.
    Arguments {
        /// The call.
        index: u64,
        /// More text; all of it together should be JSON.
        text: String,
    },
    /// A call is whole.
    CallEnded {
        /// The call.
        index: u64,
    },
    /// What the reply has cost so far; a later one replaces it.
    Usage(Usage),
    /// Why the model stopped.
    Stopped(Stop),
    /// It failed and is tried again: all that was heard of this reply is void.
    Again {
        /// What went wrong.
        why: String,
    },
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It has said all it wanted.
    Done,
    /// It waits for the tools it called.
    Calls,
    /// The reply reached its longest.
    Length,
    /// It, or its provider, does not want to answer.
    Refusal,
}
