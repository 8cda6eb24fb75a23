//! `read`: a file as a model can read it.

use haft_runtime::permission::{Effect, Rules};
use haft_runtime::{
    CancellationToken, Context, InitContext, InitError, Output, SessionId, Tool, ToolError, Traits,
};
use haft_workspace::Workspace;
use haft_workspace::kind::{Kind, sniff};
use haft_workspace::open::Opened;
use haft_workspace::path::Place;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::change::current;
use crate::files::{Files, effects_of_reading};
use crate::stamps::{Stamp, Stamps};

mod attach;
mod folder;
mod text;

/// Lines in one answer if it is not told otherwise.
const LINES: usize = 2_000;

/// Reads files.
pub(crate) struct Read {
    files: Files,
}

/// What to read.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The file or folder, absolute or relative to the root.
    #[schemars(length(max = 4096), extend("x-aliases" = ["path", "filename", "file", "absolute_path", "target_file", "uri"]))]
    file_path: String,
    /// The first line, from 1.
    #[schemars(range(min = 0), extend("x-aliases" = ["start_line", "line", "from_line"]))]
    offset: Option<u64>,
    /// How many lines (2000).
    #[schemars(range(min = 1, max = 1000000), extend("x-aliases" = ["max_lines", "num_lines", "lines"]))]
    limit: Option<usize>,
    /// Lines by number (the default), or a block.
    mode: Option<Mode>,
    /// The line whose block is wanted.
    #[schemars(range(min = 1))]
    anchor_line: Option<u64>,
    /// How many enclosing levels (all).
    #[schemars(range(max = 1000))]
    max_levels: Option<usize>,
    /// Show the blocks beside it (no).
    include_siblings: Option<bool>,
    /// Comments above a block belong to it (yes).
    include_header: Option<bool>,
}

/// How lines are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Slice,
    Indentation,
}

impl Tool for Read {
    const ID: &'static str = "read";
    const DESCRIPTION: &'static str = include_str!("read.txt");
    const ALIASES: &'static [&'static str] = &[
        "read_file",
        "view",
        "view_file",
        "open_file",
        "cat",
        "read_text_file",
        "view_image",
        "read_media_file",
    ];
    type Params = Params;

    async fn init(cx: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self { files: Files::open(cx)? })
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        let view = View { params, bytes: cx.limits().bytes, lines: cx.limits().lines };
        let (stamps, session) = (self.files.stamps.clone(), cx.session.clone());
        let given = view.params.file_path.clone();
        let look = Look { view, stamps, session, cancel: cx.cancel.clone() };
        if let Some(output) = look.at_hand(&self.files.workspace, &cx.rules()) {
            return Ok(output);
        }
        let read = move |workspace: &Workspace, place: &Place| look.at(workspace, place);
        self.files.visit(&given, "read", cx, read).await
    }

    async fn effects(&self, params: &Params, cx: &Context) -> Result<Vec<Effect>, ToolError> {
        self.files.reading(&self.files.locate(&params.file_path).await?, cx).await
    }

    fn traits(&self) -> Traits {
        Traits::READ_ONLY
    }
}

/// A file that a session is to be shown.
struct Look {
    view: View,
    stamps: Stamps,
    session: SessionId,
    cancel: CancellationToken,
}

impl Look {
    /// Reads it here and now, if nothing has to be asked or waited for and nothing to be remembered.
    fn at_hand(&self, workspace: &Workspace, rules: &Rules) -> Option<Output> {
        let is_allowed = |place: &Place| rules.allow_all(&effects_of_reading(workspace, place));
        let (place, opened) = workspace.at_hand(&self.view.params.file_path, is_allowed)?;
        let Seen { output, stamp } =
            self.view.opened(workspace, &place, &opened, &|| false).ok()?;
        let is_known = |stamp: Stamp| self.stamps.has(&self.session, &place.path, stamp);
        stamp.is_none_or(is_known).then_some(output)
    }

    /// Reads it, and remembers what was seen of it.
    fn at(&self, workspace: &Workspace, place: &Place) -> Result<Output, ToolError> {
        let Seen { output, stamp } =
            self.view.of(workspace, place, &|| self.cancel.is_cancelled())?;
        if let Some(stamp) = stamp {
            self.stamps.add(&self.session, &place.path, &stamp)?;
        }
        Ok(output)
    }
}

/// What is shown, and what the session has seen of the file by that.
struct Seen {
    output: Output,
    stamp: Option<Stamp>,
}

impl From<Output> for Seen {
    fn from(output: Output) -> Self {
        Self { output, stamp: None }
    }
}

/// What is wanted of a file, and how much of it at most.
struct View {
    params: Params,
    bytes: usize,
    lines: usize,
}

impl View {
    fn of(
        &self,
        workspace: &Workspace,
        place: &Place,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Seen, ToolError> {
        let opened =
            workspace.open_place(place).map_err(|error| Files::explain(workspace, place, error))?;
        if opened.metadata.is_dir() {
            return self.folder(workspace, place, cancelled).map(Seen::from);
        }
        self.opened(workspace, place, &opened, cancelled)
    }

    /// What is shown of a file.
    fn opened(
        &self,
        workspace: &Workspace,
        place: &Place,
        Opened { file, metadata }: &Opened,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Seen, ToolError> {
        let title = place.shown();
        let unreadable = |error| ToolError::caused(format!("{title} cannot be read"), error);
        let whole = || current(workspace, place).ok().flatten().map(|it| Stamp::whole(it.hash, 0));
        let seen: Seen = match sniff(file, metadata.len()).map_err(unreadable)? {
            Kind::Empty => Output::new(&title, "(the file is empty)").into(),
            Kind::Text(encoding) if self.params.mode == Some(Mode::Indentation) => {
                self.block(&title, file, metadata.len(), &encoding, cancelled)?
            }
            Kind::Text(encoding) => {
                self.slice(&title, file, metadata.len(), &encoding, cancelled)?
            }
            Kind::Sizeless => self.endless(&title, file, cancelled)?.into(),
            Kind::Picture(format) => Seen {
                output: attach::picture(&title, file, metadata.len(), format)?,
                stamp: whole(),
            },
            Kind::Pdf => {
                Seen { output: attach::pdf(&title, file, metadata.len())?, stamp: whole() }
            }
            Kind::Binary { what } => {
                let size = metadata.len();
                return Err(ToolError::failed(format!(
                    "{title} is binary ({what}, {size} bytes) and cannot be shown as text"
                )));
            }
        };
        let output = seen.output.with("path", place.path.to_string_lossy());
        Ok(Seen { output: output.with("size", metadata.len()), stamp: seen.stamp })
    }

    fn first_line(&self) -> u64 {
        self.params.offset.unwrap_or(1).max(1)
    }

    fn limit(&self) -> usize {
        self.params.limit.unwrap_or(LINES).min(self.lines).max(1)
    }
}
