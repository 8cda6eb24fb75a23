//! A session's place in the crew: what its loop is told of those it has started.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_runtime::{BoxFuture, CancellationToken, SessionId};

use super::child::Child;
use super::{Crew, Mode, State};
use crate::company::{Company, Spent};
use crate::session::Agent;

/// Most ends of children that are told at once, one line each.
const TOLD: usize = 30;

/// The place of one session.
pub(super) struct Post {
    crew: Crew,
    session: SessionId,
    depth: usize,
    /// The mode that its tools are from.
    modes: AtomicU64,
}

impl Post {
    pub(super) fn new(crew: Crew, session: SessionId, depth: usize, modes: u64) -> Self {
        Self { crew, session, depth, modes: AtomicU64::new(modes) }
    }

    /// The agent for the mode that is on, if that has changed. A child stays who it is: its rules are
    /// those of the mode at once, and its tools are renewed as those of any agent are.
    async fn renewed(&self) -> Option<Agent> {
        let modes = self.crew.lock().modes;
        if self.modes.swap(modes, Ordering::SeqCst) == modes || self.depth > 0 {
            return None;
        }
        let runtime = self.crew.runtime().ok()?;
        let mode = if self.crew.planning().is_on() { Mode::Plan } else { Mode::Work };
        // Where another cannot be had, the one that is there goes on under the rules of the mode.
        let agent = self.crew.roster().lead(&runtime, mode).await.ok()?;
        if let Some(member) = self.crew.lock().members.get_mut(&self.session) {
            member.policy = Arc::clone(agent.toolset.policy());
        }
        Some(agent)
    }
}

impl Company for Post {
    fn begin(&self, cancel: &CancellationToken) {
        if let Some(member) = self.crew.lock().members.get_mut(&self.session) {
            member.cancel = cancel.clone();
        }
    }

    fn recast(&self) -> BoxFuture<'_, Option<Agent>> {
        Box::pin(self.renewed())
    }

    fn news(&self) -> Option<String> {
        let mut state = self.crew.lock();
        let own = state.children.iter_mut().filter(|(_, child)| child.parent == self.session);
        let (mut lines, mut read) = (Vec::new(), Vec::new());
        for (id, child) in own.filter(|(_, child)| child.is_news()) {
            child.task.unread = false;
            read.push(id.clone());
            lines.push(format!("- {}: {}", child.named(id), ending(child)));
        }
        drop(state);
        if lines.is_empty() {
            return None;
        }
        let crew = self.crew.clone();
        tokio::spawn(async move {
            for id in read {
                // If this is lost, the model is told once more.
                drop(crew.keep(&id).await);
            }
        });
        let missing = lines.len().saturating_sub(TOLD);
        lines.truncate(TOLD);
        if missing > 0 {
            lines.push(format!("- and {missing} more; action list shows all"));
        }
        let lines = lines.join("\n");
        Some(format!(
            "[Told by haft, not by the user.] Tasks that have ended:\n{lines}\n\
             The task tool gives their answers with action wait, and continues one that is given as task_id."
        ))
    }

    fn more(&self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            let news =
                |state: &State| state.children_of(&self.session).any(|(_, child)| child.is_news());
            let is_over = |state: &State| {
                !state.children_of(&self.session).any(|(_, child)| child.is_running())
            };
            self.crew.until(|state| news(state) || is_over(state)).await;
            news(&self.crew.lock())
        })
    }

    fn settle(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.crew.settle(&self.session))
    }

    fn spent(&self) -> Spent {
        self.crew.lock().members.get(&self.session).map(|member| member.spent).unwrap_or_default()
    }
}

/// How a child has ended.
fn ending(child: &Child) -> String {
    let state = child.task.state.as_str();
    match child.task.reason.as_str() {
        "" => state.to_owned(),
        reason => format!("{state}, {}", reason.lines().next().unwrap_or_default()),
    }
}
