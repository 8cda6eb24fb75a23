//! The official conformance suite, against the fixture.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The fixture, as long as it is needed.
struct Fixture(Child);

impl Fixture {
    fn start() -> (Self, String) {
        // Examples are built beside the tests.
        let tests = std::env::current_exe().unwrap();
        let program = tests.parent().unwrap().parent().unwrap().join("examples/conformance");
        let mut child = Command::new(program).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        (Self(child), url.trim().to_owned())
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Where `./test` has installed the suite.
#[expect(clippy::disallowed_methods, reason = "a test is told where other programs are")]
fn clients() -> PathBuf {
    let named = std::env::var_os("HAFT_CLIENTS").map(PathBuf::from);
    named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients"))
}

#[test]
fn the_official_suite_finds_nothing_but_what_is_explained() {
    let test = "the_official_suite_finds_nothing_but_what_is_explained";
    let clients = clients().join("mcp");
    let suite = clients.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let node = clients.join("node/bin/node");
    if !suite.exists() || !node.exists() {
        eprintln!("SKIP {test}: {} is not installed; ./test does that", suite.display());
        return;
    }
    let explained = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/conformance.yml");
    for revision in ["2025-11-25", "2026-07-28"] {
        let (_fixture, url) = Fixture::start();
        let results = tempfile::tempdir().unwrap();
        let ran = Command::new(&node)
            .arg(&suite)
            .args(["server", "--url", &url, "--requirements", revision, "--expected-failures"])
            .arg(&explained)
            .arg("--output-dir")
            .arg(results.path())
            .current_dir(results.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        let also = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{revision}:\n{said}\n{also}");
        assert!(said.contains("Baseline check passed"), "{revision}:\n{said}");
    }
}
