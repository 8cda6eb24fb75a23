//! A session's list of todos, as it is stored.

use haft_runtime::{Context, Documents, InitContext, InitError, Scope, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest list; a longer one is no longer a plan.
pub(crate) const MOST: usize = 100;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Todo {
    pub(crate) id: String,
    pub(crate) content: String,
    pub(crate) status: Status,
    pub(crate) priority: Priority,
}

/// Where a todo stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

impl Status {
    /// The box in front of a line.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Pending => "[ ]",
            Self::InProgress => "[>]",
            Self::Completed => "[x]",
            Self::Cancelled => "[-]",
        }
    }
}

/// How much a todo matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Priority {
    High,
    #[default]
    Medium,
    Low,
}

/// Where the lists are.
pub(crate) struct Lists {
    documents: Documents,
}

impl Lists {
    pub(crate) fn open(cx: &InitContext<'_>) -> Result<Self, InitError> {
        let documents = cx.documents.cloned();
        let documents =
            documents.ok_or_else(|| InitError::new("todos need a store to be kept in"))?;
        Ok(Self { documents })
    }

    pub(crate) async fn get(&self, cx: &Context) -> Result<Vec<Todo>, ToolError> {
        self.documents.get(Scope::Session(cx.session.clone()), "todos").await
    }

    /// Puts `new` in the place of the list, and returns what stood there.
    pub(crate) async fn replace(
        &self,
        new: Vec<Todo>,
        cx: &Context,
    ) -> Result<Vec<Todo>, ToolError> {
        let scope = Scope::Session(cx.session.clone());
        let change = move |todos: &mut Vec<Todo>| Ok(std::mem::replace(todos, new.clone()));
        self.documents.update(scope, "todos", change).await
    }
}

/// The list as a model and a person read it.
pub(crate) fn render(todos: &[Todo]) -> String {
    if todos.is_empty() {
        return "The list is empty.".to_owned();
    }
    let lines = todos.iter().map(|todo| {
        let priority = match todo.priority {
            Priority::High => " (high)",
            Priority::Medium => "",
            Priority::Low => " (low)",
        };
        format!("{} {}. {}{priority}", todo.status.mark(), todo.id, todo.content)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// How many are left, in a few words.
pub(crate) fn summary(todos: &[Todo]) -> String {
    let open = todos
        .iter()
        .filter(|todo| matches!(todo.status, Status::Pending | Status::InProgress))
        .count();
    format!("{open} of {} open", todos.len())
}
