//! `list`: a folder as a tree.

use std::collections::VecDeque;

use haft_runtime::permission::Effect;
use haft_runtime::{Context, InitContext, InitError, Output, Tool, ToolError, Traits};
use haft_workspace::Workspace;
use haft_workspace::folder::{Entry, EntryKind, Wanted, Without};
use haft_workspace::open::OpenError;
use haft_workspace::path::Place;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::files::Files;

/// How deep it looks if it is not told.
const DEPTH: usize = 3;
/// Most names in one answer; a longer one is no overview.
const MOST: usize = 1_000;

/// Lists folders.
pub(crate) struct List {
    files: Files,
}

/// What to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The folder (the root).
    #[schemars(length(max = 4096), extend("x-aliases" = ["dir_path", "directory", "dir", "folder", "file_path"]))]
    path: Option<String>,
    /// Globs of names to leave out.
    #[schemars(length(max = 100), extend("x-aliases" = ["exclude", "exclude_patterns"]))]
    ignore: Option<Vec<String>>,
    /// How many levels (3).
    #[schemars(range(min = 1, max = 20), extend("x-aliases" = ["max_depth", "levels"]))]
    depth: Option<usize>,
}

impl Tool for List {
    const ID: &'static str = "list";
    const DESCRIPTION: &'static str = include_str!("list.txt");
    const ALIASES: &'static [&'static str] =
        &["ls", "list_directory", "list_dir", "list_files", "directory_tree", "tree"];
    const PERMISSION: &'static str = "read";
    type Params = Params;

    async fn init(cx: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self { files: Files::open(cx)? })
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        let (given, cancel) = (params.folder().to_owned(), cx.cancel.clone());
        let list = move |workspace: &Workspace, place: &Place| {
            let tree = Tree::of(workspace, place, &params, &|| cancel.is_cancelled())?;
            let output = Output::new(place.shown(), tree.render());
            Ok(Output { truncated: tree.left_out.more > 0, ..output }
                .with("shown", tree.count())
                .with("ignored", tree.left_out.ignored)
                .with("unopened", tree.left_out.unopened))
        };
        self.files.visit(&given, "list", cx, list).await
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

/// A folder and what is in it, as far as it was looked at.
struct Tree {
    root: Node,
    left_out: LeftOut,
}

struct Node {
    name: String,
    children: Vec<Self>,
    /// How many more there are.
    more: usize,
}

/// What the tree does not show.
#[derive(Default)]
struct LeftOut {
    ignored: usize,
    unopened: usize,
    unreadable: usize,
    more: usize,
}

impl Tree {
    /// Level by level, so that what is near the top is complete before anything deep is shown.
    fn of(
        workspace: &Workspace,
        place: &Place,
        params: &Params,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, ToolError> {
        let globs = params.ignore.iter().flatten().map(String::as_str);
        let without = Without::globs(&place.path, globs).map_err(ToolError::failed)?;
        let wanted = Wanted::NotIgnored(&without);
        let depth = params.depth.unwrap_or(DEPTH);
        let mut left_out = LeftOut::default();
        // Every folder waits with the way to it: positions from the root down.
        let mut waiting = VecDeque::from([(place.clone(), Vec::new())]);
        let mut room = MOST;
        let mut root = Node::named(format!("{}/", place.shown()));
        while let Some((folder, way)) = waiting.pop_front() {
            let children = match workspace.children(&folder, wanted, room, cancelled) {
                Ok(children) => children,
                Err(_) if cancelled() => return Err(ToolError::cancelled()),
                Err(error) if way.is_empty() => {
                    return Err(not_a_folder(workspace, &folder, error));
                }
                Err(_) => {
                    left_out.unreadable += 1;
                    continue;
                }
            };
            room -= children.entries.len();
            left_out.ignored += children.ignored;
            let more = children.total - children.entries.len();
            left_out.more += more;
            for (position, entry) in children.entries.iter().enumerate() {
                if entry.kind != EntryKind::Folder {
                    continue;
                }
                if way.len() + 1 < depth && room > 0 {
                    let deeper: Vec<usize> = way.iter().copied().chain([position]).collect();
                    waiting.push_back((within(&folder, entry), deeper));
                } else {
                    left_out.unopened += 1;
                }
            }
            if let Some(parent) = root.at(&way) {
                parent.children = children
                    .entries
                    .iter()
                    .map(|entry| Node::named(entry.shown(&folder.path)))
                    .collect();
                parent.more = more;
            }
        }
        Ok(Self { root, left_out })
    }

    fn count(&self) -> usize {
        self.root.count() - 1
    }

    fn render(&self) -> String {
        let mut text = String::new();
        self.root.render(0, &mut text);
        let LeftOut { ignored, unopened, unreadable, more } = self.left_out;
        let counts = [
            (more, "more entries in large folders"),
            (unopened, "folders not opened"),
            (ignored, "ignored"),
            (unreadable, "unreadable folders"),
        ];
        let said: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if said.is_empty() {
            text.push_str("\nNothing is left out.");
        } else {
            text.push_str(&format!("\nLeft out: {}.", said.join(", ")));
        }
        text
    }
}

impl Node {
    fn named(name: String) -> Self {
        Self { name, children: Vec::new(), more: 0 }
    }

    /// The node at the end of a way.
    fn at(&mut self, way: &[usize]) -> Option<&mut Self> {
        way.iter().try_fold(self, |node, position| node.children.get_mut(*position))
    }

    fn count(&self) -> usize {
        1 + self.children.iter().map(Self::count).sum::<usize>()
    }

    fn render(&self, level: usize, text: &mut String) {
        text.push_str(&format!("{:1$}{2}\n", "", level * 2, self.name));
        self.children.iter().for_each(|child| child.render(level + 1, text));
        if self.more > 0 {
            text.push_str(&format!("{:1$}… {2} more\n", "", (level + 1) * 2, self.more));
        }
    }
}

/// A folder in a folder. It was no link when it was listed, so its path is canonical, too.
fn within(folder: &Place, entry: &Entry) -> Place {
    let inside = folder.inside.as_ref().map(|inside| inside.join(&entry.name));
    Place { path: folder.path.join(&entry.name), inside, exists: true }
}

fn not_a_folder(workspace: &Workspace, place: &Place, error: OpenError) -> ToolError {
    match error {
        OpenError::Io { path, .. } if path.is_file() => {
            ToolError::failed(format!("{} is a file; use read for files", path.display()))
        }
        error => Files::explain(workspace, place, error),
    }
}
