//! What can be said to `haft run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What stands below the help.
pub(super) const RUN_HELP: &str =
    "Exit codes: 0 done, 1 the model did not get it done, 2 usage, 4 stopped by a hook, 130 cancelled.

The model's words go to standard output; at a pipe, everything else goes to standard error.

While it works, a line typed at the terminal is a message that the model reads before its next reply. \
Ctrl-C cancels, and a second one ends at once.

With --jsonl and a pipe as standard input, a program does the same with lines of JSON:
  {\"type\":\"user\",\"text\":\"…\"}
  {\"type\":\"cancel\"}
A line that means nothing is answered with {\"type\":\"input.error\",\"line\":N,\"message\":\"…\"}; what came \
too late to be read is `unread` in the result. A server of others that does not work is a warning, and a line \
{\"type\":\"server.broken\",\"server\":\"…\",\"why\":\"…\"}.

With --asks program, it answers too. An ask (the event ask.opened, with its `id`) waits for
  {\"type\":\"answer\",\"ask\":\"ID\",\"reply\":\"once\"}
where the reply is once, always or reject, the last with \"feedback\" perhaps. Questions of the model \
(a line question.opened, with its `id`) wait for
  {\"type\":\"choose\",\"question\":\"ID\",\"chosen\":[[\"label\"],…]}
which says what was chosen of each, or words of one's own; [] leaves them open. When standard input ends, \
nobody is there to ask.";

/// `haft run …`
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunArgs {
    /// What to do, or `-` to read it from standard input; may be left out with --continue
    #[arg(value_name = "PROMPT|-")]
    pub(crate) prompt: Option<String>,
    /// Go on with the last session of this project, or with the one that --session names
    #[arg(long = "continue", short = 'c')]
    pub(crate) go_on: bool,
    /// Let a recorded conversation reply instead of a model
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub(crate) replay: Option<PathBuf>,
    /// Record what the model replies in a new file
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Who is asked for permission: the person at the terminal, or the program that sends lines of
    /// JSON (with --jsonl)
    #[arg(long, value_name = "WHO", default_value = "terminal")]
    pub(crate) asks: RunAsks,
    /// Most replies of the model
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    pub(crate) steps: u32,
}

/// Who answers the asks of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunAsks {
    /// The person at the terminal, if there is one
    #[default]
    Terminal,
    /// The program at the other end of standard input
    Program,
}
