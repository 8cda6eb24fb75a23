//! A server that is a command: messages on its standard input and output, a line each.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_exec::{Command, Exit, Input, Keeper, Patience, Stdin, Stream};
use haft_runtime::plain_lines;
use rmcp::RoleClient;
use rmcp::model::{ErrorData, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::tool_list::readable;

/// The longest message that is taken.
const LONGEST: usize = 16 * 1024 * 1024;

/// How much may wait to be read; a server that is so far ahead of us floods.
const WAITING: usize = 64 * 1024 * 1024;

/// How much of the last words on standard error is kept.
const LAST_WORDS: usize = 2048;

/// How much of what is no message is kept.
const NOISE: usize = 200;

/// What a server let be known beside its messages, to explain why it does not work.
#[derive(Debug, Default)]
pub(super) struct Said {
    errors: Mutex<VecDeque<u8>>,
    noise: Mutex<String>,
    end: Mutex<Option<String>>,
}

impl Said {
    /// How it ended, if it has, and its last words.
    pub(super) fn explain(&self) -> String {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut parts: Vec<String> = end.into_iter().collect();
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let errors: Vec<u8> = errors.iter().copied().collect();
        let errors = String::from_utf8_lossy(&errors);
        if !errors.trim().is_empty() {
            parts.push(format!("its last words: {}", plain_lines(errors.trim())));
        }
        let noise = self.noise.lock().unwrap_or_else(PoisonError::into_inner);
        if !noise.is_empty() {
            parts.push(format!("its output has what is no message: {}", plain_lines(&noise)));
        }
        parts.join("; ")
    }

    fn hear(&self, bytes: &[u8]) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors.extend(bytes.iter().skip(bytes.len().saturating_sub(LAST_WORDS)));
        let over = errors.len().saturating_sub(LAST_WORDS);
        errors.drain(..over);
    }

    fn notice(&self, line: &[u8]) {
        let mut noise = self.noise.lock().unwrap_or_else(PoisonError::into_inner);
        if noise.is_empty() {
            let line = String::from_utf8_lossy(line.get(..NOISE).unwrap_or(line)).into_owned();
            *noise = line.trim().to_owned();
        }
    }

    fn ended(&self, how: String) {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        end.get_or_insert(how);
    }
}

/// Both ends of a server's pipes. Dropping it ends the server with all it started.
pub(super) struct Pipes {
    input: Arc<tokio::sync::Mutex<Option<Input>>>,
    lines: mpsc::UnboundedReceiver<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    said: Arc<Said>,
    gone: watch::Receiver<bool>,
    end: CancellationToken,
    _end_with_us: DropGuard,
}

impl Pipes {
    /// Starts the command.
    ///
    /// # Errors
    /// If it could not be started, in words for the user.
    pub(super) async fn open(
        keeper: &Keeper,
        command: &Command,
        said: Arc<Said>,
    ) -> Result<Self, String> {
        let command = Command { stdin: Stdin::Open, ..command.clone() };
        let mut process = keeper.spawn(&command).await.map_err(|error| error.to_string())?;
        let input = process.take_input();
        let end = CancellationToken::new();
        let (sender, lines) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let mut out = Lines { sender, waiting: Arc::clone(&waiting), part: Vec::new() };
        let (told, gone) = watch::channel(false);
        let (own_said, own_end) = (Arc::clone(&said), end.clone());
        tokio::spawn(async move {
            let take = |stream, bytes: &[u8]| match stream {
                Stream::Output => out.take(bytes),
                Stream::Errors => {
                    own_said.hear(bytes);
                    Ok(())
                }
            };
            let ended = process.run(take, Patience::default(), own_end.cancelled()).await;
            own_said.ended(match ended {
                Ok(ended) => match ended.exited.map(|exited| exited.exit) {
                    Some(Exit::Code(code)) => format!("it ended with code {code}"),
                    Some(Exit::Signal(signal)) => format!("signal {signal} ended it"),
                    None => "it was ended".to_owned(),
                },
                Err(error) => format!("it was ended: {error}"),
            });
            drop(process);
            told.send_replace(true);
        });
        let _end_with_us = end.clone().drop_guard();
        let input = Arc::new(tokio::sync::Mutex::new(input));
        Ok(Self { input, lines, waiting, said, gone, end, _end_with_us })
    }
}

/// Puts lines together.
struct Lines {
    sender: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    part: Vec<u8>,
}

impl Lines {
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.part.len() + piece.len() > LONGEST {
                return Err(io::Error::other("a message of more than 16 MiB"));
            }
            self.part.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.part);
                if self.waiting.fetch_add(line.len(), Ordering::Relaxed) > WAITING {
                    return Err(io::Error::other("more messages than can be read"));
                }
                // Whoever no longer listens has ended it.
                drop(self.sender.send(line));
            }
        }
        Ok(())
    }
}

impl Transport<RoleClient> for Pipes {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let input = Arc::clone(&self.input);
        async move {
            let mut bytes = serde_json::to_vec(&item)?;
            bytes.push(b'\n');
            match input.lock().await.as_ref() {
                Some(input) => input.write(&bytes).await,
                None => Err(io::ErrorKind::NotConnected.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = self.lines.recv().await?;
            self.waiting.fetch_sub(line.len(), Ordering::Relaxed);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match serde_json::from_slice(&readable(&line)) {
                Ok(message) => return Some(message),
                Err(_) => {
                    self.said.notice(&line);
                    if let Some(error) = unreadable(&line) {
                        return Some(error);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // The end of its input tells a server to go; the signal that follows makes sure of it.
        self.input.lock().await.take();
        self.end.cancel();
        drop(self.gone.wait_for(|gone| *gone).await);
        Ok(())
    }
}

/// An answer that cannot be read is an error for whoever waits for it, rather than a long silence.
fn unreadable(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let id = serde_json::from_value(value.get("id")?.clone()).ok()?;
    let is_answer = value.get("result").is_some() || value.get("error").is_some();
    let error = ErrorData::internal_error("the server's answer does not fit the protocol", None);
    is_answer.then(|| ServerJsonRpcMessage::error(error, Some(id)))
}
