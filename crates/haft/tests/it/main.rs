//! The `haft` command as its users meet it: real processes, real files, a real terminal.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at what it did not expect"
)]

mod agents;
mod approve;
mod asks;
mod bash;
mod batch;
#[path = "../../../haft-web/tests/it/bombs.rs"]
mod bombs;
mod bounds;
mod contract;
mod hooks;
mod hostile;
mod hosts;
mod journal;
mod killed;
mod mcp;
mod mounts;
mod plan;
mod policy;
mod policy_tools;
mod processes;
mod questions;
mod replay;
mod robustness;
mod run;
mod search;
mod seat;
mod servers;
mod setup;
#[path = "../../../haft-web/tests/it/site.rs"]
mod site;
mod steering;
mod surface;
mod surfaces;
mod tasks;
mod trust;
mod web;
mod world;
