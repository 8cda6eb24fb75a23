//! The command line: what can be said to haft, and the help that goes with it.

mod run;
mod sessions;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use haft_mcp::server::AskMode;
use haft_runtime::{AgentId, Form, GrantId, Model, SessionId};
use haft_tools::SandboxMode;

use run::RUN_HELP;
pub(crate) use run::{RunArgs, RunAsks};
pub(crate) use sessions::{ReplayArgs, SessionsCommand};

use crate::setup::{HostName, Scope};

/// The handle by which a language model holds a computer: a tool runtime for coding agents.
#[derive(Debug, Parser)]
#[command(name = "haft", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Workspace root [default: the git root above the current directory, else that directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Session to work in [default: a new one]
    #[arg(long, global = true, value_name = "ID", value_parser = SessionId::parse)]
    pub(crate) session: Option<SessionId>,
    /// Agent whose rules apply, from the config [default: build, or that of the session that goes on]
    #[arg(long, global = true, value_name = "NAME", value_parser = AgentId::parse)]
    pub(crate) agent: Option<AgentId>,
    /// Model the tools are for: some are only shown to those that work better with them
    #[arg(long, global = true, value_name = "PROVIDER/MODEL", value_parser = model)]
    pub(crate) model: Option<Model>,
    /// Allow every edit inside the workspace without asking
    #[arg(long, global = true)]
    pub(crate) allow_edits: bool,
    /// Allow everything that no rule denies, but for haft's own files and git's hooks and config
    #[arg(long, global = true)]
    pub(crate) allow_all: bool,
    /// More rules, from a TOML file with a `[permission]` table
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Confine commands: off, workspace-write or read-only [default: what the config says, else workspace-write]
    #[arg(long, global = true, value_name = "MODE")]
    pub(crate) sandbox: Option<SandboxMode>,
    /// Print one JSON object
    #[arg(long, global = true, conflicts_with = "jsonl")]
    pub(crate) json: bool,
    /// Print every event as a line of JSON, the result last
    #[arg(long, global = true)]
    pub(crate) jsonl: bool,
}

fn model(text: &str) -> Result<Model, &'static str> {
    let (provider, id) =
        text.split_once('/').ok_or("write it as PROVIDER/MODEL, such as openai/gpt-5")?;
    Ok(Model { provider: provider.to_owned(), id: id.to_owned() })
}

/// What haft can be told to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one tool call
    #[command(after_help = CALL_HELP)]
    Call {
        /// The tool's name
        tool: String,
        /// Its arguments as JSON, or `-` to read them from standard input
        #[arg(default_value = "{}", value_name = "JSON|-")]
        args: String,
        /// Who is asked for permission: the person at the terminal, or whoever answers with `haft approve`
        #[arg(long, value_name = "WHO", default_value = "terminal")]
        asks: Asks,
    },
    /// Let a model work on a task with the tools
    #[command(after_help = RUN_HELP)]
    Run(RunArgs),
    /// Show a session from beginning to end on a small sample project, without a key or a network
    Demo,
    /// Show what is offered to a model, and what is not and why
    Tools,
    /// Print the tools' definitions as a model's provider wants them
    Schema {
        /// The form
        #[arg(long, default_value = "mcp", value_name = "FORM")]
        format: Form,
        /// Ask for strict schemas where the form has them
        #[arg(long)]
        strict: bool,
        /// Only these tools
        tools: Vec<String>,
    },
    /// Explain and check the rules
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Asks that wait for an answer, and answering them
    Approve {
        #[command(subcommand)]
        command: Option<ApproveCommand>,
    },
    /// Standing answers: what was allowed with "always"
    Grants {
        #[command(subcommand)]
        command: Option<GrantsCommand>,
    },
    /// What was done, session by session
    Sessions {
        #[command(subcommand)]
        command: Option<SessionsCommand>,
    },
    /// Show what calls changed in files, the last first
    Log(LogArgs),
    /// Take back what a call changed in files
    Undo(UndoArgs),
    /// Do again what was undone
    Redo(UndoArgs),
    /// The config in force, and its schema
    #[command(subcommand)]
    Config(ConfigCommand),
    /// What the project supplies and does nothing until you trust it: rules that allow, hooks, tools,
    /// skills, agents
    Trust {
        #[command(subcommand)]
        command: Option<TrustCommand>,
    },
    /// Plug haft into another program: print the config, write it, or take it out
    Setup(SetupArgs),
    /// Say what works here and what does not
    Doctor,
    /// Offer the tools to an agent that speaks MCP, on standard input and output
    Mcp(McpArgs),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man {
        /// A subcommand's page instead of the main one
        command: Option<String>,
    },
}

const CALL_HELP: &str =
    "Exit codes: 0 done, 1 tool error, 2 usage, 3 denied, 124 timeout, 130 cancelled.";

/// `haft mcp …`
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Tools to offer, by name; `default` is all but those that agents have of their own (todowrite,
    /// todoread, question, batch); `all` is every one
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "default")]
    pub(crate) tools: Vec<String>,
    /// Who answers asks: auto, host, elicit, queue, deny or allow
    #[arg(long, value_name = "MODE", default_value = "auto", long_help = ASKS_HELP)]
    pub(crate) asks: AskMode,
    /// How many seconds an ask waits for `haft approve`; most hosts give up on a call after 60
    #[arg(long, value_name = "SECONDS", default_value_t = 50)]
    pub(crate) patience: u64,
    /// Serve over HTTP on an address of this machine, such as 127.0.0.1:0, instead of standard input
    /// and output; the token that clients need is told on standard error
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<SocketAddr>,
    /// Take the token from a file instead of making one
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Give results as structured content too; most hosts then show the model nothing else
    #[arg(long)]
    pub(crate) structured: bool,
}

const ASKS_HELP: &str = "Who answers asks; rules that deny hold in every mode.
  auto    a plain ask in the workspace counts as answered by the
          agent's own gate; one that goes beyond it is put to the
          user by elicitation, else waits for `haft approve`, else
          is refused
  host    as auto, but what goes beyond is refused
  elicit  every ask is put to the user by elicitation
  queue   every ask waits for `haft approve`
  deny    every ask is refused
  allow   every ask is allowed, but for what is protected: that needs a rule that names it";

/// `haft policy …`
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Say what a call would do and which rule decides, without running it
    Explain {
        /// The tool's name
        tool: String,
        /// Its arguments as JSON, or `-` to read them from standard input
        #[arg(default_value = "{}", value_name = "JSON|-")]
        args: String,
    },
    /// Find rules that can never decide anything
    Check,
    /// Say which recorded calls today's rules would decide otherwise
    Simulate {
        /// Calls to judge: a file of JSON lines with `tool` and `args` [default: the session's, or the project's]
        #[arg(long, value_name = "LOG")]
        replay: Option<PathBuf>,
    },
}

/// Who answers the asks of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Asks {
    /// The person at the terminal, if there is one
    Terminal,
    /// Whoever answers with `haft approve`; the call waits
    Queue,
}

/// `haft approve …`
#[derive(Debug, Subcommand)]
pub(crate) enum ApproveCommand {
    /// List what waits
    List {
        /// What waits in every project
        #[arg(long)]
        all: bool,
    },
    /// Show one with everything that helps to decide
    Show {
        /// Its id, or the end of it
        id: String,
    },
    /// Say yes
    Allow {
        /// Their ids, or the ends of them
        #[arg(required = true)]
        ids: Vec<String>,
        /// From now on, for exactly what `show` says under "always"
        #[arg(long)]
        always: bool,
    },
    /// Say no
    Reject {
        /// Their ids, or the ends of them
        #[arg(required = true)]
        ids: Vec<String>,
        /// What the model is told
        #[arg(long, value_name = "WORDS")]
        because: Option<String>,
    },
    /// Stay, and be asked at this terminal as asks come
    Watch {
        /// Those of every project
        #[arg(long)]
        all: bool,
    },
}

/// `haft grants …`
#[derive(Debug, Subcommand)]
pub(crate) enum GrantsCommand {
    /// List them
    List {
        /// Those of every project
        #[arg(long)]
        all: bool,
    },
    /// Take one back
    Revoke {
        /// Its id
        #[arg(value_parser = GrantId::parse, required = true)]
        ids: Vec<GrantId>,
    },
}

/// `haft log …`
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Only what this call changed
    pub(crate) call: Option<String>,
    /// Show the changes themselves
    #[arg(long, short)]
    pub(crate) diff: bool,
    /// How many at most
    #[arg(long, short = 'n', default_value_t = 20)]
    pub(crate) limit: usize,
}

/// `haft undo …` and `haft redo …`
#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The call, as `haft log` shows it [default: the last one, of the session if one is given]
    pub(crate) call: Option<String>,
    /// Everything, back to the first change in the journal
    #[arg(long, conflicts_with = "call")]
    pub(crate) all: bool,
    /// Only show what would be changed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `haft setup …`
#[derive(Debug, Args)]
#[command(
    after_help = "Arguments after `--` are passed on to `haft mcp`. A project's config names the \
program `haft`, so everybody who works there needs it on their PATH; yours names its whole path."
)]
pub(crate) struct SetupArgs {
    /// The program
    pub(crate) host: HostName,
    /// Whose config
    #[arg(long, default_value = "user")]
    pub(crate) scope: Scope,
    /// The name under which the program lists haft
    #[arg(long, default_value = "haft", value_parser = server_name)]
    pub(crate) name: String,
    /// Write it into the program's config, after showing what changes
    #[arg(long, conflicts_with = "remove")]
    pub(crate) write: bool,
    /// Take it out of the program's config, after showing what changes
    #[arg(long)]
    pub(crate) remove: bool,
    /// Put it in the place of another entry of that name
    #[arg(long, requires = "write")]
    pub(crate) replace: bool,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// More arguments for `haft mcp`
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) extra: Vec<String>,
}

/// A name that every program takes.
fn server_name(text: &str) -> Result<String, &'static str> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let takes = !text.is_empty() && text.len() <= 32 && text.chars().all(fine);
    takes.then(|| text.to_owned()).ok_or("use 1 to 32 letters, digits, `_` or `-`")
}

/// `haft config …`
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show what is in force and where it comes from
    Show,
    /// Print the JSON Schema of a config file
    Schema,
}

/// `haft trust …`
#[derive(Debug, Clone, Copy, Subcommand, ValueEnum)]
pub(crate) enum TrustCommand {
    /// Show what there is to trust
    Show,
    /// Trust all of it as it is now: haft.toml, hooks with their scripts, tools, skills, agents
    Give,
    /// Trust none of it any longer
    Withdraw,
}
