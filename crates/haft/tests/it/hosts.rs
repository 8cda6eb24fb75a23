//! Real agents as hosts of `haft mcp`, offline, driven by a scripted model.

use std::path::PathBuf;
use std::process::Command;

use haft_scripted::{Model, Request, Turn};
use serde_json::{Value, json};

use crate::world::{Ran, World};

/// What the model is scripted to call: a tool that reads, one that writes, one that searches, one that runs.
fn calls() -> [(&'static str, Value); 4] {
    let edit = json!({ "file_path": "a.txt", "old_string": "beta", "new_string": "BETA" });
    let bash = json!({ "command": "echo n=$((40 + 2)); cat a.txt", "description": "Count" });
    [
        ("read", json!({ "file_path": "a.txt" })),
        ("edit", edit),
        ("grep", json!({ "pattern": "gamma" })),
        ("bash", bash),
    ]
}

/// Which of these calls a host lets through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    ReadOnly,
}

/// Where a host's program is, if the tests' own clients were installed.
#[expect(clippy::print_stderr, reason = "a test says what it skips")]
fn client(test: &str, name: &str) -> Option<PathBuf> {
    let clients = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/clients/hosts");
    let program = clients.join("node_modules/.bin").join(name);
    let found = fs_err::canonicalize(program).ok();
    if found.is_none() {
        eprintln!("SKIP {test}: {name} is not installed; ./test installs it");
    }
    found
}

fn world() -> World {
    let world = World::new();
    world.put("work/a.txt", "alpha\nbeta\ngamma\n");
    world
}

/// What the model is to read, by the same calls at the command line; times do not count.
fn expected() -> Vec<String> {
    let world = world();
    let text = |(tool, args): (&str, Value)| {
        let ran = world.call(tool, &args, &["--allow-all"]).done();
        without_times(ran.json()["output"].as_str().unwrap())
    };
    calls().into_iter().map(text).collect()
}

/// The text without what a clock says: ` 0.1 s`.
fn without_times(text: &str) -> String {
    text.split(' ').filter(|word| word.parse::<f64>().is_err()).collect::<Vec<_>>().join(" ")
}

/// Lets a host work through the script, and holds what the model was shown to what it should be.
fn works(test: &str, name: &str, gate: Gate, start: impl Fn(&World, &str, &mut Command)) {
    let Some(program) = client(test, name) else { return };
    let world = world();
    let script = calls().map(|(tool, args)| Turn::call(format!("haft_{tool}"), args));
    let mut script = Vec::from(script);
    script.push(Turn::say("All done."));
    let model = Model::start(script).unwrap();
    let mut command = Command::new(program);
    world.enclose(&mut command);
    let path = format!("{}:/usr/bin:/bin", node_folder().display());
    command.env("PATH", path).stdin(std::process::Stdio::null());
    start(&world, model.url(), &mut command);
    let ran = Ran::from(command.output().unwrap());
    let shown = model.results();
    assert_eq!(shown.len(), 4, "{ran:#?}\n{:#?}", model.requests().last().map(Request::tools));
    for ((shown, expected), (tool, _)) in shown.iter().zip(expected()).zip(calls()) {
        let text = without_times(&shown.text);
        let passes = gate == Gate::Open || matches!(tool, "read" | "grep");
        assert_eq!(text.ends_with(&expected), passes, "{tool}: {}", shown.text);
    }
    let left = fs_err::read_to_string(world.path("work/a.txt")).unwrap();
    let edited = if gate == Gate::Open { "alpha\nBETA\ngamma\n" } else { "alpha\nbeta\ngamma\n" };
    assert_eq!(left, edited);
}

/// Node, for programs that are scripts; it may be anywhere.
#[expect(clippy::disallowed_methods, reason = "a test is told where other programs are")]
pub(crate) fn node_folder() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path);
    folders.find(|folder| folder.join("node").exists()).unwrap_or_else(|| "/usr/bin".into())
}

fn haft() -> &'static str {
    env!("CARGO_BIN_EXE_haft")
}

fn claude(world: &World, url: &str, command: &mut Command, flags: &[&str]) {
    let server = json!({ "command": haft(), "args": ["mcp"] });
    let config = world.put("mcp.json", json!({ "mcpServers": { "haft": server } }).to_string());
    command
        .args(["-p", "go", "--model", "claude-sonnet-4-5", "--mcp-config", &config])
        .arg("--strict-mcp-config")
        .args(flags)
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", "none")
        // Otherwise the tools are behind a search of Claude's own, which the script does not make.
        .env("ENABLE_TOOL_SEARCH", "false")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1");
}

fn codex(world: &World, url: &str, command: &mut Command, flags: &[&str]) {
    let config = format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}/v1\"\n\
         wire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\n\
         [mcp_servers.haft]\ncommand = \"{}\"\nargs = [\"mcp\"]\n\
         env_vars = [\"XDG_STATE_HOME\", \"XDG_CONFIG_HOME\"]\n",
        haft()
    );
    world.put("home/.codex/config.toml", config);
    command
        .args(["exec", "--skip-git-repo-check"])
        .args(flags)
        .arg("go")
        .env("SCRIPTED_KEY", "none");
}

fn opencode(world: &World, url: &str, command: &mut Command) {
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
        "mcp": { "haft": { "type": "local", "command": [haft(), "mcp"], "enabled": true } },
    });
    world.put("config/opencode/opencode.json", config.to_string());
    command
        .args(["run", "go"])
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1");
}

#[test]
fn claude_code_reads_edits_searches_and_runs_through_haft() {
    works("claude", "claude", Gate::Open, |world, url, command| {
        claude(world, url, command, &["--allowedTools", "mcp__haft"]);
    });
}

#[test]
fn claudes_plan_mode_lets_reading_through_and_stops_the_rest() {
    works("claude", "claude", Gate::ReadOnly, |world, url, command| {
        let reading = "mcp__haft__read,mcp__haft__list,mcp__haft__glob,mcp__haft__grep";
        claude(world, url, command, &["--permission-mode", "plan", "--allowedTools", reading]);
    });
}

#[test]
fn codex_reads_edits_searches_and_runs_through_haft() {
    works("codex", "codex", Gate::Open, |world, url, command| {
        codex(world, url, command, &["--dangerously-bypass-approvals-and-sandbox"]);
    });
}

#[test]
fn codex_that_may_only_read_lets_reading_through_and_stops_the_rest() {
    works("codex", "codex", Gate::ReadOnly, |world, url, command| {
        codex(world, url, command, &["-s", "read-only"]);
    });
}

#[test]
fn opencode_reads_edits_searches_and_runs_through_haft() {
    works("opencode", "opencode", Gate::Open, opencode);
}
