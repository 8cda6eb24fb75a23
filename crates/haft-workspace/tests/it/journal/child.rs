//! What a child does that is to be killed: changes of five paths at once.

use std::io::Write as _;
use std::path::Path;

use haft_workspace::journal::{Content, Options, Step};
use haft_workspace::write::WriteError;

use super::world::{label, open};

/// The paths that one change brings from a version to the next. The last two come and go.
pub(crate) const PATHS: [&str; 5] = ["a", "b", "deep/c", "odd", "new/folder/third"];

/// What a path holds in a version; large, so that writing it takes a moment.
pub(crate) fn content(path: &str, version: u64) -> Option<Vec<u8>> {
    let exists = match path {
        "odd" => version % 2 == 1,
        "new/folder/third" => version.is_multiple_of(3),
        _ => true,
    };
    exists.then(|| format!("{path} {version}\n").repeat(4_000).into_bytes())
}

/// The version that the tree under `root` is in, if it is in exactly one.
pub(crate) fn version_of(root: &Path) -> Option<u64> {
    let first = fs_err::read_to_string(root.join("a")).unwrap();
    let version = first.lines().next()?.strip_prefix("a ")?.parse().ok()?;
    let as_it_should = |path: &&str| fs_err::read(root.join(path)).ok() == content(path, version);
    let folder = root.join("new").exists() == (version.is_multiple_of(3));
    (PATHS.iter().all(as_it_should) && folder).then_some(version)
}

pub(crate) fn put(root: &Path, version: u64) {
    for path in PATHS {
        if let Some(bytes) = content(path, version) {
            fs_err::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs_err::write(root.join(path), bytes).unwrap();
        }
    }
}

/// Brings the tree from one version to the next until it is killed.
pub(crate) fn transactions(root: &Path) -> Result<(), WriteError> {
    std::io::stdout().write_all(b"ready\n").unwrap();
    loop {
        transaction(root)?;
    }
}

/// Brings the tree to the next version.
pub(crate) fn transaction(root: &Path) -> Result<(), WriteError> {
    let (workspace, journal) = open(root, Options::default());
    let version = version_of(workspace.root()).expect("one version");
    let file = |path: &str, version| match content(path, version) {
        Some(bytes) => Content::file(bytes, None),
        None => Content::Absent,
    };
    let step = |path: &str| Step {
        path: workspace.root().join(path),
        before: file(path, version),
        after: file(path, version + 1),
    };
    let mut steps: Vec<Step> = PATHS.into_iter().map(step).collect();
    steps.retain(|step| step.before != step.after);
    // Folders that a file needs are made; those that it leaves are the caller's to remove.
    if version.is_multiple_of(3) {
        use haft_workspace::journal::State;
        for folder in ["new/folder", "new"] {
            let before = Content::Of(State::Folder { mode: None });
            let path = workspace.root().join(folder);
            steps.push(Step { path, before, after: Content::Absent });
        }
    }
    journal.change(&workspace, label("call"), steps).map_err(WriteError::refused)?;
    Ok(())
}
