//! One server: connected when it is needed, again after a crash, and never too often.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_exec::Keeper;
use haft_runtime::{Context, DynTool, ToolError};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, PaginatedRequestParams, ReadResourceRequestParams,
    Resource, ResourceContents,
};
use rmcp::service::ServiceError;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::call::{self, Failure};
use super::connection::{Connection, Era, PAGES};
use super::handler::Handler;
use super::names::bounded;
use super::resource::{LISTED, ResourceTool};
use super::settings::ServerSettings;
use super::tool::RemoteTool;
use super::tool_list::fault;

/// Most tools of one server; a model could not choose among more.
const TOOLS: usize = 200;

/// The longest wait before a server is tried again.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A connection that held for so long was a good one.
const GOOD: Duration = Duration::from_secs(10);

/// What became of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum State {
    /// Nobody has needed it yet.
    Idle,
    /// It answered.
    Connected {
        /// What it calls itself, and its version.
        software: String,
        /// The version of the protocol that is spoken.
        protocol: String,
    },
    /// It does not work.
    Broken {
        /// Why, as far as it can be told.
        why: String,
    },
}

/// What there is to know of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Its name in the config.
    pub name: String,
    /// What became of it.
    #[serde(flatten)]
    pub state: State,
    /// Its tools that are offered.
    pub tools: Vec<String>,
    /// Its tools that are not, and why.
    pub left_out: Vec<(String, String)>,
}

/// A server that turned out not to work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// Its name in the config.
    pub server: String,
    /// Why, as far as it can be told.
    pub why: String,
}

/// A server and what we know of it.
pub(super) struct Server {
    settings: ServerSettings,
    keeper: Arc<Keeper>,
    handler: Handler,
    link: tokio::sync::Mutex<Link>,
    report: Mutex<Report>,
    /// Where it is told that it does not work, until it was.
    untold: Mutex<Option<mpsc::UnboundedSender<Trouble>>>,
}

/// The connection, or when the next is tried.
struct Link {
    connection: Option<(Arc<Connection>, Instant)>,
    era: Era,
    /// How often in a row it failed, or ended soon.
    failures: u32,
    not_before: Option<Instant>,
}

impl Link {
    /// After the first failure it is tried again at once, then less and less often.
    fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
        let wait = match self.failures.checked_sub(2) {
            None => Duration::ZERO,
            Some(more) => Duration::from_secs(1 << more.min(6)).min(LONGEST_WAIT),
        };
        self.not_before = Some(Instant::now() + wait);
    }
}

/// The tools of a server, and the names of those that cannot be offered.
pub(super) type Tools = Vec<Arc<dyn DynTool>>;

impl Server {
    pub(super) fn new(
        settings: ServerSettings,
        keeper: Arc<Keeper>,
        changed: mpsc::UnboundedSender<()>,
        troubles: mpsc::UnboundedSender<Trouble>,
    ) -> Self {
        let report = Report {
            name: settings.name.clone(),
            state: State::Idle,
            tools: Vec::new(),
            left_out: Vec::new(),
        };
        let link = Link { connection: None, era: Era::Unknown, failures: 0, not_before: None };
        Self {
            settings,
            keeper,
            handler: Handler::new(changed),
            link: tokio::sync::Mutex::new(link),
            report: Mutex::new(report),
            untold: Mutex::new(Some(troubles)),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.settings.name
    }

    pub(super) fn report(&self) -> Report {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes which of its tools are offered and which are not.
    pub(super) fn note_tools(&self, tools: Vec<String>, left_out: Vec<(String, String)>) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        (report.tools, report.left_out) = (tools, left_out);
    }

    /// Its tools in our form, and what is left out and why.
    ///
    /// # Errors
    /// Why it cannot be asked, in words for the user.
    pub(super) async fn tools(self: &Arc<Self>) -> Result<(Tools, Vec<(String, String)>), String> {
        let connection = self.connection().await?;
        let listed = tokio::time::timeout(self.settings.start_timeout, connection.tools()).await;
        let listed = match listed {
            Ok(Ok(listed)) => listed,
            Ok(Err(why)) => return Err(self.broken(why)),
            Err(_) => return Err(self.broken("it does not say which tools it has".to_owned())),
        };
        // Whatever it failed at before, it works now.
        self.note_connected(&connection);
        let (mut tools, mut left_out): (Tools, _) = (Vec::new(), Vec::new());
        for tool in &listed {
            let name = || bounded(&tool.name, 100);
            if !self.settings.tools.takes(&tool.name) {
                left_out.push((name(), "not among those that the config takes".to_owned()));
            } else if let Some(why) = fault(tool) {
                left_out.push((name(), why));
            } else if tools.len() >= TOOLS {
                left_out.push((name(), format!("it has more than {TOOLS}")));
            } else {
                match RemoteTool::new(self, tool) {
                    Ok(tool) => tools.push(Arc::new(tool)),
                    Err(why) => left_out.push((name(), why)),
                }
            }
        }
        let info = connection.info();
        if info.is_some_and(|info| info.capabilities.resources.is_some())
            && self.settings.tools.takes("resource")
        {
            match ResourceTool::new(self) {
                Ok(tool) => tools.push(Arc::new(tool)),
                Err(why) => left_out.push(("resource".to_owned(), why)),
            }
        }
        Ok((tools, left_out))
    }

    /// Calls one of its tools. A call that may have reached the server is never made twice.
    pub(super) async fn call(
        &self,
        params: CallToolRequestParams,
        cx: &Context,
    ) -> Result<CallToolResult, ToolError> {
        for _ in 0..2 {
            let connection = self.connected(cx).await?;
            let timeout = self.settings.timeout;
            match call::call(&connection, self.name(), params.clone(), timeout, cx).await {
                Ok(result) => return Ok(result),
                Err(Failure::NotSent) => connection.close(),
                Err(Failure::Told(error)) => return Err(error),
            }
        }
        Err(self.unreachable("its connection breaks at once"))
    }

    /// What a resource holds.
    pub(super) async fn read_resource(
        &self,
        uri: String,
        cx: &Context,
    ) -> Result<Vec<ResourceContents>, ToolError> {
        let connection = self.connected(cx).await?;
        let read = connection.peer().read_resource(ReadResourceRequestParams::new(uri));
        Ok(self.within_time(&connection, read, cx).await?.contents)
    }

    /// Which resources there are; one more than anybody is shown, if there are more.
    pub(super) async fn list_resources(&self, cx: &Context) -> Result<Vec<Resource>, ToolError> {
        let connection = self.connected(cx).await?;
        let (mut resources, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let listed = connection.peer().list_resources(Some(page));
            let listed = self.within_time(&connection, listed, cx).await?;
            resources.extend(listed.resources);
            cursor = listed.next_cursor;
            if cursor.is_none() || resources.len() > LISTED {
                break;
            }
        }
        Ok(resources)
    }

    async fn within_time<T>(
        &self,
        connection: &Connection,
        request: impl Future<Output = Result<T, ServiceError>>,
        cx: &Context,
    ) -> Result<T, ToolError> {
        let after = self.settings.timeout;
        tokio::select! {
            // Dropping the request tells the server that nobody waits.
            () = cx.cancel.cancelled() => Err(ToolError::cancelled()),
            () = tokio::time::sleep(after) => {
                Err(ToolError::TimedOut { after, partial: String::new() })
            }
            answer = request => answer.map_err(|error| self.unreachable(&connection.failure(&error))),
        }
    }

    async fn connected(&self, cx: &Context) -> Result<Arc<Connection>, ToolError> {
        tokio::select! {
            () = cx.cancel.cancelled() => Err(ToolError::cancelled()),
            connection = self.connection() => connection.map_err(|why| self.unreachable(&why)),
        }
    }

    fn unreachable(&self, why: &str) -> ToolError {
        ToolError::failed(format!("the MCP server `{}` failed: {why}", self.name()))
    }

    /// The connection there is, or a new one.
    async fn connection(&self) -> Result<Arc<Connection>, String> {
        let mut link = self.link.lock().await;
        let open = link.connection.as_ref().filter(|(connection, _)| !connection.is_closed());
        if let Some((connection, _)) = open {
            return Ok(Arc::clone(connection));
        }
        let gone = link.connection.take();
        let is_again = gone.is_some();
        match gone {
            Some((_, since)) if since.elapsed() < GOOD => link.failed(),
            Some(_) => link.failures = 0,
            None => {}
        }
        let wait = link.not_before.map(|then| then.saturating_duration_since(Instant::now()));
        if let Some(wait) = wait.filter(|wait| !wait.is_zero()) {
            let seconds = wait.as_secs_f32().ceil();
            let why = match self.report().state {
                State::Broken { why } => why,
                _ => "it ended".to_owned(),
            };
            return Err(format!("{why}; it is tried again in {seconds} s"));
        }
        match Connection::open(&self.settings, &self.keeper, &self.handler, link.era).await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                link.connection = Some((Arc::clone(&connection), Instant::now()));
                link.era = connection.era();
                self.note_connected(&connection);
                if is_again {
                    // What it offers may have changed with it.
                    self.handler.tools_changed();
                }
                Ok(connection)
            }
            Err(why) => {
                link.failed();
                // It may have been replaced by one that speaks otherwise.
                link.era = Era::Unknown;
                Err(self.broken(why))
            }
        }
    }

    fn note_connected(&self, connection: &Connection) {
        let software = connection.info().and_then(|info| info.server_info.clone());
        let software = software.map_or_else(
            || "no name".to_owned(),
            |it| bounded(&format!("{} {}", it.name, it.version), 100).replace('\n', " "),
        );
        let protocol = connection.info().map(|info| bounded(info.protocol_version.as_str(), 20));
        let protocol = protocol.unwrap_or_default();
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.state = State::Connected { software, protocol };
    }

    fn broken(&self, why: String) -> String {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.state = State::Broken { why: why.clone() };
        drop(report);
        if let Some(troubles) = self.untold.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let trouble = Trouble { server: self.name().to_owned(), why: why.clone() };
            // Perhaps nobody listens.
            let _unheard = troubles.send(trouble);
        }
        why
    }
}
