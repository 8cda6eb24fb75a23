//! Model providers and the loop that lets a model work with tools.
//!
//! Read [`message`] first: what a conversation is. A [`provider::Provider`] takes one and replies in
//! pieces, and [`Session`] is the loop around it: the model replies, its calls are made, it reads what
//! came of them. Everything said is in the session's log before it is acted on.

mod instructions;
mod log;
pub mod message;
pub mod provider;
mod reply;
mod session;
mod tell;
mod usage;
mod window;

pub use instructions::{Instructions, Surroundings};
pub use reply::Reply;
pub use session::{Agent, AgentError, Ended, ModelSettings, Session, Steering, Why};
pub use usage::{Price, Usage};
