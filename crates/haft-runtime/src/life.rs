//! The life of one call: pending → running → completed | error, exactly one end, whatever happens.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::bound;
use crate::error::{ErrorReport, ToolError};
use crate::event::{Draft, EventKind};
use crate::ids::{CallId, SessionId};
use crate::output::{Metadata, Output};
use crate::record::{Recorder, Ticket};
use crate::store::CallState;

/// Time between two progress events of one call: ten a second are as many as an eye can use.
const BEAT: Duration = Duration::from_millis(100);

/// A call that is over within this is written down all at once; one that takes longer is told of meanwhile.
const MOMENT: Duration = Duration::from_millis(5);

/// How a call ends, as it is told.
pub(crate) type Ending = Result<Arc<Output>, (ErrorReport, Metadata)>;

/// Where a call stands, and the only way to move it on. Dropped before its end, it ends as cancelled.
pub(crate) struct Life {
    /// None for a rehearsal: a call that is only asked what it would do.
    recorder: Option<Recorder>,
    session: SessionId,
    call: CallId,
    /// Tells it from another that claims the same id.
    number: u64,
    metadata_limit: usize,
    stage: Mutex<Stage>,
    nudge: Notify,
}

struct Stage {
    state: CallState,
    tool: String,
    repaired: Vec<String>,
    progress: Progress,
    /// Whether the tool that runs changes things.
    changes: bool,
    /// The ticket of the last state, until something after it is waited for, or the tool takes its time.
    arrival: Option<Ticket>,
}

#[derive(Default)]
struct Progress {
    title: String,
    metadata: Metadata,
    sent: Option<Instant>,
    waiting: bool,
}

impl Life {
    /// Starts with `pending`.
    pub(crate) fn begin(
        recorder: Recorder,
        session: SessionId,
        call: CallId,
        tool: &str,
        limit: usize,
        kind: EventKind,
    ) -> Self {
        let life = Self::new(Some(recorder), session, call, tool, limit);
        let arrival = life.record(&life.stage(), kind);
        life.stage().arrival = Some(arrival);
        life
    }

    /// A life that nobody hears of.
    pub(crate) fn rehearsal(session: SessionId, call: CallId, tool: &str) -> Self {
        Self::new(None, session, call, tool, 0)
    }

    fn new(
        recorder: Option<Recorder>,
        session: SessionId,
        call: CallId,
        tool: &str,
        metadata_limit: usize,
    ) -> Self {
        let stage = Stage {
            state: CallState::Pending,
            tool: tool.to_owned(),
            repaired: Vec::new(),
            progress: Progress::default(),
            changes: false,
            arrival: None,
        };
        let number = recorder.as_ref().map_or(0, Recorder::new_life);
        Self {
            recorder,
            session,
            call,
            number,
            metadata_limit,
            stage: Mutex::new(stage),
            nudge: Notify::new(),
        }
    }

    /// The tool that answers, which a repaired name may differ from.
    pub(crate) fn tool(&self) -> String {
        self.stage().tool.clone()
    }

    /// Remembers which tool was meant.
    pub(crate) fn meant(&self, tool: &str) {
        tool.clone_into(&mut self.stage().tool);
    }

    /// Remembers what was mended in the call, for its metadata.
    pub(crate) fn repaired(&self, repairs: impl IntoIterator<Item = String>) {
        self.stage().repaired.extend(repairs);
    }

    /// Moves on to `running`. If the tool changes things, that is in the log before it starts: nothing
    /// happens that a killed process would not know of.
    ///
    /// # Errors
    /// If the log does not take it; then nothing may run.
    pub(crate) async fn run(&self, args: Value, changes: bool) -> Result<(), ToolError> {
        let ticket = {
            let mut stage = self.stage();
            stage.state = CallState::Running;
            stage.changes = changes;
            let tool = stage.tool.clone();
            let running = EventKind::CallRunning { call: self.call.clone(), tool, args };
            let ticket = self.record(&stage, running);
            // The log keeps order: who waits for `running` has waited for `pending`.
            if let Some(arrival) = stage.arrival.take() {
                arrival.covered();
            }
            if !changes {
                stage.arrival = Some(ticket);
                self.nudge.notify_one();
                return Ok(());
            }
            ticket
        };
        let kept = ticket.kept().await;
        kept.map_err(|error| {
            ToolError::caused("the call could not be recorded, so it was not run", error)
        })
    }

    /// Tells listeners how far it is; at most ten times a second, the first and the last always.
    pub(crate) fn progress(&self, mut title: String, mut metadata: Metadata) {
        bound::title(&mut title);
        bound::metadata(&mut metadata, self.metadata_limit);
        let mut stage = self.stage();
        if stage.state.is_terminal() {
            return;
        }
        stage.progress.title = title;
        stage.progress.metadata = metadata;
        if stage.progress.sent.is_some_and(|sent| sent.elapsed() < BEAT) {
            stage.progress.waiting = true;
            self.nudge.notify_one();
        } else {
            self.send_progress(&mut stage);
        }
    }

    /// What was last told.
    pub(crate) fn last_progress(&self) -> (String, Metadata) {
        let stage = self.stage();
        (stage.progress.title.clone(), stage.progress.metadata.clone())
    }

    /// Delivers what had to wait, when its time comes. Never ends.
    ///
    /// Only polled while the call waits for something: what is over before that is told all at once.
    pub(crate) async fn keep_beat(&self) {
        loop {
            if self.stage().arrival.is_some() {
                tokio::time::sleep(MOMENT).await;
                drop(self.stage().arrival.take());
            }
            while let Some(due) = self.progress_due() {
                tokio::time::sleep_until(due).await;
                self.flush_if_due();
            }
            self.nudge.notified().await;
        }
    }

    /// When the progress that waits may be told.
    fn progress_due(&self) -> Option<Instant> {
        let stage = self.stage();
        let sent = stage.progress.sent.filter(|_| stage.progress.waiting);
        sent.map(|sent| sent + BEAT)
    }

    fn flush_if_due(&self) {
        let mut stage = self.stage();
        // It may have been overtaken by a newer one meanwhile.
        if stage.progress.sent.is_none_or(|sent| sent.elapsed() >= BEAT) {
            self.flush(&mut stage);
        }
    }

    /// Whether its end has to be on record before it is answered. What only reads can be done again.
    pub(crate) fn waits_for_record(&self) -> bool {
        self.stage().changes || self.recorder.as_ref().is_some_and(Recorder::is_failing)
    }

    /// Ends the call. A second end is ignored.
    pub(crate) fn end(&self, result: &Ending) -> Ticket {
        let mut stage = self.stage();
        if stage.state.is_terminal() {
            return Ticket::settled();
        }
        self.flush(&mut stage);
        if let Some(arrival) = stage.arrival.take() {
            arrival.covered();
        }
        let (call, tool) = (self.call.clone(), stage.tool.clone());
        let kind = match result {
            Ok(output) => {
                stage.state = CallState::Completed;
                EventKind::CallCompleted { call, tool, output: Arc::clone(output) }
            }
            Err((error, metadata)) => {
                stage.state = CallState::Error;
                EventKind::CallError {
                    call,
                    tool,
                    error: error.clone(),
                    metadata: metadata.clone(),
                }
            }
        };
        self.record(&stage, kind)
    }

    /// What was mended so far.
    pub(crate) fn repairs(&self) -> Vec<String> {
        self.stage().repaired.clone()
    }

    /// Tells of something beside the call's own life.
    pub(crate) fn note(&self, kind: EventKind) {
        drop(self.record(&self.stage(), kind));
    }

    fn flush(&self, stage: &mut Stage) {
        if stage.progress.waiting {
            self.send_progress(stage);
        }
    }

    fn send_progress(&self, stage: &mut Stage) {
        stage.progress.waiting = false;
        stage.progress.sent = Some(Instant::now());
        let Progress { title, metadata, .. } = &stage.progress;
        let (title, metadata) = (title.clone(), metadata.clone());
        drop(
            self.record(
                stage,
                EventKind::CallProgress { call: self.call.clone(), title, metadata },
            ),
        );
    }

    /// Called with the stage locked, so that events keep the order of the states.
    fn record(&self, _locked: &Stage, kind: EventKind) -> Ticket {
        match &self.recorder {
            Some(recorder) => {
                recorder.record(Draft::now(Some(self.session.clone()), kind), self.number)
            }
            None => Ticket::settled(),
        }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Life {
    /// The caller let go of the call before its end; whoever listens must not wait for ever.
    fn drop(&mut self) {
        if self.recorder.is_some() {
            let error = ToolError::Cancelled { partial: String::new() };
            drop(self.end(&Err((ErrorReport::from(&error), Metadata::new()))));
        }
    }
}
