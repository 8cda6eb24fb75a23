//! `write`: a whole file, new or in the place of one that was read.

use haft_runtime::permission::Effect;
use haft_runtime::{Context, InitContext, InitError, Output, Tool, ToolError, Traits};
use haft_workspace::Workspace;
use haft_workspace::kind::{Kind, of_probe};
use haft_workspace::path::Place;
use haft_workspace::text::{Encoding, LineEnds};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::change::{Attempt, Change, Changes, Current, changing, current};
use crate::files::Files;
use crate::search::counted;
use crate::stamps::{Sight, Stamp};

/// Writes files.
pub(crate) struct Write {
    files: Files,
}

/// What to write, and where.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The file, absolute or relative to the root.
    #[schemars(length(max = 4096), extend("x-aliases" = ["path", "filename", "file", "absolute_path", "target_file", "uri"]))]
    file_path: String,
    /// All that the file is to hold.
    #[schemars(length(max = 8388608), extend("x-aliases" = ["contents", "text", "file_text", "file_content", "data"]))]
    content: String,
}

impl Tool for Write {
    const ID: &'static str = "write";
    const DESCRIPTION: &'static str = include_str!("write.txt");
    const ALIASES: &'static [&'static str] =
        &["write_file", "create_file", "create", "save_file", "write_to_file", "new_file"];
    const PERMISSION: &'static str = "edit";
    type Params = Params;

    async fn init(cx: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self { files: Files::to_change(cx)? })
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        let place = self.files.locate(&params.file_path).await?;
        let stamp = self.files.stamps.get(cx, &place.path).await?;
        let (at, content) = (place.clone(), params.content);
        let plan = move |workspace: &Workspace| plan(workspace, at, &content, &stamp);
        let change = match self.files.blocking(plan).await?? {
            Plan::Change(change) => *change,
            Plan::Nothing { effects } => {
                let title = format!("write {}", place.shown());
                cx.ask(haft_runtime::permission::Ask::new(title, effects)).await?;
                let text = format!("{} holds exactly that already.", place.shown());
                return Ok(Output::new(place.shown(), text));
            }
        };
        let title = format!("write {}", place.shown());
        let changes = Changes { tool: Self::ID, title, files: vec![change] };
        let Attempt::Made(made) = changes.attempt(&self.files, cx, &mut None).await? else {
            return Err(ToolError::failed(format!(
                "{} was changed by somebody else just now; read it again before overwriting it",
                place.shown()
            )));
        };
        let [change] = made.changes.files.as_slice() else { return Err(ToolError::cancelled()) };
        let bytes = change.after.as_deref().unwrap_or_default();
        let lines = change.texts.1.lines().count();
        let stamp = Stamp::whole(change.hash(), lines as u64);
        self.files.stamps.set(cx, &place.path, stamp).await?;
        let (shown, size) = (place.shown(), bytes.len());
        let (lines, long) = (counted(lines as u64, "line"), counted(size as u64, "byte"));
        let text = match &change.before {
            None => format!("Created {shown} ({lines}, {long})."),
            Some(_) => format!("Replaced {shown} ({long}).\n{}", change.compact().trim_end()),
        };
        let output = made.output(&shown, text).with("path", place.path.to_string_lossy());
        Ok(output.with("created", change.before.is_none()).with("bytes", size))
    }

    async fn effects(&self, params: &Params, _: &Context) -> Result<Vec<Effect>, ToolError> {
        self.files.writing(&params.file_path).await
    }

    fn traits(&self) -> Traits {
        Traits { idempotent: true, ..Traits::default() }
    }
}

/// What writing comes to.
enum Plan {
    Change(Box<Change>),
    /// The file holds just that.
    Nothing {
        effects: Vec<Effect>,
    },
}

fn plan(
    workspace: &Workspace,
    place: Place,
    content: &str,
    stamp: &Stamp,
) -> Result<Plan, ToolError> {
    let Some(before) = current(workspace, &place)? else {
        let texts = (String::new(), content.to_owned());
        let after = Some(content.as_bytes().to_vec());
        let change = Change::new(place, None, after, texts);
        return Ok(Plan::Change(Box::new(change)));
    };
    let (old, after) = as_the_file_is_written(&place, &before, content)?;
    if after == before.bytes {
        let effects = changing(&place, workspace.root(), true, false, before.links);
        return Ok(Plan::Nothing { effects });
    }
    check_seen(&place, &before, stamp)?;
    let new = of_bytes(&after).decode(&after).text.into_owned();
    let (texts, after) = ((old, new), Some(after));
    let before = Some(before);
    let change = Change::new(place, before, after, texts);
    Ok(Plan::Change(Box::new(change)))
}

/// Nothing is overwritten that the session has not seen as it is.
fn check_seen(place: &Place, before: &Current, stamp: &Stamp) -> Result<(), ToolError> {
    let shown = place.shown();
    Err(ToolError::failed(match stamp.sight(before.hash) {
        Sight::Whole => return Ok(()),
        // There is nothing to lose.
        _ if before.bytes.is_empty() => return Ok(()),
        Sight::Never => format!(
            "{shown} exists and was not read in this session; read it first, or use edit to change a part of it"
        ),
        Sight::Stale => format!(
            "{shown} has changed since it was read in this session; read it again before overwriting it"
        ),
        Sight::Part(lines, total) => {
            let lines: Vec<String> =
                lines.iter().take(5).map(|(a, b)| format!("{a} to {b}")).collect();
            let lines = lines.join(", ");
            format!(
                "only lines {lines} of {total} of {shown} were shown in this session; read the rest before \
                 overwriting it, or use edit to change a part of it"
            )
        }
    }))
}

/// The old text, and the new content in the encoding and with the line ends of the old.
fn as_the_file_is_written(
    place: &Place,
    before: &Current,
    content: &str,
) -> Result<(String, Vec<u8>), ToolError> {
    let encoding = of_bytes(&before.bytes);
    let old = encoding.decode(&before.bytes).text.into_owned();
    let content = match encoding.mark() {
        b"" => content,
        // The mark is the file's own, and is not to stand there twice.
        _ => content.strip_prefix('\u{FEFF}').unwrap_or(content),
    };
    let content = with_ends(content, LineEnds::of(&old));
    let after = encoding.encode(&content).map_err(|error| {
        ToolError::failed(format!("{} cannot hold the new text: {error}", place.shown()))
    })?;
    Ok((old, after))
}

/// How the text of a file is written; anything else is replaced by plain text.
fn of_bytes(bytes: &[u8]) -> Encoding {
    match of_probe(bytes, true) {
        Kind::Text(encoding) => encoding,
        _ => Encoding::Utf8,
    }
}

/// A text with the line ends of a file that has one kind only.
fn with_ends(content: &str, ends: LineEnds) -> String {
    match ends {
        LineEnds::Lf if content.contains("\r\n") => content.replace("\r\n", "\n"),
        LineEnds::CrLf => content.replace("\r\n", "\n").replace('\n', "\r\n"),
        LineEnds::Cr => content.replace("\r\n", "\n").replace('\n', "\r"),
        LineEnds::Lf | LineEnds::None | LineEnds::Mixed => content.to_owned(),
    }
}
