//! Other MCP servers as sources of tools: started or reached, watched, and none of them trusted.
//!
//! A server's tools are called `<server>_<tool>`, and that is also the permission that each falls
//! under. What a server says of itself is bounded and made visible, and decides nothing about access.
//! A server that is broken, slow or gone is reported and left out; the others do not wait for it.

mod answer;
mod call;
mod connection;
mod elicit;
mod greet;
mod handler;
mod http;
mod names;
mod pipes;
mod resource;
mod server;
mod servers;
mod settings;
mod tool;
mod tool_list;

pub use connection::Era;
pub use greet::{Greeting, greet};
pub use server::{Report, State, Trouble};
pub use servers::Servers;
pub use settings::{Reach, ServerSettings, ToolFilter};
