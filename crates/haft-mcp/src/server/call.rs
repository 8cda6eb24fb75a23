//! One `tools/call`: started, attended to, parked while the user thinks, and taken up again.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{Either, Ready, poll_immediate, ready};
use futures_util::stream::FuturesUnordered;
use haft_runtime::{
    Arguments, Call, CallId, CancellationToken, Runtime, SessionId, Settled, from_hook,
};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientResult, ContentBlock,
    ElicitRequest, ElicitResult, ElicitationAction, ErrorData, InputRequest, InputRequests,
    InputRequiredResult, InputResponses, ServerRequest,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::DropGuard;

use super::line::{self, Line, Reach, Wish};
use super::parked::{Binding, Refused, Waiting};
use super::progress::Progress;
use super::{Place, Server, answer, call_id};

/// A call that runs, in the hands of whoever attends to it. Dropped, the call is cancelled.
pub(super) struct OpenCall {
    cancel: CancellationToken,
    _cancel_when_dropped: DropGuard,
    pub(super) id: CallId,
    pub(super) session: SessionId,
    pub(super) runtime: Runtime,
    /// What a ticket to it is bound to; none where it is never parked.
    binding: Option<Binding>,
    /// How often it was parked; a ticket is good for once.
    pub(super) round: u32,
    work: Either<Ready<Result<Settled, JoinError>>, JoinHandle<Settled>>,
    pub(super) line: Arc<Line>,
    wishes: UnboundedReceiver<Wish>,
    /// What hooks said when the session began: for the model, beside this answer.
    context: Vec<String>,
}

impl Server {
    /// Answers `tools/call`.
    pub(super) async fn call(
        &self,
        params: CallToolRequestParams,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let place = self.inner.places.get(cx).await?;
        let session = self.session_of(cx)?;
        let binding = || Binding::of(&session, &params.name, params.arguments.as_ref());
        let reach = Reach::of(cx);
        let Some(state) = &params.request_state else {
            let binding = (reach == Reach::Parked).then(binding);
            return match self.start(place, params, session, binding, reach, cx).await {
                Ok(open) => self.attend(open, reach, cx).await,
                Err(says) => Ok(failed(says)),
            };
        };
        match self.inner.parked.take(state, &binding()) {
            Ok(waiting) => self.resume(waiting, params.input_responses, reach, cx).await,
            Err(Refused::Forged) => Err(ErrorData::invalid_params(
                "requestState is not what this server gave for this call; make the call anew",
                None,
            )),
            Err(Refused::Used) => Ok(failed(
                "what the call asked was answered already, and requestState counts only once; \
                 make the call again without it"
                    .to_owned(),
            )),
            Err(Refused::Late) => Ok(failed(
                "the call has ended, because what it asked was not answered in time; \
                 make it again without requestState"
                    .to_owned(),
            )),
        }
    }

    /// Starts a call; what went wrong before it could, in words for the model.
    async fn start(
        &self,
        place: &Place,
        params: CallToolRequestParams,
        session: SessionId,
        binding: Option<Binding>,
        reach: Reach,
        cx: &RequestContext<RoleServer>,
    ) -> Result<OpenCall, String> {
        let agent = &self.inner.settings.audience.agent.id;
        let begun = self.inner.sessions.begin(place, &session, agent).await;
        let context = begun.map_err(|error| {
            format!("the session cannot be opened, so nothing was run: {error}")
        })?;
        let arguments = Value::Object(params.arguments.unwrap_or_default());
        let args = Arguments::Parsed(arguments);
        let mut call = Call::new(session.clone(), params.name.into_owned(), args);
        if let Some(id) = call_id(&cx.meta) {
            call.id = id;
        }
        let id = call.id.clone();
        let toolset = self.toolset(place).await;
        let cancel = self.inner.closing.child_token();
        let (line, wishes) = Line::new(reach);
        let heard = cancel.clone();
        let work = async move { toolset.execute(call, heard).await };
        let mut work = Box::pin(line::on(Arc::clone(&line), work));
        // Much is over at once, and needs no task of its own. What is told of, has to be listened to first.
        let at_once = if Progress::is_wanted(cx) { None } else { poll_immediate(&mut work).await };
        let work = match at_once {
            Some(settled) => Either::Left(ready(Ok(settled))),
            None => Either::Right(tokio::spawn(work)),
        };
        let (round, _cancel_when_dropped) = (0, cancel.clone().drop_guard());
        Ok(OpenCall {
            cancel,
            _cancel_when_dropped,
            id,
            session,
            runtime: place.runtime.clone(),
            binding,
            round,
            work,
            line,
            wishes,
            context,
        })
    }

    /// Takes up a parked call with what the user answered.
    async fn resume(
        &self,
        waiting: Waiting,
        responses: Option<InputResponses>,
        reach: Reach,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Waiting { open, asked } = waiting;
        let unanswered = deliver(asked, &responses.unwrap_or_default());
        open.line.bind(reach);
        if !unanswered.is_empty() && reach == Reach::Parked {
            return self.park(open, unanswered);
        }
        self.attend(open, reach, cx).await
    }

    /// Stays with a call until it ends, or needs the user's answer in another request.
    async fn attend(
        &self,
        mut open: OpenCall,
        reach: Reach,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut progress = Progress::wanted(cx, &open);
        let mut elicitations = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                settled = &mut open.work => {
                    if let Some(progress) = &mut progress {
                        progress.finish().await;
                    }
                    let lost = |_| ErrorData::internal_error("the server is closing", None);
                    let mut answer = self.answer(&settled.map_err(lost)?, &open.session);
                    let said = open.context.drain(..).map(|words| from_hook(&words));
                    answer.content.extend(said.map(ContentBlock::text));
                    return Ok(answer.into());
                }
                Some(wish) = open.wishes.recv() => match reach {
                    Reach::Parked => return self.park(open, vec![wish]),
                    Reach::Awaited => elicitations.push(put(cx.peer.clone(), wish)),
                    Reach::Nobody => drop(wish),
                },
                Some(()) = elicitations.next() => {}
                () = cx.ct.cancelled(), if !open.cancel.is_cancelled() => open.cancel.cancel(),
                () = run(&mut progress) => {}
            }
        }
    }

    fn answer(&self, settled: &Settled, session: &SessionId) -> CallToolResult {
        if let Ok(output) = &settled.result
            && let Some(path) = answer::kept_path(output)
        {
            self.inner.kept.add(session, path, &output.title);
        }
        answer::of(settled, self.inner.settings.structured)
    }

    /// Leaves the call waiting, and says what is needed to go on.
    fn park(
        &self,
        mut open: OpenCall,
        mut asked: Vec<Wish>,
    ) -> Result<CallToolResponse, ErrorData> {
        asked.extend(std::iter::from_fn(|| open.wishes.try_recv().ok()));
        let request = |wish: &Wish| {
            let request = ElicitRequest::new(wish.form.request.clone());
            (wish.key.clone(), InputRequest::Elicitation(request))
        };
        let requests: InputRequests = asked.iter().map(request).collect();
        let unbound = || ErrorData::internal_error("the call cannot wait", None);
        let binding = open.binding.ok_or_else(unbound)?;
        let state = self.inner.parked.put(Waiting { open, asked }, &binding);
        let state = state.map_err(|error| ErrorData::internal_error(error, None))?;
        self.expire(&state);
        Ok(InputRequiredResult::new(Some(requests), Some(state)).into())
    }

    /// Ends what nobody has come back for.
    fn expire(&self, state: &str) {
        let (inner, state) = (Arc::downgrade(&self.inner), state.to_owned());
        tokio::spawn(async move {
            tokio::time::sleep(super::parked::PATIENCE).await;
            if let Some(inner) = inner.upgrade() {
                inner.parked.drop_unanswered(&state);
            }
        });
    }
}

async fn run(progress: &mut Option<Progress>) {
    match progress {
        Some(progress) => progress.run().await,
        None => std::future::pending().await,
    }
}

/// Asks the client, and passes its answer on. If the call needs none any more, the client is told so.
async fn put(peer: Peer<RoleServer>, wish: Wish) {
    let Wish { form, mut answer, .. } = wish;
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form.request));
    let answered = tokio::select! {
        answered = peer.send_request(request) => answered,
        () = answer.closed() => return,
    };
    if let Ok(ClientResult::ElicitResult(result)) = answered {
        // Whoever waited may be gone meanwhile.
        let _unheard = answer.send(result);
    }
}

/// Passes answers on to those who wait for them; what has none that can be read is given back.
fn deliver(asked: Vec<Wish>, responses: &InputResponses) -> Vec<Wish> {
    let mut unanswered = Vec::new();
    for wish in asked {
        match responses.get(&wish.key).and_then(|response| read(response, &wish)) {
            Some(result) => drop(wish.answer.send(result)),
            None => unanswered.push(wish),
        }
    }
    unanswered
}

fn read(response: &Value, wish: &Wish) -> Option<ElicitResult> {
    let result: ElicitResult = serde_json::from_value(response.clone()).ok()?;
    let accepted = result.action == ElicitationAction::Accept;
    let fits = result.content.as_ref().is_some_and(|content| (wish.form.fits)(content));
    (!accepted || fits).then_some(result)
}

fn failed(says: String) -> CallToolResponse {
    CallToolResult::error(vec![ContentBlock::text(says)]).into()
}
