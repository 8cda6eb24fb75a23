//! `haft policy`: what the rules make of a call, and what is wrong with the rules.

use std::path::Path;

use anyhow::{Context, bail};
use haft_runtime::permission::{Action, Explanation, check};
use haft_runtime::{
    Arguments, Call, CallRecord, CallState, Headless, SessionId, Store, ToolError, plain,
    plain_lines,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::arguments;
use crate::args::PolicyCommand;
use crate::open::Haft;
use crate::print::{Printer, counted};
use crate::small_file;

pub(crate) async fn run(
    haft: &Haft,
    printer: Printer<'_>,
    command: PolicyCommand,
) -> anyhow::Result<u8> {
    match command {
        PolicyCommand::Explain { tool, args } => explain(haft, printer, tool, args).await,
        PolicyCommand::Check => check_rules(haft, printer),
        PolicyCommand::Simulate { replay } => simulate(haft, printer, replay.as_deref()).await,
    }
}

async fn explain(
    haft: &Haft,
    printer: Printer<'_>,
    tool: String,
    args: String,
) -> anyhow::Result<u8> {
    let runtime = haft.runtime(Headless)?;
    let args = arguments(args)?;
    let toolset = haft.toolset_for(&runtime, &tool, &args).await;
    let call = Call::new(session(haft), tool, Arguments::Text(args));
    let explanation = match toolset.explain(&call).await {
        Ok(explanation) => explanation,
        Err(error) => return refused(haft, printer, &error),
    };
    if haft.common.json {
        printer.json(&explanation)?;
    } else {
        describe(&explanation, printer);
    }
    Ok(0)
}

/// A call that nobody would run, whatever the rules say.
fn refused(haft: &Haft, printer: Printer<'_>, error: &ToolError) -> anyhow::Result<u8> {
    let reason = error.to_string();
    if haft.common.json {
        printer.json(&json!({ "decision": Action::Deny, "effects": [], "reason": reason }))?;
    } else {
        printer.note(plain_lines(&reason));
    }
    Ok(1)
}

fn describe(explanation: &Explanation, printer: Printer<'_>) {
    printer.line(format!("{}: {}", explanation.decision, explanation.reason));
    for effect in &explanation.effects {
        let kind = serde_json::to_value(effect.kind).ok();
        let kind = kind.as_ref().and_then(Value::as_str).unwrap_or_default();
        printer.line(format!("  {kind} {}: {}", plain(&effect.value), effect.decision));
        if let Some(rule) = &effect.rule {
            printer.line(format!("    by {rule}"));
        }
        for lost in &effect.lost {
            printer.line(printer.dim(&format!("    not {}: {}", lost.rule, lost.why)));
        }
    }
}

fn check_rules(haft: &Haft, printer: Printer<'_>) -> anyhow::Result<u8> {
    let findings = check(&haft.policy()?);
    if haft.common.json {
        printer.json(&findings)?;
    } else if findings.is_empty() {
        printer.line("every rule can decide something");
    } else {
        findings.iter().for_each(|finding| printer.line(&finding.message));
    }
    Ok(u8::from(!findings.is_empty()))
}

/// A call to be judged again.
#[derive(Debug, Deserialize)]
struct Recorded {
    tool: String,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    allowed: Option<bool>,
}

/// A call that today's rules would decide otherwise.
#[derive(Debug, Serialize)]
struct Flip {
    tool: String,
    args: Value,
    was: &'static str,
    now: Action,
    reason: String,
}

async fn simulate(haft: &Haft, printer: Printer<'_>, replay: Option<&Path>) -> anyhow::Result<u8> {
    let recorded = match replay {
        Some(path) => read_log(&haft.environment.current_dir.join(path))?,
        None => stored_calls(haft)?,
    };
    let runtime = haft.runtime(Headless)?;
    let toolset = haft.toolset(&runtime).await;
    let (total, mut flips) = (recorded.len(), Vec::new());
    for Recorded { tool, args, allowed } in recorded {
        let call = Call::new(session(haft), tool.clone(), Arguments::Parsed(args.clone()));
        let Ok(Explanation { decision: now, reason, .. }) = toolset.explain(&call).await else {
            continue;
        };
        let flipped = allowed.is_none_or(|allowed| allowed != (now == Action::Allow));
        let was = match allowed {
            Some(true) => "ran",
            Some(false) => "denied",
            None => "unknown",
        };
        if flipped {
            flips.push(Flip { tool, args, was, now, reason });
        }
    }
    if haft.common.json {
        printer.json(&json!({ "calls": total, "flips": flips }))?;
        return Ok(0);
    }
    for flip in &flips {
        printer.line(format!(
            "{} {}: {} then, {} now: {}",
            plain(&flip.tool),
            plain(&flip.args.to_string()),
            flip.was,
            flip.now,
            flip.reason
        ));
    }
    let total = counted(total, "call", "calls");
    printer.line(format!("{} of {total} would be decided otherwise", flips.len()));
    Ok(0)
}

fn read_log(path: &Path) -> anyhow::Result<Vec<Recorded>> {
    const MOST: u64 = 64 * 1024 * 1024;
    let text = small_file::read_up_to(path, MOST)?
        .with_context(|| format!("{} does not exist", path.display()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parse = |(number, line): (usize, &str)| {
        let place =
            || format!("{}:{}: not a call with `tool` and `args`", path.display(), number + 1);
        serde_json::from_str(line).with_context(place)
    };
    lines.map(parse).collect()
}

/// The calls of the named session, or of all sessions of the project.
fn stored_calls(haft: &Haft) -> anyhow::Result<Vec<Recorded>> {
    const MOST: usize = 10_000;
    let sessions: Vec<SessionId> = match &haft.common.session {
        Some(id) if haft.store.session(id)?.is_none() => bail!("there is no session `{id}`"),
        Some(id) => vec![id.clone()],
        None => {
            let sessions = haft.store.sessions(Some(&haft.project), MOST)?;
            sessions.into_iter().map(|session| session.id).collect()
        }
    };
    let mut recorded = Vec::new();
    for id in sessions {
        recorded.extend(haft.store.calls(&id, MOST)?.into_iter().filter_map(judged));
    }
    Ok(recorded)
}

/// A recorded call that got as far as the rules.
fn judged(call: CallRecord) -> Option<Recorded> {
    let allowed = match (call.state, &call.error) {
        (CallState::Completed, _) => true,
        (CallState::Error, Some(error)) if error.kind == "denied" => false,
        _ => return None,
    };
    Some(Recorded { tool: call.tool, args: call.args, allowed: Some(allowed) })
}

fn session(haft: &Haft) -> SessionId {
    haft.common.session.clone().unwrap_or_else(SessionId::fresh)
}
