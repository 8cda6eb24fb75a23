//! `undo`: takes back what a call changed, or does it again.

use std::path::Path;

use haft_runtime::permission::{Ask, Effect};
use haft_runtime::{Context, InitContext, InitError, Output, Tool, ToolError};
use haft_workspace::Workspace;
use haft_workspace::journal::{Changed, Journal, Reversal, State, Way, Which};
use haft_workspace::text::Encoding;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::change::{Change, Changes, Current, NO_JOURNAL, changing, current, label, refused};
use crate::files::Files;

/// Files that are shown with their diff; the others are named.
const SHOWN: usize = 10;

/// Undoes and redoes.
pub(crate) struct Undo {
    files: Files,
}

/// What to take back.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The id of the call (the last).
    #[schemars(length(max = 100), extend("x-aliases" = ["call_id", "id"]))]
    call: Option<String>,
    /// Do again what was undone (no).
    redo: Option<bool>,
}

impl Tool for Undo {
    const ID: &'static str = "undo";
    const DESCRIPTION: &'static str = include_str!("undo.txt");
    const ALIASES: &'static [&'static str] = &["undo_edit", "revert", "rollback"];
    type Params = Params;

    async fn init(cx: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self { files: Files::to_change(cx)? })
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        let way = params.way();
        let Planned { reversal, effects, shown } = match self.plan(&params, cx).await {
            Ok(planned) => planned,
            // What stands in the way is only told to whoever may use this tool.
            Err(error) => {
                cx.ask(Ask::new("undo", vec![Effect::using(Self::ID, "*")])).await?;
                return Err(error);
            }
        };
        let done = title(way, &reversal);
        let changes = Changes { tool: Self::ID, title: done.clone(), files: shown };
        let metadata = changes.described();
        cx.ask(Ask { metadata: metadata.clone(), ..Ask::new(&done, effects) }).await?;
        let label = label(cx, Self::ID, &done);
        let text = describe(&self.files.workspace, way, &reversal, &changes.files);
        let work = reversal.clone();
        let reverse = move |journal: &Journal, workspace: &Workspace| {
            journal.reverse(workspace, label, &work)
        };
        self.files.change(reverse).await?.map_err(refused)?;
        for change in &reversal.changes {
            let path = change.path.to_string_lossy();
            cx.note("file.edited", json!({ "path": path, "kind": word(change) }));
        }
        let mut output = Output::new(done, text);
        output.metadata.extend(metadata);
        let calls: Vec<&str> = reversal.entries.iter().map(|it| it.label.call.as_str()).collect();
        Ok(output.with("calls", json!(calls)))
    }

    async fn effects(&self, params: &Params, cx: &Context) -> Result<Vec<Effect>, ToolError> {
        match self.plan(params, cx).await {
            Ok(planned) => Ok(planned.effects),
            Err(_) => Ok(vec![Effect::using(Self::ID, "*")]),
        }
    }
}

impl Params {
    fn way(&self) -> Way {
        if self.redo.unwrap_or(false) { Way::Redo } else { Way::Undo }
    }
}

/// What would be taken back, what that amounts to, and how it is shown.
struct Planned {
    reversal: Reversal,
    effects: Vec<Effect>,
    shown: Vec<Change>,
}

impl Undo {
    async fn plan(&self, params: &Params, cx: &Context) -> Result<Planned, ToolError> {
        let session = params.call.is_none().then(|| cx.session.to_string());
        let which = Which { call: params.call.clone(), session, all: false };
        let way = params.way();
        let journal = self.files.journal.clone().ok_or_else(|| ToolError::failed(NO_JOURNAL))?;
        let plan = move |workspace: &Workspace| {
            let reversal = journal.reversal(workspace, way, &which).map_err(refused)?;
            let mut effects = vec![Effect::using(Self::ID, "*")];
            effects.extend(reversal.changes.iter().flat_map(|it| effects_of(workspace, it)));
            let shown = reversal.changes.iter().filter_map(|it| shown(workspace, &journal, it));
            let shown = shown.take(SHOWN).collect();
            Ok(Planned { reversal, effects, shown })
        };
        self.files.blocking(plan).await?
    }
}

fn effects_of(workspace: &Workspace, change: &Changed) -> Vec<Effect> {
    let place = workspace.place(change.path.clone(), change.before != State::Absent);
    let is_file = change.before.content().is_some();
    changing(&place, workspace.root(), is_file, change.after == State::Absent, 1)
}

/// A change of a text, for its diff.
fn shown(workspace: &Workspace, journal: &Journal, change: &Changed) -> Option<Change> {
    let place = workspace.place(change.path.clone(), change.before != State::Absent);
    let (old, new) = (change.before.content(), change.after.content());
    old.or(new)?;
    let before: Option<Current> = match old {
        Some(_) => current(workspace, &place).ok()?,
        None => None,
    };
    let after = match new {
        Some(hash) => Some(journal.content(hash).ok()??),
        None => None,
    };
    let text = |bytes: Option<&[u8]>| {
        let bytes = bytes.unwrap_or_default();
        Encoding::detect(bytes, true).decode(bytes).text.into_owned()
    };
    let texts = (text(before.as_ref().map(|it| it.bytes.as_slice())), text(after.as_deref()));
    Some(Change::new(place, before, after, texts))
}

fn title(way: Way, reversal: &Reversal) -> String {
    let titles: Vec<&str> =
        reversal.entries.iter().map(|entry| entry.label.title.as_str()).collect();
    match way {
        Way::Undo => format!("undo: {}", titles.join(", ")),
        Way::Redo => format!("redo: {}", titles.join(", ").trim_start_matches("undo: ")),
    }
}

fn word(change: &Changed) -> &'static str {
    match (&change.before, &change.after) {
        (State::Absent, _) => "created",
        (_, State::Absent) => "deleted",
        _ => "changed",
    }
}

fn describe(workspace: &Workspace, way: Way, reversal: &Reversal, shown: &[Change]) -> String {
    let relative = |path: &Path| workspace.place(path.to_owned(), true).shown();
    let done = match way {
        Way::Undo => "Undone",
        Way::Redo => "Done again",
    };
    let mut text = format!("{done}: {} changed.\n", count(reversal.changes.len(), "path"));
    for change in &reversal.changes {
        let what = match (&change.before, &change.after) {
            (State::Absent, _) => "restored",
            (_, State::Absent) => "removed",
            _ => "put back",
        };
        text.push_str(&format!("- {what} {}\n", relative(&change.path)));
    }
    for path in &reversal.kept {
        text.push_str(&format!("- kept {}: something else is in it\n", relative(path)));
    }
    for change in shown.iter().filter(|change| change.before.is_some() && change.after.is_some()) {
        text.push_str(&format!("\n{}\n{}", change.place.shown(), change.compact()));
    }
    text
}

fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
