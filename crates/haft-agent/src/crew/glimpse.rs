//! What children do right now, in a line each, for whoever looks on.

use std::sync::Weak;

use haft_runtime::{Delivery, Event, EventKind, Events, SessionId, plain};
use serde_json::Value;

use super::{Crew, Inner};

/// Most characters of a line.
const LONGEST: usize = 120;

/// Listens to all events until the crew or the runtime is gone.
pub(super) fn watch(crew: Weak<Inner>, mut events: Events) {
    tokio::spawn(async move {
        while let Some(delivery) = events.next().await {
            let Some(crew) = Crew::of(&crew) else { return };
            if let Delivery::Event(event) = delivery {
                crew.glimpse(&event);
            }
        }
    });
}

impl Crew {
    fn glimpse(&self, event: &Event) {
        let (Some(session), Some(line)) = (&event.session, line(&event.kind)) else { return };
        let mut state = self.lock();
        let Some(child) = state.children.get_mut(session).filter(|child| child.is_running()) else {
            return;
        };
        if child.line == line {
            return;
        }
        child.line.clone_from(&line);
        drop(state);
        self.tell(session, line);
        self.stir();
    }

    /// Tells those who look on at the top how a child stands.
    pub(super) fn tell(&self, session: &SessionId, line: String) {
        let state = self.lock();
        let Some(child) = state.children.get(session) else { return };
        let progress = EventKind::TaskProgress {
            task: session.clone(),
            agent: child.task.agent.clone(),
            title: child.task.description.clone(),
            state: child.task.state.as_str().to_owned(),
            line,
        };
        let top = state.top(session);
        drop(state);
        if let Ok(runtime) = self.runtime() {
            runtime.tell(&top, progress);
        }
    }
}

/// What an event says of whoever works, in one line.
fn line(kind: &EventKind) -> Option<String> {
    let line = match kind {
        EventKind::CallRunning { tool, .. } => format!("{tool} …"),
        EventKind::CallProgress { title, .. } => title.clone(),
        EventKind::CallCompleted { tool, output, .. } => format!("{tool} {}", output.title),
        EventKind::CallError { tool, error, .. } => {
            format!("{tool} failed: {}", error.message.lines().next().unwrap_or_default())
        }
        EventKind::AskOpened { ask } => format!("waits for permission: {}", ask.ask.title),
        EventKind::MessageAdded { body, .. } => words(body)?,
        _ => return None,
    };
    let line: String = plain(line.trim()).chars().take(LONGEST).collect();
    (!line.is_empty()).then_some(line)
}

/// The first line that a reply says.
fn words(body: &Value) -> Option<String> {
    if body.get("role")?.as_str()? != "assistant" {
        return None;
    }
    let parts = body.get("content")?.as_array()?.iter();
    let spoken = parts.filter(|part| part.get("type").is_some_and(|kind| kind == "text"));
    let mut lines = spoken.filter_map(|part| part.get("text")?.as_str()).flat_map(str::lines);
    lines.find(|line| !line.trim().is_empty()).map(str::to_owned)
}
