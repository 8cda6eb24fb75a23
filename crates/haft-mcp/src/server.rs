//! haft's tools for any agent that speaks MCP, on stdio and over HTTP.
//!
//! A [`Server`] is a runtime put in the protocol's form. The runtime needs its host before there is a
//! server, so the one who answers comes first:
//!
//! ```
//! use haft_mcp::server::{AskMode, Asks, Server, Settings};
//! use haft_runtime::{AgentId, Runtime};
//!
//! let asks = Asks::new(AskMode::Auto);
//! let runtime = Runtime::builder("/project").host(asks).build();
//! let agent = AgentId::parse("build").unwrap();
//! let server = Server::new(runtime, Settings::new("/project", agent));
//! # drop(server);
//! ```

mod answer;
mod asks;
mod call;
mod forms;
mod handler;
pub mod http;
mod line;
mod parked;
mod place;
mod progress;
mod resources;
mod sessions;
mod stdio;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;

use haft_runtime::{
    AgentId, Audience, BoxFuture, CallId, CancellationToken, Client, Runtime, SessionId, Toolset,
};

pub use asks::{AskMode, Asks, UnknownAskMode};
pub use line::{Elicited, elicit};
pub use place::{Hint, Place};
pub use stdio::{ServeError, Stdio, stdio};

use parked::Parked;
use place::Places;
use resources::Kept;
use sessions::Sessions;

/// What a server says and does beyond its runtime.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The root of the project that sessions are opened in.
    pub project: String,
    /// For whom tools are chosen.
    pub audience: Audience,
    /// The session of every call that names no other.
    pub session: SessionId,
    /// Whether results are also given as structured content; hosts then show the model nothing else.
    pub structured: bool,
    /// The version that is told to clients.
    pub version: String,
}

impl Settings {
    /// A fresh session of this agent, results as text alone.
    #[must_use]
    pub fn new(project: impl Into<String>, agent: AgentId) -> Self {
        let mut audience = Audience::of(agent);
        audience.client = Client::Mcp;
        Self {
            project: project.into(),
            audience,
            session: SessionId::fresh(),
            structured: false,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// A runtime, offered over MCP. Cheap to clone.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    places: Places,
    settings: Settings,
    sessions: Sessions,
    kept: Kept,
    parked: Parked,
    /// Fires when nobody is left to answer: every call ends.
    closing: CancellationToken,
}

impl Server {
    /// Offers `runtime`, whose host is an [`Asks`].
    #[must_use]
    pub fn new(runtime: Runtime, settings: Settings) -> Self {
        let project = settings.project.clone();
        Self::of(Places::at(Place { runtime, project }), settings)
    }

    /// Offers what `open` makes when it is first needed: in the folder that the client works in if
    /// `hint` says so and it names one, else in the one that `open` knows itself.
    pub fn opening(
        settings: Settings,
        hint: Hint,
        open: impl Fn(Option<PathBuf>) -> BoxFuture<'static, Result<Place, String>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self::of(Places::opened_by(hint, Box::new(open)), settings)
    }

    fn of(places: Places, settings: Settings) -> Self {
        let inner = Inner {
            places,
            settings,
            sessions: Sessions::default(),
            kept: Kept::default(),
            parked: Parked::default(),
            closing: CancellationToken::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Ends every call; no more are taken.
    pub fn close(&self) {
        self.inner.closing.cancel();
        self.inner.parked.clear();
    }

    /// What the agent is shown now. Built when it is first needed.
    async fn toolset(&self, place: &Place) -> Toolset {
        place.runtime.toolset(&self.inner.settings.audience).await
    }

    /// Tells the hooks that no more work comes; called once the server is closed.
    pub async fn end_sessions(&self) {
        self.inner.sessions.end().await;
    }
}

/// The id that a host gave to the call, where it is one of those that do.
fn call_id(meta: &rmcp::model::RequestMetaObject) -> Option<CallId> {
    // Of Claude Code, of Codex, and for anybody else.
    const KEYS: [&str; 3] = ["claudecode/toolUseId", "callId", "haft/callId"];
    KEYS.iter().find_map(|key| CallId::parse(meta.get(*key)?.as_str()?).ok())
}
