//! The files that cases are made from: one of each language, and the project's own code.

use std::path::{Path, PathBuf};

/// A file as lines without their ends.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) lines: Vec<String>,
}

/// A larger file is cut: what matters is the variety of places, not the length.
const MOST_LINES: usize = 600;

/// Returns all files; `HAFT_FILES` names more folders to take some from, with colons between.
pub(crate) fn sources() -> Vec<Source> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = from_folder(&here.join("tests/it/corpus/files"));
    assert!(sources.len() >= 12, "the files of the corpus were not found");
    sources.extend(from_folder(&here.join("src")));
    for folder in std::env::var("HAFT_FILES").unwrap_or_default().split(':') {
        if !folder.is_empty() {
            sources.extend(from_folder(Path::new(folder)));
        }
    }
    sources
}

pub(crate) fn from_folder(folder: &Path) -> Vec<Source> {
    let mut paths: Vec<PathBuf> =
        fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().filter(|path| path.is_file()).filter_map(|path| source(path)).collect()
}

fn source(path: &Path) -> Option<Source> {
    let text = fs_err::read_to_string(path).ok()?;
    let lines: Vec<String> = text.lines().take(MOST_LINES).map(str::to_owned).collect();
    let name = path.file_name()?.to_string_lossy().into_owned();
    (lines.len() >= 20).then_some(Source { name, lines })
}
