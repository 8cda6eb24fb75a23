//! All servers of a config: connected beside each other, their tools given to the runtime and kept current.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use haft_exec::Keeper;
use haft_runtime::{DynTool, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::server::{Report, Server, State, Tools, Trouble};
use super::settings::ServerSettings;

/// How long after a failure a server is tried again by itself, at first and at most.
const FIRST_WAIT: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// How long a list of tools is good, though its server says that it changed.
const PAUSE: Duration = Duration::from_secs(1);

/// The servers of a config. Dropping it stops listening to them; they end when their tools are dropped.
pub struct Servers {
    all: Vec<Listed>,
    troubles: tokio::sync::Mutex<mpsc::UnboundedReceiver<Trouble>>,
    stop: CancellationToken,
    _stop_with_us: DropGuard,
}

/// A server, and what tells that its tools changed, until somebody listens.
struct Listed {
    server: Arc<Server>,
    changes: Mutex<Option<mpsc::UnboundedReceiver<()>>>,
}

impl Servers {
    /// None of them is started before it is needed; `keeper` starts those that are commands.
    #[must_use]
    pub fn new(settings: Vec<ServerSettings>, keeper: Arc<Keeper>) -> Self {
        let (trouble, troubles) = mpsc::unbounded_channel();
        let listed = |settings| {
            let (changed, changes) = mpsc::unbounded_channel();
            let (keeper, trouble) = (Arc::clone(&keeper), trouble.clone());
            let server = Arc::new(Server::new(settings, keeper, changed, trouble));
            Listed { server, changes: Mutex::new(Some(changes)) }
        };
        let all = settings.into_iter().map(listed).collect();
        Self { all, troubles: troubles.into(), ..Self::none() }
    }

    /// No servers at all.
    #[must_use]
    pub fn none() -> Self {
        let stop = CancellationToken::new();
        let _stop_with_us = stop.clone().drop_guard();
        let (_, troubles) = mpsc::unbounded_channel();
        Self { all: Vec::new(), troubles: troubles.into(), stop, _stop_with_us }
    }

    /// Gives the runtime the tools of those servers whose names are wanted, and keeps them current.
    ///
    /// All are asked at once, each no longer than its own patience, and the tools of each are there as
    /// soon as it has answered. One that fails is reported. Whoever stops waiting stops none of them.
    pub async fn offer(&self, runtime: &Runtime, wanted: impl Fn(&str) -> bool) {
        let wanted = self.all.iter().filter(|it| wanted(it.server.name()));
        let answers = wanted.filter_map(|it| {
            // Whoever has the receiver has not been offered yet.
            let changes = it.changes.lock().unwrap_or_else(PoisonError::into_inner).take()?;
            let (server, runtime) = (Arc::clone(&it.server), runtime.clone());
            let mut offered = Offered { server, runtime, ids: BTreeMap::new() };
            let (asking, answered) = oneshot::channel::<()>();
            let keep_current = async move {
                // Why it failed is in its report.
                drop(offered.ask().await);
                drop(asking);
                offered.follow(changes).await;
            };
            let stop = self.stop.clone();
            tokio::spawn(async move { stop.run_until_cancelled(keep_current).await });
            Some(answered)
        });
        join_all(answers).await;
    }

    /// Waits for the next server that turns out not to work; `None` when each has been told of, once.
    pub async fn trouble(&self) -> Option<Trouble> {
        self.troubles.lock().await.recv().await
    }

    /// What there is to know of each.
    #[must_use]
    pub fn reports(&self) -> Vec<Report> {
        self.all.iter().map(|it| it.server.report()).collect()
    }
}

/// The tools of one server that the runtime has.
struct Offered {
    server: Arc<Server>,
    runtime: Runtime,
    /// What each looked like when it was given.
    ids: BTreeMap<String, String>,
}

impl Offered {
    /// Asks the server for its tools, and gives them to the runtime.
    async fn ask(&mut self) -> Result<(), String> {
        let (tools, left_out) = self.server.tools().await?;
        self.replace(tools, left_out);
        Ok(())
    }

    /// Waits for changes and follows them; a server that never worked is tried again and again.
    async fn follow(mut self, mut changes: mpsc::UnboundedReceiver<()>) {
        let mut wait = FIRST_WAIT;
        loop {
            let is_broken = matches!(self.server.report().state, State::Broken { .. });
            tokio::select! {
                change = changes.recv() => {
                    if change.is_none() {
                        return;
                    }
                    // Whatever else was said meanwhile is answered by the same question.
                    while changes.try_recv().is_ok() {}
                }
                () = tokio::time::sleep(wait), if is_broken => {
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
            }
            if self.ask().await.is_ok() {
                wait = FIRST_WAIT;
            }
            // One that says so all the time is not asked all the time.
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Gives the runtime these tools in place of those it has; what is the same is left alone.
    fn replace(&mut self, tools: Tools, mut left_out: Vec<(String, String)>) {
        let mut now = BTreeMap::new();
        for tool in &tools {
            let (id, looks) = (tool.id().to_owned(), looks(tool.as_ref()));
            if now.contains_key(&id) {
                left_out.push((id, "two of its tools have this name".to_owned()));
                continue;
            }
            if self.ids.get(&id) != Some(&looks) {
                if self.ids.remove(&id).is_some() {
                    self.runtime.remove_tool(&id);
                }
                if let Err(error) = self.runtime.add_tool(Arc::clone(tool)) {
                    left_out.push((id, error.to_string()));
                    continue;
                }
            }
            now.insert(id, looks);
        }
        for gone in self.ids.keys().filter(|id| !now.contains_key(*id)) {
            self.runtime.remove_tool(gone);
        }
        self.server.note_tools(now.keys().cloned().collect(), left_out);
        self.ids = now;
    }
}

/// All that a model sees of a tool.
fn looks(tool: &dyn DynTool) -> String {
    let schema = tool.schema().map(|schema| schema.as_value().to_string()).unwrap_or_default();
    format!("{}\n{schema}\n{:?}", tool.description(), tool.traits())
}
