//! A workspace with a journal, and what it looks like.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use haft_workspace::Workspace;
use haft_workspace::journal::{ChangeError, Content, Entry, Journal, Label, Options, Step};

/// A workspace in a temporary folder.
pub(crate) struct World {
    dir: tempfile::TempDir,
    pub(crate) workspace: Workspace,
    pub(crate) journal: Journal,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    pub(crate) fn with(options: Options) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs_err::create_dir(dir.path().join("folder")).unwrap();
        let (workspace, journal) = open(dir.path(), options);
        Self { dir, workspace, journal }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.workspace.root().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: &str) {
        fs_err::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs_err::write(self.path(name), content).unwrap();
    }

    pub(crate) fn get(&self, name: &str) -> Option<String> {
        fs_err::read_to_string(self.path(name)).ok()
    }

    /// Brings each file from what it holds now to what is given.
    pub(crate) fn change(&self, to: &[(&str, Option<&str>)]) -> Result<Entry, ChangeError> {
        let steps = to.iter().map(|(name, after)| Step {
            path: self.path(name),
            before: file(self.get(name).as_deref()),
            after: file(*after),
        });
        self.journal.change(&self.workspace, label("call"), steps.collect())
    }

    pub(crate) fn tree(&self) -> BTreeMap<String, String> {
        tree(self.workspace.root())
    }
}

pub(crate) fn open(root: &Path, options: Options) -> (Workspace, Journal) {
    let workspace = Workspace::open(&root.join("folder"), None).unwrap();
    let journal = Journal::of(workspace.root(), &root.join("state"), options);
    (workspace, journal)
}

pub(crate) fn file(content: Option<&str>) -> Content {
    match content {
        None => Content::Absent,
        Some(content) => Content::file(content.as_bytes().to_vec(), None),
    }
}

pub(crate) fn label(call: &str) -> Label {
    Label { session: "session".into(), call: call.into(), tool: "write".into(), ..Label::default() }
}

/// Everything below a folder: kind, bits and content of each path.
pub(crate) fn tree(root: &Path) -> BTreeMap<String, String> {
    let mut tree = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs_err::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs_err::symlink_metadata(&path).unwrap();
            let bits = metadata.permissions().mode() & 0o7777;
            let shown = if metadata.is_dir() {
                waiting.push(path.clone());
                format!("folder {bits:o}")
            } else if metadata.is_symlink() {
                format!("link {}", fs_err::read_link(&path).unwrap().display())
            } else {
                let hash = blake3::hash(&fs_err::read(&path).unwrap());
                format!("file {bits:o} {hash}")
            };
            tree.insert(path.strip_prefix(root).unwrap().display().to_string(), shown);
        }
    }
    tree
}
