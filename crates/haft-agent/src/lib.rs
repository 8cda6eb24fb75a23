//! Model providers and the loop that lets a model work with tools.
//!
//! Read [`message`] first: what a conversation is. A [`provider::Provider`] takes one and replies in
//! pieces; [`Reply`] puts them together.

pub mod message;
pub mod provider;
mod reply;
mod usage;

pub use reply::Reply;
pub use usage::{Price, Usage};
