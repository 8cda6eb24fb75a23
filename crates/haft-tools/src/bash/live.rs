//! What a command says, told to those who watch while it runs.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use haft_runtime::Context;
use serde_json::json;
use tokio::sync::Notify;

use super::said::Said;

/// How often those who watch are shown the output.
const BEAT: Duration = Duration::from_millis(100);

/// The output of a command that runs, and those who watch it.
pub(super) struct Live<'a> {
    cx: &'a Context,
    title: String,
    state: Mutex<State>,
    /// Something came that could not be told at once.
    late: Notify,
}

struct State {
    said: Said,
    told: Option<Instant>,
    /// Whether something came since.
    is_late: bool,
}

impl<'a> Live<'a> {
    pub(super) fn new(said: Said, title: String, cx: &'a Context) -> Self {
        let state = State { said, told: None, is_late: false };
        Self { cx, title, state: Mutex::new(state), late: Notify::new() }
    }

    /// Takes the next piece, and tells of it unless something was told just before.
    pub(super) fn push(&self, bytes: &[u8]) {
        let mut state = self.state();
        state.said.push(bytes);
        if state.told.is_none_or(|told| told.elapsed() >= BEAT) {
            self.tell(&mut state);
        } else if !state.is_late {
            state.is_late = true;
            self.late.notify_one();
        }
    }

    /// Tells what could not be told at once: a command may say no more for long.
    pub(super) async fn catch_up(&self) -> ! {
        loop {
            self.late.notified().await;
            tokio::time::sleep(BEAT).await;
            let mut state = self.state();
            if state.is_late {
                self.tell(&mut state);
            }
        }
    }

    /// All that was said.
    pub(super) fn end(self) -> Said {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).said
    }

    fn tell(&self, state: &mut State) {
        state.told = Some(Instant::now());
        state.is_late = false;
        let said = json!({ "output": state.said.tail(), "bytes": state.said.total() });
        self.cx.metadata(self.title.clone(), said);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
