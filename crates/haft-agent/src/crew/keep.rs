//! Tasks in the store: kept with the session that started them, and found again by another process.

use haft_runtime::{CancellationToken, Scope, SessionId, ToolError};
use serde_json::Value;

use super::child::{Child, Task, TaskState};
use super::{Attended, Crew};
use crate::log::{self, blocking};

/// What the documents' names begin with; the rest is the child's session.
const PREFIX: &str = "task/";
/// Most tasks of one session that are found again.
const MOST: usize = 1_000;

impl Crew {
    /// Writes down how a task stands.
    pub(super) async fn keep(&self, id: &SessionId) -> Result<(), ToolError> {
        let Some((parent, task)) =
            self.lock().children.get(id).map(|child| (child.parent.clone(), child.task.clone()))
        else {
            return Ok(());
        };
        let Some(store) = self.runtime()?.store().cloned() else { return Ok(()) };
        let name = format!("{PREFIX}{id}");
        let value = serde_json::to_value(task)
            .map_err(|error| ToolError::caused("the task cannot be written down", error))?;
        blocking(move || {
            store.update_document(&Scope::Session(parent), &name, &mut |_| Ok(value.clone()))
        })
        .await
    }

    /// Finds the tasks of a session again. Those that were at work are marked as interrupted.
    pub(super) async fn restore(&self, session: &SessionId, depth: usize) -> Result<(), ToolError> {
        let Some(store) = self.runtime()?.store().cloned() else { return Ok(()) };
        let scope = Scope::Session(session.clone());
        let found = blocking(move || {
            let names = store.document_names(&scope, PREFIX, MOST)?;
            let read = |name: String| Ok((store.document(&scope, &name)?, name));
            names.into_iter().map(read).collect::<Result<Vec<_>, _>>()
        })
        .await?;
        for (value, name) in found {
            let id = name.strip_prefix(PREFIX).and_then(|id| SessionId::parse(id).ok());
            // A record of another version is no task that could be continued.
            let task = serde_json::from_value::<Task>(value.unwrap_or(Value::Null)).ok();
            if let (Some(id), Some(task)) = (id, task) {
                self.remember(id, task, session, depth + 1).await?;
            }
        }
        Ok(())
    }

    async fn remember(
        &self,
        id: SessionId,
        mut task: Task,
        parent: &SessionId,
        depth: usize,
    ) -> Result<(), ToolError> {
        if self.lock().children.contains_key(&id) {
            return Ok(());
        }
        let was_at_work = task.state == TaskState::Running;
        if was_at_work {
            task.state = TaskState::Interrupted;
            task.unread = true;
            "the process ended before it did".clone_into(&mut task.reason);
        }
        let child = Child {
            task,
            parent: parent.clone(),
            depth,
            attended: Attended::Background,
            answer: None,
            line: String::new(),
            cancel: CancellationToken::new(),
            live: None,
        };
        self.lock().children.insert(id.clone(), child);
        if was_at_work { self.keep(&id).await } else { Ok(()) }
    }

    /// The last words of a child.
    pub(super) async fn answer(&self, id: &SessionId) -> Result<String, ToolError> {
        let known = self.lock().children.get(id).and_then(|child| child.answer.clone());
        match known {
            Some(answer) => Ok(answer),
            None => log::last_words(&self.runtime()?, id).await,
        }
    }
}
