//! Other MCP servers as sources of tools: real processes, well-behaved and not.

mod failing;
mod guarded;
mod over_http;

use serde_json::{Value, json};

use crate::mcp::{self, Client, Era, Forms};
use crate::world::World;

const SERVER: &str = include_str!("servers/server.py");

impl World {
    /// Puts the server into this world; its path.
    fn server(&self) -> String {
        self.put("server.py", SERVER)
    }

    /// The user's config with a server in this mode.
    fn with_server(&self, mode: &str, more: &str) {
        let path = self.server();
        self.user_config(&format!(
            "[mcp.srv]\ncommand = [\"python3\", \"{path}\", \"{mode}\"]\n{more}\n"
        ));
    }

    /// What `haft tools` says of the only server.
    fn report(&self) -> Value {
        let listed = self.haft(&["tools", "--json"]).run().done().json();
        listed["servers"][0].clone()
    }

    /// A call that everything is allowed for.
    fn allowed(&self, tool: &str, args: Value) -> crate::world::Ran {
        self.call(tool, &args, &["--allow-all"])
    }
}

fn names(report: &Value) -> Vec<&str> {
    report["tools"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect()
}

#[test]
fn its_tools_are_listed_described_and_called() {
    let world = World::new();
    world.with_server("fine", "");
    let report = world.report();
    assert_eq!(report["state"], "connected", "{report}");
    assert_eq!(report["protocol"], "2025-11-25");
    assert_eq!(report["software"], "fixture 1.0");
    for tool in ["srv_echo", "srv_tree", "srv_resource"] {
        assert!(names(&report).contains(&tool), "{report}");
    }
    let ran = world.allowed("srv_echo", json!({ "text": "hello" })).done().json();
    assert_eq!(ran["output"], "hello");
    let schema = world.haft(&["schema", "srv_echo", "--json"]).run().done().json();
    assert_eq!(schema[0]["description"], "Does echo.\n(MCP server srv)");
    assert_eq!(schema[0]["inputSchema"]["required"], json!(["text"]));
    assert_eq!(schema[0]["annotations"]["readOnlyHint"], false, "the server's word is not enough");
    let wrong = world.allowed("srv_echo", json!({})).coded(1);
    assert_eq!(wrong.kind(), "invalid_params");
    let nested = json!({ "tree": { "name": "a", "children": [{ "name": "b" }] } });
    let ran = world.allowed("srv_tree", nested.clone()).done().json();
    assert_eq!(serde_json::from_str::<Value>(ran["output"].as_str().unwrap()).unwrap(), nested);
}

#[test]
fn both_eras_of_the_protocol_are_spoken() {
    for (mode, protocol) in [
        ("fine", "2025-11-25"),
        ("new", "2026-07-28"),
        ("picky", "2025-11-25"),
        ("deaf", "2025-11-25"),
    ] {
        let world = World::new();
        world.with_server(mode, "start_timeout = 6");
        let report = world.report();
        assert_eq!(report["protocol"], protocol, "{mode}: {report}");
        let ran = world.allowed("srv_echo", json!({ "text": mode })).done().json();
        assert_eq!(ran["output"], mode);
    }
}

#[test]
fn a_call_asks_under_its_own_name_and_rules_decide_by_it() {
    let world = World::new();
    world.with_server("fine", "");
    let denied = world.call("srv_echo", &json!({ "text": "x" }), &[]).coded(3);
    assert!(denied.message().contains("srv_echo"), "{}", denied.message());
    world.with_server("fine", "[permission]\n\"srv_*\" = \"allow\"\nsrv_fail = \"deny\"");
    world.call("srv_echo", &json!({ "text": "x" }), &[]).done();
    assert!(!names(&world.report()).is_empty());
    let shown = world.haft(&["tools", "--json"]).run().done().json();
    let left_out = shown["left_out"].to_string();
    assert!(left_out.contains("srv_fail"), "{left_out}");
    let explained = world.haft(&["policy", "explain", "srv_echo", "{\"text\":\"x\"}", "--json"]);
    let explained = explained.run().done().json();
    assert_eq!(explained["decision"], "allow");
    assert_eq!(explained["effects"][0]["rule"]["key"], "srv_*", "{explained}");
}

#[test]
fn always_holds_for_a_tool_as_it_was_described_and_not_for_what_it_becomes() {
    let world = World::new();
    world.with_server("fine", "");
    let call = ["call", "srv_echo", "{\"text\":\"x\"}", "--json"];
    let seat =
        world.sit(&call).sees("| Does echo.").sees("always would allow: srv_echo as described");
    let ran = seat.types("a").ends();
    assert_eq!(ran.json()["output"], "x");
    world.haft(&call).run().done();
    // The same server, the same tool, another description.
    world.put("server.py", SERVER.replace("Does {name}.", "Sends {name} to me."));
    assert_eq!(world.haft(&call).run().coded(3).kind(), "denied");
    world.server();
    world.haft(&call).run().done();
}

#[test]
fn results_of_every_kind_are_mapped() {
    let world = World::new();
    world.with_server("fine", "");
    let failed = world.allowed("srv_fail", json!({})).coded(1);
    assert_eq!(failed.message(), "this went wrong");
    let picture = world.allowed("srv_picture", json!({})).done().json();
    assert_eq!(picture["attachments"][0]["mime"], "image/png");
    let link = world.allowed("srv_link", json!({})).done().json();
    assert_eq!(link["output"], "note://one (one), text/plain\nembedded");
    let facts = world.allowed("srv_facts", json!({})).done().json();
    assert!(facts["output"].as_str().unwrap().contains("42"), "{facts}");
    assert_eq!(facts["metadata"]["structured"], json!({ "answer": 42 }));
    let big = world.allowed("srv_big", json!({})).done().json();
    assert!(big["output"].as_str().unwrap().len() < 100_000, "bounded as every answer is");
}

#[test]
fn resources_are_listed_and_read() {
    let world = World::new();
    world.with_server("fine", "");
    let listed = world.allowed("srv_resource", json!({})).done().json();
    assert_eq!(listed["output"], "note://one (one)\nnote://two (two)");
    let read = world.allowed("srv_resource", json!({ "uri": "note://one" })).done().json();
    assert_eq!(read["output"], "the first note");
}

#[test]
fn progress_is_told_while_it_happens() {
    let world = World::new();
    world.with_server("fine", "");
    let ran = world.haft(&["call", "srv_progress", "{}", "--jsonl", "--allow-all"]).run().done();
    assert!(ran.stdout.contains("step 1") || ran.stdout.contains("step 2"), "{}", ran.stdout);
}

#[test]
fn only_the_tools_that_the_config_takes_are_offered() {
    let world = World::new();
    world.with_server("fine", "tools = { allow = [\"e*\", \"crash\"], deny = [\"env*\"] }");
    assert_eq!(names(&world.report()), ["srv_crash", "srv_echo"]);
    world.with_server("fine", "enabled = false");
    assert_eq!(world.report(), Value::Null);
}

#[test]
fn a_changed_list_of_tools_is_offered_anew() {
    let world = World::new();
    world.with_server("fine", "");
    let mut client = Client::start(&world, Era::Old, Forms::Unknown, &["--allow-all"]);
    let listed = |client: &mut Client| {
        let listed = client.request("tools/list", json!({}))["result"]["tools"].to_string();
        ["srv_echo", "srv_fail", "srv_grown"].map(|name| listed.contains(name))
    };
    assert_eq!(listed(&mut client), [true, true, false]);
    let grown = client.call("srv_grow", &json!({}));
    assert_eq!(mcp::text(&grown), "grown", "{grown}");
    let is_told = |it: &Value| it["method"] == "notifications/tools/list_changed";
    // One comes and one goes, and the client is told of it, perhaps more than once.
    while listed(&mut client) != [true, false, true] {
        if !client.aside().iter().any(is_told) {
            while !is_told(&client.next().expect("the server lives")) {}
        }
    }
    assert_eq!(client.close(), 0);
    assert_eq!(mcp::processes(world.path("server.py").to_str().unwrap()), Vec::<String>::new());
}

/// Servers that others wrote, if the test command has installed them.
fn installed(name: &str) -> Option<String> {
    let clients = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/clients/hosts");
    let path = format!("{clients}/node_modules/@modelcontextprotocol/{name}/dist/index.js");
    let path = fs_err::canonicalize(path).ok()?;
    Some(path.to_str().unwrap().to_owned())
}

#[test]
fn the_official_servers_work() {
    let (Some(everything), Some(files)) =
        (installed("server-everything"), installed("server-filesystem"))
    else {
        eprintln!("SKIP the_official_servers_work: they are not installed");
        return;
    };
    let world = World::new();
    world.put("work/a.txt", "the text of a file");
    let root = world.path("work");
    let root = root.to_str().unwrap();
    let node = crate::hosts::node_folder().join("node");
    let node = node.to_str().unwrap();
    // Named, because a checkout below /tmp is not seen by what has a /tmp of its own.
    let modules = everything.split("/@modelcontextprotocol/").next().unwrap();
    world.user_config(&format!(
        "[mcp.every]\ncommand = [\"{node}\", \"{everything}\"]\nwritable = [\"{modules}\"]\n\
         [mcp.files]\ncommand = [\"{node}\", \"{files}\", \"{root}\"]\nwritable = [\"{modules}\"]\n"
    ));
    let listed = world.haft(&["tools", "--json"]).run().done().json();
    for server in listed["servers"].as_array().unwrap() {
        assert_eq!(server["state"], "connected", "{server}");
        assert_eq!(server["left_out"], json!([]), "{server}");
    }
    let ran = world.allowed("every_echo", json!({ "message": "hello" })).done().json();
    assert!(ran["output"].as_str().unwrap().contains("hello"), "{ran}");
    let read = json!({ "path": format!("{root}/a.txt") });
    let ran = world.allowed("files_read_text_file", read).done().json();
    assert_eq!(ran["output"], "the text of a file");
}
