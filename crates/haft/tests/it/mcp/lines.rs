//! What a client can do wrong on a pipe, and what becomes of it.

use std::io::Write;

use serde_json::json;

use super::{Client, ERAS, Era, Forms};
use crate::world::World;

#[test]
fn lines_that_are_no_messages_do_no_harm() {
    for era in ERAS {
        let world = World::new();
        let mut client = Client::start(&world, era, Forms::Unknown, &[]);
        for (line, code) in [
            ("this is not JSON", Some(-32700)),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":", Some(-32700)),
            ("\u{fffd}\u{0}\u{1b}[31m", Some(-32700)),
            ("[]", Some(-32600)),
            ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", Some(-32600)),
            ("17", Some(-32600)),
            ("null", Some(-32600)),
            ("{}", Some(-32600)),
            ("{\"jsonrpc\":\"1.0\",\"id\":\"x\",\"method\":\"ping\"}", Some(-32600)),
            ("", None),
            ("   ", None),
            ("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nothing\",\"params\":{}}", None),
            ("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":7}", None),
            ("{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}", None),
            ("{\"jsonrpc\":\"2.0\",\"id\":99,\"error\":{\"code\":1,\"message\":\"x\"}}", None),
        ] {
            client.raw(format!("{line}\n").as_bytes());
            if let Some(code) = code {
                let answer = client.next().unwrap();
                assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
            }
        }
        let answer = client.request("tools/list", json!({}));
        assert!(answer["result"]["tools"].is_array(), "{answer}");
        assert!(client.aside().is_empty(), "an answer to nothing");
    }
}

#[test]
fn bytes_that_are_no_text_are_no_message() {
    let world = World::new();
    let mut client = Client::start(&world, Era::Old, Forms::Unknown, &[]);
    client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\xff\xfe\"}\n");
    assert_eq!(client.next().unwrap()["error"]["code"], -32700);
    assert!(client.request("tools/list", json!({}))["result"].is_object());
}

#[test]
fn a_message_in_pieces_is_one_message() {
    let world = World::new();
    let mut client = Client::bare(&world, Era::New, Forms::Unknown, &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta }
    });
    for piece in format!("{message}\r\n").as_bytes().chunks(7) {
        client.raw(piece);
    }
    let answer = client.answer(1);
    assert!(answer["result"]["supportedVersions"].is_array(), "{answer}");
}

#[test]
fn a_message_that_is_too_long_is_refused_and_the_next_is_read() {
    let world = World::new();
    let mut client = Client::start(&world, Era::Old, Forms::Unknown, &[]);
    let mebibyte = vec![b'x'; 1024 * 1024];
    client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"");
    for _ in 0..65 {
        client.raw(&mebibyte);
    }
    client.raw(b"\"}\n");
    let refused = client.next().unwrap();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert!(client.request("tools/list", json!({}))["result"].is_object());
}

#[test]
fn a_large_call_and_a_large_answer_get_through() {
    for era in ERAS {
        let world = World::new();
        let mut client = Client::start(&world, era, Forms::Unknown, &[]);
        let content = "0123456789abcdef\n".repeat(200_000);
        let args = json!({ "file_path": "large.txt", "content": content });
        let written = client.call("write", &args);
        assert_eq!(written["isError"], false, "{written}");
        assert_eq!(fs_err::read_to_string(world.path("work/large.txt")).unwrap(), content);
    }
}

#[test]
fn nothing_is_taken_before_a_client_has_opened() {
    let world = World::new();
    let mut client = Client::bare(&world, Era::Old, Forms::Unknown, &[]);
    client.notify("notifications/cancelled", json!({ "requestId": 1 }));
    client.notify("notifications/initialized", json!({}));
    let early = client.request(
        "tools/call",
        json!({ "name": "bash", "arguments": {
        "command": "touch early" } }),
    );
    assert_eq!(early["error"]["code"], -32602, "{early}");
    assert!(!world.path("work/early").exists());
    let opened = client.request(
        "initialize",
        json!({ "protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
    );
    assert_eq!(opened["result"]["protocolVersion"], "2025-06-18", "{opened}");
}

#[test]
fn an_unknown_version_is_answered_with_one_that_is_known() {
    let world = World::new();
    let mut client = Client::bare(&world, Era::Old, Forms::Unknown, &[]);
    let opened = client.request(
        "initialize",
        json!({ "protocolVersion": "2031-01-01",
        "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
    );
    assert_eq!(opened["result"]["protocolVersion"], "2025-11-25", "{opened}");
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody_but_itself() {
    let world = World::new();
    world.put("work/long.txt", "0123456789\n".repeat(4_000));
    let mut child = world.haft(&["mcp"]).command;
    child.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for id in 0..200 {
        let call =
            json!({ "name": "read", "arguments": { "file_path": "long.txt" }, "_meta": meta });
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call });
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
    drop(stdin);
    let patience = std::time::Instant::now() + super::PATIENCE;
    while child.try_wait().unwrap().is_none() {
        assert!(std::time::Instant::now() < patience, "it waits for a reader for ever");
        std::thread::yield_now();
    }
}
