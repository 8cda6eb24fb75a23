//! `read`: a file as a model can read it.

use std::sync::Arc;

use haft_runtime::permission::{Ask, Effect, EffectKind, Policy};
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
use crate::files::{Files, failed};
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
    /// Lines by number (`slice`), or the block around anchor_line.
    mode: Option<Mode>,
    /// The line whose block is wanted.
    #[schemars(range(min = 1))]
    anchor_line: Option<u64>,
    /// How many enclosing levels (all).
    #[schemars(range(max = 1000))]
    max_levels: Option<usize>,
    /// Whether to show the blocks beside it (no).
    include_siblings: Option<bool>,
    /// Whether comments above a block belong to it (yes).
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
        let look = Arc::new(Look { view, stamps, session, cancel: cx.cancel.clone() });
        // What the rules allow is read at once, by the thread that found it.
        let (own, rules) = (Arc::clone(&look), cx.rules());
        let found = move |workspace: &Workspace| own.unless_asked(workspace, rules.as_deref());
        let place = match self.files.blocking(found).await?? {
            Found::Read(output) => return Ok(output),
            Found::Asks(place) => place,
        };
        let effects = self.files.reading(&place, cx).await?;
        cx.ask(Ask::new(format!("read {}", place.shown()), effects)).await?;
        self.files.blocking(move |workspace| look.at(workspace, &place)).await?
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

/// What came of looking for a file.
enum Found {
    Read(Output),
    Asks(Place),
}

impl Look {
    /// Finds the file, and reads it if the rules allow that without a question.
    fn unless_asked(
        &self,
        workspace: &Workspace,
        rules: Option<&Policy>,
    ) -> Result<Found, ToolError> {
        let place = workspace.locate(&self.view.params.file_path).map_err(failed)?;
        let effect = || Effect::on_path(EffectKind::Read, &place.path, workspace.root());
        match rules {
            Some(rules) if place.inside.is_some() && rules.allows(&effect()) => {
                self.at(workspace, &place).map(Found::Read)
            }
            _ => Ok(Found::Asks(place)),
        }
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
        let Opened { file, metadata } =
            workspace.open_place(place).map_err(|error| Files::explain(workspace, place, error))?;
        if metadata.is_dir() {
            return self.folder(workspace, place, cancelled).map(Seen::from);
        }
        let title = place.shown();
        let unreadable = |error| ToolError::caused(format!("{title} cannot be read"), error);
        let whole = || current(workspace, place).ok().flatten().map(|it| Stamp::whole(it.hash, 0));
        let seen: Seen = match sniff(&file, metadata.len()).map_err(unreadable)? {
            Kind::Empty => Output::new(&title, "(the file is empty)").into(),
            Kind::Text(encoding) if self.params.mode == Some(Mode::Indentation) => {
                self.block(&title, &file, metadata.len(), &encoding, cancelled)?
            }
            Kind::Text(encoding) => {
                self.slice(&title, &file, metadata.len(), &encoding, cancelled)?
            }
            Kind::Sizeless => self.endless(&title, &file, cancelled)?.into(),
            Kind::Picture(format) => Seen {
                output: attach::picture(&title, &file, metadata.len(), format)?,
                stamp: whole(),
            },
            Kind::Pdf => {
                Seen { output: attach::pdf(&title, &file, metadata.len())?, stamp: whole() }
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
