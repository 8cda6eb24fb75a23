//! Tells listeners of a reply while it is written, not more often than anybody can read.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use haft_runtime::{DeltaKind, EventKind, MessageId, Runtime, SessionId};
use tokio::sync::Notify;

use crate::provider::Piece;

/// Time between two deltas: quick enough to look like typing, slow enough for any listener.
const BEAT: Duration = Duration::from_millis(50);

/// Gathers the pieces of one reply and tells of them in larger ones.
pub(crate) struct Teller<'a> {
    runtime: &'a Runtime,
    session: &'a SessionId,
    message: MessageId,
    gathered: Mutex<Gathered>,
    /// Something came that could not be told at once.
    late: Notify,
}

/// What was heard and not told yet.
struct Gathered {
    kind: DeltaKind,
    text: String,
    told: Option<Instant>,
}

impl<'a> Teller<'a> {
    pub(crate) fn new(runtime: &'a Runtime, session: &'a SessionId, message: MessageId) -> Self {
        let gathered = Gathered { kind: DeltaKind::Text, text: String::new(), told: None };
        Self { runtime, session, message, gathered: Mutex::new(gathered), late: Notify::new() }
    }

    /// Takes in a piece, and tells of what is due.
    pub(crate) fn hear(&self, piece: &Piece) {
        let (kind, text) = match piece {
            Piece::Text(text) => (DeltaKind::Text, text),
            Piece::Reasoning(text) => (DeltaKind::Reasoning, text),
            Piece::CallBegun { tool, .. } => (DeltaKind::Call, tool),
            Piece::Arguments { text, .. } => (DeltaKind::Arguments, text),
            Piece::Again { why } => (DeltaKind::Void, why),
            Piece::Sealed { .. }
            | Piece::CallEnded { .. }
            | Piece::Usage(_)
            | Piece::Stopped(_) => {
                return;
            }
        };
        let mut gathered = self.gathered();
        let is_whole = matches!(kind, DeltaKind::Call | DeltaKind::Void);
        if kind != gathered.kind || is_whole {
            self.tell(&mut gathered);
        }
        gathered.kind = kind;
        let is_first = gathered.text.is_empty();
        gathered.text.push_str(text);
        if is_whole || gathered.told.is_none_or(|told| told.elapsed() >= BEAT) {
            self.tell(&mut gathered);
        } else if is_first {
            self.late.notify_one();
        }
    }

    /// Tells what could not be told at once: a model may think for long before it goes on.
    pub(crate) async fn catch_up(&self) -> ! {
        loop {
            self.late.notified().await;
            tokio::time::sleep(BEAT).await;
            self.flush();
        }
    }

    /// Tells of what has been gathered.
    pub(crate) fn flush(&self) {
        self.tell(&mut self.gathered());
    }

    fn tell(&self, gathered: &mut Gathered) {
        if gathered.text.is_empty() {
            return;
        }
        gathered.told = Some(Instant::now());
        let (message, text) = (self.message.clone(), std::mem::take(&mut gathered.text));
        let delta = EventKind::MessageDelta { message, kind: gathered.kind, text };
        self.runtime.tell(self.session, delta);
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
