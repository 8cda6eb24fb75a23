//! `bash`: a command in a fresh shell, asked for, confined, watched to its end.

use std::sync::Arc;
use std::time::Duration;

use haft_exec::sandbox::Network;
use haft_exec::{Command, EndedBy, Errors, Patience, Process, Sandbox, Size, Stdin};
use haft_runtime::permission::{Ask, Effect};
use haft_runtime::{Context, InitContext, InitError, Limits, Output, Tool, ToolError, Traits};
use haft_workspace::Workspace;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::change::label;
use crate::commands::{Commands, Grounds};
use crate::files::{Files, failed};
use crate::jobs::Start;

pub(crate) mod answer;
mod changes;
pub(crate) mod confine;
mod effects;
pub(crate) mod hosts;
mod live;
mod places;
mod repository;
pub(crate) mod said;
mod seen;
pub(crate) mod stash;
mod tree;

use effects::Plan;
use live::Live;
use said::{Said, Written};
use seen::Seen;

/// How long a command may run if it is not told otherwise, in ms.
const TIMEOUT: u64 = 120_000;

/// A command that has said something for the last time longer ago does not print any more.
const STILL: Duration = Duration::from_secs(10);

/// Runs commands.
pub(crate) struct Bash {
    files: Files,
    commands: Arc<Commands>,
}

/// What to run.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The command, as for bash -c.
    #[schemars(length(min = 1, max = 131072), extend("x-aliases" = ["cmd", "script", "code", "bash_command"]))]
    command: String,
    /// What it does.
    #[schemars(length(max = 2000), extend("x-aliases" = ["explanation", "justification", "reason"]))]
    description: Option<String>,
    /// Milliseconds; 120000 if left out.
    #[schemars(range(min = 1, max = 600000), extend("x-aliases" = ["timeout_ms", "timeout_millis"]))]
    timeout: Option<u64>,
    /// The workspace root if left out.
    #[schemars(length(max = 4096), extend("x-aliases" = ["cwd", "working_directory", "directory", "dir", "working_dir"]))]
    workdir: Option<String>,
    /// To run it as a job.
    #[schemars(extend("x-aliases" = ["run_in_background", "is_background", "async", "detach"]))]
    background: Option<bool>,
    /// At the timeout, goes on as a job if it still prints.
    #[schemars(extend("x-aliases" = ["background_on_timeout", "continue_in_background"]))]
    keep_running: Option<bool>,
    /// Give it a terminal.
    #[schemars(extend("x-aliases" = ["tty"]))]
    pty: Option<bool>,
    /// What it reads.
    #[schemars(length(max = 8388608), extend("x-aliases" = ["input"]))]
    stdin: Option<String>,
}

impl Tool for Bash {
    const ID: &'static str = "bash";
    const DESCRIPTION: &'static str = include_str!("bash.txt");
    const ALIASES: &'static [&'static str] = &[
        "shell",
        "run_shell_command",
        "execute_command",
        "run_command",
        "run_terminal_cmd",
        "terminal",
        "exec",
        "local_shell",
        "exec_command",
        "container.exec",
    ];
    type Params = Params;

    async fn init(cx: &InitContext<'_>) -> Result<Self, InitError> {
        let commands = cx.shared::<Commands>().ok_or_else(|| InitError::new(NO_COMMANDS))?;
        Ok(Self { files: Files::open(cx)?, commands })
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        let plan = self.plan(&params).await?;
        let title = title(&params);
        let metadata =
            [("command", Some(&params.command)), ("description", params.description.as_ref())];
        let metadata =
            metadata.into_iter().filter_map(|(key, it)| Some((key.to_owned(), json!(it?))));
        let effects = plan.effects.clone();
        let always = plan.always.clone();
        cx.ask(Ask { title: title.clone(), effects, always, metadata: metadata.collect() }).await?;
        // Each of these waits for a thread; together they wait once.
        let (command, seen) = tokio::join!(
            self.command(&params, &plan, cx),
            Seen::look(&self.files, &self.commands.stash, &plan, cx),
        );
        let command = command?;
        let spawned = tokio::select! {
            spawned = self.commands.keeper().spawn(&command) => spawned,
            () = cx.cancel.cancelled() => return Err(ToolError::cancelled()),
        };
        let process = spawned.map_err(failed)?;
        let own_network =
            matches!(&command.sandbox, Sandbox::Confined(it) if it.network == Network::Off);
        let confined = command.sandbox != Sandbox::Off;
        let ran = Ran { params: &params, title, own_network, confined, seen };
        if params.background.unwrap_or(false) {
            return self.to_background(process, ran, cx).await;
        }
        self.watch(process, ran, cx).await
    }

    async fn effects(&self, params: &Params, _: &Context) -> Result<Vec<Effect>, ToolError> {
        Ok(self.plan(params).await?.effects)
    }

    fn traits(&self) -> Traits {
        Traits { open_world: true, ..Traits::default() }
    }
}

/// Why the tools for commands are left out where nobody has set them up.
pub(crate) const NO_COMMANDS: &str =
    "commands need a host that says how they are run: share a `haft_tools::Commands`";

/// A command that was started.
struct Ran<'a> {
    params: &'a Params,
    title: String,
    own_network: bool,
    confined: bool,
    /// How things were before it.
    seen: Seen,
}

impl Bash {
    /// What the call would do.
    async fn plan(&self, params: &Params) -> Result<Plan, ToolError> {
        if params.command.trim().is_empty() {
            return Err(ToolError::failed("the command is empty; say what to run"));
        }
        if params.command.len() > haft_shell::LONGEST {
            let most = haft_shell::LONGEST;
            let message =
                format!("the command is longer than {most} bytes; write it to a file and run that");
            return Err(ToolError::failed(message));
        }
        if params.command.contains('\0') {
            return Err(ToolError::failed(
                "the command holds a NUL character, which no shell takes",
            ));
        }
        let script = params.command.clone();
        let workdir = params.workdir.clone().filter(|workdir| !workdir.is_empty());
        let workdir = workdir.unwrap_or_else(|| ".".to_owned());
        let commands = Arc::clone(&self.commands);
        let plan = move |workspace: &Workspace| {
            let cwd = workspace.locate(&workdir).map_err(failed)?;
            if !cwd.path.is_dir() {
                let shown = cwd.shown();
                let message = format!("workdir {shown} is no folder; name one that exists");
                return Err(ToolError::failed(message));
            }
            let settings = commands.settings();
            let mut plan = effects::plan(workspace, &script, cwd, settings);
            if hosts::has_own_loopback(settings) {
                plan.effects = plan.effects.into_iter().map(hosts::without_loopback).collect();
            }
            Ok(plan)
        };
        self.files.blocking(plan).await?
    }

    async fn command(
        &self,
        params: &Params,
        plan: &Plan,
        cx: &Context,
    ) -> Result<Command, ToolError> {
        let settings = self.commands.settings();
        let mut command =
            Command::new(&settings.shell, &plan.cwd.path).args(["-c", &params.command]);
        command.stdin = match &params.stdin {
            Some(text) => Stdin::Bytes(text.clone().into_bytes()),
            None if params.background.unwrap_or(false) => Stdin::Open,
            None => Stdin::Nothing,
        };
        command.errors = Errors::Joined;
        command.terminal = params.pty.unwrap_or(false).then_some(Size { columns: 120, rows: 40 });
        let grounds = Grounds {
            workspace: &self.files.workspace,
            session: &cx.session,
            effects: &plan.effects,
            ruled: &|effect| cx.ruled(effect),
            hosts: self.commands.hosts(cx).await?,
        };
        let set = vec![("HAFT_CALL".into(), cx.call.as_str().into())];
        self.commands.confine(command, grounds, set).await
    }

    async fn watch(
        &self,
        mut process: Process,
        mut ran: Ran<'_>,
        cx: &Context,
    ) -> Result<Output, ToolError> {
        let limits = cx.limits();
        // Notes and the line about the end have their own room.
        let limits = Limits {
            lines: limits.lines.saturating_sub(24),
            bytes: limits.bytes.saturating_sub(3 * 1024).max(limits.bytes / 2),
            ..limits.clone()
        };
        let said = Said::new(&limits, cx.spill().ok().flatten());
        let live = Live::new(said, ran.title.clone(), cx);
        let timeout = Duration::from_millis(ran.params.timeout.unwrap_or(TIMEOUT));
        let patience = Patience { timeout: Some(timeout), ..Patience::default() };
        let take = |_, bytes: &[u8]| {
            live.push(bytes);
            Ok(())
        };
        let may_go_on = ran.params.keep_running.unwrap_or(false);
        let first = if may_go_on { Patience { timeout: None, ..patience } } else { patience };
        let ended = tokio::select! {
            ended = process.run(take, first, cx.cancel.cancelled()) => Some(ended),
            () = tokio::time::sleep(timeout), if may_go_on => None,
            never = live.catch_up() => never,
        };
        let mut said = live.end();
        let ended = match ended {
            Some(ended) => ended,
            None if said.is_newer_than(STILL.min(timeout / 2)) => {
                return self.keep_running(process, said, ran, cx).await;
            }
            // Its time is over, so this ends it.
            None => {
                let take = |_, bytes: &[u8]| {
                    said.push(bytes);
                    Ok(())
                };
                process.run(take, patience, cx.cancel.cancelled()).await
            }
        };
        let ended =
            ended.map_err(|error| ToolError::caused("the command was lost and ended", error))?;
        let mut answer = answer::Answer::new(&ended, process.layers());
        answer.metadata.insert("output".to_owned(), said.tail().into());
        if ran.confined && repository::tidy(self.files.workspace.root()) {
            answer.removed_link();
        }
        let label = label(cx, Self::ID, &ran.title);
        answer.changed(std::mem::take(&mut ran.seen).compare(&self.files, label).await);
        if ended.left_count > 0 && ended.by == EndedBy::Itself {
            let left = Some((ended.exited.map(|it| it.exit), ended.left_count));
            let kept = self.background(process, &ran, left, None, cx);
            answer.left(&ended, kept);
        }
        let shown = said.shown(&limits, cx).await;
        let answer = answer.with(shown);
        match ended.by {
            EndedBy::Itself | EndedBy::Prompt(_) => Ok(answer.output(ran.title)),
            EndedBy::Timeout => {
                cx.metadata(ran.title, answer.metadata.clone());
                Err(ToolError::TimedOut { after: timeout, partial: answer.partial() })
            }
            EndedBy::Cancel => {
                cx.metadata(ran.title, answer.metadata.clone());
                Err(ToolError::Cancelled { partial: answer.partial() })
            }
        }
    }

    async fn to_background(
        &self,
        process: Process,
        ran: Ran<'_>,
        cx: &Context,
    ) -> Result<Output, ToolError> {
        let missing = answer::missing(process.layers());
        let number = self.background(process, &ran, None, None, cx).map_err(ended)?;
        let mut text = format!(
            "Started as job {number}. The tool job reads what it says, waits for it, writes to it and kills it; \
             it ends with this session's program. undo does not cover it."
        );
        text.extend(missing.map(|line| format!("\n{line}")));
        Ok(Output::new(ran.title, text).with("job", number))
    }

    /// Lets a command go on whose time is over.
    async fn keep_running(
        &self,
        process: Process,
        said: Said,
        ran: Ran<'_>,
        cx: &Context,
    ) -> Result<Output, ToolError> {
        let (tail, total) = (said.tail(), said.total());
        let said = said.into_file().map_err(ended)?;
        let number = self.background(process, &ran, None, Some(said), cx).map_err(ended)?;
        let text = format!(
            "{tail}\n\n[its time is over and it still prints: it goes on as job {number}, which has all of \
             the {total} bytes so far; undo does not cover it]"
        );
        Ok(Output::new(ran.title, text).with("job", number).with("bytes", total))
    }

    /// Lets a process go on as a job, and gives its number; `said` is what it has said so far.
    fn background(
        &self,
        process: Process,
        ran: &Ran<'_>,
        left: Option<(Option<haft_exec::Exit>, u32)>,
        said: Option<Written>,
        cx: &Context,
    ) -> Result<usize, String> {
        let timeout = match said {
            Some(_) => None,
            None => ran.params.timeout.map(Duration::from_millis),
        };
        let said = match said {
            Some(said) => said,
            None => {
                let spill = cx.spill().map_err(|error| error.to_string())?;
                let spill = spill.ok_or("background commands need a store for what they say")?;
                Written::empty(spill).map_err(|error| error.to_string())?
            }
        };
        let command = ran.params.command.clone();
        let start = Start { process, command, timeout, said, own_network: ran.own_network, left };
        let job =
            self.commands.jobs.start(&cx.session, start).map_err(|error| error.to_string())?;
        Ok(job.number)
    }
}

/// Why a command did not go on.
fn ended(error: String) -> ToolError {
    ToolError::failed(format!("the command was ended: {error}"))
}

/// What the call is called: the first line of the command.
fn title(params: &Params) -> String {
    let mut lines = params.command.trim().lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}
