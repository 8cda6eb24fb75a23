//! The model itself: a server on loopback that answers every request by the script.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::conversation::{Protocol, Shown};
use crate::fault::Fault;
use crate::http::{Incoming, Outgoing};
use crate::script::{Offered, Turn, filled, next, offered};
use crate::{anthropic, chat, responses};

/// A model that runs until it is dropped.
pub struct Model {
    url: String,
    address: std::net::SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

/// A request that an agent made.
#[derive(Debug, Clone)]
pub struct Request {
    /// The path it was sent to.
    pub path: String,
    /// Its headers, as they came.
    pub headers: Vec<(String, String)>,
    /// The protocol it is written in.
    pub protocol: Protocol,
    /// Its body.
    pub body: Value,
    /// When all of it had come.
    pub received: Instant,
    /// When the answer began to be sent, if it was.
    pub answered: Option<Instant>,
}

impl Request {
    /// The names of the tools that it offers; of one in a group, with the group's name before it.
    #[must_use]
    pub fn tools(&self) -> Vec<String> {
        self.protocol.tools(&self.body).iter().map(Offered::full).collect()
    }

    /// The tools' results that it carries, in order.
    #[must_use]
    pub fn results(&self) -> Vec<Shown> {
        self.protocol.results(&self.body)
    }

    /// What the user said first in the conversation that it belongs to.
    #[must_use]
    pub fn opening(&self) -> String {
        self.protocol.opening(&self.body)
    }
}

type Faults = Box<dyn Fn(usize) -> Fault + Send + Sync>;

struct Shared {
    script: Vec<Turn>,
    /// The scripts of conversations that open with a certain word.
    parts: Vec<(String, Vec<Turn>)>,
    faults: Faults,
    requests: Mutex<Vec<Request>>,
    /// Told of every request.
    came: Condvar,
    ended: AtomicBool,
}

/// What is answered to one request.
pub(crate) struct Answer {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) thought: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<Called>,
    /// Whether the provider gives up before the end.
    pub(crate) fails: bool,
}

/// A call in an answer.
pub(crate) struct Called {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) arguments: Value,
}

impl Answer {
    pub(crate) fn text_pieces(&self) -> impl Iterator<Item = &str> {
        self.text.split_inclusive(' ')
    }
}

impl Called {
    /// The arguments as they are streamed: a few characters at a time.
    pub(crate) fn argument_pieces(&self) -> Vec<String> {
        let text: Vec<char> = self.arguments.to_string().chars().collect();
        text.chunks(24).map(|piece| piece.iter().collect()).collect()
    }
}

impl Model {
    /// Starts a model that follows `script`.
    ///
    /// # Errors
    /// If no port of loopback can be listened on.
    pub fn start(script: Vec<Turn>) -> io::Result<Self> {
        Self::unreliable(script, |_| Fault::None)
    }

    /// Starts one whose answer to its n-th request, from 0, has this fault.
    ///
    /// # Errors
    /// If no port of loopback can be listened on.
    pub fn unreliable(
        script: Vec<Turn>,
        faults: impl Fn(usize) -> Fault + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::with_parts(script, Vec::new(), faults)
    }

    /// Starts one that plays several parts: a conversation in whose first words one of these marks
    /// stands follows the script of the first such, and every other one follows `script`.
    ///
    /// # Errors
    /// If no port of loopback can be listened on.
    pub fn with_parts(
        script: Vec<Turn>,
        parts: Vec<(String, Vec<Turn>)>,
        faults: impl Fn(usize) -> Fault + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script,
            parts,
            faults: Box::new(faults),
            requests: Mutex::default(),
            came: Condvar::new(),
            ended: AtomicBool::new(false),
        });
        let heard = Arc::clone(&shared);
        let listener = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if heard.ended.load(Ordering::Relaxed) {
                    return;
                }
                let shared = Arc::clone(&heard);
                // An agent that goes away in the middle is no fault of ours.
                std::thread::spawn(move || shared.serve(stream).unwrap_or_default());
            }
        });
        Ok(Self { url: format!("http://{address}"), address, shared, listener: Some(listener) })
    }

    /// Where it listens: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Every request so far that asked for an answer, in the order they came.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until so many requests have come; `false` if they do not come in time.
    #[must_use]
    pub fn hears(&self, count: usize, patience: Duration) -> bool {
        let requests = self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let waited =
            self.shared.came.wait_timeout_while(requests, patience, |all| all.len() < count);
        waited.unwrap_or_else(PoisonError::into_inner).0.len() >= count
    }

    /// The tools' results that the longest conversation so far carries.
    #[must_use]
    pub fn results(&self) -> Vec<Shown> {
        let all = self.requests().into_iter().map(|request| request.results());
        all.max_by_key(Vec::len).unwrap_or_default()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // A connection wakes the listener, which then sees that it is over.
        if TcpStream::connect(self.address).is_ok()
            && let Some(listener) = self.listener.take()
        {
            listener.join().unwrap_or_default();
        }
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        while let Some(request) = Incoming::read(&stream)? {
            let is_last = request.is_last();
            let (number, answer, fault) = self.answer(request, Instant::now());
            if let Some(number) = number {
                let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
                let request = requests.get_mut(number).into_iter();
                // Before it is sent: an agent may be quicker than this thread.
                request.for_each(|it| it.answered = Some(Instant::now()));
            }
            answer.write(&mut stream, &fault)?;
            if is_last || fault.ends_connection() {
                return stream.shutdown(Shutdown::Both);
            }
        }
        Ok(())
    }

    /// What a request is answered, and its number if it is one that the script knows.
    fn answer(&self, request: Incoming, received: Instant) -> (Option<usize>, Outgoing, Fault) {
        let body: Option<Value> = serde_json::from_slice(&request.body).ok();
        let asks = request.method == "POST";
        let (Some(protocol), Some(body), true) = (Protocol::at(&request.path), body, asks) else {
            return (None, other(&request), Fault::None);
        };
        let Incoming { path, headers, .. } = request;
        let request = Request { path, headers, protocol, body, received, answered: None };
        let number = {
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.push(request.clone());
            self.came.notify_all();
            requests.len() - 1
        };
        let fault = if self.falls_silent(&request) { SILENCE } else { (self.faults)(number) };
        if let Fault::Status(status, retry_after) = fault {
            let error = json!({ "type": "error", "message": format!("status {status}") });
            let body = json!({ "type": "error", "error": error }).to_string().into_bytes();
            return (Some(number), Outgoing { status, kind: JSON, retry_after, body }, fault);
        }
        (Some(number), self.turn(&request, fault == Fault::Error), fault)
    }

    /// The script of the conversation that a request belongs to.
    fn script(&self, request: &Request) -> &[Turn] {
        let opening = request.opening();
        let part = self.parts.iter().find(|(mark, _)| opening.contains(mark));
        part.map_or(&self.script, |(_, script)| script)
    }

    fn falls_silent(&self, request: &Request) -> bool {
        next(self.script(request), request.results().len()).0.silent
    }

    /// The next turn of the script, in the form that the request asks for.
    fn turn(&self, request: &Request, fails: bool) -> Outgoing {
        let (tools, results) = (request.protocol.tools(&request.body), request.results());
        let answered = results.len();
        // Without tools it is something beside the conversation, such as a title for it.
        let (turn, first) = match tools.is_empty() && answered == 0 {
            true => (Turn::say("A title"), 0),
            false => next(self.script(request), answered),
        };
        let called = |(index, call): (usize, &crate::ToolCall)| {
            let tool = offered(&call.tool, &tools).cloned();
            let unknown = || Offered { namespace: None, name: call.tool.clone() };
            let Offered { namespace, name } = tool.unwrap_or_else(unknown);
            let (id, arguments) =
                (format!("call_{:04}", first + index), filled(&call.arguments, &results));
            Called { id, name, namespace, arguments }
        };
        let model = request.body.get("model").and_then(Value::as_str).unwrap_or("scripted");
        let answer = Answer {
            id: format!("answer_{answered:04}"),
            model: model.to_owned(),
            calls: turn.calls.iter().enumerate().map(called).collect(),
            thought: turn.thought,
            text: turn.text,
            fails,
        };
        let streamed = request.body.get("stream").is_some_and(|stream| stream == true);
        let (kind, body) = match (streamed, request.protocol) {
            (false, Protocol::Anthropic) => (JSON, anthropic::whole(&answer).to_string()),
            (false, Protocol::Responses) => (JSON, responses::whole(&answer).to_string()),
            (false, Protocol::Chat) => (JSON, chat::whole(&answer).to_string()),
            (true, Protocol::Anthropic) => (EVENTS, events(&anthropic::stream(&answer))),
            (true, Protocol::Responses) => (EVENTS, events(&responses::stream(&answer))),
            // Not every server says that it is done.
            (true, Protocol::Chat) if request.path.contains(COMPATIBLE) => {
                let chunks = chat::compatible(&answer);
                (EVENTS, chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect())
            }
            (true, Protocol::Chat) => {
                let chunks = chat::stream(&answer);
                let mut text: String =
                    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
                if !fails {
                    text.push_str("data: [DONE]\n\n");
                }
                (EVENTS, text)
            }
        };
        Outgoing { status: 200, kind, retry_after: None, body: body.into_bytes() }
    }
}

/// How a turn that never ends is answered.
const SILENCE: Fault = Fault::Hang(40);
/// What stands in the path of those who want to be answered as by a server that is merely compatible.
const COMPATIBLE: &str = "/compatible/";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

fn events(events: &[(&str, Value)]) -> String {
    events.iter().map(|(kind, body)| format!("event: {kind}\ndata: {body}\n\n")).collect()
}

/// What agents ask beside the conversation: which models there are, how many tokens that would be.
fn other(request: &Incoming) -> Outgoing {
    let (status, body) = if request.path.contains("/count_tokens") {
        (200, json!({ "input_tokens": 100 }))
    } else if request.path.ends_with("/models") {
        (200, json!({ "object": "list", "data": [{ "id": "scripted", "object": "model" }] }))
    } else {
        (404, json!({ "error": { "type": "not_found", "message": "only models live here" } }))
    };
    Outgoing { status, kind: JSON, retry_after: None, body: body.to_string().into_bytes() }
}
