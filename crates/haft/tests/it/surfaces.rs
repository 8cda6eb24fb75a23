//! The same calls through the library, the command line and MCP: the same text and the same facts.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;

use haft_exec::Keeper;
use haft_runtime::permission::rules_file::{self, Expand};
use haft_runtime::permission::{LayerKind, Policy};
use haft_runtime::{
    AgentId, Audience, Call, CancellationToken, Limits, Registry, Runtime, SessionId, Toolset,
};
use haft_store::{Options, SqliteStore};
use haft_tools::{CommandSettings, Commands, Web, WebSettings};
use haft_workspace::Workspace;
use haft_workspace::journal::Journal;
use regex::Regex;
use serde_json::{Value, json};

use crate::world::World;

const ALLOW_ALL: &str = "[permission]\n\"*\" = \"allow\"\n";

/// Forty calls, good and bad, that build on each other.
fn calls() -> Vec<(&'static str, Value)> {
    let patch = "*** Begin Patch\n*** Update File: src/b.rs\n@@\n-fn two() {}\n+fn deux() {}\n*** End Patch";
    let run = |command: &str| json!({ "command": command, "description": "Try" });
    vec![
        ("read", json!({ "file_path": "a.txt" })),
        ("read", json!({ "file_path": "a.txt", "offset": 2, "limit": 1 })),
        ("read", json!({ "file_path": "a.txt", "offset": 99 })),
        ("read", json!({ "path": "@a.txt" })),
        ("read", json!({ "file_path": "nowhere.txt" })),
        ("read", json!({ "file_path": "src" })),
        ("read", json!({ "file_path": "bin.dat" })),
        ("read", json!({})),
        ("read", json!({ "file_path": "src/b.rs", "mode": "indentation", "anchor_line": 1 })),
        ("list", json!({})),
        ("list", json!({ "path": "src", "depth": 1 })),
        ("glob", json!({ "pattern": "**/*.rs" })),
        ("glob", json!({ "pattern": "*.none" })),
        ("grep", json!({ "pattern": "fn (one|two)" })),
        ("grep", json!({ "pattern": "alpha", "output_mode": "count" })),
        ("grep", json!({ "pattern": "(" })),
        ("write", json!({ "file_path": "new/c.txt", "content": "one\ntwo\n" })),
        ("write", json!({ "file_path": "long.txt", "content": "short" })),
        ("edit", json!({ "file_path": "a.txt", "old_string": "beta", "new_string": "BETA" })),
        ("edit", json!({ "filePath": "a.txt", "oldString": "alpha ", "newString": "Alpha" })),
        ("edit", json!({ "file_path": "a.txt", "old_string": "delta", "new_string": "x" })),
        ("edit", json!({ "file_path": "new/d.txt", "old_string": "", "new_string": "made" })),
        ("apply_patch", json!({ "patch": patch })),
        ("apply_patch", json!({ "patch": patch })),
        ("apply_patch", json!({ "patch": "nothing" })),
        ("read", json!({ "file_path": "long.txt" })),
        ("bash", run("echo out; echo err >&2; exit 3")),
        ("bash", run("cat a.txt; rm new/c.txt; printf x > made.txt")),
        ("bash", run("kill -TERM $$")),
        ("bash", run("if")),
        ("bash", json!({ "command": "cat", "description": "Echo", "stdin": "given" })),
        ("job", json!({ "action": "list" })),
        ("job", json!({ "action": "read", "id": 7 })),
        ("undo", json!({})),
        ("undo", json!({ "call": "none" })),
        ("todowrite", json!({ "todos": [{ "content": "x", "status": "pending" }] })),
        ("todoread", json!({})),
        ("batch", json!({ "calls": [{ "tool": "read", "args": { "file_path": "a.txt" } }] })),
        ("Read", json!({ "file_path": "a.txt" })),
        ("nonsense", json!({ "x": 1 })),
    ]
}

fn world() -> World {
    let world = World::new();
    world.user_config(ALLOW_ALL);
    world.put("work/a.txt", "alpha\nbeta\ngamma\n");
    world.put("work/src/b.rs", "fn one() {\n    two();\n}\n\nfn two() {}\n");
    world.put("work/bin.dat", [0, 159, 146, 150]);
    world.put("work/long.txt", "a line of some length\n".repeat(4000));
    world
}

/// What is the same wherever the call was made: not places, not ids, not clocks.
fn common(world: &World, text: &str, metadata: &Value) -> (String, Value) {
    let root = world.path("").to_string_lossy().trim_end_matches('/').to_owned();
    let varies = Regex::new(
        r"(?:call|ses|ask)_[0-9a-f]{32}|outputs/[^ )]*|[0-9]+\.[0-9] s|pid [0-9]+|[0-9a-f]{64}",
    )
    .unwrap();
    let same = |text: &str| varies.replace_all(&text.replace(&root, "ROOT"), "…").into_owned();
    (same(text), facts(metadata, &same))
}

fn facts(value: &Value, same: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => same(text).into(),
        Value::Array(all) => all.iter().map(|one| facts(one, same)).collect(),
        Value::Object(all) => {
            let varies = |key: &str| key.ends_with("_ms") || key == "peak_memory";
            let kept = all.iter().filter(|(key, _)| !varies(key));
            Value::Object(kept.map(|(key, one)| (key.clone(), facts(one, same))).collect())
        }
        other => other.clone(),
    }
}

/// A surface: whatever answers calls of one session in one world.
trait Surface {
    fn call(&mut self, tool: &str, args: &Value) -> (String, Value);
}

struct CommandLine<'a>(&'a World);

impl Surface for CommandLine<'_> {
    fn call(&mut self, tool: &str, args: &Value) -> (String, Value) {
        let answer = self.0.call(tool, args, &["--session", "s"]).json();
        let text = match answer["state"].as_str() {
            Some("completed") => &answer["output"],
            _ => &answer["error"]["message"],
        };
        (text.as_str().unwrap().to_owned(), answer["metadata"].clone())
    }
}

struct Mcp {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Mcp {
    fn start(world: &World) -> Self {
        let mut run = world.haft(&["mcp", "--tools", "all", "--session", "s"]);
        run.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut server = run.command.spawn().unwrap();
        let input = server.stdin.take().unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        let mut mcp = Self { server, input, output, next: 0 };
        let info = json!({ "name": "test", "version": "1" });
        let hello =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
        mcp.request("initialize", &hello);
        mcp.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        mcp
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server has gone away");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message["result"].clone();
            }
        }
    }
}

impl Surface for Mcp {
    fn call(&mut self, tool: &str, args: &Value) -> (String, Value) {
        let result = self.request("tools/call", &json!({ "name": tool, "arguments": args }));
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
        (text.to_owned(), result["_meta"]["haft/metadata"].clone())
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

struct Library {
    tokio: tokio::runtime::Runtime,
    toolset: Toolset,
    session: SessionId,
    _runtime: Runtime,
}

impl Library {
    fn new(world: &World) -> Self {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let state = world.path("state/haft");
        let root = world.path("work");
        let workspace = Workspace::open(&root, None).unwrap();
        let store = SqliteStore::open(&state, Options::default()).unwrap();
        let journal = Journal::of(&root, &state, haft_workspace::journal::Options::default());
        let mut settings = CommandSettings::new(haft_exec::shell(None));
        settings.environment = vec![("PATH".into(), "/usr/sbin:/usr/bin:/sbin:/bin".into())];
        settings.scratch = Some(state.join("scratch"));
        let commands = Commands::new(Keeper::new(env!("CARGO_BIN_EXE_haft")), settings);
        let client = haft_web::Client::new(haft_web::Settings::default());
        let web = Web::new(client, WebSettings::default());
        let rules =
            |text, kind| rules_file::parse(text, kind, "rules", &Expand::nothing()).unwrap();
        let layers = vec![
            rules(haft_tools::DEFAULT_RULES, LayerKind::BuiltIn),
            rules(ALLOW_ALL, LayerKind::User),
        ];
        let mut registry = Registry::new();
        haft_tools::register(&mut registry);
        let runtime = tokio.block_on(async {
            Runtime::builder(root.to_string_lossy())
                .registry(registry)
                .share(Arc::new(workspace))
                .share(Arc::new(journal))
                .share(Arc::new(commands))
                .share(Arc::new(web))
                .policy(Policy::new(layers))
                .store(Arc::new(store))
                .limits(Limits { hint: haft_tools::KEPT_HINT.to_owned(), ..Limits::default() })
                .build()
        });
        let audience = Audience::of(AgentId::parse("build").unwrap());
        let toolset = tokio.block_on(runtime.toolset(&audience));
        let session = SessionId::parse("s").unwrap();
        Self { tokio, toolset, session, _runtime: runtime }
    }
}

impl Surface for Library {
    fn call(&mut self, tool: &str, args: &Value) -> (String, Value) {
        let call = Call::new(self.session.clone(), tool, args.clone());
        let settled = self.tokio.block_on(self.toolset.execute(call, CancellationToken::new()));
        let metadata = settled.to_json()["metadata"].clone();
        match settled.result {
            Ok(output) => (output.output, metadata),
            Err(error) => (error.to_string(), metadata),
        }
    }
}

#[test]
fn forty_calls_give_the_same_on_every_surface() {
    let worlds = [world(), world(), world()];
    let mut surfaces: [Box<dyn Surface + '_>; 3] = [
        Box::new(Library::new(&worlds[0])),
        Box::new(CommandLine(&worlds[1])),
        Box::new(Mcp::start(&worlds[2])),
    ];
    assert_eq!(calls().len(), 40);
    for (tool, args) in calls() {
        let mut answers = surfaces.iter_mut().zip(&worlds).map(|(surface, world)| {
            let (text, metadata) = surface.call(tool, &args);
            common(world, &text, &metadata)
        });
        let library = answers.next().unwrap();
        for (answer, name) in answers.zip(["command line", "MCP"]) {
            assert_eq!(answer, library, "{tool} {args} at the {name}");
        }
    }
}
