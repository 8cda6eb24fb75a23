//! `haft mcp --http`: who is let in, and what they get.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::{Client, PATIENCE, processes, text};
use crate::world::World;

/// A server over HTTP, and what its clients need.
struct Served {
    child: Child,
    address: String,
    token: String,
}

impl Served {
    fn start(world: &World, flags: &[&str]) -> Self {
        let mut all = vec!["mcp", "--http", "127.0.0.1:0"];
        all.extend(flags);
        let mut command = world.haft(&all).command;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let address =
            first.split("http://").nth(1).expect(&first).trim_end_matches("/mcp").to_owned();
        let second = lines.next().unwrap().unwrap();
        let token = second.split("Bearer ").nth(1).expect(&second).to_owned();
        Self { child, address, token }
    }

    /// One request with these headers beside the usual ones; the status, the headers and the messages.
    fn post(&self, message: &Value, headers: &[(&str, &str)]) -> Answer {
        self.exchange("POST", "/mcp", &message.to_string(), headers)
    }

    fn exchange(&self, method: &str, path: &str, body: &str, headers: &[(&str, &str)]) -> Answer {
        let mut stream = self.open(method, path, body, headers);
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        Answer::read(&String::from_utf8(all).unwrap())
    }

    fn open(&self, method: &str, path: &str, body: &str, headers: &[(&str, &str)]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        let given = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        for (name, value) in [
            ("host", self.address.as_str()),
            ("authorization", &format!("Bearer {}", self.token)),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("content-length", &body.len().to_string()),
        ] {
            if !given(name) {
                request.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        request.push_str(body);
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// A call as the new era makes it.
    fn call(&self, tool: &str, args: &Value, headers: &[(&str, &str)]) -> Value {
        let mut all = vec![
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", tool),
        ];
        all.extend(headers);
        let answer = self.post(&call(tool, args), &all);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.messages.last().unwrap()["result"].clone()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn call(tool: &str, args: &Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": tool, "arguments": args, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    messages: Vec<Value>,
}

impl Answer {
    /// Every JSON message in the body, whether it is JSON or a stream, in chunks or not.
    fn read(all: &str) -> Self {
        let (head, body) = all.split_once("\r\n\r\n").unwrap_or((all, ""));
        let status = head.split(' ').nth(1).expect("a status").parse().unwrap();
        let lines = body.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
        let messages = lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter(Value::is_object)
            .collect();
        Self { status, head: head.to_lowercase(), messages }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| line.starts_with(&format!("{name}: ")))?;
        line.split_once(": ").map(|(_, value)| value)
    }
}

fn initialize() -> Value {
    let who = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

#[test]
fn nobody_is_let_in_without_the_token() {
    let world = World::new();
    let served = Served::start(&world, &[]);
    for wrong in ["", "Bearer", "Bearer wrong", "Basic abc", &format!("bearer{}", served.token)] {
        let answer = served.post(&initialize(), &[("authorization", wrong)]);
        assert_eq!(answer.status, 401, "{wrong}: {answer:?}");
        assert_eq!(answer.header("www-authenticate"), Some("bearer"));
    }
    assert_eq!(served.post(&initialize(), &[]).status, 200);
}

#[test]
fn a_page_in_a_browser_gets_nowhere() {
    let world = World::new();
    let served = Served::start(&world, &[]);
    for headers in [
        [("host", "evil.example")],
        [("host", "evil.example:80")],
        [("origin", "http://evil.example")],
        [("origin", "https://evil.example")],
        [("origin", "null")],
    ] {
        let answer = served.post(&initialize(), &headers);
        assert_eq!(answer.status, 403, "{headers:?}: {answer:?}");
    }
    let own = format!("http://{}", served.address);
    assert_eq!(served.post(&initialize(), &[("origin", &own)]).status, 200);
}

#[test]
fn only_this_machine_is_served() {
    let world = World::new();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let refused = world.haft(&["mcp", "--http", address]).run().coded(2);
        assert!(refused.stderr.contains("can be reached from other machines"), "{refused:?}");
    }
}

#[test]
fn there_is_nothing_but_the_one_path() {
    let world = World::new();
    let served = Served::start(&world, &[]);
    for path in ["/", "/mcp/", "/other", "/mcp/../x"] {
        assert_eq!(served.exchange("POST", path, "{}", &[]).status, 404, "{path}");
    }
    assert_eq!(served.exchange("PUT", "/mcp", "{}", &[]).status, 405);
    assert!(served.exchange("POST", "/mcp", "not json", &[]).status >= 400);
}

#[test]
fn a_session_is_named_by_a_header() {
    let world = World::new();
    world.put("work/a.txt", "one\n");
    let served = Served::start(&world, &["--session", "mine"]);
    let args = json!({ "file_path": "a.txt" });
    assert!(text(&served.call("read", &args, &[])).contains("one"));
    assert!(text(&served.call("read", &args, &[("haft-session", "yours")])).contains("one"));
    assert_eq!(world.ended_calls("mine", 1).len(), 1);
    assert_eq!(world.ended_calls("yours", 1).len(), 1);
}

#[test]
fn the_old_era_has_sessions_of_its_own() {
    let world = World::new();
    world.put("work/a.txt", "one\n");
    let served = Served::start(&world, &[]);
    let opened = served.post(&initialize(), &[]);
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-11-25")];
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(served.post(&ready, &headers).status, 202);
    let params = json!({ "name": "read", "arguments": { "file_path": "a.txt" } });
    let read = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let answer = served.post(&read, &headers);
    assert!(text(&answer.messages.last().unwrap()["result"]).contains("one"), "{answer:?}");
    assert_eq!(world.ended_calls(&session, 1).len(), 1);
    assert_eq!(served.exchange("DELETE", "/mcp", "", &headers).status / 100, 2);
    assert_eq!(served.post(&read, &headers).status, 404, "it has ended");
}

#[test]
fn a_stream_that_is_closed_ends_its_call() {
    let world = World::new();
    let served = Served::start(&world, &["--session", "s"]);
    let call = call("bash", &json!({ "command": "touch began; sleep 74.5" }));
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "bash"),
    ];
    let stream = served.open("POST", "/mcp", &call.to_string(), &headers);
    Client::wait_for(&world, "work/began");
    drop(stream);
    let patience = std::time::Instant::now() + PATIENCE;
    while !processes("sleep 74.5").is_empty() {
        assert!(std::time::Instant::now() < patience, "the command goes on");
        std::thread::yield_now();
    }
}

#[test]
fn a_token_can_come_from_a_file() {
    let world = World::new();
    let short = world.put("short", "abc\n");
    let refused = world.haft(&["mcp", "--http", "127.0.0.1:0", "--token-file", &short]).run();
    assert!(refused.coded(2).stderr.contains("holds no token"));
}
