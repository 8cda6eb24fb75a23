//! `haft mcp` as agents meet it, over real pipes, in both eras of the protocol.

mod asking;
mod calls;
mod clients;
mod cut;
mod ends;
mod http;
mod lines;

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::World;

/// Long enough for a machine that does much else; what takes longer hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How a client opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// With `initialize`, up to 2025-11-25.
    Old,
    /// With everything in each request, from 2026-07-28.
    New,
}

pub(crate) const ERAS: [Era; 2] = [Era::Old, Era::New];

/// Whether the client can show forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forms {
    Shown,
    Unknown,
}

/// A client that says exactly what it is told to.
pub(crate) struct Client {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    era: Era,
    forms: Forms,
    last_id: i64,
    /// What came and was not waited for.
    others: VecDeque<Value>,
}

impl Client {
    /// Starts `haft mcp` with these flags, and opens as the era does.
    pub(crate) fn start(world: &World, era: Era, forms: Forms, flags: &[&str]) -> Self {
        let mut client = Self::bare(world, era, forms, flags);
        if era == Era::Old {
            let able = if forms == Forms::Shown { json!({ "elicitation": {} }) } else { json!({}) };
            let who = json!({ "name": "test", "version": "1" });
            let params = json!({
                "protocolVersion": "2025-11-25", "capabilities": able, "clientInfo": who
            });
            let answer = client.request("initialize", params);
            assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
            client.notify("notifications/initialized", json!({}));
        }
        client
    }

    /// Starts it, and says nothing.
    pub(crate) fn bare(world: &World, era: Era, forms: Forms, flags: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        command.arg("mcp").args(flags);
        world.enclose(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (told, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).expect("every line is JSON");
                if told.send(message).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, lines, era, forms, last_id: 0, others: VecDeque::new() }
    }

    /// Sends bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("still open");
        // A server that is gone shows when its answer is missing.
        drop(stdin.write_all(bytes).and_then(|()| stdin.flush()));
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request; the answer is waited for apart.
    pub(crate) fn ask(&mut self, method: &str, mut params: Value) -> i64 {
        self.last_id += 1;
        if self.era == Era::New {
            let able =
                if self.forms == Forms::Shown { json!({ "elicitation": {} }) } else { json!({}) };
            let mut meta = params["_meta"].as_object().cloned().unwrap_or_default();
            let prefix = "io.modelcontextprotocol";
            meta.insert(format!("{prefix}/protocolVersion"), "2026-07-28".into());
            meta.insert(format!("{prefix}/clientCapabilities"), able);
            meta.insert(format!("{prefix}/clientInfo"), json!({ "name": "test", "version": "1" }));
            params["_meta"] = meta.into();
        }
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next message; `None` when the server has ended.
    pub(crate) fn next(&mut self) -> Option<Value> {
        use std::sync::mpsc::RecvTimeoutError;
        match self.lines.recv_timeout(PATIENCE) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the server says nothing"),
        }
    }

    /// The answer to a request; what else comes is put aside.
    pub(crate) fn answer(&mut self, id: i64) -> Value {
        let is_it = |it: &Value| it["id"] == id && it.get("method").is_none();
        if let Some(at) = self.others.iter().position(is_it) {
            return self.others.remove(at).unwrap();
        }
        loop {
            let message = self.next().unwrap_or_else(|| panic!("no answer to {id}"));
            if is_it(&message) {
                return message;
            }
            self.others.push_back(message);
        }
    }

    /// The answer to a call that prints `line 1`, `line 2` and so on, each after the first once there is a
    /// file for the one before: made when that line is told of.
    pub(crate) fn answer_line_by_line(&mut self, world: &World, id: i64) -> Value {
        let is_it = |it: &Value| it["id"] == id && it.get("method").is_none();
        loop {
            let message = self.next().unwrap_or_else(|| panic!("no answer to {id}"));
            if is_it(&message) {
                return message;
            }
            let line = message["params"]["message"].as_str();
            if let Some(line) = line.filter(|line| line.starts_with("line ")) {
                world.put(&format!("work/{}", line.replace(' ', "-")), "");
            }
            self.others.push_back(message);
        }
    }

    /// Everything that was put aside.
    pub(crate) fn aside(&mut self) -> Vec<Value> {
        self.others.drain(..).collect()
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Sends a call; the answer is waited for apart.
    pub(crate) fn begin(&mut self, tool: &str, args: &Value) -> i64 {
        self.ask("tools/call", json!({ "name": tool, "arguments": args }))
    }

    /// One call, and its result.
    pub(crate) fn call(&mut self, tool: &str, args: &Value) -> Value {
        let id = self.begin(tool, args);
        let answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Waits until a file is there.
    pub(crate) fn wait_for(world: &World, path: &str) {
        let patience = Instant::now() + PATIENCE;
        while !world.path(path).exists() {
            assert!(Instant::now() < patience, "{path} never came");
            std::thread::yield_now();
        }
    }

    /// Says no more, and waits for the end.
    pub(crate) fn close(&mut self) -> i32 {
        self.stdin = None;
        let patience = Instant::now() + PATIENCE;
        while Instant::now() < patience {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            std::thread::yield_now();
        }
        panic!("the server does not end");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stdin = None;
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The text that the model reads.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

/// The processes whose command line has this word.
pub(crate) fn processes(word: &str) -> Vec<String> {
    let all = fs_err::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = all.filter_map(|entry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let bytes = fs_err::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&bytes).replace('\0', " "))
    });
    lines.filter(|line| line.contains(word)).collect()
}
