//! What must outlive a process, in one SQLite file and one folder that only their owner can read.
//!
//! [`SqliteStore`] is the engine behind [`haft_runtime::Store`]. Many processes may use one state
//! folder at once, and each may be killed at any moment: what was acknowledged is there afterwards.
//!
//! ```text
//! <state folder>/haft.db       sessions, events, calls, grants, asks, documents
//! <state folder>/outputs/      texts that were too long to show, one file each
//! <state folder>/asks/         a locked file for each ask that somebody waits for
//! ```
//!
//! The log of events is the one truth about a call: its row only says which events are its own, and
//! a [`haft_runtime::CallRecord`] is folded from them when it is read. So nothing is written twice.

mod asks;
mod calls;
mod columns;
mod database;
mod documents;
mod events;
mod failure;
mod grants;
mod lazy;
mod outputs;
mod private;
mod schema;
mod sessions;
mod sqlite;
mod waiters;

pub use lazy::LazyStore;
pub use sqlite::{Options, SqliteStore};
