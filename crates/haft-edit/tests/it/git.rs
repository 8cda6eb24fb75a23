//! Unified diffs of `git` and `diff`, applied by us and by `git apply`.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use haft_edit::patch::{Kind, Trouble, apply_chunks, parse};
use haft_edit::{Tier, apply};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::texts::{pair, text};

/// Runs a program in a folder, or says that it is missing.
fn run(folder: &Path, program: &str, args: &[&str], input: &str) -> Option<Output> {
    let mut child = Command::new(program)
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(input.as_bytes()).ok()?;
    child.wait_with_output().ok()
}

/// A unified diff by another program.
fn diff_of(folder: &Path, old: &str, new: &str, program: &str) -> Option<String> {
    fs_err::create_dir_all(folder.join("a")).unwrap();
    fs_err::create_dir_all(folder.join("b")).unwrap();
    fs_err::write(folder.join("a/f"), old).unwrap();
    fs_err::write(folder.join("b/f"), new).unwrap();
    let args: &[&str] = match program {
        "git" => &["diff", "--no-index", "--no-prefix", "--text", "a/f", "b/f"],
        _ => &["-u", "--text", "a/f", "b/f"],
    };
    Some(String::from_utf8(run(folder, program, args, "")?.stdout).unwrap())
}

/// What `git apply` makes of a text, or nothing if it refuses.
fn by_git(folder: &Path, patch: &str, original: &str) -> Option<String> {
    fs_err::write(folder.join("f"), original).unwrap();
    let output = run(folder, "git", &["apply", "--whitespace=nowarn", "-"], patch)?;
    output.status.success().then(|| fs_err::read_to_string(folder.join("f")).unwrap())
}

fn by_us(patch: &str, original: &str) -> Result<(String, bool), Trouble> {
    let patch = parse(patch).unwrap_or_else(|error| panic!("{error}\n{patch}"));
    let Kind::Update { chunks, .. } = &patch.files[0].kind else { panic!("an update") };
    let changes = apply_chunks("f", original, chunks).map_err(|error| error.trouble)?;
    let exact = changes.iter().all(|change| change.tier == Tier::Exact);
    Ok((apply(original, &changes), exact))
}

fn missing(program: &str, test: &str) -> bool {
    let missing = Command::new(program).arg("--version").output().is_err();
    if missing {
        eprintln!("SKIP {test}: {program} is not installed");
    }
    missing
}

/// Runs a property with fewer cases than usual: each one starts several programs.
fn check<S: Strategy>(strategy: &S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let cases = (Config::default().cases / 2).max(16);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new(config).run(strategy, test).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn clean_patches_of_diff_and_git_give_the_new_text_here_and_there() {
    let name = "clean_patches_of_diff_and_git_give_the_new_text_here_and_there";
    if missing("git", name) || missing("diff", name) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    check(&pair(), |(old, new)| {
        for program in ["git", "diff"] {
            let patch = diff_of(folder.path(), &old, &new, program).unwrap();
            if old == new || patch.is_empty() {
                continue;
            }
            let ours =
                by_us(&patch, &old).map(|(text, _)| text).map_err(|trouble| trouble.to_string());
            prop_assert_eq!(ours, Ok(new.clone()), "{}", patch);
            let theirs = by_git(folder.path(), &patch, &old);
            prop_assert_eq!(theirs.as_ref(), Some(&new), "{}", patch);
        }
        Ok(())
    });
}

#[test]
fn our_unified_diffs_are_understood_by_git() {
    if missing("git", "our_unified_diffs_are_understood_by_git") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    check(&pair(), |(old, new)| {
        let bounds = haft_edit::diff::Bounds::WHOLE;
        let patch = haft_edit::diff::unified(&old, &new, "a/f", "b/f", &bounds).text;
        if old != new {
            prop_assert_eq!(by_git(folder.path(), &patch, &old), Some(new), "{}", patch);
        }
        Ok(())
    });
}

/// Where git and we part ways on a file that changed since the patch was made:
/// - git refuses and we apply: lines that differ only in blanks or line ends; and hunks that start on the first line or
///   end on the last, which git wants to find just there, and we wherever their lines stand.
/// - both apply, but not the same: where line ends or blanks differ, git writes the patch's lines over those around the
///   change, and we leave them alone. If the last line has no line end, git even loses lines of such files.
/// - we refuse and git applies: several places, of which git takes the nearest; and a last line without line end that
///   is no longer last and not exactly the same, where git is content with any line end.
#[test]
fn on_a_changed_file_we_differ_from_git_only_where_we_mean_to() {
    if missing("git", "on_a_changed_file_we_differ_from_git_only_where_we_mean_to") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let moved = (pair(), text(), any::<prop::sample::Index>());
    check(&moved, |((old, new), more, at)| {
        let patch = diff_of(folder.path(), &old, &new, "git").unwrap();
        if patch.is_empty() {
            return Ok(());
        }
        let mut lines: Vec<&str> = old.split_inclusive('\n').collect();
        let at = at.index(lines.len().max(1));
        lines.insert(at, &more);
        let changed = lines.concat();
        let theirs = by_git(folder.path(), &patch, &changed);
        let at_bare_end = patch.contains("\n\\ No newline at end of file");
        match (theirs, by_us(&patch, &changed)) {
            (Some(_), Ok((_, false))) => {}
            (Some(_), Ok(_)) if at_bare_end && changed.contains('\r') => {}
            // Git joins or loses lines there, but no letters.
            (Some(theirs), Ok((ours, true))) if at_bare_end => {
                let letters = |text: &str| text.replace('\n', "");
                prop_assert_eq!(letters(&ours), letters(&theirs), "{}", patch);
            }
            (Some(theirs), Ok((ours, true))) => prop_assert_eq!(ours, theirs, "{}", patch),
            (Some(_), Err(trouble)) => {
                prop_assert!(
                    matches!(trouble, Trouble::Several { .. }) || at_bare_end,
                    "{}\n{}",
                    trouble,
                    patch
                );
            }
            (None, Ok((_, exact))) => prop_assert!(!exact || touches_an_end(&patch), "{}", patch),
            (None, Err(_)) => {}
        }
        Ok(())
    });
}

/// Whether a hunk starts on the first line, or has fewer than three lines of context before or after its changes.
fn touches_an_end(patch: &str) -> bool {
    let patch = parse(patch).unwrap();
    let Kind::Update { chunks, .. } = &patch.files[0].kind else { panic!("an update") };
    let context = |line: &&haft_edit::patch::PatchLine| line.role == haft_edit::diff::Role::Context;
    chunks.iter().any(|chunk| {
        chunk.hint_line == Some(1)
            || chunk.lines.iter().take_while(context).count() < 3
            || chunk.lines.iter().rev().take_while(context).count() < 3
    })
}
