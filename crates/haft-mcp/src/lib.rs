//! The Model Context Protocol on both sides: haft's tools for any agent that speaks it, and the
//! tools of other servers for haft.
//!
//! Nothing of MCP goes further than this crate: the server puts a [`haft_runtime::Toolset`] in the
//! protocol's form, and the client puts a server's tools in the form of [`haft_runtime::DynTool`].

pub mod client;
pub mod server;
