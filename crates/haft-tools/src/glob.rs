//! `glob`: files by the pattern of their names.

use std::path::PathBuf;

use haft_runtime::permission::Effect;
use haft_runtime::{Context, InitContext, InitError, Output, Tool, ToolError, Traits};
use haft_workspace::Workspace;
use haft_workspace::glob::Pattern;
use haft_workspace::open::Opened;
use haft_workspace::path::Place;
use haft_workspace::search::tree::Missed;
use haft_workspace::walk::{End, Found, Ground, Harvest, Ignored, Walk, threads};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::files::{Files, failed};
use crate::search::{IGNORED_NAMES, NotSearched, Until, counted};

/// Paths in one answer if it is not told otherwise.
const SHOWN: usize = 100;
/// How many ignored files are named where no others match.
const EXAMPLES: usize = 3;
/// Bytes that are kept free for what is said below the paths.
const REMARKS: usize = 1_024;

/// Finds files by name.
pub(crate) struct Glob {
    files: Files,
}

/// What to find.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// With `*`, `?`, `**`, `[…]`, `{a,b}`; without `/`, for names at any depth.
    #[schemars(length(min = 1, max = 4096), extend("x-aliases" = ["glob", "glob_pattern", "query", "file_pattern"]))]
    pattern: String,
    /// The folder (the root).
    #[schemars(length(max = 4096), extend("x-aliases" = ["dir_path", "directory", "dir", "folder", "cwd"]))]
    path: Option<String>,
    /// How many to show (100).
    #[schemars(range(min = 1, max = 2000), extend("x-aliases" = ["head_limit", "max_results"]))]
    limit: Option<usize>,
    /// How many to pass over.
    #[schemars(extend("x-aliases" = ["skip"]))]
    offset: Option<usize>,
}

impl Tool for Glob {
    const ID: &'static str = "glob";
    const DESCRIPTION: &'static str = include_str!("glob.txt");
    const ALIASES: &'static [&'static str] =
        &["find", "find_files", "file_search", "search_files", "fd"];
    const PERMISSION: &'static str = "read";
    type Params = Params;

    async fn init(cx: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self { files: Files::open(cx)? })
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        let (pattern, given) = params.understood()?;
        let (bytes, until) = (cx.limits().bytes, Until::new(cx.cancel.clone()));
        let job = Job { pattern, params, bytes, until };
        let find = move |workspace: &Workspace, place: &Place| job.run(workspace, place);
        self.files.visit(&given, "look for files in", cx, find).await
    }

    async fn effects(&self, params: &Params, cx: &Context) -> Result<Vec<Effect>, ToolError> {
        let (_, given) = params.understood()?;
        self.files.reading(&self.files.locate(&given).await?, cx).await
    }

    fn traits(&self) -> Traits {
        Traits::READ_ONLY
    }
}

impl Params {
    /// The pattern, and the folder that it starts from.
    fn understood(&self) -> Result<(Pattern, String), ToolError> {
        let pattern = Pattern::new(&self.pattern).map_err(failed)?;
        let folder = self.path.as_deref().unwrap_or(".");
        let start = match pattern.start.as_ref().and_then(|start| start.to_str()) {
            Some(start) if start.starts_with(['/', '~']) => start.to_owned(),
            Some(start) => format!("{folder}/{start}"),
            None => folder.to_owned(),
        };
        Ok((pattern, start))
    }
}

struct Job {
    pattern: Pattern,
    params: Params,
    bytes: usize,
    until: Until,
}

impl Job {
    fn run(&self, workspace: &Workspace, place: &Place) -> Result<Output, ToolError> {
        let Opened { file: folder, metadata } =
            workspace.open_place(place).map_err(|error| Files::explain(workspace, place, error))?;
        if !metadata.is_dir() {
            return Err(ToolError::failed(format!(
                "{} is a file; give the folder to look in as path",
                place.shown()
            )));
        }
        let ground = Ground { folder: &folder, place };
        let walk = Walk {
            ignored: Ignored::LeftOut,
            wanted: &|path| self.pattern.fits(path),
            worth: &|path| self.pattern.may_be_in(path),
            threads: threads(),
            stop: &|| self.until.is_over(),
        };
        let mut harvest = ground.walk(&walk);
        let files = std::mem::take(&mut harvest.files);
        let total = files.len();
        let shown = self.page(&ground, files);
        if self.until.is_cancelled() {
            return Err(ToolError::Cancelled { partial: shown.join("\n") });
        }
        let instead = if total == 0 { self.only_ignored(&ground, &walk, &harvest) } else { None };
        Ok(self.answer(place, total, &shown, instead, &harvest))
    }

    /// The paths of the page, as many as there is room for.
    fn page(&self, ground: &Ground<'_>, mut files: Vec<Found>) -> Vec<String> {
        let (offset, limit) = (self.offset(), self.params.limit.unwrap_or(SHOWN));
        // Sorted before it is cut; but what is behind the page need not be.
        let last = offset.saturating_add(limit);
        if last < files.len() {
            files.select_nth_unstable_by(last, Found::newest_first);
            files.truncate(last);
        }
        files.sort_unstable_by(Found::newest_first);
        let mut room = self.bytes.saturating_sub(REMARKS);
        let paths = files.iter().skip(offset).map(Found::path);
        let there = paths.filter(|path| ground.has(path)).map(|path| ground.shown(&path));
        there
            .enumerate()
            .take_while(|(index, path)| {
                let fits = path.len() < room || *index == 0;
                room = room.saturating_sub(path.len() + 1);
                fits
            })
            .map(|(_, path)| path)
            .collect()
    }

    /// What to say if files match that ignore rules leave out.
    fn only_ignored(
        &self,
        ground: &Ground<'_>,
        walk: &Walk<'_>,
        harvest: &Harvest,
    ) -> Option<String> {
        let found = ground.walk_left_out(walk, &harvest.left_out, IGNORED_NAMES);
        let mut paths: Vec<PathBuf> = found.files.iter().map(Found::path).collect();
        paths.sort();
        let examples: Vec<String> =
            paths.iter().take(EXAMPLES).map(|path| ground.shown(path)).collect();
        let at_least = if found.end == End::Whole { "" } else { "at least " };
        let count = format!("{at_least}{}", counted(paths.len() as u64, "ignored file"));
        let verb = if paths.len() == 1 { "matches" } else { "match" };
        (!paths.is_empty()).then(|| format!("But {count} {verb}, such as {}.", examples.join(", ")))
    }

    fn answer(
        &self,
        place: &Place,
        total: usize,
        shown: &[String],
        only_ignored: Option<String>,
        harvest: &Harvest,
    ) -> Output {
        let not_searched = NotSearched::of(harvest, &Missed::default()).late(self.until.is_late());
        let mut text = shown.join("\n");
        if total == 0 {
            text = format!("No file in `{}` matches `{}`.", place.shown(), self.params.pattern);
            if let Some(instead) = &only_ignored {
                text.push_str(&format!(" {instead}"));
            }
        }
        let remarks = not_searched.line();
        if !remarks.is_empty() {
            text.push_str(&format!("\n\n{remarks}"));
        }
        let last = self.offset() + shown.len();
        let output = Output::new(&self.params.pattern, text)
            .with("files", total)
            .with("shown", shown.len())
            .with("path", place.path.to_string_lossy());
        let footer = self.footer(total, shown.len(), last);
        not_searched.describe(Output { truncated: last < total, footer, ..output })
    }

    fn footer(&self, total: usize, shown: usize, last: usize) -> String {
        let all = counted(total as u64, "file");
        if total == 0 {
            String::new()
        } else if shown == 0 {
            format!("({all}; offset {} is past the last)", self.offset())
        } else if last < total {
            format!(
                "(files {} to {last} of {total}; continue with offset {last})",
                self.offset() + 1
            )
        } else {
            format!("({all})")
        }
    }

    fn offset(&self) -> usize {
        self.params.offset.unwrap_or(0)
    }
}
