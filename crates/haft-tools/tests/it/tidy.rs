//! The house rules that a compiler does not know.

use std::path::{Path, PathBuf};

use crate::world::World;

/// Longest file, without its tests.
const LONGEST: usize = 400;

fn root() -> PathBuf {
    fs_err::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// All Rust files of the crates.
fn rust_files() -> Vec<PathBuf> {
    let mut waiting = vec![root().join("crates")];
    let mut files = Vec::new();
    while let Some(dir) = waiting.pop() {
        for entry in fs_err::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() && !entry.ends_with("target") {
                waiting.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                files.push(entry);
            }
        }
    }
    files.sort();
    assert!(files.len() > 50, "the crates were not found");
    files
}

#[test]
fn every_file_opens_by_saying_what_lives_there() {
    for path in rust_files() {
        let text = fs_err::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("//! ") && first.len() > 10, "{}: {first}", path.display());
    }
}

#[test]
fn no_file_is_too_long_to_be_seen_at_a_glance() {
    for path in rust_files() {
        let text = fs_err::read_to_string(&path).unwrap();
        let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
        // Tests may be longer: nobody reads them as one.
        let is_test =
            path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs");
        let bound = if is_test { 2 * LONGEST } else { LONGEST };
        assert!(lines <= bound, "{}: {lines} lines", path.display());
    }
}

#[test]
fn nothing_is_left_for_later() {
    // Put together, so that this file does not find itself.
    let marks = [["TO", "DO"].concat(), ["FIX", "ME"].concat(), ["#[ig", "nore"].concat()];
    for path in rust_files() {
        let text = fs_err::read_to_string(&path).unwrap();
        for mark in &marks {
            assert!(!text.contains(mark.as_str()), "{}: {mark}", path.display());
        }
    }
}

#[tokio::test]
async fn every_tool_has_its_file_its_text_and_its_tests() {
    let src = root().join("crates/haft-tools/src");
    let stems = |extension: &str| {
        let files = fs_err::read_dir(&src).unwrap().map(|entry| entry.unwrap().path());
        let of_kind = files.filter(|path| path.extension().is_some_and(|e| e == extension));
        of_kind
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect::<Vec<_>>()
    };
    let mut names = World::new().await.toolset.names();
    names.push("invalid".to_owned());
    let mut texts = stems("txt");
    texts.sort();
    names.sort();
    assert_eq!(texts, names, "a text for each tool, and for nothing else");
    let tests = root().join("crates/haft-tools/tests/it");
    for name in &names {
        assert!(src.join(name).with_extension("rs").is_file(), "{name}");
        assert!(tests.join(name).with_extension("rs").is_file(), "tests of {name}");
    }
}

#[tokio::test]
async fn the_table_in_the_readme_is_the_registry() {
    let readme = fs_err::read_to_string(root().join("README.md")).unwrap();
    let rows = readme.lines().skip_while(|line| !line.starts_with("| tool |")).skip(2);
    let cell = |line: &str, index: usize| line.split('|').nth(index).unwrap().trim().to_owned();
    let listed: Vec<(String, String)> = rows
        .take_while(|line| line.starts_with('|'))
        .map(|line| (cell(line, 1).trim_matches('`').to_owned(), cell(line, 2)))
        .collect();
    let world = World::new().await;
    let shown: Vec<(String, String)> = world
        .toolset
        .advertised()
        .map(|tool| {
            let first = tool.definition().description.lines().next().unwrap().to_owned();
            (tool.id().to_owned(), first)
        })
        .collect();
    assert_eq!(listed, shown);
}

#[test]
fn crates_depend_on_each_other_as_drawn() {
    let allowed: &[(&str, &[&str])] = &[
        ("haft-address", &[]),
        ("haft-agent", &["haft-runtime", "haft-web", "haft-workspace"]),
        ("haft-exec", &["haft-address"]),
        ("haft-custom", &["haft-exec", "haft-runtime", "haft-tools", "haft-workspace"]),
        ("haft-mcp", &["haft-exec", "haft-runtime", "haft-web"]),
        ("haft-runtime", &[]),
        ("haft-store", &["haft-runtime"]),
        ("haft-scripted", &[]),
        ("haft-shell", &[]),
        ("haft-web", &["haft-address"]),
        ("haft-workspace", &[]),
        ("haft-edit", &[]),
        (
            "haft-tools",
            &["haft-edit", "haft-exec", "haft-runtime", "haft-shell", "haft-web", "haft-workspace"],
        ),
        (
            "haft",
            &[
                "haft-agent",
                "haft-custom",
                "haft-edit",
                "haft-exec",
                "haft-mcp",
                "haft-runtime",
                "haft-store",
                "haft-tools",
                "haft-web",
                "haft-workspace",
            ],
        ),
    ];
    for (name, may_use) in allowed {
        let manifest =
            fs_err::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        let dependencies =
            manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
        let ours = dependencies.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        let ours: Vec<&str> = ours.filter(|dependency| dependency.starts_with("haft")).collect();
        assert_eq!(ours, *may_use, "{name}");
    }
    let crates = fs_err::read_dir(root().join("crates")).unwrap().count();
    assert_eq!(crates, allowed.len(), "a new crate is drawn here and in ARCHITECTURE.md");
}

#[test]
fn the_architecture_fits_on_a_few_pages() {
    let text = fs_err::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(text.lines().count() <= 200);
}
