//! `haft tools`: what is offered to a model, and what is not and why.

use haft_mcp::client::State;
use haft_runtime::{Advertised, Headless, LeftOut, Toolset, plain};
use serde_json::{Value, json};

use crate::open::Haft;
use crate::print::{Printer, columns, set_in};

pub(crate) async fn run(haft: &Haft, printer: Printer<'_>) -> anyhow::Result<u8> {
    let runtime = haft.runtime(Headless)?;
    let toolset = haft.toolset(&runtime).await;
    if haft.common.json {
        let tools: Vec<Value> = toolset.advertised().map(|tool| entry(&tool)).collect();
        let left_out = left_out(haft, &toolset);
        let servers = haft.servers.reports();
        let deferred: Vec<String> = toolset.deferred().into_iter().map(|it| it.name).collect();
        printer.json(&json!({ "tools": tools, "deferred": deferred, "left_out": left_out, "servers": servers }))?;
        return Ok(0);
    }
    let rows: Vec<Vec<String>> = toolset.advertised().map(|tool| row(&tool)).collect();
    columns(&rows).into_iter().for_each(|line| printer.line(line));
    for deferred in toolset.deferred() {
        let line = format!("{}: deferred; tool_search finds it", plain(&deferred.name));
        printer.line(printer.dim(&line));
    }
    for left_out in left_out(haft, &toolset) {
        let line = format!("{}: not offered: {}", left_out.id, set_in(&left_out.reason));
        printer.line(printer.dim(&line));
    }
    for server in haft.servers.reports() {
        if let State::Broken { why } = &server.state {
            printer.line(format!("{}: does not work: {}", server.name, set_in(why)));
        }
        for (tool, why) in &server.left_out {
            let line = format!("{}, {}: not offered: {}", server.name, plain(tool), set_in(why));
            printer.line(printer.dim(&line));
        }
    }
    Ok(0)
}

/// What is not offered, and why; some only are where a model works, which none does here.
fn left_out(haft: &Haft, toolset: &Toolset) -> Vec<LeftOut> {
    let only = |(id, reason): (&str, &str)| LeftOut {
        id: id.to_owned(),
        reason: reason.to_owned(),
        denied: None,
    };
    let in_run = [
        ("task", "only in haft run, where a model works"),
        ("plan_enter", "only in haft run, where somebody can answer"),
        ("plan_exit", "only in haft run, while it plans"),
    ];
    haft.left_out(toolset).into_iter().chain(in_run.map(only)).collect()
}

fn row(tool: &Advertised<'_>) -> Vec<String> {
    let access = if tool.traits().read_only { "reads" } else { "changes" };
    vec![tool.id().to_owned(), access.to_owned(), first_line(tool)]
}

fn entry(tool: &Advertised<'_>) -> Value {
    json!({ "id": tool.id(), "summary": first_line(tool), "traits": tool.traits() })
}

fn first_line(tool: &Advertised<'_>) -> String {
    tool.definition().description.lines().next().unwrap_or_default().to_owned()
}
