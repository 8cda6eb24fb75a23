//! `todowrite`: replaces the session's list of todos.

use std::collections::HashSet;

use haft_runtime::permission::Ask;
use haft_runtime::{Context, InitContext, InitError, Output, Tool, ToolError, Traits};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::todos::{Lists, MOST, Priority, Status, Todo, render, summary};

/// Writes the list.
pub(crate) struct TodoWrite {
    lists: Lists,
}

/// The whole list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The whole list, in order; it replaces the one before. At most one item is in_progress.
    #[schemars(length(max = 100), extend("x-aliases" = ["items", "plan", "tasks", "todo_list"]))]
    todos: Vec<Item>,
}

/// One thing to do.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Item {
    /// A short name that stays the same from list to list; numbered by place if left out.
    #[schemars(length(min = 1, max = 64))]
    id: Option<String>,
    /// What is to be done, in one sentence.
    #[schemars(length(min = 1, max = 2000), extend("x-aliases" = ["text", "task", "step", "title", "description"]))]
    content: String,
    /// Where it stands.
    #[schemars(extend("x-aliases" = ["state"], "x-value-aliases" = {"todo": "pending", "open": "pending", "doing": "in_progress", "active": "in_progress", "done": "completed", "complete": "completed", "canceled": "cancelled"}))]
    status: Status,
    /// How much it matters; medium if left out.
    #[schemars(extend("x-value-aliases" = {"normal": "medium"}))]
    priority: Option<Priority>,
}

impl Tool for TodoWrite {
    const ID: &'static str = "todowrite";
    const DESCRIPTION: &'static str = include_str!("todowrite.txt");
    const ALIASES: &'static [&'static str] =
        &["write_todos", "update_todos", "update_plan", "todo"];
    type Params = Params;

    async fn init(cx: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self { lists: Lists::open(cx)? })
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        let effects = self.effects(&params, cx).await?;
        let todos = checked(params)?;
        cx.ask(Ask::new("write the todos", effects)).await?;
        let before = self.lists.replace(todos.clone(), cx).await?;
        cx.note("todo.updated", json!({ "todos": todos }));
        let text = format!("{}\n{}", changes(&before, &todos), summary(&todos));
        Ok(Output::new(summary(&todos), text).with("todos", json!(todos)))
    }

    fn traits(&self) -> Traits {
        // The list of this session is replaced, and nothing else in the world.
        Traits { destructive: false, idempotent: true, ..Traits::default() }
    }
}

/// What the schema cannot say.
fn checked(params: Params) -> Result<Vec<Todo>, ToolError> {
    let invalid =
        |detail: String| Err(ToolError::InvalidParams { tool: TodoWrite::ID.to_owned(), detail });
    if params.todos.len() > MOST {
        return invalid(format!(
            "- todos: expected at most {MOST} items, got {}",
            params.todos.len()
        ));
    }
    let mut todos: Vec<Todo> = Vec::with_capacity(params.todos.len());
    let mut ids = HashSet::new();
    for (index, item) in params.todos.into_iter().enumerate() {
        let id = item.id.unwrap_or_else(|| (index + 1).to_string());
        if !ids.insert(id.clone()) {
            return invalid(format!("- todos[{index}].id: `{id}` stands in the list twice"));
        }
        let priority = item.priority.unwrap_or_default();
        todos.push(Todo { id, content: item.content, status: item.status, priority });
    }
    let active = todos.iter().filter(|todo| todo.status == Status::InProgress).count();
    if active > 1 {
        return invalid(format!("- todos: {active} items are in_progress; at most one may be"));
    }
    Ok(todos)
}

/// One line per item that is new, gone or otherwise than before; the whole list if it is new.
fn changes(before: &[Todo], after: &[Todo]) -> String {
    if before.is_empty() {
        return render(after);
    }
    let old = |todo: &&Todo| before.contains(todo);
    let changed =
        after.iter().filter(|todo| !old(todo)).map(|todo| render(std::slice::from_ref(todo)));
    let kept = |id: &str| after.iter().any(|todo| todo.id == id);
    let gone = before
        .iter()
        .filter(|todo| !kept(&todo.id))
        .map(|todo| format!("removed: {}. {}", todo.id, todo.content));
    let lines: Vec<String> = changed.chain(gone).collect();
    if lines.is_empty() { "Nothing changed.".to_owned() } else { lines.join("\n") }
}
