//! One call of a server's tool: sent, listened to while it runs, cancelled when it must end.

use std::time::Duration;

use haft_runtime::{Context, ToolError};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam,
    ClientRequest, ElicitResult, ElicitationAction, InputRequest, InputRequiredResult,
    InputResponses, RequestId, ServerResult,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::connection::{Connection, is_forgotten};
use super::elicit;
use super::handler::Word;
use super::names::bounded;

/// How often a server may ask back before it has to answer.
const ROUNDS: usize = 10;

/// However many signs of life there are, a call ends after this many times its timeout.
const AT_MOST: u32 = 60;

/// The longest timeout that is heeded; clocks have an end.
const LONGEST: Duration = Duration::from_secs(86_400);

/// How much of what a server says about its progress is passed on.
const MESSAGE: usize = 500;

/// Why a call has no result.
pub(super) enum Failure {
    /// The connection was gone before the request was sent, or the server does not know it any more
    /// and did nothing: another can be tried.
    NotSent,
    /// What the model is told.
    Told(ToolError),
}

/// Calls a tool and waits for its result.
pub(super) async fn call(
    connection: &Connection,
    server: &str,
    mut params: CallToolRequestParams,
    timeout: Duration,
    cx: &Context,
) -> Result<CallToolResult, Failure> {
    for _ in 0..ROUNDS {
        match round(connection, server, params.clone(), timeout, cx).await? {
            ServerResult::CallToolResult(result) => return Ok(result),
            ServerResult::InputRequiredResult(asked) => {
                params.request_state.clone_from(&asked.request_state);
                params.input_responses = inputs(server, asked, cx).await;
            }
            _ => return Err(told(server, "its answer does not fit the protocol")),
        }
    }
    Err(told(server, "it asks back again and again and never answers"))
}

/// One request and its response.
async fn round(
    connection: &Connection,
    server: &str,
    params: CallToolRequestParams,
    timeout: Duration,
    cx: &Context,
) -> Result<ServerResult, Failure> {
    let peer = connection.peer();
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
    let handle = sent.map_err(|_| Failure::NotSent)?;
    let id = handle.id.clone();
    let mut listening = connection.handler().listen(handle.progress_token.clone());
    let mut response = std::pin::pin!(handle.await_response());
    let timeout = timeout.min(LONGEST);
    let (mut alive, latest) = (Instant::now(), Instant::now() + timeout * AT_MOST);
    loop {
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                give_up(connection, id, "cancelled by the user").await;
                return Err(Failure::Told(ToolError::cancelled()));
            }
            // What was said before the answer is heard before it.
            Some(word) = listening.words.recv() => match word {
                Word::Progress(progress) => {
                    let message = progress.message.map(|it| bounded(&it, MESSAGE));
                    let facts = serde_json::json!({
                        "progress": progress.progress,
                        "total": progress.total,
                        "message": message,
                    });
                    cx.metadata(message.unwrap_or_default(), facts);
                    alive = Instant::now();
                }
                Word::Question(question, answer) => {
                    let reply = elicit::answer(server, *question, cx).await;
                    // A server that is gone needs no answer. The user's time is not the server's.
                    drop(answer.send(reply));
                    alive = Instant::now();
                }
            },
            answered = &mut response => {
                return answered.map_err(|error| failure(connection, server, &error));
            }
            () = sleep_until(latest.min(alive + timeout)) => {
                give_up(connection, id, "timed out").await;
                let after = timeout;
                return Err(Failure::Told(ToolError::TimedOut { after, partial: String::new() }));
            }
        }
    }
}

/// Tells the server that nobody waits any more.
async fn give_up(connection: &Connection, id: RequestId, why: &str) {
    let cancelled = CancelledNotificationParam::new(Some(id), Some(why.to_owned()));
    // One that does not even read is not waited for.
    let told = connection.peer().notify_cancelled(cancelled);
    drop(tokio::time::timeout(Duration::from_millis(100), told).await);
}

fn failure(connection: &Connection, server: &str, error: &ServiceError) -> Failure {
    if is_forgotten(error) {
        return Failure::NotSent;
    }
    if connection.is_closed() || matches!(error, ServiceError::TransportClosed) {
        connection.close();
        let why = connection.failure(error);
        return told(server, &format!("{why}; whether the call did anything is not known"));
    }
    told(server, &connection.failure(error))
}

fn told(server: &str, why: &str) -> Failure {
    Failure::Told(ToolError::failed(format!("the MCP server `{server}` failed: {why}")))
}

/// The answers to what a server wants to know before it goes on.
async fn inputs(server: &str, asked: InputRequiredResult, cx: &Context) -> Option<InputResponses> {
    let mut responses = InputResponses::new();
    for (name, request) in asked.input_requests? {
        let answer = match request {
            InputRequest::Elicitation(request) => elicit::answer(server, request.params, cx).await,
            // Nothing else is offered to servers.
            _ => ElicitResult::new(ElicitationAction::Decline),
        };
        responses.insert(name, serde_json::to_value(answer).unwrap_or(Value::Null));
    }
    Some(responses)
}
