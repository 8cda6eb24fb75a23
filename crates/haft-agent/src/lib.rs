//! Model providers and the loop that lets a model work with tools.
//!
//! Read [`message`] first: what a conversation is. A [`provider::Provider`] takes one and replies in
//! pieces, and [`Session`] is the loop around it: the model replies, its calls are made, it reads what
//! came of them. Everything said is in the session's log before it is acted on.

mod company;
mod crew;
mod ended;
mod instructions;
mod log;
pub mod message;
mod plan;
pub mod provider;
mod reply;
mod session;
mod steering;
mod task;
mod tell;
mod usage;
mod window;

pub use company::{Company, Spent};
pub use crew::{Crew, CrewLimits, Mode, Part, Roster};
pub use ended::{AgentError, Ended, Why};
pub use instructions::{Instruction, Instructions, Surroundings};
pub use plan::PLAN_RULES;
pub use reply::Reply;
pub use session::{Agent, ModelSettings, Session};
pub use steering::Steering;
pub use usage::{Price, Usage, dollars};
