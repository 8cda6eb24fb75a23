//! One connection to a server: opened in either era of the protocol, asked for its tools, closed.

use std::io;
use std::sync::Arc;

use haft_exec::Keeper;
use rmcp::ClientServiceExt;
use rmcp::model::{
    PaginatedRequestParams, ProtocolVersion, ServerPeerInfo, SubscriptionFilter, Tool,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, RoleClient, RunningService, ServiceError,
};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::handler::Handler;
use super::http;
use super::names::bounded;
use super::pipes::{Pipes, Said};
use super::settings::{Reach, ServerSettings};

/// Most pages of a list that are asked for; a server could go on for ever.
pub(super) const PAGES: usize = 50;

/// Most entries of a list; a server that has more is not asked for them.
const MOST: usize = 1000;

/// How much of a server's own error is quoted.
const QUOTED: usize = 500;

/// Which era of the protocol a server is known to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// It was not asked yet.
    Unknown,
    /// It wants to be greeted first.
    Handshake,
    /// Every request stands for itself.
    Stateless,
}

/// A server that answered.
pub(super) struct Connection {
    service: RunningService<RoleClient, Handler>,
    said: Arc<Said>,
    _listening: DropGuard,
}

impl Connection {
    /// Starts or reaches the server, and finds out how it wants to be spoken to.
    ///
    /// # Errors
    /// Why there is no answer, in words for the user.
    pub(super) async fn open(
        settings: &ServerSettings,
        keeper: &Keeper,
        handler: &Handler,
        era: Era,
    ) -> Result<Self, String> {
        let newest = vec![ProtocolVersion::LATEST];
        let modes = match era {
            Era::Handshake => vec![ClientLifecycleMode::Initialize],
            Era::Stateless => vec![ClientLifecycleMode::Discover { preferred_versions: newest }],
            Era::Unknown => vec![
                ClientLifecycleMode::Auto {
                    preferred_versions: newest,
                    legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
                },
                // Some are silent at, or die of, a request that they do not know.
                ClientLifecycleMode::Initialize,
            ],
        };
        let patience = settings.start_timeout / u32::try_from(modes.len()).unwrap_or(1);
        let mut reasons: Vec<String> = Vec::new();
        for mode in modes {
            let said = Arc::new(Said::default());
            let open = Self::attempt(settings, keeper, handler, mode, Arc::clone(&said));
            let why = match tokio::time::timeout(patience, open).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(Trouble::NotStarted(why))) => return Err(why),
                Ok(Err(Trouble::Refused(why))) => with_words(why, &said),
                Err(_) => {
                    let seconds = settings.start_timeout.as_secs_f32();
                    with_words(format!("it did not answer within {seconds} s"), &said)
                }
            };
            if !reasons.contains(&why) {
                reasons.push(why);
            }
        }
        Err(reasons.join("; then "))
    }

    async fn attempt(
        settings: &ServerSettings,
        keeper: &Keeper,
        handler: &Handler,
        mode: ClientLifecycleMode,
        said: Arc<Said>,
    ) -> Result<Self, Trouble> {
        let handler = handler.clone();
        let served = match &settings.reach {
            Reach::Command(command) => {
                let pipes = Pipes::open(keeper, command, Arc::clone(&said)).await;
                let pipes = pipes.map_err(Trouble::NotStarted)?;
                handler.serve_with_lifecycle(pipes, mode).await
            }
            Reach::Http { url, headers, client } => {
                let transport = http::transport(url, headers, Arc::clone(client));
                let transport = transport.map_err(Trouble::NotStarted)?;
                handler.serve_with_lifecycle(transport, mode).await
            }
        };
        let service = served.map_err(|error| Trouble::Refused(refusal(&error)))?;
        let stop = CancellationToken::new();
        let connection = Self { service, said, _listening: stop.clone().drop_guard() };
        connection.listen(stop);
        Ok(connection)
    }

    /// Whom requests go to.
    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// Our own end.
    pub(super) fn handler(&self) -> &Handler {
        self.service.service()
    }

    /// Whether nothing can be asked any more.
    pub(super) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.peer().is_transport_closed()
    }

    /// What the server said of itself.
    pub(super) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer().peer_info()
    }

    /// The era it speaks.
    pub(super) fn era(&self) -> Era {
        match self.info() {
            Some(info) if info.protocol_version.has_initialize() => Era::Handshake,
            Some(_) => Era::Stateless,
            None => Era::Unknown,
        }
    }

    /// All of its tools, as far as anybody would read them.
    ///
    /// # Errors
    /// Why it does not say, in words for the user.
    pub(super) async fn tools(&self) -> Result<Vec<Tool>, String> {
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let listed = self.peer().list_tools(Some(page)).await;
            let listed = listed.map_err(|error| self.failure(&error))?;
            tools.extend(listed.tools);
            cursor = listed.next_cursor;
            if cursor.is_none() || tools.len() > MOST {
                break;
            }
        }
        Ok(tools)
    }

    /// An error in words, with how the server ended if it did. What cannot be used any more is closed.
    pub(super) fn failure(&self, error: &ServiceError) -> String {
        let why = match error {
            error if is_forgotten(error) => {
                self.close();
                "it has forgotten the session; the next try begins a new one".to_owned()
            }
            ServiceError::McpError(error) => bounded(&error.message, QUOTED),
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                "the connection is closed".to_owned()
            }
            ServiceError::UnexpectedResponse => "its answer does not fit the protocol".to_owned(),
            other => bounded(&other.to_string(), QUOTED),
        };
        if self.is_closed() { with_words(why, &self.said) } else { why }
    }

    /// Closes it and ends the server.
    pub(super) fn close(&self) {
        self.service.cancellation_token().cancel();
    }

    /// In the new era, changes are told only to those who asked for them.
    fn listen(&self, stop: CancellationToken) {
        let tells = self.info().is_some_and(|info| {
            let tools = info.capabilities.tools.as_ref();
            tools.is_some_and(|tools| tools.list_changed == Some(true))
        });
        if !tells || self.era() != Era::Stateless {
            return;
        }
        let (peer, handler) = (self.peer().clone(), self.handler().clone());
        let listen = async move {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let Ok(mut changes) = peer.listen(filter).await else { return };
            while let Ok(Some(_)) = changes.next().await {
                handler.tools_changed();
            }
        };
        tokio::spawn(async move { stop.run_until_cancelled(listen).await });
    }
}

/// Whether a server does not know us any more, as after a restart, and so did nothing.
pub(super) fn is_forgotten(error: &ServiceError) -> bool {
    let ServiceError::TransportSend(error) = error else { return false };
    matches!(error.error.downcast_ref(), Some(StreamableHttpError::<io::Error>::SessionExpired))
}

/// Why there is no connection.
enum Trouble {
    /// It never ran; another try would not either.
    NotStarted(String),
    /// It ran, and something went wrong.
    Refused(String),
}

fn refusal(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => refusal(fallback),
        ClientInitializeError::TransportError { error, .. } => {
            // What lies beneath says more than the name of our own transport.
            let mut deepest: &dyn std::error::Error = &*error.error;
            while let Some(source) = deepest.source() {
                deepest = source;
            }
            bounded(&deepest.to_string(), QUOTED)
        }
        other => bounded(&other.to_string(), QUOTED),
    }
}

fn with_words(why: String, said: &Said) -> String {
    match said.explain() {
        words if words.is_empty() => why,
        words => format!("{why}; {words}"),
    }
}
