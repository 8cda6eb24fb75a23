//! How long haft takes to start, against a program that prints a line.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::measure::{Row, median};

pub(crate) fn rows() -> Vec<Row> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let bare = bare_program(dir.path());
    let run = |program: &Path, args: &[&str]| {
        let status = Command::new(program)
            .args(args)
            .env("XDG_STATE_HOME", dir.path())
            .env("XDG_CONFIG_HOME", dir.path())
            .current_dir(dir.path())
            .stdout(Stdio::null())
            .status();
        assert!(status.expect("it starts").success());
    };
    let haft = Path::new(env!("CARGO_BIN_EXE_haft"));
    let floor = median(41, 10, || run(&bare, &[]));
    let figure = median(41, 10, || run(haft, &["tools"]));
    vec![Row {
        name: "haft tools, cold, against a program that prints a line",
        figure,
        floor,
        bound: 3.0,
    }]
}

/// Compiles the least that a Rust program can be.
fn bare_program(dir: &Path) -> std::path::PathBuf {
    let (source, program) = (dir.join("bare.rs"), dir.join("bare"));
    fs_err::write(&source, "fn main() { println!(\"hello\"); }").expect("source written");
    let built = Command::new("rustc").arg("-O").arg("-o").arg(&program).arg(&source).status();
    assert!(built.expect("rustc starts").success());
    program
}
