//! `grep`: lines by what is in them.

use haft_runtime::permission::Effect;
use haft_runtime::{Context, InitContext, InitError, Output, Tool, ToolError, Traits};
use haft_workspace::Workspace;
use haft_workspace::glob::{FileType, Filter};
use haft_workspace::path::Place;
use haft_workspace::search::{Meaning, Query};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::files::{Files, effects_of_reading, failed};
use crate::search::{Access, Until};

mod answer;
mod job;

/// Matches or files in one answer if it is not told otherwise.
const SHOWN: usize = 100;

/// Searches files.
pub(crate) struct Grep {
    files: Files,
}

/// What to search for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-unneeded" = ["-n", "line_numbers", "show_line_numbers"]))]
pub(crate) struct Params {
    /// The regular expression.
    #[schemars(length(min = 1, max = 8192), extend("x-aliases" = ["query", "regex", "search", "regexp", "search_pattern"]))]
    pattern: String,
    /// The folder or file (the root).
    #[schemars(length(max = 4096), extend("x-aliases" = ["dir_path", "directory", "dir", "folder", "file_path", "file"]))]
    path: Option<String>,
    /// Only files that fit these globs: `*.{ts,tsx}`, `!*.md`.
    #[schemars(length(max = 4096), extend("x-aliases" = ["glob", "include_pattern", "file_pattern", "includes"]))]
    include: Option<String>,
    /// Matching lines (the default), files, or matches per file.
    #[schemars(extend("x-aliases" = ["mode", "output"], "x-value-aliases" = {"files_with_matches": "files", "files_only": "files", "names": "files", "lines": "content", "matches": "content", "counts": "count"}))]
    output_mode: Option<OutputMode>,
    /// Case does not matter.
    #[schemars(extend("x-aliases" = ["-i", "case_insensitive", "insensitive"]))]
    ignore_case: Option<bool>,
    /// The pattern is plain text.
    #[schemars(extend("x-aliases" = ["-F", "fixed_strings", "fixed", "plain"]))]
    literal: Option<bool>,
    /// A match may cross lines; `.` matches line ends then.
    #[schemars(extend("x-aliases" = ["-U", "multi_line"]))]
    multiline: Option<bool>,
    /// Lines before each match.
    #[schemars(range(max = 100), extend("x-aliases" = ["-B", "before_context", "lines_before"]))]
    before: Option<usize>,
    /// Lines after each match.
    #[schemars(range(max = 100), extend("x-aliases" = ["-A", "after_context", "lines_after"]))]
    after: Option<usize>,
    /// Lines on both sides.
    #[schemars(range(max = 100), extend("x-aliases" = ["-C", "context_lines"]))]
    context: Option<usize>,
    /// Only files of this type: rust, py, js.
    #[schemars(length(max = 100), extend("x-aliases" = ["file_type", "language"]))]
    r#type: Option<String>,
    /// How many to show (100).
    #[schemars(range(min = 1, max = 2000), extend("x-aliases" = ["head_limit", "max_results", "total_max_matches", "max_matches"]))]
    limit: Option<usize>,
    /// How many to pass over.
    #[schemars(extend("x-aliases" = ["skip"]))]
    offset: Option<usize>,
    /// Search ignored files too.
    #[schemars(extend("x-aliases" = ["no_ignore", "-u"]))]
    include_ignored: Option<bool>,
}

/// What is shown of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    #[default]
    Content,
    Files,
    Count,
}

impl Tool for Grep {
    const ID: &'static str = "grep";
    const DESCRIPTION: &'static str = include_str!("grep.txt");
    const ALIASES: &'static [&'static str] =
        &["grep_search", "search", "ripgrep", "rg", "search_file_content", "search_in_files"];
    const PERMISSION: &'static str = "read";
    type Params = Params;

    async fn init(cx: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self { files: Files::open(cx)? })
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        let request = Request::new(&params)?;
        let (until, limits, rules) =
            (Until::new(cx.cancel.clone()), cx.limits().clone(), cx.rules());
        let (stamps, session) = (self.files.stamps.clone(), cx.session.clone());
        let search = move |workspace: &Workspace, place: &Place| {
            let clearance = rules.clearance(&effects_of_reading(workspace, place))?;
            let access = Access::new(clearance, place);
            let job = job::Job { request: &request, place, access, until: &until, limits: &limits };
            let seen = job.run(workspace)?;
            for (path, stamp) in &seen.stamps {
                stamps.add(&session, path, stamp)?;
            }
            Ok(seen.output)
        };
        self.files.visit(params.folder(), "search", cx, search).await
    }

    async fn effects(&self, params: &Params, cx: &Context) -> Result<Vec<Effect>, ToolError> {
        self.files.reading(&self.files.locate(params.folder()).await?, cx).await
    }

    fn traits(&self) -> Traits {
        Traits::READ_ONLY
    }
}

impl Params {
    fn folder(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }
}

/// The arguments, understood.
struct Request {
    pattern: String,
    query: Query,
    mode: OutputMode,
    filter: Option<Filter>,
    file_type: Option<FileType>,
    before: usize,
    after: usize,
    limit: usize,
    offset: usize,
    include_ignored: bool,
}

impl Request {
    fn new(params: &Params) -> Result<Self, ToolError> {
        let is = |flag: Option<bool>| flag.unwrap_or(false);
        let meaning = Meaning {
            ignore_case: is(params.ignore_case),
            literal: is(params.literal),
            multiline: is(params.multiline),
        };
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let filter = given(&params.include).map(|include| Filter::new(&include)).transpose();
        let file_type = given(&params.r#type).map(|name| FileType::named(name.trim())).transpose();
        Ok(Self {
            pattern: params.pattern.clone(),
            query: Query::new(&params.pattern, meaning).map_err(failed)?,
            mode: params.output_mode.unwrap_or_default(),
            filter: filter.map_err(failed)?,
            file_type: file_type.map_err(ToolError::failed)?,
            before: params.before.or(params.context).unwrap_or(0),
            after: params.after.or(params.context).unwrap_or(0),
            limit: params.limit.unwrap_or(SHOWN),
            offset: params.offset.unwrap_or(0),
            include_ignored: is(params.include_ignored),
        })
    }

    /// Which files are meant.
    fn wants(&self, path: &std::path::Path) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.fits(path))
            && self.file_type.as_ref().is_none_or(|file_type| file_type.fits(path))
    }
}
