//! `haft tools`: what is offered to a model, and what is not and why.

use haft_mcp::client::State;
use haft_runtime::{Advertised, Headless, plain};
use serde_json::{Value, json};

use crate::open::Haft;
use crate::print::{Printer, columns};

pub(crate) async fn run(haft: &Haft, printer: Printer<'_>) -> anyhow::Result<u8> {
    let runtime = haft.runtime(Headless)?;
    let toolset = haft.toolset(&runtime).await;
    if haft.common.json {
        let tools: Vec<Value> = toolset.advertised().map(|tool| entry(&tool)).collect();
        let left_out = haft.left_out(&toolset);
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
    for left_out in haft.left_out(&toolset) {
        let line = format!("{}: not offered: {}", left_out.id, plain(&left_out.reason));
        printer.line(printer.dim(&line));
    }
    for server in haft.servers.reports() {
        if let State::Broken { why } = &server.state {
            printer.line(format!("{}: does not work: {}", server.name, plain(why)));
        }
        for (tool, why) in &server.left_out {
            let line = format!("{}, {}: not offered: {}", server.name, plain(tool), plain(why));
            printer.line(printer.dim(&line));
        }
    }
    Ok(0)
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
