//! `haft call`: one tool call, from its arguments to an exit code.

use anstyle::AnsiColor;
use haft_runtime::{
    Arguments, Call, CallId, Delivery, EventKind, Metadata, Runtime, Settled, ToolError, Toolset,
    plain, plain_lines,
};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::arguments;
use crate::args::Asks;
use crate::diff::in_colour;
use crate::open::Haft;
use crate::print::Printer;
use crate::queue::Queue;
use crate::terminal::Terminal;

pub(crate) async fn run(
    haft: &Haft,
    printer: Printer<'_>,
    tool: String,
    args: String,
    asks: Asks,
) -> anyhow::Result<u8> {
    haft.recover(printer)?;
    let runtime = match asks {
        Asks::Terminal => haft.runtime(Terminal::find(&haft.environment))?,
        Asks::Queue => haft.runtime(Queue::of(haft))?,
    };
    let args = arguments(args)?;
    let toolset = haft.toolset_for(&runtime, &tool, &args).await;
    let args = Arguments::Text(args);
    let settled = match haft.session(&runtime).await {
        Ok(session) => match haft.begin(&runtime, &session).await {
            Ok(said) => {
                said.messages.iter().for_each(|text| printer.note(plain_lines(text)));
                let call = Call::new(session.clone(), tool, args);
                let settled = execute(&runtime, &toolset, call, haft.common.jsonl, printer).await?;
                runtime.end_session(&session, "other").await;
                settled
            }
            Err(error) => unopened(tool, error),
        },
        Err(error) => unopened(tool, error),
    };
    if haft.common.json {
        printer.json(&settled.to_json())?;
    } else if haft.common.jsonl {
        let mut result = json!({ "type": "result" });
        merge(&mut result, settled.to_json());
        printer.json(&result)?;
    } else {
        show(&settled, haft, printer);
    }
    Ok(exit_code(&settled.result))
}

/// A call that cannot be recorded is not made; whoever made it gets an answer all the same.
fn unopened(tool: String, error: ToolError) -> Settled {
    let result = Err(ToolError::caused("the session cannot be opened, so nothing was run", error));
    Settled { call: CallId::fresh(), tool, result, metadata: Metadata::new() }
}

/// Runs the call while printing events, if they are wanted, and heeding Ctrl-C and a terminal that goes away.
async fn execute(
    runtime: &Runtime,
    toolset: &Toolset,
    call: Call,
    all_events: bool,
    printer: Printer<'_>,
) -> anyhow::Result<Settled> {
    let events_to = all_events.then_some(printer);
    let cancel = CancellationToken::new();
    let mut events = runtime.events(Some(call.session.clone()));
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut work = std::pin::pin!(toolset.execute(call, cancel.clone()));
    let settled = loop {
        tokio::select! {
            settled = &mut work => break settled,
            Some(delivery) = events.next(), if events_to.is_some() => print_event(events_to, &delivery)?,
            Some(()) = interrupt.recv() => cancel.cancel(),
            Some(()) = terminate.recv() => cancel.cancel(),
            Some(()) = hangup.recv() => cancel.cancel(),
        }
    };
    runtime.write_down().await;
    while let Some(delivery) = events.try_next() {
        print_event(events_to, &delivery)?;
        if !all_events {
            tell(printer, &delivery);
        }
    }
    Ok(settled)
}

/// Tells a person what a hook has to say.
fn tell(printer: Printer<'_>, delivery: &Delivery) {
    let Delivery::Event(event) = delivery else { return };
    let EventKind::Noted { name, data, .. } = &*event.kind else { return };
    if let (true, Some(text)) = (name == "hook.message", data["text"].as_str()) {
        printer.note(plain_lines(text));
    }
}

fn print_event(to: Option<Printer<'_>>, delivery: &Delivery) -> anyhow::Result<()> {
    let Some(printer) = to else { return Ok(()) };
    match delivery {
        Delivery::Event(event) => printer.json(event),
        Delivery::Missed(count) => printer.json(&json!({ "type": "missed", "count": count })),
    }
}

fn merge(into: &mut serde_json::Value, from: serde_json::Value) {
    if let (Some(into), serde_json::Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
}

/// A person gets a line that says how it went, and then the text; a pipe gets the text alone.
fn show(settled: &Settled, haft: &Haft, printer: Printer<'_>) {
    let tool = printer.bold(&plain(&settled.tool));
    match &settled.result {
        Ok(output) => {
            if haft.environment.stdout_is_terminal {
                let mark = printer.paint(AnsiColor::Green, "✓");
                let title = printer.dim(&plain(&output.title));
                printer.line(format!("{mark} {tool} {title}"));
            }
            let text = output.output.trim_end_matches('\n');
            if haft.environment.stdout_is_terminal {
                let has_diff = output.metadata.contains_key("diff");
                printer.line(in_colour(&plain_lines(text), printer.colour && has_diff));
            } else {
                printer.line(text);
            }
            for attachment in &output.attachments {
                let name = attachment.name.as_deref().unwrap_or("attachment");
                let size = attachment.data.len() / 4 * 3;
                printer.line(format!(
                    "[{} {}, {size} bytes]",
                    plain(name),
                    plain(&attachment.mime)
                ));
            }
        }
        Err(_) => {
            let colour = haft.environment.colour && haft.environment.stderr_is_terminal;
            let mark = Printer { colour, ..printer }.paint(AnsiColor::Red, "✗");
            printer.note(format!("{mark} {}", settled.text()));
        }
    }
}

fn exit_code(result: &Result<haft_runtime::Output, ToolError>) -> u8 {
    match result {
        Ok(_) => 0,
        Err(ToolError::Denied(_)) => 3,
        Err(ToolError::TimedOut { .. }) => 124,
        Err(ToolError::Cancelled { .. }) => 130,
        Err(_) => 1,
    }
}
