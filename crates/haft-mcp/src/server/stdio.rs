//! One client on a pair of streams: a message a line.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequest, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, JsonRpcRequest,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::Server;

/// More than any call needs, and less than would hurt the machine.
const LONGEST: usize = 64 * 1024 * 1024;
/// A line's memory is given back if it was longer than this.
const USUAL: usize = 1024 * 1024;
/// How long calls may take to end by themselves once the client has nothing more to say.
const LAST_CALLS: Duration = Duration::from_millis(5);
/// How long their ends may take to be told.
const LAST_WORDS: Duration = Duration::from_millis(2);

/// The two streams of a client.
pub type Stdio = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>);

/// Why serving ended early.
#[derive(Debug, thiserror::Error)]
#[error("the client cannot be served: {0}")]
pub struct ServeError(String);

/// This process's own standard input and output, without a thread for each where that is possible.
///
/// # Panics
/// Outside of a tokio runtime with I/O.
#[must_use]
pub fn stdio() -> Stdio {
    #[cfg(unix)]
    if let Some(sockets) = sockets() {
        return sockets;
    }
    let (read, write) = rmcp::transport::stdio_pipes();
    (Box::new(read), Box::new(write))
}

/// Standard streams that are sockets, as programs on Node make them.
#[cfg(unix)]
fn sockets() -> Option<Stdio> {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let socket = |fd: std::os::fd::BorrowedFd<'_>| {
        let file = std::fs::File::from(fd.try_clone_to_owned().ok()?);
        let is_socket = file.metadata().is_ok_and(|it| it.file_type().is_socket());
        let stream = is_socket.then(|| std::os::fd::OwnedFd::from(file))?;
        let stream = std::os::unix::net::UnixStream::from(stream);
        stream.set_nonblocking(true).ok()?;
        tokio::net::UnixStream::from_std(stream).ok()
    };
    let read = socket(std::io::stdin().as_fd())?;
    let write = socket(std::io::stdout().as_fd())?;
    Some((Box::new(read), Box::new(write)))
}

impl Server {
    /// Serves one client until it has nothing more to say. Calls that still run then are ended.
    ///
    /// # Errors
    /// If the client cannot be understood at all.
    pub async fn serve(self, (read, write): Stdio) -> Result<(), ServeError> {
        let over = CancellationToken::new();
        let transport = Lines::new(read, write, over.clone());
        let (service, gone) = (self.clone(), over.clone());
        let serving = async move {
            match serve_server(service, transport).await {
                Ok(running) => running.waiting().await.map(drop).map_err(|it| it.to_string()),
                Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
                // A client that went away while it was answered.
                Err(_) if gone.is_cancelled() => Ok(()),
                Err(error) => Err(error.to_string()),
            }
        };
        let closing = async {
            over.cancelled().await;
            tokio::time::sleep(LAST_CALLS).await;
            self.close();
            tokio::time::sleep(LAST_WORDS).await;
        };
        let served = tokio::select! {
            served = serving => served,
            () = closing => Ok(()),
        };
        self.close();
        served.map_err(ServeError)
    }
}

/// Messages as lines.
struct Lines {
    read: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    write: Arc<Mutex<Box<dyn AsyncWrite + Send + Unpin>>>,
    line: Vec<u8>,
    /// The line is too long, and is passed over up to its end.
    skips: bool,
    /// A request has come: before the first, nothing else means anything.
    begun: bool,
    /// Fires when the client can no longer be heard, or no longer hears.
    over: CancellationToken,
}

/// What was read of a line.
enum Piece {
    Line,
    TooLong,
    End,
}

impl Lines {
    fn new(
        read: Box<dyn AsyncRead + Send + Unpin>,
        write: Box<dyn AsyncWrite + Send + Unpin>,
        over: CancellationToken,
    ) -> Self {
        Self {
            read: BufReader::with_capacity(64 * 1024, read),
            write: Arc::new(Mutex::new(write)),
            line: Vec::new(),
            skips: false,
            begun: false,
            over,
        }
    }

    /// Reads to the end of a line. Dropped halfway, it goes on where it was.
    async fn next_line(&mut self) -> Piece {
        loop {
            let Ok(bytes) = self.read.fill_buf().await else { return Piece::End };
            if bytes.is_empty() {
                return Piece::End;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(bytes.len(), |end| end + 1);
            if !self.skips {
                self.line.extend_from_slice(bytes.get(..taken).unwrap_or_default());
            }
            self.read.consume(taken);
            if self.line.len() > LONGEST {
                self.line = Vec::new();
                self.skips = true;
            }
            if end.is_some() {
                return if std::mem::take(&mut self.skips) { Piece::TooLong } else { Piece::Line };
            }
        }
    }

    /// The message of the line that was read, if there is one; what is wrong with it is answered.
    async fn understood(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let line = self.line.trim_ascii();
        if line.is_empty() {
            self.line.clear();
            return None;
        }
        let parsed = call(line).map_or_else(|| serde_json::from_slice(line), Ok);
        let parsed = parsed.map_err(|_| complaint(line));
        if self.line.capacity() > USUAL {
            self.line = Vec::new();
        }
        self.line.clear();
        match parsed {
            Ok(JsonRpcMessage::Request(request)) => {
                self.begun = true;
                Some(JsonRpcMessage::Request(request))
            }
            Ok(message) => self.begun.then_some(message),
            Err(Some(complaint)) => {
                self.send(complaint).await.ok()?;
                None
            }
            Err(None) => None,
        }
    }
}

impl Transport<RoleServer> for Lines {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (write, over) = (Arc::clone(&self.write), self.over.clone());
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut write = write.lock().await;
            let written = async {
                write.write_all(&line).await?;
                write.flush().await
            };
            // Whoever does not hear us is gone.
            written.await.inspect_err(|_| over.cancel())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let over = self.over.clone();
        loop {
            let piece = tokio::select! {
                piece = self.next_line() => piece,
                () = over.cancelled() => Piece::End,
            };
            match piece {
                Piece::Line => {
                    if let Some(message) = self.understood().await {
                        return Some(message);
                    }
                }
                Piece::TooLong => {
                    let says = format!("a message of more than {LONGEST} bytes was not read");
                    self.send(problem(ErrorCode::INVALID_REQUEST, says, None)).await.ok()?;
                }
                Piece::End => {
                    over.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.write.lock().await.shutdown().await
    }
}

/// A line that is a call, understood at once: the library tries every other kind of message before.
fn call(line: &[u8]) -> Option<RxJsonRpcMessage<RoleServer>> {
    memchr::memmem::find(line, b"\"tools/call\"")?;
    let JsonRpcRequest { jsonrpc, id, request } =
        serde_json::from_slice::<JsonRpcRequest<CallToolRequest>>(line).ok()?;
    let request = ClientRequest::CallToolRequest(request);
    Some(JsonRpcMessage::Request(JsonRpcRequest { jsonrpc, id, request }))
}

/// What is answered to a line that is no message; nothing to a notification that means nothing.
fn complaint(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return Some(problem(ErrorCode::PARSE_ERROR, "the line is not JSON".to_owned(), None));
    };
    let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    let is_notification = value.get("method").is_some() && value.get("id").is_none();
    let says = "the line is no request, notification or answer of JSON-RPC 2.0".to_owned();
    (!is_notification).then(|| problem(ErrorCode::INVALID_REQUEST, says, id))
}

fn problem(code: ErrorCode, says: String, id: Option<RequestId>) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::new(code, says, None), id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_that_is_understood_at_once_means_what_the_library_says() {
        let meta = json!({ "progressToken": 7, "claudecode/toolUseId": "toolu_1" });
        for params in [
            json!({ "name": "read", "arguments": { "file_path": "a", "offset": 1 } }),
            json!({ "name": "read" }),
            json!({ "name": "read", "arguments": {}, "_meta": meta, "task": { "ttl": 1 }, "x": [1] }),
            json!({ "name": "read", "arguments": null, "requestState": "s", "inputResponses": {} }),
        ] {
            for id in [json!(1), json!("one")] {
                let line =
                    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
                let line = line.to_string();
                let known = serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(line.as_bytes());
                let (known, quick) = (known.unwrap(), call(line.as_bytes()).expect(&line));
                assert_eq!(format!("{quick:?}"), format!("{known:?}"));
            }
        }
    }

    #[test]
    fn what_is_no_call_is_left_to_the_library() {
        for line in [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "x": "tools/call" } }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "arguments": {} } }),
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": 1 } }),
            json!({ "jsonrpc": "2.0", "method": "tools/call", "params": { "name": "read" } }),
            json!({ "jsonrpc": "1.0", "id": 1, "method": "tools/call", "params": { "name": "read" } }),
            json!({ "id": 1, "method": "tools/call", "params": { "name": "read" } }),
        ] {
            assert!(call(line.to_string().as_bytes()).is_none(), "{line}");
        }
    }
}
