//! `haft run`: a model works on a task with the tools, while a person or a program looks on.

mod claim;
mod drive;
mod show;
mod steer;

use std::sync::Arc;

use anyhow::{Context, bail};
use haft_agent::message::Content;
use haft_agent::provider::{Patience, Patient, Provider, Recording, Remote, Replay};
use haft_agent::{
    Agent, AgentError, Ended, Instructions, ModelSettings, Session, Surroundings, Why,
};
use haft_runtime::{
    Client, EventKind, Model, Runtime, Said, SessionId, Store, ToolError, Toolset, plain,
    plain_lines,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::arguments;
use crate::args::RunArgs;
use crate::open::Haft;
use crate::print::Printer;
use crate::small_file;
use claim::Claim;
use drive::{Driven, drive};

/// What the shell is told of a run that was cancelled.
const CANCELLED: u8 = 130;

/// What stands before the words of a hook, so that nobody takes them for the user's.
const FROM_HOOK: &str = "[from a hook at the beginning of this session]";

/// Sessions that are looked at for the last one with a conversation; calls have sessions too.
const LOOKED_AT: usize = 200;

pub(crate) async fn run(haft: &Haft, printer: Printer<'_>, args: RunArgs) -> anyhow::Result<u8> {
    let prompt = args.prompt.clone().map(arguments).transpose()?;
    let id = session_id(haft, &args)?;
    let _claim = Claim::on(&id, haft.environment.state_dir.as_deref())?;
    haft.recover(printer)?;
    let terminal = steer::whom_to_ask(haft, &args)?;
    let runtime = haft.runtime(terminal.clone())?;
    // Listening before anything is said: the conversation's first words are events too.
    let events = runtime.events(Some(id.clone()));
    let agent = agent(haft, &runtime, &args).await?;
    haft.open_session(&runtime, id.clone()).await?;
    let said = match haft.begin(&runtime, &id).await {
        Ok(said) => said,
        Err(error) => return report(haft, printer, &id, Err(AgentError::Hook(error)), Vec::new()),
    };
    let session = Session::open(agent, id.clone()).await?;
    tell(haft, printer, &session, said)?;
    let takes_stdin = args.prompt.as_deref() == Some("-");
    let words = steer::words(haft, &terminal, &runtime, takes_stdin);
    match drive(haft, printer, session, prompt, events, words).await? {
        (Driven::Abandoned, _) => Ok(CANCELLED),
        (Driven::Ended(outcome), unread) => {
            runtime.end_session(&id, "other").await;
            report(haft, printer, &id, outcome, unread)
        }
    }
}

/// Passes on what hooks say when the session begins: to the model, and to whoever looks on.
fn tell(haft: &Haft, printer: Printer<'_>, session: &Session, said: Said) -> anyhow::Result<()> {
    for text in said.context {
        session.steering().say(vec![Content::text(format!("{FROM_HOOK}\n{text}"))]);
    }
    for text in said.messages {
        if haft.common.jsonl {
            printer.json(&json!({ "type": "hook.message", "text": text }))?;
        } else {
            printer.note(plain_lines(&text));
        }
    }
    Ok(())
}

/// The session to work in: the named one, the last one of the project, or a new one.
fn session_id(haft: &Haft, args: &RunArgs) -> anyhow::Result<SessionId> {
    if args.prompt.is_none() && !args.go_on {
        bail!("say what to do: haft run \"PROMPT\", or `-` for standard input");
    }
    if let Some(id) = &haft.common.session {
        return Ok(id.clone());
    }
    if !args.go_on {
        return Ok(SessionId::fresh());
    }
    for session in haft.store.sessions(Some(&haft.project), LOOKED_AT)? {
        let first = haft.store.events(&session.id, 0, 1)?;
        let is_conversation =
            first.iter().any(|event| matches!(*event.kind, EventKind::MessageAdded { .. }));
        if is_conversation && session.parent.is_none() {
            return Ok(session.id);
        }
    }
    bail!("there is no session to continue in {}; give a prompt to begin one", haft.project)
}

/// Who works: the provider, the model, what it is told, and its tools.
async fn agent(haft: &Haft, runtime: &Runtime, args: &RunArgs) -> anyhow::Result<Agent> {
    let (provider, model, settings) = provider(haft, args)?;
    let mut audience = haft.audience();
    (audience.client, audience.model) = (Client::Agent, Some(model));
    haft.offer_early(runtime).await;
    let toolset = runtime.toolset(&audience).await;
    let system = system(haft, &toolset)?;
    Ok(Agent { provider, model: settings, system, toolset, steps: args.steps })
}

type Chosen = (Arc<dyn Provider>, Model, ModelSettings);

fn provider(haft: &Haft, args: &RunArgs) -> anyhow::Result<Chosen> {
    let here = |path: &std::path::PathBuf| haft.environment.current_dir.join(path);
    if let Some(path) = args.replay.as_ref().map(here) {
        let replay = Replay::open(&path).with_context(|| path.display().to_string())?;
        let model = Model { provider: "replay".to_owned(), id: "recorded".to_owned() };
        let (context, max_tokens) = (1_000_000, 8_192);
        let settings = ModelSettings { id: model.id.clone(), context, max_tokens, price: None };
        return Ok((Arc::new(replay), model, settings));
    }
    let model = haft.model()?;
    let (endpoint, settings) = haft.endpoint(&model)?;
    let remote =
        Patient::new(Remote::new(endpoint, Arc::new(haft.web_client()))?, Patience::default());
    let provider: Arc<dyn Provider> = match args.record.as_ref().map(here) {
        None => Arc::new(remote),
        Some(path) => {
            let recording = Recording::create(remote, &path);
            Arc::new(recording.with_context(|| path.display().to_string())?)
        }
    };
    Ok((provider, model, settings))
}

/// What the model is told before the conversation.
fn system(haft: &Haft, toolset: &Toolset) -> anyhow::Result<String> {
    let workspace = haft.workspace()?;
    let around = Surroundings {
        workspace: &workspace,
        folder: &haft.environment.current_dir,
        policy: toolset.policy(),
        today: Timestamp::now().strftime("%Y-%m-%d").to_string(),
        system: std::env::consts::OS,
    };
    let mut instructions = Instructions::find(&around);
    let own = haft.environment.config_dir.as_ref().map(|dir| dir.join("AGENTS.md"));
    if let Some(path) = own
        && let Some(text) = small_file::read(&path)?
    {
        instructions = instructions.and(path.display().to_string(), text);
    }
    Ok(instructions.system(&around))
}

/// Says how it ended, in the form asked for; the answer is the exit code.
fn report(
    haft: &Haft,
    printer: Printer<'_>,
    id: &SessionId,
    outcome: Result<Ended, AgentError>,
    unread: Vec<String>,
) -> anyhow::Result<u8> {
    let mut result = match &outcome {
        Ok(ended) => serde_json::to_value(ended)?,
        Err(error) => json!({ "why": "error", "error": error.to_string() }),
    };
    if let Some(result) = result.as_object_mut() {
        result.insert("session".to_owned(), json!(id));
        if !unread.is_empty() {
            result.insert("unread".to_owned(), json!(unread));
        }
        if haft.common.jsonl {
            result.shift_insert(0, "type".to_owned(), Value::from("result"));
        }
    }
    if haft.common.json || haft.common.jsonl {
        printer.json(&result)?;
    } else {
        let too_late =
            |text: &String| format!("haft: said too late, and not read: {}", plain(text));
        unread.iter().map(too_late).for_each(|line| printer.note(line));
        say(haft, printer, id, &outcome);
    }
    Ok(match outcome {
        Ok(Ended { why: Why::Done, .. }) => 0,
        Ok(Ended { why: Why::Cancelled, .. }) => CANCELLED,
        Ok(Ended { why: Why::Stopped, .. }) | Err(AgentError::Hook(ToolError::Stopped { .. })) => 4,
        Err(AgentError::NothingToDo) => 2,
        Ok(_) | Err(_) => 1,
    })
}

/// The last line: how it ended, and what it cost.
fn say(haft: &Haft, printer: Printer<'_>, id: &SessionId, outcome: &Result<Ended, AgentError>) {
    let line = match outcome {
        Err(error) => plain_lines(&format!("haft: {error}")),
        Ok(ended) => {
            let how = match ended.why {
                Why::Done => "done",
                Why::Refusal => "the model does not want to answer",
                Why::Length => "the reply was cut at its longest; haft run --continue goes on",
                Why::Steps => "stopped after as many replies as --steps allows",
                Why::Stopped => "stopped by a hook",
                Why::Cancelled => "cancelled; haft run --continue goes on",
            };
            let reason = ended.reason.as_deref().map(|it| format!(": {}", plain(it)));
            let reason = reason.unwrap_or_default();
            let read = ended.usage.input + ended.usage.cache_read + ended.usage.cache_write;
            let cost = ended.cost.map_or_else(String::new, |cost| format!(" · ${cost:.4}"));
            format!(
                "{how}{reason} · {read} tokens read, {} written{cost} · {id}",
                ended.usage.output
            )
        }
    };
    let colour = haft.environment.colour && haft.environment.stderr_is_terminal;
    let line = Printer { colour, ..printer }.dim(&line);
    printer.note(line);
}
