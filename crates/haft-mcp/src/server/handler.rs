//! What the protocol asks of a server, each answered in a line or two.

use std::sync::Arc;
use std::time::Duration;

use haft_runtime::{CancellationToken, SessionId};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, ErrorCode, ErrorData, Implementation,
    ListPromptsRequestMethod, ListPromptsResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData as McpError, ServerHandler};
use tokio::sync::watch;
use tokio::time::timeout;

use super::resources::{self, Unread};
use super::{Server, tools};

/// The header by which an HTTP client names the session that its calls belong to.
const SESSION_HEADER: &str = "haft-session";
/// The header by which the protocol itself names one, up to 2025-11-25.
const MCP_SESSION_HEADER: &str = "mcp-session-id";

/// How often it is looked whether a session is still there.
const LOOK: Duration = Duration::from_secs(60);

/// What a client may show to its model about all tools together.
const INSTRUCTIONS: &str = "Paths may be relative to the workspace. What is too long to show is kept, \
    and the answer says where; read and grep take that path.";

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let able = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .build();
        let mut who = Implementation::new("haft", self.inner.settings.version.clone());
        who.title = Some("haft".to_owned());
        let mut info = ServerConfig::new(able).with_server_info(who);
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, McpError> {
        one_page(request.as_ref())?;
        let place = Box::pin(self.inner.places.get(&cx)).await?;
        let toolset = Box::pin(self.toolset(place)).await;
        Ok(ListToolsResult::with_all_items(tools::listed(&toolset)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, McpError> {
        // Boxed, as all that is large: the library moves what it runs several times.
        Box::pin(self.call(request, &cx)).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, McpError> {
        one_page(request.as_ref())?;
        Ok(ListResourcesResult::with_all_items(self.inner.kept.of(&self.session_of(&cx)?)))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, McpError> {
        let uri = request.uri;
        let place = Box::pin(self.inner.places.get(&cx)).await?;
        let unknown = |uri: &str| {
            let data = serde_json::json!({ "uri": uri });
            ErrorData::resource_not_found("there is no such resource", Some(data))
        };
        let Some(store) = place.runtime.store().map(Arc::clone) else {
            return Err(unknown(&uri));
        };
        let asked = uri.clone();
        let read = tokio::task::spawn_blocking(move || resources::read(&store, &asked)).await;
        match read {
            Ok(Ok(contents)) => Ok(ReadResourceResult::new(vec![contents]).into()),
            Ok(Err(Unread::Failed(why))) => Err(ErrorData::internal_error(why, None)),
            Ok(Err(Unread::Unknown)) | Err(_) => Err(unknown(&uri)),
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _cx: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, McpError> {
        Err(McpError::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _cx: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, McpError> {
        Err(McpError::method_not_found::<CompleteRequestMethod>())
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        let Some(mut changes) = Box::pin(Changes::of(self)).await else { return };
        // Nobody says that a session over HTTP has ended.
        while !cx.peer.is_transport_closed() {
            match timeout(LOOK, changes.next()).await {
                Ok(Some(())) if cx.peer.notify_tool_list_changed().await.is_ok() => {}
                Ok(_) => return,
                Err(_) => {}
            }
        }
    }

    fn accepted_subscription_filter(
        &self,
        _requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), McpError> {
        Box::pin(self.inner.places.get(subscription.request_context())).await?;
        let Some(mut changes) = Box::pin(Changes::of(self)).await else { return Ok(()) };
        loop {
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                change = changes.next() => {
                    let heard = subscription.sink().notify_tool_list_changed();
                    if change.is_none() || heard.await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _cx: RequestContext<RoleServer>,
    ) -> Result<CustomResult, McpError> {
        let method = request.method.as_str();
        // A method that exists gets here only with parameters that do not fit.
        let (code, says) = match method {
            "tools/call" | "resources/read" | "tools/list" | "resources/list" => {
                (ErrorCode::INVALID_PARAMS, format!("the parameters do not fit {method}"))
            }
            _ => (ErrorCode::METHOD_NOT_FOUND, haft_runtime::plain(method)),
        };
        Err(McpError::new(code, says.chars().take(200).collect::<String>(), None))
    }
}

/// Word that the tools are not what they were.
struct Changes {
    tools: watch::Receiver<u64>,
    closing: CancellationToken,
}

impl Changes {
    /// From the moment on at which there are tools; `None` if the server closes before.
    async fn of(server: &Server) -> Option<Self> {
        let closing = server.inner.closing.clone();
        let place = tokio::select! {
            place = server.inner.places.known() => place?,
            () = closing.cancelled() => return None,
        };
        Some(Self { tools: place.runtime.tool_changes(), closing })
    }

    /// Waits until tools come or go; `None` when the server closes.
    async fn next(&mut self) -> Option<()> {
        tokio::select! {
            changed = self.tools.changed() => changed.ok(),
            () = self.closing.cancelled() => None,
        }
    }
}

impl Server {
    /// The session that a request belongs to: the one that its header names, else the server's.
    pub(super) fn session_of(
        &self,
        cx: &RequestContext<RoleServer>,
    ) -> Result<SessionId, ErrorData> {
        let headers = cx.extensions.get::<http::request::Parts>().map(|parts| &parts.headers);
        let named = headers.and_then(|headers| {
            headers.get(SESSION_HEADER).or_else(|| headers.get(MCP_SESSION_HEADER))
        });
        let Some(named) = named else { return Ok(self.inner.settings.session.clone()) };
        let id = named.to_str().ok().and_then(|text| SessionId::parse(text).ok());
        id.ok_or_else(|| ErrorData::invalid_params("the session's header is no usable id", None))
    }
}

/// Everything is on the first page, so there is no cursor to come with.
fn one_page(request: Option<&PaginatedRequestParams>) -> Result<(), McpError> {
    match request.and_then(|request| request.cursor.as_ref()) {
        Some(_) => Err(ErrorData::invalid_params("there is no page at this cursor", None)),
        None => Ok(()),
    }
}
