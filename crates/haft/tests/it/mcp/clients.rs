//! Official clients of the protocol: the Inspector and the Python package.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::processes;
use crate::world::{Ran, World};

/// Where `./test` has installed them.
#[expect(clippy::disallowed_methods, reason = "a test is told where other programs are")]
fn clients() -> PathBuf {
    let named = std::env::var_os("HAFT_CLIENTS").map(PathBuf::from);
    named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients"))
}

/// A program of theirs; none, with a word about it, where it is not installed.
#[expect(clippy::print_stderr, reason = "a test says what it skips")]
fn installed(test: &str, path: &str) -> Option<PathBuf> {
    let program = clients().join(path);
    if !program.exists() {
        eprintln!("SKIP {test}: {path} is not installed; ./test does that");
        return None;
    }
    Some(program)
}

fn inspect(world: &World, node: &Path, args: &[&str]) -> Ran {
    let launcher = clients()
        .join("mcp/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let mut command = Command::new(node);
    command.arg(launcher).args(["--cli", "--format", "json"]).args(args);
    command.arg("--").arg(env!("CARGO_BIN_EXE_haft")).arg("mcp");
    world.enclose(&mut command);
    // The Inspector gives its own environment to the server only where it is named.
    for name in ["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
        let value = command.get_envs().find(|(key, _)| *key == name).unwrap().1.unwrap().to_owned();
        command.env(name, value);
    }
    Ran::from(command.output().unwrap())
}

#[test]
fn the_inspector_finds_nothing_to_complain_about() {
    let test = "the_inspector_finds_nothing_to_complain_about";
    let Some(node) = installed(test, "mcp/node/bin/node") else { return };
    for era in ["legacy", "modern"] {
        let world = World::new();
        world.put("work/a.txt", "one\n");
        let args = ["--protocol-era", era, "--method", "tools/list", "--strict"];
        let listed = inspect(&world, &node, &args).done();
        let tools = listed.json()["result"]["tools"].as_array().unwrap().len();
        assert_eq!(tools, 11, "{listed:?}");
        let flags = ["--protocol-era", era, "--method", "tools/call", "--tool-name"];
        let call = |rest: &[&str]| {
            let mut args = flags.to_vec();
            args.extend(rest);
            inspect(&world, &node, &args)
        };
        let read = call(&["read", "--tool-arg", "file_path=a.txt"]).done().json();
        assert!(read["result"]["content"][0]["text"].as_str().unwrap().contains("one"), "{read}");
        let args = ["--protocol-era", era, "--method", "resources/list"];
        let resources = inspect(&world, &node, &args).done().json();
        assert_eq!(resources["result"]["resources"], serde_json::json!([]), "{resources}");
    }
}

#[test]
fn the_python_client_lists_calls_follows_cancels_and_answers() {
    let test = "the_python_client_lists_calls_follows_cancels_and_answers";
    let Some(python) = installed(test, "python/bin/python") else { return };
    for (era, version) in [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")] {
        let world = World::new();
        world.put("work/a.txt", "one\n");
        world.put("work/.env", "KEY=1\n");
        let said = talk(&world, &python, era);
        assert_eq!(said["version"], version);
        assert_eq!(said["tools"].as_array().unwrap().len(), 11);
        assert_eq!(
            said["read_only"],
            serde_json::json!(["read", "list", "glob", "grep", "webfetch"])
        );
        assert!(said["read"]["text"].as_str().unwrap().contains("one"), "{said}");
        assert!(said["bash"]["text"].as_str().unwrap().contains("line 5"), "{said}");
        assert!(said["progress"].as_array().unwrap().len() >= 3, "{said}");
        assert_eq!(said["after_cancel"]["error"], false, "{said}");
        assert!(said["accept"]["text"].as_str().unwrap().contains("KEY=1"), "{said}");
        for refused in ["decline", "cancel"] {
            assert_eq!(said[refused]["error"], true, "{said}");
            assert!(!said[refused]["text"].as_str().unwrap().contains("KEY"), "{said}");
        }
        assert_eq!(said["asked"].as_array().unwrap().len(), 3);
        assert_eq!(processes("sleep 61.25"), Vec::<String>::new());
    }
}

fn talk(world: &World, python: &Path, era: &str) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp/client.py");
    let mut command = Command::new(python);
    command.arg(script).arg(env!("CARGO_BIN_EXE_haft")).arg(world.path("work")).arg(era);
    world.enclose(&mut command);
    Ran::from(command.output().unwrap()).done().json()
}
