//! Where a server works: known from the start, or found out from its client.

use std::path::PathBuf;
use std::time::Duration;

use haft_runtime::{BoxFuture, CancellationToken, Runtime};
use percent_encoding::percent_decode_str;
use rmcp::model::{ErrorData, ProtocolVersion};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// A client that does not say where it works in this time is not waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// A runtime, and the root of the project that it works in.
#[derive(Clone)]
pub struct Place {
    /// What calls are executed with.
    pub runtime: Runtime,
    /// The project, as sessions are opened in it.
    pub project: String,
}

/// Whether the client is asked where it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// The folder was named; no client has a say in it.
    Unneeded,
    /// The first of its roots that is a folder here is taken. Only clients up to 2025-11-25 can be asked.
    Roots,
}

/// Opens a place, or says why it cannot be.
pub(super) type Open =
    Box<dyn Fn(Option<PathBuf>) -> BoxFuture<'static, Result<Place, String>> + Send + Sync>;

/// The place, once it is known.
pub(super) struct Places {
    found: OnceCell<Place>,
    hint: Hint,
    open: Option<Open>,
    /// Fires when it is known.
    known: CancellationToken,
}

impl Places {
    pub(super) fn at(place: Place) -> Self {
        let known = CancellationToken::new();
        known.cancel();
        Self { found: OnceCell::new_with(Some(place)), hint: Hint::Unneeded, open: None, known }
    }

    pub(super) fn opened_by(hint: Hint, open: Open) -> Self {
        let known = CancellationToken::new();
        Self { found: OnceCell::new(), hint, open: Some(open), known }
    }

    /// The place; opened now if this is the first request that needs it.
    pub(super) async fn get(&self, cx: &RequestContext<RoleServer>) -> Result<&Place, ErrorData> {
        let opened = self.found.get_or_try_init(|| async {
            let root = match self.hint {
                Hint::Roots => root(cx).await,
                Hint::Unneeded => None,
            };
            let Some(open) = &self.open else { return Err("there is no workspace".to_owned()) };
            open(root).await
        });
        let place = opened.await.map_err(|why| ErrorData::internal_error(why, None))?;
        self.known.cancel();
        Ok(place)
    }

    /// The place, when somebody else has had it opened.
    pub(super) async fn known(&self) -> Option<&Place> {
        self.known.cancelled().await;
        self.found.get()
    }
}

/// The first of the client's roots that is a folder here.
#[expect(deprecated, reason = "clients that still have roots are those that are asked")]
async fn root(cx: &RequestContext<RoleServer>) -> Option<PathBuf> {
    let asks = cx.protocol_version().is_some_and(|it| it < ProtocolVersion::V_2026_07_28);
    let has_roots = cx.client_capabilities().is_some_and(|able| able.roots.is_some());
    if !asks || !has_roots {
        return None;
    }
    let listed = timeout(PATIENCE, cx.peer.list_roots()).await.ok()?.ok()?;
    listed.roots.iter().find_map(|root| folder(&root.uri))
}

fn folder(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = PathBuf::from(percent_decode_str(path).decode_utf8().ok()?.as_ref());
    (path.is_absolute() && path.is_dir()).then_some(path)
}
