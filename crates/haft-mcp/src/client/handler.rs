//! What a server may say to us unasked: how far a call is, that its tools changed, that it has a question.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
    ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::{mpsc, oneshot};

/// How much a server can say about one call before it is listened to.
const WORDS: usize = 64;

/// Something a server says while a call runs.
pub(super) enum Word {
    /// How far it is.
    Progress(ProgressNotificationParam),
    /// A question for the user, and where the answer goes.
    Question(Box<ElicitRequestParams>, oneshot::Sender<ElicitResult>),
}

/// Our end of the protocol.
#[derive(Clone)]
pub(super) struct Handler {
    calls: Arc<Mutex<HashMap<ProgressToken, mpsc::Sender<Word>>>>,
    /// Told when the server's tools changed.
    changed: mpsc::UnboundedSender<()>,
}

/// A call that is listened for.
pub(super) struct Listening {
    pub(super) words: mpsc::Receiver<Word>,
    token: ProgressToken,
    handler: Handler,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.handler.calls().remove(&self.token);
    }
}

impl Handler {
    pub(super) fn new(changed: mpsc::UnboundedSender<()>) -> Self {
        Self { calls: Arc::default(), changed }
    }

    /// Listens to what is said about the call with this token.
    pub(super) fn listen(&self, token: ProgressToken) -> Listening {
        let (sender, words) = mpsc::channel(WORDS);
        self.calls().insert(token.clone(), sender);
        Listening { words, token, handler: self.clone() }
    }

    /// Says that the tools changed.
    pub(super) fn tools_changed(&self) {
        // Nobody may be left to care.
        let _cared = self.changed.send(());
    }

    fn calls(&self) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, mpsc::Sender<Word>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one call that runs; a question while several do could be anybody's.
    fn only_call(&self) -> Option<mpsc::Sender<Word>> {
        let calls = self.calls();
        let mut all = calls.values();
        all.next().filter(|_| calls.len() == 1).cloned()
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        let form = FormElicitationCapability::default();
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
        ClientConfig::new(capabilities, Implementation::new("haft", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(rmcp::model::ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let call = self.calls().get(&params.progress_token).cloned();
        if let Some(call) = call {
            // What comes faster than it is listened to is lost; the next says more.
            drop(call.try_send(Word::Progress(params)));
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.tools_changed();
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let declined = || ElicitResult::new(ElicitationAction::Decline);
        let Some(call) = self.only_call() else { return Ok(declined()) };
        let (answer, answered) = oneshot::channel();
        if call.send(Word::Question(Box::new(request), answer)).await.is_err() {
            return Ok(declined());
        }
        Ok(answered.await.unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Cancel)))
    }
}
