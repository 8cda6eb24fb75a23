//! `edit`: parts of a file, found by their text.

use haft_edit::{Change as Span, Edit as Wanted, Refusal, Tier, plan};
use haft_runtime::permission::{Ask, Effect};
use haft_runtime::{Context, InitContext, InitError, Output, Tool, ToolError};
use haft_workspace::Workspace;
use haft_workspace::open::OpenError;
use haft_workspace::path::Place;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::change::{Attempt, Change, Changes, Gist, current};
use crate::files::Files;
use crate::search::counted;
use crate::stamps::{Sight, Stamp};
use crate::text_file::{TextFile, stamp_after};

/// How often an edit is worked out anew because somebody else was faster.
const ATTEMPTS: usize = 100;
/// Largest file that is looked through for a text that is not where it was said to be.
const ELSEWHERE: u64 = 1024 * 1024;

/// Edits files.
pub(crate) struct Edit {
    files: Files,
}

/// What to change in a file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The file, absolute or relative to the root.
    #[schemars(length(max = 4096), extend("x-aliases" = ["path", "filename", "file", "absolute_path", "target_file", "uri"]))]
    file_path: String,
    /// The text to replace.
    #[schemars(length(max = 1048576), extend("x-aliases" = ["old_text", "old_str", "old", "search", "find", "oldString", "oldText"]))]
    old_string: Option<String>,
    /// What takes its place.
    #[schemars(length(max = 1048576), extend("x-aliases" = ["new_text", "new_str", "new", "replace", "replacement", "newString", "newText"]))]
    new_string: Option<String>,
    /// Replace every place (no).
    #[schemars(extend("x-aliases" = ["all", "allow_multiple", "replaceAll"]))]
    replace_all: Option<bool>,
    /// Several at once, instead of the three above.
    #[schemars(length(max = 200), extend("x-aliases" = ["changes", "replacements", "operations"]))]
    edits: Option<Vec<One>>,
}

/// One of them.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct One {
    /// The text to replace.
    #[schemars(length(max = 1048576), extend("x-aliases" = ["old_text", "old_str", "old", "search", "find"]))]
    old_string: String,
    /// What takes its place.
    #[schemars(length(max = 1048576), extend("x-aliases" = ["new_text", "new_str", "new", "replace", "replacement"]))]
    new_string: String,
    /// Replace every place (no).
    #[schemars(extend("x-aliases" = ["all", "allow_multiple"]))]
    replace_all: Option<bool>,
}

impl Tool for Edit {
    const ID: &'static str = "edit";
    const DESCRIPTION: &'static str = include_str!("edit.txt");
    const ALIASES: &'static [&'static str] = &[
        "edit_file",
        "multi_edit",
        "multiedit",
        "replace",
        "str_replace",
        "str_replace_editor",
        "search_replace",
        "replace_in_file",
    ];
    type Params = Params;

    async fn init(cx: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self { files: Files::to_change(cx)? })
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        let edits = wanted(&params)?;
        let place = self.files.locate(&params.file_path).await?;
        let mut approved: Option<Gist> = None;
        for _ in 0..ATTEMPTS {
            let stamp = self.files.stamps.get(cx, &place.path).await?;
            let planned = match self.plan(&place, &edits, &stamp).await? {
                Ok(planned) => planned,
                Err(refusal) => {
                    return Err(self.refused(&place, &edits, &stamp, refusal, cx).await?);
                }
            };
            let title = format!("edit {}", place.shown());
            let changes = Changes { tool: Self::ID, title, files: vec![planned.change] };
            let spans = planned.spans;
            match changes.attempt(&self.files, cx, &mut approved).await? {
                Attempt::Overtaken => {}
                Attempt::Made(made) => {
                    let [change] = made.changes.files.as_slice() else { break };
                    let before = change.before.as_ref().map(|current| current.hash);
                    let before = before.unwrap_or_else(|| haft_workspace::write::hash(b""));
                    let now = stamp_after(&stamp, before, change, &spans);
                    self.files.stamps.set(cx, &place.path, now).await?;
                    return Ok(answer(
                        &made.output(place.shown(), describe(change, &spans)),
                        &spans,
                    ));
                }
            }
        }
        Err(ToolError::failed(format!(
            "{} keeps being changed by others; read it again and repeat the edit",
            place.shown()
        )))
    }

    async fn effects(&self, params: &Params, _: &Context) -> Result<Vec<Effect>, ToolError> {
        self.files.writing(&params.file_path).await
    }
}

/// What an edit comes to.
struct Planned {
    change: Change,
    spans: Vec<Span>,
}

impl Edit {
    /// Works out what the edits do to the file as it is now; a refusal is told once it may be.
    async fn plan(
        &self,
        place: &Place,
        edits: &[One],
        stamp: &Stamp,
    ) -> Result<Result<Planned, ToolError>, ToolError> {
        let (place, edits, stamp) = (place.clone(), edits.to_vec(), stamp.clone());
        let plan = move |workspace: &Workspace| {
            let file = TextFile::read(workspace, &place)?;
            if let [One { old_string, new_string, .. }] = edits.as_slice()
                && old_string.is_empty()
            {
                return create(place, file, new_string).map(Ok);
            }
            let Some(file) = file else {
                let missing = OpenError::Missing { path: place.path.clone() };
                return Err(Files::explain(workspace, &place, missing));
            };
            Ok(replace(file, &edits, &stamp))
        };
        self.files.blocking(plan).await?
    }

    /// What to say of edits that do not land. It shows parts of the file, so reading is asked for first.
    async fn refused(
        &self,
        place: &Place,
        edits: &[One],
        stamp: &Stamp,
        refusal: ToolError,
        cx: &Context,
    ) -> Result<ToolError, ToolError> {
        let effects = self.files.reading(place, cx).await?;
        cx.ask(Ask::new(format!("edit {}", place.shown()), effects)).await?;
        let mut said = refusal.to_string();
        let at = place.clone();
        let now = self.files.blocking(move |workspace| current(workspace, &at)).await??;
        if now.is_some_and(|now| stamp.sight(now.hash) == Sight::Stale) {
            said.push_str(
                "\nThe file has changed since it was read in this session; read it again.",
            );
        }
        if let Some(other) = self.elsewhere(place, edits, cx).await? {
            said.push_str(&format!(
                "\nThe text stands in {other}, which was read in this session."
            ));
        }
        Ok(ToolError::failed(said))
    }

    /// Another file that the session has read and that holds the text as it was given.
    async fn elsewhere(
        &self,
        place: &Place,
        edits: &[One],
        cx: &Context,
    ) -> Result<Option<String>, ToolError> {
        let mut seen = self.files.stamps.files(cx).await?;
        seen.retain(|path| *path != place.path);
        let wanted: Vec<String> = edits.iter().map(|one| one.old_string.clone()).collect();
        let look = move |workspace: &Workspace| {
            seen.into_iter().map(|path| workspace.place(path, true)).find_map(|other| {
                let opened = workspace.open_place(&other).ok()?;
                if opened.metadata.len() > ELSEWHERE {
                    return None;
                }
                let file = TextFile::read(workspace, &other).ok()??;
                let holds = |text: &String| text.len() > 8 && file.text.contains(text.as_str());
                wanted.iter().any(holds).then(|| other.shown())
            })
        };
        self.files.blocking(look).await
    }
}

/// The replacements that were asked for.
fn wanted(params: &Params) -> Result<Vec<One>, ToolError> {
    let invalid = |detail: &str| {
        Err(ToolError::InvalidParams { tool: Edit::ID.to_owned(), detail: detail.to_owned() })
    };
    match (&params.old_string, &params.new_string, &params.edits) {
        (Some(old), Some(new), None) => Ok(vec![One {
            old_string: old.clone(),
            new_string: new.clone(),
            replace_all: params.replace_all,
        }]),
        (None, None, Some(edits)) if params.replace_all.is_none() => match edits.as_slice() {
            [] => invalid("- edits: expected at least one replacement, got none"),
            [_] => Ok(edits.clone()),
            several if several.iter().any(|one| one.old_string.is_empty()) => {
                invalid("- edits: an empty old_string creates a file, and stands alone")
            }
            _ => Ok(edits.clone()),
        },
        (None, None, None) => {
            invalid("- old_string, new_string: expected both, or a list of edits; got neither")
        }
        (Some(_), None, None) => invalid("- new_string: expected a string, got nothing"),
        (None, Some(_), None) => invalid("- old_string: expected a string, got nothing"),
        _ => invalid("- edits: expected either edits or old_string and new_string, got both"),
    }
}

/// A new file, or all of one that has nothing in it.
fn create(place: Place, file: Option<TextFile>, content: &str) -> Result<Planned, ToolError> {
    if file.as_ref().is_some_and(|file| !file.text.is_empty()) {
        return Err(ToolError::failed(format!(
            "{} exists already, and an empty old_string only creates; give the text to replace, or use write",
            place.shown()
        )));
    }
    let before = file.map(|file| file.current);
    let pairs = vec![(String::new(), content.to_owned())];
    let texts = (String::new(), content.to_owned());
    let after = Some(content.as_bytes().to_vec());
    let change = Change { pairs, ..Change::new(place, before, after, texts) };
    let lines = 1..=1;
    let replacement = content.to_owned();
    let spans = vec![Span { range: 0..0, replacement, tier: Tier::Exact, lines, edit: 0 }];
    Ok(Planned { change, spans })
}

fn replace(file: TextFile, edits: &[One], stamp: &Stamp) -> Result<Planned, ToolError> {
    let wanted: Vec<Wanted<'_>> = edits
        .iter()
        .map(|one| Wanted {
            old: &one.old_string,
            new: &one.new_string,
            replace_all: one.replace_all.unwrap_or(false),
        })
        .collect();
    let shown = file.place.shown();
    let spans = plan(&file.text, &wanted)
        .map_err(|refusal: Refusal| ToolError::failed(format!("{shown}: {refusal}")))?;
    file.check_fresh(stamp, &spans)?;
    Ok(Planned { change: file.changed(&spans)?, spans })
}

fn describe(change: &Change, spans: &[Span]) -> String {
    let shown = change.place.shown();
    if change.before.is_none() {
        let lines = counted(change.texts.1.lines().count() as u64, "line");
        return format!("Created {shown} ({lines}).");
    }
    let mut text = match spans {
        [span] => format!("Edited {shown}, {}.", lines(span)),
        several => format!("Edited {shown} in {} places.", several.len()),
    };
    for span in spans.iter().filter(|span| span.tier != Tier::Exact).take(10) {
        let said = span.tier.describe();
        text.push_str(&match spans {
            [_] => format!(" The text matched {said}."),
            _ => format!("\nThe text of edit {} matched {said} ({}).", span.edit + 1, lines(span)),
        });
    }
    format!("{text}\n{}", change.compact().trim_end())
}

fn lines(span: &Span) -> String {
    match (span.lines.start(), span.lines.end()) {
        (first, last) if first == last => format!("line {first}"),
        (first, last) => format!("lines {first} to {last}"),
    }
}

fn answer(output: &Output, spans: &[Span]) -> Output {
    let matched: Vec<_> = spans
        .iter()
        .take(50)
        .map(|span| {
            let (first, last) = (span.lines.start(), span.lines.end());
            json!({ "edit": span.edit, "lines": [first, last], "tier": format!("{:?}", span.tier) })
        })
        .collect();
    output.clone().with("matched", json!(matched))
}
