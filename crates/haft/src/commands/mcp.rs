//! `haft mcp`: the tools for an agent that speaks the Model Context Protocol.

use std::cell::Cell;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::bail;
use haft_mcp::client::Servers;
use haft_mcp::server::http::{self, Listener};
use haft_mcp::server::{Asks, Hint, Place, Server, Settings, stdio};
use haft_runtime::{AskQueue, Client, Delivery, Events, Registry, Store, plain};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::{Common, McpArgs};
use crate::open::Haft;
use crate::print::Printer;
use crate::{servers, small_file};

/// What agents have of their own, and would confuse with ours.
const LEFT_OUT: [&str; 4] = ["todowrite", "todoread", "question", "batch"];

/// A token that is shorter can be guessed.
const LEAST_TOKEN: usize = 16;

pub(crate) async fn run(haft: Haft, printer: Printer<'_>, args: McpArgs) -> anyhow::Result<u8> {
    haft_exec::share_heap();
    haft.recover(printer)?;
    choose(&mut haft.registry(), &args.tools)?;
    let (haft, args) = (Arc::new(haft), Arc::new(args));
    let server = server(&haft, &args);
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        served = serve(&server, &haft, printer, &args) => served?,
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    server.close();
    server.end_sessions().await;
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

fn server(haft: &Arc<Haft>, args: &Arc<McpArgs>) -> Server {
    let mut settings = Settings::new(&haft.project, haft.agent.clone());
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
    // Over HTTP there are many clients, and none of them speaks for the others.
    let named = haft.common.dir.is_some() || args.http.is_some();
    let hint = if named { Hint::Unneeded } else { Hint::Roots };
    let (haft, args, elsewhere) = (Arc::clone(haft), Arc::clone(args), Arc::default());
    Server::opening(settings, hint, move |root| {
        let (haft, args) = (Arc::clone(&haft), Arc::clone(&args));
        let elsewhere: Arc<OnceLock<Haft>> = Arc::clone(&elsewhere);
        Box::pin(async move {
            let opened = match root {
                Some(root) => at(&haft, &root, &elsewhere),
                None => Ok(&*haft),
            };
            let place = match opened {
                Ok(haft) => place(haft, &args).await,
                Err(error) => Err(error),
            };
            place.map_err(|error| format!("{error:#}"))
        })
    })
}

/// The runtime of this workspace.
async fn place(haft: &Haft, args: &McpArgs) -> anyhow::Result<Place> {
    let mut registry = haft.registry();
    choose(&mut registry, &args.tools)?;
    let queue = AskQueue::new(&haft.project, Arc::clone(&haft.store) as Arc<dyn Store>);
    let asks = Asks::new(args.asks).queue(queue, Duration::from_secs(args.patience));
    let runtime = haft.runtime_of(registry, asks)?;
    if args.tools.iter().any(|name| name == "default" || name == "all") {
        tokio::spawn(tell_of_troubles(Arc::clone(&haft.servers)));
        haft.offer_early(&runtime).await;
    }
    tokio::spawn(slim_down(runtime.events(None)));
    Ok(Place { runtime, project: haft.project.clone() })
}

/// Whoever reads the client's log learns which servers have no tools for it.
async fn tell_of_troubles(servers: Arc<Servers>) {
    while let Some(trouble) = servers.trouble().await {
        let lost = Cell::new(None);
        let printer = Printer { colour: false, lost: &lost };
        printer.note(format!("haft: warning: {}", servers::told(&trouble)));
    }
}

/// A server may be idle for days: once the first call has ended, it gives back what only its start took.
async fn slim_down(mut events: Events) {
    while let Some(delivery) = events.next().await {
        if matches!(delivery, Delivery::Event(event) if event.kind.is_terminal()) {
            haft_exec::release_program_pages();
            return;
        }
    }
}

/// The folder that the client works in, opened as if it had been named.
fn at<'a>(haft: &'a Haft, root: &Path, elsewhere: &'a OnceLock<Haft>) -> anyhow::Result<&'a Haft> {
    if fs_err::canonicalize(root)? == haft.root {
        return Ok(haft);
    }
    let common = Common { dir: Some(root.to_owned()), ..haft.common.clone() };
    let opened = Haft::open(haft.environment.clone(), common)?;
    let lost = Cell::new(None);
    let printer = Printer { colour: false, lost: &lost };
    opened.warnings.iter().for_each(|it| printer.note(format!("haft: warning: {}", plain(it))));
    opened.recover(printer)?;
    Ok(elsewhere.get_or_init(|| opened))
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
