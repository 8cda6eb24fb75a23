//! What can be said to `haft sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use haft_runtime::SessionId;

/// What stands below the help.
const REPLAY_HELP: &str = "Exit codes: 0 no difference, 1 a difference, 2 it could not be tried.

The original is never touched: calls are made in a copy, one after the other, with a state of their own, under \
the rules in force, and without hooks, servers or network.

The copy of a session of this machine begins as the workspace was: what the journal has seen change since the \
session began is taken back in it; what others changed meanwhile is not known. A session from a file begins with \
the workspace as it is. --at names another beginning.

Asks about files of the copy are answered yes where the call was made before; so are commands of your own \
sessions, in the sandbox. What needs the network or the user, what was cancelled, and what else asks is not \
replayed, and named. Compared is what the model read and the exit code; not ids, times, durations and names \
below /tmp.";

/// `haft sessions replay …`
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The session's id, or a file that `export` wrote
    #[arg(value_name = "ID|FILE")]
    pub(crate) what: String,
    /// Begin with a copy of this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) at: Option<PathBuf>,
    /// Make the copy in this empty folder, and leave it there [default: a temporary one]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) into: Option<PathBuf>,
}

/// `haft sessions …`
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List them, the last used first
    List {
        /// Those of every project
        #[arg(long)]
        all: bool,
        /// How many at most
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
    /// Show the calls of one
    Show {
        /// Its id
        #[arg(value_parser = SessionId::parse)]
        id: SessionId,
        /// Its event log instead of its calls
        #[arg(long)]
        events: bool,
        /// Events after this number only
        #[arg(long, default_value_t = 0, requires = "events")]
        after: u64,
        /// How many at most
        #[arg(long, default_value_t = 1000)]
        limit: usize,
    },
    /// Write a session as lines of JSON: the session, what was said, each call with its end, and a sum
    Export {
        /// Its id
        #[arg(value_parser = SessionId::parse)]
        id: SessionId,
        /// A new file, for you alone to read [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Make the calls of a session again in a copy of the workspace, and show the first difference
    #[command(after_help = REPLAY_HELP)]
    Replay(ReplayArgs),
    /// Forget sessions with their calls, events, todos and kept outputs
    Forget {
        /// Their ids
        #[arg(value_parser = SessionId::parse, required_unless_present = "older_than")]
        ids: Vec<SessionId>,
        /// Those of this project in which nothing happened for so many days
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u16>,
    },
}
