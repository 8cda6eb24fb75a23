//! What a session can see of those it has started.

use std::time::Duration;

use haft_runtime::{AgentId, SessionId, ToolError};

use super::child::Task;
use super::{Crew, State};

/// A task as it stands at this moment.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) id: SessionId,
    pub(crate) task: Task,
    /// What it does right now.
    pub(crate) line: String,
    pub(crate) is_running: bool,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// The first end.
    Any,
    /// Every end.
    All,
}

impl Crew {
    /// The tasks that a session has started, the oldest first.
    pub(crate) fn views(&self, session: &SessionId) -> Vec<View> {
        let state = self.lock();
        let own = state.children_of(session).map(|(id, _)| id);
        own.filter_map(|id| state.view(id)).collect()
    }

    /// One task, if this session or one below it has started it.
    pub(crate) fn view(&self, session: &SessionId, id: &SessionId) -> Result<View, ToolError> {
        let state = self.lock();
        let view = state.view(id).filter(|_| state.is_below(id, session));
        view.ok_or_else(|| super::runner::unknown(id))
    }

    /// The tasks of a session that run, or whose end the model has not been told.
    pub(crate) fn open(&self, session: &SessionId) -> Vec<SessionId> {
        let state = self.lock();
        let own = state.children_of(session);
        let open = own.filter(|(_, child)| child.is_running() || child.is_news());
        open.map(|(id, _)| id.clone()).collect()
    }

    /// Waits for tasks to end.
    pub(crate) async fn wait(&self, ids: &[SessionId], until: Until, timeout: Duration) {
        let over = self.until(|state| {
            let mut ended = ids.iter().map(|id| !state.view(id).is_some_and(|it| it.is_running));
            match until {
                Until::Any => ended.any(|ended| ended),
                Until::All => ended.all(|ended| ended),
            }
        });
        // What runs on by then is told as running.
        drop(tokio::time::timeout(timeout, over).await);
    }

    /// How a task stands, with its last words where it has ended: the model knows from now on.
    pub(crate) async fn read(&self, id: &SessionId) -> Result<(View, String), ToolError> {
        let view = {
            let mut state = self.lock();
            let view = state.view(id).ok_or_else(|| super::runner::unknown(id))?;
            if let Some(child) = state.children.get_mut(id).filter(|_| !view.is_running) {
                child.task.unread = false;
            }
            view
        };
        if view.task.unread {
            self.keep(id).await?;
        }
        let answer = if view.is_running { String::new() } else { self.answer(id).await? };
        Ok((view, answer))
    }
}

impl View {
    /// In a few words.
    pub(crate) fn named(&self) -> String {
        let Task { agent, description, .. } = &self.task;
        format!("{} ({agent}: {description})", self.id)
    }

    /// How it stands.
    pub(crate) fn standing(&self) -> String {
        let state = self.task.state.as_str();
        let more = if self.is_running { &self.line } else { &self.task.reason };
        if more.is_empty() { state.to_owned() } else { format!("{state}, {more}") }
    }

    pub(crate) fn agent(&self) -> &AgentId {
        &self.task.agent
    }
}

impl State {
    fn view(&self, id: &SessionId) -> Option<View> {
        let child = self.children.get(id)?;
        let (task, line, is_running) = (child.task.clone(), child.line.clone(), child.is_running());
        Some(View { id: id.clone(), task, line, is_running })
    }
}
