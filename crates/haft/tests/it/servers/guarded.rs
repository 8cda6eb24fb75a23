//! What a server can and cannot do to its user: names, secrets, files, trust, questions.

use serde_json::{Value, json};

use super::names;
use crate::world::World;

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
