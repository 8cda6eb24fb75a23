//! `haft mcp`: the tools for an agent that speaks the Model Context Protocol.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use haft_mcp::server::http::{self, Listener};
use haft_mcp::server::{Asks, Server, Settings, stdio};
use haft_runtime::{AskQueue, Client, Registry, Store};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::McpArgs;
use crate::open::Haft;
use crate::print::Printer;
use crate::small_file;

/// What agents have of their own, and would confuse with ours.
const LEFT_OUT: [&str; 4] = ["todowrite", "todoread", "question", "batch"];

/// A token that is shorter can be guessed.
const LEAST_TOKEN: usize = 16;

pub(crate) async fn run(haft: &Haft, printer: Printer<'_>, args: McpArgs) -> anyhow::Result<u8> {
    haft.recover(printer)?;
    let server = server(haft, &args).await?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        served = serve(&server, haft, printer, &args) => served?,
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    server.close();
    Ok(0)
}

async fn serve(
    server: &Server,
    haft: &Haft,
    printer: Printer<'_>,
    args: &McpArgs,
) -> anyhow::Result<()> {
    let Some(address) = args.http else {
        return Ok(server.clone().serve(stdio()).await?);
    };
    let listener = Listener::bind(address).await?;
    let token = match &args.token_file {
        None => http::fresh_token()?,
        Some(file) => token(&haft.environment.current_dir.join(file))?,
    };
    printer.note(format!("haft: serving MCP on {}", listener.url()));
    if args.token_file.is_none() {
        printer.note(format!("haft: clients need the header Authorization: Bearer {token}"));
    }
    server.clone().serve_http(listener, Some(&token)).await;
    Ok(())
}

fn token(path: &Path) -> anyhow::Result<String> {
    let text = small_file::read(path)?.unwrap_or_default();
    let token = text.trim();
    if token.len() < LEAST_TOKEN || token.chars().any(|c| c.is_whitespace() || c.is_control()) {
        bail!("{} holds no token: at least {LEAST_TOKEN} characters in one line", path.display());
    }
    Ok(token.to_owned())
}

async fn server(haft: &Haft, args: &McpArgs) -> anyhow::Result<Server> {
    let mut registry = haft.registry();
    choose(&mut registry, &args.tools)?;
    let queue = AskQueue::new(&haft.project, Arc::clone(&haft.store) as Arc<dyn Store>);
    let asks = Asks::new(args.asks).queue(queue, Duration::from_secs(args.patience));
    let runtime = haft.runtime_of(registry, asks)?;
    let mut settings = Settings::new(&haft.project, haft.common.agent.clone());
    settings.audience = haft.audience();
    settings.audience.client = Client::Mcp;
    settings.audience.features.extend(args.tools.iter().cloned());
    if args.tools.iter().any(|name| name == "all") {
        settings.audience.features.extend(LEFT_OUT.map(str::to_owned));
    }
    if let Some(session) = &haft.common.session {
        settings.session = session.clone();
    }
    settings.structured = args.structured;
    if args.tools.iter().any(|name| name == "default" || name == "all") {
        haft.offer_early(&runtime).await;
    }
    Ok(Server::new(runtime, settings))
}

/// Leaves out what was not asked for.
fn choose(registry: &mut Registry, names: &[String]) -> anyhow::Result<()> {
    let is_group = |name: &str| name == "default" || name == "all";
    for name in names.iter().filter(|name| !is_group(name)) {
        if !registry.ids().any(|id| id == name) {
            let known: Vec<&str> = registry.ids().collect();
            bail!("there is no tool `{name}`; choose among default, all, {}", known.join(", "));
        }
    }
    let has = |name: &str| names.iter().any(|it| it == name);
    let by_default = |id: &str| has("default") && !LEFT_OUT.contains(&id);
    registry.retain(|id| has("all") || has(id) || by_default(id));
    Ok(())
}
