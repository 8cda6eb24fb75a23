//! The line from a running call to whoever attends to it for the client.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_runtime::AskId;
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

tokio::task_local! {
    /// Where the call that is being polled speaks to its client. A call and its children are one task.
    static HERE: Arc<Line>;
}

/// The line of the call that asks, if a client made it.
pub(super) fn here() -> Option<Arc<Line>> {
    HERE.try_with(Arc::clone).ok()
}

/// Runs a call with its line at hand.
pub(super) async fn on<F: Future>(line: Arc<Line>, call: F) -> F::Output {
    HERE.scope(line, call).await
}

/// What the user did with a form, and wrote in it.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicited {
    /// Filled in and sent.
    Accepted(Value),
    /// Refused.
    Declined,
    /// Closed without an answer.
    Cancelled,
}

/// Puts a form to the user of the client that made the running call: for tools that are made for MCP
/// alone. Others use [`haft_runtime::Context::ask`] and [`haft_runtime::Context::question`], which
/// every host can answer.
///
/// `schema` is one that the protocol knows: an object of strings, numbers, booleans and choices.
/// `None` if it is not, if no client made the call, or if that client cannot show forms.
pub async fn elicit(key: &str, message: &str, schema: Value) -> Option<Elicited> {
    let Value::Object(schema) = schema else { return None };
    let required: Vec<String> = match schema.get("required") {
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let requested_schema = ElicitationSchema::from_json_schema(schema).ok()?;
    let message = message.to_owned();
    let request =
        ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    let fits = move |content: &Value| required.iter().all(|name| content.get(name).is_some());
    let result = here()?.elicit(Some(key), Form { request, fits: Box::new(fits) }).await?;
    Some(match (result.action, result.content) {
        (ElicitationAction::Accept, content) => Elicited::Accepted(content.unwrap_or_default()),
        (ElicitationAction::Decline, _) => Elicited::Declined,
        _ => Elicited::Cancelled,
    })
}

/// How the user behind a client can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Not at all.
    Nobody,
    /// By a request to the client, whose answer is awaited: up to 2025-11-25.
    Awaited,
    /// By an answer that says what is needed, and another request that brings it: from 2026-07-28.
    Parked,
}

impl Reach {
    /// What the client that made this request can do.
    pub(super) fn of(cx: &RequestContext<RoleServer>) -> Self {
        let elicitation = cx.client_capabilities().and_then(|able| able.elicitation);
        // An empty declaration means forms: there was nothing else when it was written.
        let forms = elicitation.is_some_and(|it| it.form.is_some() || it.url.is_none());
        let parks = cx.protocol_version().is_some_and(|it| it >= ProtocolVersion::V_2026_07_28);
        match (forms, parks) {
            (false, _) => Self::Nobody,
            (true, false) => Self::Awaited,
            (true, true) => Self::Parked,
        }
    }
}

/// A form for the user, and what counts as an answer to it.
pub(super) struct Form {
    /// What the client shows.
    pub(super) request: ElicitRequestParams,
    /// Whether the content of an accepted form can be read.
    pub(super) fits: Box<dyn Fn(&Value) -> bool + Send>,
}

/// A form that waits for its answer.
pub(super) struct Wish {
    /// Its name among those of the call.
    pub(super) key: String,
    pub(super) form: Form,
    pub(super) answer: oneshot::Sender<ElicitResult>,
}

/// The end that the call holds.
pub(super) struct Line {
    wishes: mpsc::UnboundedSender<Wish>,
    state: Mutex<State>,
}

struct State {
    reach: Reach,
    forms: u32,
    /// The asks that were left for `haft approve`.
    queued: Vec<AskId>,
}

impl Line {
    /// A line, and the end of whoever attends.
    pub(super) fn new(reach: Reach) -> (Arc<Self>, mpsc::UnboundedReceiver<Wish>) {
        let (wishes, attended) = mpsc::unbounded_channel();
        let state = Mutex::new(State { reach, forms: 0, queued: Vec::new() });
        (Arc::new(Self { wishes, state }), attended)
    }

    /// From now on another request of the client is attended to.
    pub(super) fn bind(&self, reach: Reach) {
        self.state().reach = reach;
    }

    /// Notes that an ask waits for `haft approve`.
    pub(super) fn note_queued(&self, ask: &AskId) {
        self.state().queued.push(ask.clone());
    }

    /// Whether an ask waits for `haft approve`, and not for the client.
    pub(super) fn is_queued(&self, ask: &AskId) -> bool {
        self.state().queued.contains(ask)
    }

    /// Puts a form to the user; `None` if that cannot be, or the client failed to.
    pub(super) async fn elicit(&self, key: Option<&str>, form: Form) -> Option<ElicitResult> {
        let (answer, answered) = oneshot::channel();
        let next = self.next_key()?;
        let key = key.map_or(next, str::to_owned);
        self.wishes.send(Wish { key, form, answer }).ok()?;
        answered.await.ok()
    }

    fn next_key(&self) -> Option<String> {
        let mut state = self.state();
        state.forms += 1;
        (state.reach != Reach::Nobody).then(|| format!("form{}", state.forms))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
