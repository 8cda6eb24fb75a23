//! Model providers and the loop that lets a model work with tools.
//!
//! Read [`message`] first: what a conversation is. A [`provider::Provider`] takes one and replies in
//! pieces, and [`Session`] is the loop around it: the model replies, its calls are made, it reads what
//! came of them. Everything said is in the session's log before it is acted on.

mod ended;
mod instructions;
mod log;
pub mod message;
pub mod provider;
mod reply;
mod session;
mod steering;
mod tell;
mod usage;
mod window;

pub use ended::{AgentError, Ended, Why};
pub use instructions::{Instructions, Surroundings};
pub use reply::Reply;
pub use session::{Agent, ModelSettings, Session};
pub use steering::Steering;
pub use usage::{Price, Usage};
