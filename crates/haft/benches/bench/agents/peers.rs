//! The other agents: how each is installed, started, and asked for the same small calls.

use std::path::{Path, PathBuf};
use std::process::Command;

use haft_scripted::Turn;
use serde_json::json;

use super::{at_home, put, rounds, script};

/// The peers, as npm has them. They are installed by the bench, once.
const PEERS: [&str; 3] =
    ["@earendil-works/pi-coding-agent@0.74.2", "@openai/codex@0.166.0", "opencode-ai@1.18.33"];

/// Where the peers' programs are; none if npm cannot install them.
pub(super) fn install() -> Option<PathBuf> {
    let into = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients/peers");
    let (list, wanted) = (into.join("installed"), PEERS.join(" "));
    if fs_err::read_to_string(&list).ok().as_ref() != Some(&wanted) {
        fs_err::create_dir_all(&into).expect("a folder for the peers");
        println!("installing {wanted}");
        let quiet = ["--silent", "--no-audit", "--no-fund", "--no-package-lock", "--no-save"];
        let mut npm = Command::new("npm");
        npm.arg("install").arg("--prefix").arg(&into);
        if !npm.args(quiet).args(PEERS).status().is_ok_and(|status| status.success()) {
            println!("the peers cannot be installed with npm; their rows are left out");
            return None;
        }
        fs_err::write(list, wanted).expect("written");
    }
    fs_err::canonicalize(into.join("node_modules/.bin")).ok()
}
pub(super) fn pis_calls(count: usize) -> Vec<Turn> {
    script(
        count,
        [
            |_| ("read", json!({ "path": "a.txt" })),
            |_| ("bash", json!({ "command": "ls -la" })),
            |round| {
                let (old, new) = rounds(round);
                ("edit", json!({ "path": "a.txt", "edits": [{ "oldText": old, "newText": new }] }))
            },
            |round| ("bash", json!({ "command": format!("grep -rn '{}' .", rounds(round).1) })),
            |round| ("bash", json!({ "command": format!("echo {round}") })),
        ],
    )
}

pub(super) fn codex_calls(count: usize) -> Vec<Turn> {
    script(
        count,
        [
            |_| ("exec_command", json!({ "cmd": "cat a.txt" })),
            |_| ("exec_command", json!({ "cmd": "ls -la" })),
            |round| {
                let (old, new) = rounds(round);
                ("exec_command", json!({ "cmd": format!("sed -i 's/{old}/{new}/' a.txt") }))
            },
            |round| ("exec_command", json!({ "cmd": format!("grep -rn '{}' .", rounds(round).1) })),
            |round| ("exec_command", json!({ "cmd": format!("echo {round}") })),
        ],
    )
}

pub(super) fn opencodes_calls(count: usize) -> Vec<Turn> {
    script(
        count,
        [
            |_| ("read", json!({ "filePath": "a.txt" })),
            |_| ("bash", json!({ "command": "ls -la", "description": "List" })),
            |round| {
                let (old, new) = rounds(round);
                ("edit", json!({ "filePath": "a.txt", "oldString": old, "newString": new }))
            },
            |round| {
                (
                    "bash",
                    json!({ "command": format!("grep -rn '{}' .", rounds(round).1), "description": "Search" }),
                )
            },
            |round| ("bash", json!({ "command": format!("echo {round}"), "description": "Say" })),
        ],
    )
}

pub(super) fn pi(program: &Path, home: &Path, url: &str) -> Command {
    let compat = json!({ "supportsDeveloperRole": false, "supportsReasoningEffort": false });
    let provider = json!({
        "baseUrl": format!("{url}/v1"), "api": "openai-completions", "apiKey": "none",
        "compat": compat, "models": [{ "id": "m" }],
    });
    let config = json!({ "providers": { "scripted": provider } });
    put(home.join(".pi/agent/models.json"), &config.to_string());
    let mut command = Command::new(program);
    command.args(["-p", "go", "--model", "scripted/m", "--offline"]);
    at_home(&mut command, home);
    command
}

pub(super) fn codex(program: &Path, home: &Path, url: &str) -> Command {
    let config = format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\n\
         name = \"scripted\"\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\n"
    );
    put(home.join(".codex/config.toml"), &config);
    let mut command = Command::new(program);
    let free = "--dangerously-bypass-approvals-and-sandbox";
    command.args(["exec", "--skip-git-repo-check", free, "go"]);
    at_home(&mut command, home);
    command
}

pub(super) fn opencode(program: &Path, home: &Path, url: &str) -> Command {
    let options = json!({ "baseURL": format!("{url}/v1"), "apiKey": "none" });
    let model =
        json!({ "name": "m", "tool_call": true, "limit": { "context": 200_000, "output": 8000 } });
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": options,
        "models": { "m": model },
    });
    let config = json!({
        "model": "scripted/m", "small_model": "scripted/m", "autoupdate": false, "share": "disabled",
        "provider": { "scripted": provider },
    });
    put(home.join(".config/opencode/opencode.json"), &config.to_string());
    let mut command = Command::new(program);
    command
        .args(["run", "go"])
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1");
    at_home(&mut command, home);
    command
}
