//! Other MCP servers as sources of tools: real processes, well-behaved and not.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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
fn a_server_that_does_not_work_is_reported_and_delays_nobody() {
    for (mode, says) in [
        ("dies", "no licence for \\u{1b}[2Jthis machine"),
        ("silent", "did not answer within 2 s"),
        ("long", "a message of more than 16 MiB"),
    ] {
        let world = World::new();
        let path = world.server();
        world.user_config(&format!(
            "[mcp.bad]\ncommand = [\"python3\", \"{path}\", \"{mode}\"]\nstart_timeout = 2\n\
             [mcp.good]\ncommand = [\"python3\", \"{path}\"]\n\
             [mcp.missing]\ncommand = [\"no-such-program\"]\n"
        ));
        let started = Instant::now();
        let listed = world.haft(&["tools", "--json"]).run().done().json();
        assert!(started.elapsed() < Duration::from_secs(10), "{mode}: {:?}", started.elapsed());
        let [bad, good, missing] = [0, 1, 2].map(|index| &listed["servers"][index]);
        assert_eq!(bad["state"], "broken", "{mode}: {bad}");
        assert!(bad["why"].as_str().unwrap().contains(says), "{mode}: {bad}");
        assert_eq!(good["state"], "connected", "{good}");
        assert!(missing["why"].as_str().unwrap().contains("was not found"), "{missing}");
        // What it does not need is not started, so nothing of this is waited for.
        let started = Instant::now();
        world.allowed("good_echo", json!({ "text": "x" })).done();
        assert!(started.elapsed() < Duration::from_secs(3), "{mode}: {:?}", started.elapsed());
    }
}

#[test]
fn what_is_no_message_is_passed_over() {
    let world = World::new();
    world.with_server("noisy", "");
    assert_eq!(world.allowed("srv_echo", json!({ "text": "x" })).done().json()["output"], "x");
}

#[test]
fn a_crash_is_an_error_and_the_next_call_starts_it_again() {
    let world = World::new();
    world.with_server("fine", "");
    let crashed = world.allowed("srv_crash", json!({})).coded(1);
    let message = crashed.message();
    assert!(message.contains("ended with code 7"), "{message}");
    assert!(message.contains("whether the call did anything is not known"), "{message}");
    assert!(message.contains("I am \\u{1b}[31mdying"), "{message}");
    let calls = json!({ "calls": [
        { "tool": "srv_crash", "args": {} },
        { "tool": "srv_echo", "args": { "text": "again" } },
    ] });
    let ran = world.allowed("batch", calls).json();
    assert!(ran["output"].as_str().unwrap().contains("again"), "{ran}");
    // One that dies all the time is not started all the time.
    let crash = json!({ "tool": "srv_crash", "args": {} });
    let ran = world.allowed("batch", json!({ "calls": vec![crash; 4] })).json();
    assert!(ran["output"].as_str().unwrap().contains("it is tried again in"), "{ran}");
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

#[test]
fn a_call_that_hangs_is_given_up_and_the_server_is_told() {
    let world = World::new();
    world.with_server("fine", "timeout = 1");
    let hung = world.allowed("srv_hang", json!({})).coded(124);
    assert_eq!(hung.kind(), "timed_out");
    // The server lives on, and answers the next call after it was told.
    let calls = json!({ "calls": [
        { "tool": "srv_hang", "args": {} },
        { "tool": "srv_echo", "args": { "text": "still here" } },
    ] });
    let ran = world.allowed("batch", calls).json();
    assert!(ran["output"].as_str().unwrap().contains("still here"), "{ran}");
    let told = fs_err::read_to_string(world.path("work/cancelled")).unwrap();
    assert_eq!(told, "timed out");
}

#[test]
fn ctrl_c_ends_the_call_and_the_server() {
    let world = World::new();
    world.with_server("fine", "");
    let mut run = world.haft(&["call", "srv_hang", "{}", "--jsonl", "--allow-all"]);
    run.command.stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null());
    let mut child = run.command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("call.running")), "it runs");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let path = world.path("server.py");
    let left = Command::new("pgrep").arg("-f").arg(path).output().unwrap();
    assert!(left.stdout.is_empty(), "{left:?}");
}

#[test]
fn hostile_names_and_descriptions_are_bounded_and_visible() {
    let world = World::new();
    world.with_server("hostile", "");
    let listed = world.haft(&["tools", "--json"]).run().done().json();
    let report = &listed["servers"][0];
    for tool in names(report) {
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(tool.len() <= 64 && tool.chars().all(fine), "{tool}");
    }
    assert!(names(report).len() <= 201, "{}", names(report).len());
    assert!(names(report).contains(&"srv_esc__2Jape"));
    let left_out = report["left_out"].to_string();
    for says in
        ["no letter or digit", "two of its tools", "only references within", "more than 200"]
    {
        assert!(left_out.contains(says), "{says}: {left_out}");
    }
    let schema = world.haft(&["schema", "srv_esc__2Jape", "--json"]).run().done().json();
    let description = schema[0]["description"].as_str().unwrap();
    assert!(description.starts_with("\\u{1b}[2J\\u{202e}xx"), "{description}");
    assert!(description.len() < 3000, "{}", description.len());
    let text = world.haft(&["tools"]).run().done().stdout;
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
}

#[test]
fn a_server_is_confined_as_commands_are() {
    let world = World::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    world.put("home/.ssh/id_rsa", "secret");
    for (more, reached) in [("", "refused"), ("network = true", "done")] {
        world.with_server("fine", more);
        if !sandboxed(&world) {
            eprintln!("SKIP a_server_is_confined_as_commands_are: no namespaces here");
            return;
        }
        let inside = world.path("work/inside");
        let ran = world.allowed("srv_write", json!({ "text": inside })).done().json();
        assert_eq!(ran["output"], "done");
        let outside = world.path("home/outside");
        let ran = world.allowed("srv_write", json!({ "text": outside })).done().json();
        assert!(ran["output"].as_str().unwrap().starts_with("refused"), "{ran}");
        assert!(!outside.exists());
        let ran = world.allowed("srv_connect", json!({ "port": port })).done().json();
        assert!(ran["output"].as_str().unwrap().starts_with(reached), "{more}: {ran}");
    }
}

/// Whether the kernel gives what the test is about.
fn sandboxed(world: &World) -> bool {
    let doctor = world.haft(&["doctor", "--json"]).run().json();
    let findings = doctor.as_array().unwrap().iter();
    let mut sandbox = findings.filter(|one| one["what"] == "sandbox");
    sandbox.all(|one| one["state"] == "fine")
}

#[test]
fn secrets_are_passed_on_only_where_the_config_names_them() {
    let world = World::new();
    world.with_server("fine", "env = { GIVEN = \"x-${API_TOKEN}\" }");
    let run = |tool: &str| {
        let args = ["call", tool, "{}", "--json", "--allow-all"];
        world.haft(&args).env("API_TOKEN", "s3cret").env("OTHER_TOKEN", "s3cret").run()
    };
    let ran = run("srv_environment").done().json();
    let variables: Value = serde_json::from_str(ran["output"].as_str().unwrap()).unwrap();
    assert_eq!(variables["GIVEN"], "x-s3cret");
    assert_eq!(variables["API_TOKEN"], Value::Null);
    assert_eq!(variables["OTHER_TOKEN"], Value::Null);
    let ran = world.allowed("srv_environment", json!({}));
    assert!(ran.stderr.contains("the variable API_TOKEN is not set"), "{}", ran.stderr);
}

#[test]
fn a_projects_own_server_is_inert_until_it_is_trusted() {
    let world = World::new();
    let path = world.server();
    let marker = world.path("work/started");
    let entry = |mode: &str| {
        format!(
            "[mcp.srv]\ncommand = [\"sh\", \"-c\", \"touch {}; exec python3 {path} {mode}\"]\n",
            marker.display()
        )
    };
    world.project_config(&entry("fine"));
    let listed = world.haft(&["tools", "--json"]).run().done();
    assert_eq!(listed.json()["servers"], json!([]));
    assert!(listed.stderr.contains("[mcp.srv] runs `sh -c"), "{}", listed.stderr);
    assert_eq!(world.allowed("srv_echo", json!({ "text": "x" })).coded(1).kind(), "unknown");
    assert!(!marker.exists(), "nothing of it has run");
    world.haft(&["trust", "give"]).run().done();
    // Paths in a project's command line are not opened by it: the world lies in /tmp.
    world.report();
    assert!(marker.exists());
    fs_err::remove_file(&marker).unwrap();
    world.project_config(&entry("other"));
    assert_eq!(world.report(), Value::Null, "a change asks again");
    assert!(!marker.exists());
}

#[test]
fn a_project_can_switch_off_but_not_take_over_a_users_server() {
    let world = World::new();
    world.with_server("fine", "");
    world.project_config("[mcp.srv]\ncommand = [\"false\"]\n");
    world.haft(&["trust", "give"]).run().done();
    let listed = world.haft(&["tools", "--json"]).run().done();
    assert!(listed.stderr.contains("your own config has that name"), "{}", listed.stderr);
    assert_eq!(listed.json()["servers"][0]["state"], "connected");
    world.project_config("[mcp.srv]\nenabled = false\n");
    assert_eq!(world.report(), Value::Null);
}

#[test]
fn names_that_clash_are_reported() {
    let world = World::new();
    let path = world.server();
    world.user_config(&format!(
        "[mcp.a]\ncommand = [\"python3\", \"{path}\"]\ntools = {{ allow = [\"echo\"] }}\n\
         [mcp.\"no name\"]\ncommand = [\"true\"]\n[mcp.both]\ncommand = [\"true\"]\nurl = \"http://x\"\n\
         [mcp.none]\n"
    ));
    let listed = world.haft(&["tools", "--json"]).run().done();
    assert_eq!(listed.json()["servers"].as_array().unwrap().len(), 1);
    for says in ["1 to 32 letters", "a command and a url", "neither a command nor a url"] {
        assert!(listed.stderr.contains(says), "{says}: {}", listed.stderr);
    }
}

#[test]
fn a_servers_question_goes_to_the_user_or_is_declined() {
    let world = World::new();
    world.with_server("fine", "");
    let declined = world.allowed("srv_ask", json!({})).done().json();
    assert_eq!(declined["output"], "{\"action\": \"decline\"}");
    let seat = world.sit(&["call", "srv_ask", "{}", "--json", "--allow-all"]);
    let ran = seat.sees("Which colour?").sees("your own: ").types("2").ends();
    let accepted = ran.json();
    let answer: Value = serde_json::from_str(accepted["output"].as_str().unwrap()).unwrap();
    assert_eq!(answer, json!({ "action": "accept", "content": { "colour": "blue" } }));
}

/// A server over HTTP, ended with the test.
struct Http(Child, String);

impl Http {
    fn start(world: &World, certificate: Option<&str>) -> Self {
        let mut command = Command::new("python3");
        command.arg(world.server()).arg("http").args(certificate).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut port).unwrap();
        let scheme = if certificate.is_some() { "https" } else { "http" };
        Self(child, format!("{scheme}://localhost:{}/mcp", port.trim()))
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn servers_over_http_are_reached_with_their_headers() {
    let world = World::new();
    let http = Http::start(&world, None);
    let config = |key: &str| {
        format!(
            "[mcp.web]\nurl = \"{}\"\nheaders = {{ X-Key = \"{key}\" }}\nstart_timeout = 4\n",
            http.1
        )
    };
    world.user_config(&config("open ${WORD}"));
    let args = ["call", "web_echo", "{\"text\":\"far\"}", "--json", "--allow-all"];
    let ran = world.haft(&args).env("WORD", "sesame").run().done().json();
    assert_eq!(ran["output"], "far");
    world.user_config(&config("wrong"));
    let report = world.report();
    assert_eq!(report["state"], "broken");
    assert!(report["why"].as_str().unwrap().contains("HTTP 401"), "{report}");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    world.user_config(&format!("[mcp.web]\nurl = \"http://{nobody}/mcp\"\n"));
    let report = world.report();
    assert!(report["why"].as_str().unwrap().contains("refused"), "{report}");
}

#[test]
fn a_server_over_https_has_to_prove_who_it_is() {
    let world = World::new();
    let file = world.path("server.pem");
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&file)
        .arg("-out")
        .arg(world.path("certificate.pem"))
        .output();
    if !made.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIP a_server_over_https_has_to_prove_who_it_is: no openssl");
        return;
    }
    let certificate = fs_err::read_to_string(world.path("certificate.pem")).unwrap();
    let key = fs_err::read_to_string(&file).unwrap();
    let https = Http::start(&world, Some(&world.put("server.pem", key + &certificate)));
    world.user_config(&format!(
        "[mcp.web]\nurl = \"{}\"\nheaders = {{ X-Key = \"open sesame\" }}\nstart_timeout = 4\n",
        https.1
    ));
    let args = ["call", "web_echo", "{\"text\":\"safe\"}", "--json", "--allow-all"];
    let trusting = world.haft(&args).env("SSL_CERT_FILE", world.path("certificate.pem"));
    assert_eq!(trusting.run().done().json()["output"], "safe");
    let report = world.report();
    assert_eq!(report["state"], "broken", "{report}");
    assert!(report["why"].as_str().unwrap().contains("certificate"), "{report}");
}
