//! `job`: commands in the background, looked at, waited for, written to, ended.

use std::sync::Arc;
use std::time::Duration;

use haft_exec::{EndedBy, Exit};
use haft_runtime::permission::{Ask, Effect};
use haft_runtime::{Context, InitContext, InitError, Keep, Output, Tool, ToolError};
use regex::bytes::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::bash::NO_COMMANDS;
use crate::bash::answer::denied;
use crate::commands::Commands;
use crate::jobs::{Job, State};
use crate::search::counted;

/// How long is waited if it is not told otherwise, in ms.
const WAIT: u64 = 30_000;

/// How often a port is tried.
const TRY: Duration = Duration::from_millis(50);

/// How long a port has to answer.
const OPEN: Duration = Duration::from_millis(500);

/// How much new output is searched for a pattern.
const SEARCHED: usize = 1024 * 1024;

/// How long a job may take to end.
const END: Duration = Duration::from_secs(4);

/// Handles background commands.
pub(crate) struct Jobs {
    commands: Arc<Commands>,
}

/// What to do with which job.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// What to do.
    #[schemars(extend("x-aliases" = ["command", "op"]))]
    action: Action,
    /// The job's number.
    #[schemars(range(min = 1), extend("x-aliases" = ["job", "job_id", "shell_id", "bash_id", "session_id"]))]
    id: Option<usize>,
    /// For wait, in ms.
    #[schemars(range(max = 600000), extend("x-aliases" = ["timeout_ms", "wait_ms"]))]
    timeout: Option<u64>,
    /// For wait: a regex.
    #[schemars(length(max = 1000), extend("x-aliases" = ["regex", "filter"]))]
    pattern: Option<String>,
    /// For wait.
    #[schemars(range(min = 1, max = 65535))]
    port: Option<u16>,
    /// For write.
    #[schemars(length(max = 1048576), extend("x-aliases" = ["text", "chars", "stdin"]))]
    input: Option<String>,
    /// For read, in bytes.
    offset: Option<u64>,
}

/// What can be done with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Action {
    List,
    Read,
    Wait,
    Write,
    Kill,
}

impl Tool for Jobs {
    const ID: &'static str = "job";
    const DESCRIPTION: &'static str = include_str!("job.txt");
    const ALIASES: &'static [&'static str] = &[
        "jobs",
        "bash_output",
        "bashoutput",
        "kill_shell",
        "killshell",
        "kill_bash",
        "write_stdin",
        "task_output",
    ];
    type Params = Params;

    async fn init(cx: &InitContext<'_>) -> Result<Self, InitError> {
        let commands = cx.shared::<Commands>().ok_or_else(|| InitError::new(NO_COMMANDS))?;
        Ok(Self { commands })
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        let effects = self.effects(&params, cx).await?;
        cx.ask(Ask::new(title(&params), effects)).await?;
        if params.action == Action::List {
            return Ok(self.list(cx));
        }
        let job = self.find(&params, cx)?;
        match params.action {
            Action::List | Action::Read => self.read(&job, params.offset, cx).await,
            Action::Wait => self.wait(&job, &params, cx).await,
            Action::Write => write(&job, params.input, cx).await,
            Action::Kill => self.kill(&job, cx).await,
        }
    }

    async fn effects(&self, params: &Params, cx: &Context) -> Result<Vec<Effect>, ToolError> {
        let id = params.id.map_or_else(|| "*".to_owned(), |id| id.to_string());
        let mut effects = vec![Effect::using(Self::ID, id)];
        if params.action == Action::Write
            && let Some(input) = &params.input
        {
            let reader = self.find(params, cx).map_or_else(
                |_| "a job that is not there".to_owned(),
                |job| format!("job {}, `{}`", job.number, job.command),
            );
            let why = format!("what is written is read by {reader}");
            effects.push(Effect::run(input.trim_end_matches('\n')).unproven(why));
        }
        Ok(effects)
    }
}

impl Jobs {
    /// The job that is meant; one of another session is none.
    fn find(&self, params: &Params, cx: &Context) -> Result<Arc<Job>, ToolError> {
        let jobs = self.commands.jobs.of(&cx.session);
        let there = || match jobs.as_slice() {
            [] => "there are none in this session".to_owned(),
            jobs => {
                let numbers: Vec<String> = jobs.iter().map(|job| job.number.to_string()).collect();
                format!("there are {}", numbers.join(", "))
            }
        };
        let Some(id) = params.id else {
            return Err(ToolError::failed(format!("say which job with id; {}", there())));
        };
        let found = jobs.iter().find(|job| job.number == id).cloned();
        found.ok_or_else(|| ToolError::failed(format!("there is no job {id}; {}", there())))
    }

    fn list(&self, cx: &Context) -> Output {
        let jobs = self.commands.jobs.of(&cx.session);
        let line = |job: &Arc<Job>| {
            let (total, read) = job.counts();
            let (state, unread) = (stands(job), total - read.min(total));
            let command: String = job.command.chars().take(120).collect();
            format!(
                "{}: {state}, {} unread: {}",
                job.number,
                counted(unread, "byte"),
                haft_runtime::plain(&command)
            )
        };
        let lines: Vec<String> = jobs.iter().map(line).collect();
        let text =
            if lines.is_empty() { "There are no jobs.".to_owned() } else { lines.join("\n") };
        let running = jobs.iter().filter(|job| !job.is_done()).count();
        Output::new(format!("{running} running"), text)
            .with("jobs", jobs.len())
            .with("running", running)
    }

    async fn read(
        &self,
        job: &Arc<Job>,
        from: Option<u64>,
        cx: &Context,
    ) -> Result<Output, ToolError> {
        let most = cx.limits().bytes.saturating_sub(2048).max(512);
        let piece = job.read(from, most, false);
        let piece =
            piece.map_err(|error| ToolError::caused("what the job said cannot be read", error))?;
        let next = piece.from + piece.bytes.len() as u64;
        let text = match piece.bytes.as_slice() {
            [] if piece.total == 0 => "(no output)".to_owned(),
            [] => "(no new output)".to_owned(),
            bytes => String::from_utf8_lossy(bytes).into_owned(),
        };
        let mut output = Output::new(format!("job {}", job.number), text);
        output.keep = Keep::Tail;
        let rest = piece.total.saturating_sub(next);
        let more =
            if rest > 0 { format!(", {rest} more bytes: read again") } else { String::new() };
        output.footer = format!("(job {}: {}{more})", job.number, stands(job));
        let refused = job.refusals.list();
        output.footer.extend(refused.iter().map(|it| format!("\n{}", denied(it))));
        let mut output =
            output.with("job", job.number).with("next_offset", next).with("done", job.is_done());
        if let State::Done { exit: Some(Exit::Code(code)), .. } = job.state() {
            output.metadata.insert("exit".to_owned(), code.into());
        }
        if let Some(file) = job.take_file()
            && let Ok(kept) = cx.adopt(&file).await
        {
            job.kept_at(kept.path.clone());
            output.metadata.insert("output_path".to_owned(), kept.path.to_string_lossy().into());
        }
        Ok(output)
    }

    async fn wait(
        &self,
        job: &Arc<Job>,
        params: &Params,
        cx: &Context,
    ) -> Result<Output, ToolError> {
        let pattern = params.pattern.as_deref().map(|text| {
            let built =
                regex::bytes::RegexBuilder::new(text).multi_line(true).size_limit(1 << 20).build();
            built.map_err(|error| ToolError::caused("pattern is no regular expression", error))
        });
        let pattern = pattern.transpose()?;
        let wait = Duration::from_millis(params.timeout.unwrap_or(WAIT));
        let deadline = Instant::now() + wait;
        let why = loop {
            let news = job.changed.notified();
            if job.is_done() {
                break None;
            }
            if let Some(pattern) = &pattern
                && has(job, pattern)?
            {
                break Some("the pattern was found".to_owned());
            }
            if let Some(port) = params.port
                && self.is_open(job, port, cx).await
            {
                break Some(format!("port {port} is open"));
            }
            tokio::select! {
                () = news => {}
                () = sleep(TRY) => {}
                () = sleep_until(deadline) => break Some(format!("waited {:.1} s", wait.as_secs_f64())),
                () = cx.cancel.cancelled() => return Err(ToolError::cancelled()),
            }
        };
        let mut output = self.read(job, None, cx).await?;
        if let Some(why) = why {
            output.footer = format!("{why} {}", output.footer);
        }
        Ok(output)
    }

    /// Whether somebody listens on a port where the job could: in the session's network, or the machine's.
    async fn is_open(&self, job: &Job, port: u16, cx: &Context) -> bool {
        let connected = async {
            match job.own_network {
                true => self.commands.keeper().connect(cx.session.as_str(), port).await,
                false => tokio::net::TcpStream::connect(("127.0.0.1", port)).await,
            }
        };
        // A server that is too busy to answer is not waited for longer than the job.
        timeout(OPEN, connected).await.is_ok_and(|connected| connected.is_ok())
    }

    async fn kill(&self, job: &Arc<Job>, cx: &Context) -> Result<Output, ToolError> {
        job.kill();
        let deadline = Instant::now() + END;
        while !job.is_done() {
            let news = job.changed.notified();
            if job.is_done() {
                break;
            }
            tokio::select! {
                () = news => {}
                () = sleep(TRY) => {}
                () = sleep_until(deadline) => {
                    return Err(ToolError::failed(format!("job {} has not ended yet; look again", job.number)));
                }
                () = cx.cancel.cancelled() => return Err(ToolError::cancelled()),
            }
        }
        self.read(job, None, cx).await
    }
}

/// Whether new output of a job fits a pattern.
fn has(job: &Job, pattern: &Regex) -> Result<bool, ToolError> {
    let piece = job.read(None, SEARCHED, true);
    let piece =
        piece.map_err(|error| ToolError::caused("what the job said cannot be read", error))?;
    Ok(pattern.is_match(&piece.bytes))
}

async fn write(job: &Arc<Job>, input: Option<String>, cx: &Context) -> Result<Output, ToolError> {
    let mut open = job.input.lock().await;
    let title = format!("job {}", job.number);
    let Some(text) = input else {
        *open = None;
        return Ok(Output::new(title, format!("The input of job {} is ended.", job.number)));
    };
    let Some(to) = open.as_ref() else {
        let message = format!("job {} has no input that can be written to", job.number);
        return Err(ToolError::failed(message));
    };
    let written = tokio::select! {
        written = to.write(text.as_bytes()) => written,
        () = sleep(Duration::from_millis(WAIT)) => {
            return Err(ToolError::failed(format!("job {} does not read its input", job.number)));
        }
        () = cx.cancel.cancelled() => return Err(ToolError::cancelled()),
    };
    written
        .map_err(|error| ToolError::caused(format!("job {} reads no more", job.number), error))?;
    let written = counted(text.len() as u64, "byte");
    Ok(Output::new(title, format!("{written} written to job {}.", job.number)))
}

fn title(params: &Params) -> String {
    let action = match params.action {
        Action::List => "list jobs",
        Action::Read => "read job",
        Action::Wait => "wait for job",
        Action::Write => "write to job",
        Action::Kill => "kill job",
    };
    params.id.map_or_else(|| action.to_owned(), |id| format!("{action} {id}"))
}

/// Where a job stands, in a few words.
fn stands(job: &Job) -> String {
    let ended = |exit: Option<Exit>| match exit {
        Some(Exit::Code(code)) => format!("exit code {code}"),
        Some(Exit::Signal(signal)) => format!("ended by signal {signal}"),
        None => "ended".to_owned(),
    };
    match job.state() {
        State::Running => format!("running for {:.1} s", job.started.elapsed().as_secs_f64()),
        State::Left { count: 1, .. } => "its program has ended, 1 process runs on".to_owned(),
        State::Left { count, .. } => format!("its program has ended, {count} processes run on"),
        State::Done { exit, by: EndedBy::Timeout } => format!("timed out, {}", ended(exit)),
        State::Done { exit, by: EndedBy::Cancel } => format!("killed, {}", ended(exit)),
        State::Done { exit, .. } => ended(exit),
        State::Failed(why) => format!("lost and ended: {why}"),
    }
}
