//! A model that says what a script tells it, over the wire protocols of real providers.
//!
//! It listens on loopback and speaks Anthropic Messages, OpenAI Responses and OpenAI Chat Completions,
//! streamed or not, so that a real agent can be driven without a network, a key or chance. What
//! the agent sent is kept, to be asserted on. [`Fault`]s make it as unreliable as the real ones.
//!
//! ```no_run
//! use haft_scripted::{Model, Turn};
//! use serde_json::json;
//!
//! let script = vec![Turn::call("read", json!({ "file_path": "a.txt" })), Turn::say("Done.")];
//! let model = Model::start(script)?;
//! println!("{}/v1/messages", model.url());
//! // … an agent talks to it …
//! assert_eq!(model.results().len(), 1);
//! # std::io::Result::Ok(())
//! ```

mod anthropic;
mod chat;
mod conversation;
mod fault;
mod http;
mod model;
mod responses;
mod script;

pub use conversation::{Protocol, Shown};
pub use fault::Fault;
pub use model::{Model, Request};
pub use script::{ToolCall, Turn};
