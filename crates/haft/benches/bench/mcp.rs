//! `haft mcp` as its hosts meet it: start, list, read, memory; against a bare server and another one.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::measure::{Row, medians};
use crate::memory::Peak;

/// What a start may take, whatever a bare server takes.
const QUICK: Duration = Duration::from_millis(10);
/// How many files are read in turn.
const FILES: usize = 20;
/// How many times as long as that of a bare server a read may take, with all that haft does for it.
const READ: f64 = 2.0;

pub(crate) fn rows() -> Vec<Row> {
    let dir = folder();
    let bare = bare_server();
    let ours = || Client::start(haft(dir.path()));
    let (start, bare_start) =
        medians(31, || drop(ours()), || drop(Client::start(Command::new(&bare))));
    let mut rows = vec![Row {
        name: "mcp: from start to the answer to initialize, against a bare server",
        figure: start,
        floor: bare_start,
        bound: f64::max(2.0, QUICK.as_secs_f64() / bare_start.as_secs_f64()),
    }];
    let mut client = ours();
    let mut files = files(dir.path());
    let Taken { by_server: figure, in_all } =
        client.p50(|client| client.call("read", &json!({ "file_path": files() })));
    let limit = Duration::from_micros(150);
    let name = "mcp: read of a small file, against a fixed 150 µs";
    rows.push(Row { name, figure, floor: limit, bound: 1.0 });
    let name = "mcp: the same, with what this client does to ask and to understand";
    rows.push(Row { name, figure: in_all, floor: limit, bound: 1.0 });
    let mut least = Client::start(Command::new(&bare));
    let floor = least.p50(|least| least.call("read", &json!({ "path": files() }))).by_server;
    let name = "mcp: the same, against a bare server";
    rows.push(Row { name, figure, floor, bound: READ });
    if let Some(mut other) = other_server(dir.path()) {
        let mut args = || json!({ "path": files() });
        let floor = other.p50(|other| other.call("read_text_file", &args())).by_server;
        let name = "mcp: the same, against @modelcontextprotocol/server-filesystem";
        rows.push(Row { name, figure, floor, bound: 1.0 });
    }
    rows
}

/// What a host pays beside time: the definitions in the model's window, and memory.
pub(crate) fn sizes() -> Vec<Peak> {
    let dir = folder();
    let mut client = Client::start(haft(dir.path()));
    let list = client.request("tools/list", &json!({}));
    let mut files = files(dir.path());
    for _ in 0..1000 {
        client.call("read", &json!({ "file_path": files() }));
    }
    let mut sizes = vec![
        Peak::new(
            "mcp: the answer to tools/list",
            list.get("tools").map(Value::to_string).unwrap_or_default().len() as u64,
            12_000,
        ),
        Peak::new("mcp: memory after 1,000 reads", client.memory(), 15_000_000),
    ];
    if let Some(mut other) = other_server(dir.path()) {
        for _ in 0..1000 {
            other.call("read_text_file", &json!({ "path": files() }));
        }
        let name = "mcp: the same, against that of @modelcontextprotocol/server-filesystem";
        sizes.push(Peak::new(name, client.memory(), other.memory()));
    }
    sizes
}

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for number in 0..FILES {
        let path = dir.path().join(format!("{number}.txt"));
        fs_err::write(path, "a line\n".repeat(20)).expect("written");
    }
    dir
}

/// One file after the other: a model that reads the same one again and again is asked about.
fn files(dir: &Path) -> impl FnMut() -> PathBuf {
    let mut numbers = (0..FILES).cycle();
    move || dir.join(format!("{}.txt", numbers.next().unwrap_or(0)))
}

fn haft(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    command.arg("mcp").current_dir(dir).env("XDG_STATE_HOME", dir).env("XDG_CONFIG_HOME", dir);
    command
}

/// The least that a server on the same library can be.
fn bare_server() -> PathBuf {
    // Built as ours is.
    let built = Path::new(env!("CARGO_BIN_EXE_haft")).parent().expect("a folder");
    let profile = built.file_name().and_then(std::ffi::OsStr::to_str).expect("a profile's");
    let cargo = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--profile", profile, "-p", "haft", "--example", "bare"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(cargo.expect("cargo starts").success());
    built.join("examples/bare")
}

/// The server for files of the protocol's own project, if the tests' clients are installed.
fn other_server(dir: &Path) -> Option<Client> {
    let program = target().join("clients/hosts/node_modules/.bin/mcp-server-filesystem");
    let mut command = Command::new(fs_err::canonicalize(program).ok()?);
    command.arg(dir);
    Some(Client::start(command))
}

fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")
}

/// What a call takes.
struct Taken {
    /// From the last byte of the request to the last of the answer.
    by_server: Duration,
    /// With what the client does before and after.
    in_all: Duration,
}

fn median(mut taken: Vec<Duration>) -> Duration {
    taken.sort();
    taken.get(taken.len() / 2).copied().unwrap_or_default()
}

/// A host, as far as a bench needs one.
struct Client {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Client {
    /// Starts a server and greets it.
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().expect("the server starts");
        let input = server.stdin.take().expect("a pipe");
        let output = BufReader::new(server.stdout.take().expect("a pipe"));
        let mut client = Self { server, input, output, line: String::new() };
        let info = json!({ "name": "bench", "version": "1" });
        let hello =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
        client.request("initialize", &hello);
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        // At once: a server must not wake for a piece of a line.
        self.input.write_all(format!("{message}\n").as_bytes()).expect("the server reads");
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.timed(method, params).0
    }

    /// An answer, and how long it took from the last byte of the request to the last of the answer: what a
    /// host does to write and understand them is its own.
    fn timed(&mut self, method: &str, params: &Value) -> (Value, Duration) {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let message = format!("{message}\n");
        let begin = Instant::now();
        self.input.write_all(message.as_bytes()).expect("the server reads");
        loop {
            self.line.clear();
            let read = self.output.read_line(&mut self.line).expect("the server answers");
            let taken = begin.elapsed();
            assert!(read > 0, "the server has gone away");
            let message: Value = serde_json::from_str(&self.line).expect("JSON");
            if let Some(result) = message.get("result") {
                return (result.clone(), taken);
            }
            assert!(message.get("error").is_none(), "{message}");
        }
    }

    fn call(&mut self, tool: &str, args: &Value) -> Duration {
        let params = json!({ "name": tool, "arguments": args });
        let (result, taken) = self.timed("tools/call", &params);
        assert!(result.get("isError").is_none_or(|it| it != true), "{result}");
        taken
    }

    /// The median times of many calls.
    fn p50(&mut self, mut call: impl FnMut(&mut Self) -> Duration) -> Taken {
        let mut both = || {
            let begin = Instant::now();
            let by_server = call(self);
            (by_server, begin.elapsed())
        };
        // The first of them warm it up.
        let taken = (0..1_600).map(|_| both()).skip(100);
        let (by_server, in_all): (Vec<_>, Vec<_>) = taken.unzip();
        Taken { by_server: median(by_server), in_all: median(in_all) }
    }

    /// What it holds in memory now, in bytes.
    fn memory(&self) -> u64 {
        let status = fs_err::read_to_string(format!("/proc/{}/status", self.server.id()));
        let status = status.expect("the server's status");
        let held = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        held.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.server.kill().expect("it is ours");
        self.server.wait().expect("it ends");
    }
}
