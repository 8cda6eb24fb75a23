//! A world of its own for each test: home, config, state and workspace in a temporary folder.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// What a model is shown by default, in this order.
pub(crate) const TOOLS: [&str; 15] = [
    "read",
    "list",
    "glob",
    "grep",
    "write",
    "edit",
    "apply_patch",
    "undo",
    "bash",
    "job",
    "webfetch",
    "todowrite",
    "todoread",
    "question",
    "batch",
];

/// Where a test lives. Gone when the test ends.
pub(crate) struct World {
    /// Canonical, as haft shows it.
    root: PathBuf,
    _dir: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(dir.path()).unwrap();
        for part in ["home", "state", "config/haft", "work"] {
            fs_err::create_dir_all(root.join(part)).unwrap();
        }
        Self { root, _dir: dir }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file, and the folders above it.
    pub(crate) fn put(&self, path: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The user's own config.
    pub(crate) fn user_config(&self, text: &str) {
        self.put("config/haft/config.toml", text);
    }

    /// The workspace's own config.
    pub(crate) fn project_config(&self, text: &str) {
        self.put("work/haft.toml", text);
    }

    /// A file for `--policy`.
    pub(crate) fn policy(&self, text: &str) -> String {
        self.put("policy.toml", text)
    }

    /// `haft` with these arguments, in the workspace, with nothing but this world around it.
    pub(crate) fn haft<S: AsRef<OsStr>>(&self, args: &[S]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        command.args(args);
        self.enclose(&mut command);
        Run { command, input: Vec::new() }
    }

    /// Lets any command run in this world and no other.
    pub(crate) fn enclose(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", self.path("home"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .current_dir(self.path("work"));
    }

    /// One call with `--json`, and its answer.
    pub(crate) fn call(&self, tool: &str, args: &Value, flags: &[&str]) -> Ran {
        let args = args.to_string();
        let mut all = vec!["call", tool, &args, "--json"];
        all.extend(flags);
        self.haft(&all).run()
    }

    /// What stands in a session's list, as contents.
    pub(crate) fn todos(&self, session: &str) -> Vec<String> {
        let read = self.call("todoread", &json!({}), &["--session", session]).json();
        let todos = read["metadata"]["todos"].as_array().expect("a list of todos");
        todos.iter().map(|todo| todo["content"].as_str().unwrap().to_owned()).collect()
    }

    /// The event log of a session.
    pub(crate) fn events(&self, session: &str) -> Vec<Value> {
        self.haft(&["sessions", "show", session, "--events"]).run().done().lines()
    }

    /// The calls of a session, as they are recorded.
    pub(crate) fn calls(&self, session: &str) -> Vec<Value> {
        let shown = self.haft(&["sessions", "show", session, "--json"]).run().json();
        shown["calls"].as_array().expect("calls").clone()
    }

    /// The same once so many of them have ended: what only reads is written down after it is answered.
    pub(crate) fn ended_calls(&self, session: &str, count: usize) -> Vec<Value> {
        let patience = Instant::now() + Duration::from_secs(20);
        loop {
            let calls = self.calls(session);
            let is_ended = |call: &&Value| call["state"] == "completed" || call["state"] == "error";
            if calls.iter().filter(is_ended).count() >= count || Instant::now() > patience {
                return calls;
            }
        }
    }

    /// How many sessions there are.
    pub(crate) fn sessions(&self) -> usize {
        let list = self.haft(&["sessions", "list", "--all", "--json"]).run().json();
        list.as_array().expect("sessions").len()
    }

    /// Every file under `path`, with its content.
    pub(crate) fn tree(&self, path: &str) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut tree = BTreeMap::new();
        walk(&self.path(path), &mut tree);
        tree
    }
}

fn walk(dir: &Path, tree: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
    for entry in fs_err::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tree.insert(path.clone(), None);
            walk(&path, tree);
        } else {
            let content = fs_err::read(&path).unwrap();
            tree.insert(path, Some(content));
        }
    }
}

/// A list of todos with these contents, as arguments.
pub(crate) fn todos(contents: &[&str]) -> Value {
    let item = |content: &&str| json!({ "content": content, "status": "pending" });
    json!({ "todos": contents.iter().map(item).collect::<Vec<_>>() })
}

/// A process that is about to start.
pub(crate) struct Run {
    pub(crate) command: Command,
    input: Vec<u8>,
}

impl Run {
    pub(crate) fn stdin(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    pub(crate) fn env_remove(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Runs it to its end. It has no terminal.
    pub(crate) fn run(mut self) -> Ran {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            // Whoever does not read its input closes it.
            drop(stdin.write_all(&self.input));
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Ran::from(output)
    }
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code; 128 and the signal where one ended it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let signal = || 128 + output.status.signal().unwrap_or_default();
        Self {
            code: output.status.code().unwrap_or_else(signal),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// Holds it to exit code 0.
    #[track_caller]
    pub(crate) fn done(self) -> Self {
        self.coded(0)
    }

    #[track_caller]
    pub(crate) fn coded(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self
    }

    /// The one JSON value on standard output: a line of its own, and nothing else.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let line = self.stdout.strip_suffix('\n');
        let line = line.unwrap_or_else(|| panic!("no whole line: {self:#?}"));
        assert!(!line.contains('\n'), "more than one line: {self:#?}");
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Every line of standard output as JSON.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The kind of error of a call that failed.
    #[track_caller]
    pub(crate) fn kind(&self) -> String {
        self.json()["error"]["kind"].as_str().expect("an error").to_owned()
    }

    /// The error text that the model reads.
    #[track_caller]
    pub(crate) fn message(&self) -> String {
        self.json()["error"]["message"].as_str().expect("an error").to_owned()
    }
}

/// An object's keys, in order.
#[track_caller]
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}
