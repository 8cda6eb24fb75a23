//! Tells listeners of a reply while it is written, not more often than anybody can read.

use std::time::{Duration, Instant};

use haft_runtime::{DeltaKind, EventKind, MessageId, Runtime, SessionId};

use crate::provider::Piece;

/// Time between two deltas: quick enough to look like typing, slow enough for any listener.
const BEAT: Duration = Duration::from_millis(50);

/// Gathers the pieces of one reply and tells of them in larger ones.
pub(crate) struct Teller<'a> {
    runtime: &'a Runtime,
    session: &'a SessionId,
    message: MessageId,
    kind: DeltaKind,
    text: String,
    told: Option<Instant>,
}

impl<'a> Teller<'a> {
    pub(crate) fn new(runtime: &'a Runtime, session: &'a SessionId, message: MessageId) -> Self {
        let (kind, text, told) = (DeltaKind::Text, String::new(), None);
        Self { runtime, session, message, kind, text, told }
    }

    /// Takes in a piece, and tells of what is due.
    pub(crate) fn hear(&mut self, piece: &Piece) {
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
        let is_whole = matches!(kind, DeltaKind::Call | DeltaKind::Void);
        if kind != self.kind || is_whole {
            self.flush();
        }
        self.kind = kind;
        self.text.push_str(text);
        if is_whole || self.told.is_none_or(|told| told.elapsed() >= BEAT) {
            self.flush();
        }
    }

    /// Tells of what has been gathered.
    pub(crate) fn flush(&mut self) {
        if self.text.is_empty() {
            return;
        }
        self.told = Some(Instant::now());
        let (message, text) = (self.message.clone(), std::mem::take(&mut self.text));
        let delta = EventKind::MessageDelta { message, kind: self.kind, text };
        self.runtime.tell(self.session, delta);
    }
}
