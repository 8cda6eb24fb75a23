//! Servers that do not start, crash, hang or talk nonsense.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use haft_scripted::{Model, Turn};
use serde_json::{Value, json};

use super::names;
use crate::mcp::{self, Client, Era, Forms};
use crate::world::World;

#[test]
fn a_server_that_does_not_work_is_reported_and_delays_nobody() {
    for (mode, patience, says) in [
        ("dies", 30, "no licence for \\u{1b}[2Jthis machine"),
        ("silent", 2, "did not answer within 2 s"),
        ("long", 30, "a message of more than 16 MiB"),
    ] {
        let world = World::new();
        let path = world.server();
        world.user_config(&format!(
            "[mcp.bad]\ncommand = [\"python3\", \"{path}\", \"{mode}\"]\nstart_timeout = {patience}\n\
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
fn a_tool_that_does_not_fit_the_protocol_spoils_no_other() {
    let world = World::new();
    world.with_server("crooked", "");
    crooked_tools_are_left_out(&world);
}

/// Holds haft to what it makes of a list of tools in which three do not fit.
pub(super) fn crooked_tools_are_left_out(world: &World) {
    let report = world.report();
    assert_eq!(report["state"], "connected", "{report}");
    assert!(names(&report).contains(&"srv_echo") && names(&report).contains(&"srv_tree"));
    let left_out: Vec<&Value> = report["left_out"].as_array().unwrap().iter().collect();
    let left: Vec<&str> = left_out.iter().map(|one| one[0].as_str().unwrap()).collect();
    assert_eq!(left, ["bare", "odd\\u{1b}[2J", "number 5"], "{report}");
    let whys = left_out.iter().map(|one| one[1].as_str().unwrap());
    assert!(whys.into_iter().all(|why| why.contains("does not fit the protocol")), "{report}");
    let doctor = world.haft(&["doctor"]).run().stdout;
    assert!(doctor.contains("bare: its definition does not fit the protocol"), "{doctor}");
    world.allowed("srv_echo", json!({ "text": "still" })).done();
}

#[test]
fn a_server_whose_tools_change_all_the_time_is_not_asked_all_the_time() {
    let world = World::new();
    world.with_server("restless", "");
    let mut client = Client::start(&world, Era::Old, Forms::Unknown, &["--allow-all"]);
    let mut lists = || -> u32 {
        mcp::text(&client.call("srv_lists", &json!({}))).parse().expect("how often it was asked")
    };
    let (first, begin) = (lists(), Instant::now());
    // The first change is followed at once, the others not before a second is over.
    while lists() < first + 3 {}
    assert!(begin.elapsed() >= Duration::from_secs(1), "{:?}", begin.elapsed());
}

#[test]
fn tools_are_offered_as_soon_as_their_server_answers_whatever_the_others_do() {
    let model = Model::start(vec![Turn::say("Done.")]).unwrap();
    let world = crate::run::world(&model, "anthropic");
    let path = world.server();
    let config = fs_err::read_to_string(world.path("config/haft/config.toml")).unwrap();
    // The late one does not know the first question, and is greeted as an old one after 3 s.
    world.user_config(&format!(
        "{config}[mcp.good]\ncommand = [\"python3\", \"{path}\"]\n\
         [mcp.hangs]\ncommand = [\"sleep\", \"1000\"]\nstart_timeout = 600\n\
         [mcp.late]\ncommand = [\"python3\", \"{path}\", \"deaf\"]\nstart_timeout = 6\n"
    ));
    world.haft(&["run", "go"]).env("TEST_KEY", "k").run().done();
    let first = model.requests()[0].tools();
    assert!(first.iter().any(|tool| tool == "good_echo"), "{first:?}");
    let mut client = Client::start(&world, Era::Old, Forms::Unknown, &[]);
    let listed = |client: &mut Client| {
        let listed = client.request("tools/list", json!({}))["result"]["tools"].to_string();
        ["good_echo", "late_echo"].map(|name| listed.contains(name))
    };
    assert_eq!(listed(&mut client), [true, false]);
    let is_told = |it: &Value| it["method"] == "notifications/tools/list_changed";
    while listed(&mut client) != [true, true] {
        if !client.aside().iter().any(is_told) {
            while !is_told(&client.next().expect("the server lives")) {}
        }
    }
}

#[test]
fn a_run_warns_once_of_each_server_that_does_not_work() {
    let model = Model::start(vec![Turn::say("Done.")]).unwrap();
    let world = crate::run::world(&model, "anthropic");
    let path = world.server();
    let config = fs_err::read_to_string(world.path("config/haft/config.toml")).unwrap();
    // A port that nobody listens at any more.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    world.user_config(&format!(
        "{config}[mcp.good]\ncommand = [\"python3\", \"{path}\"]\n\
         [mcp.dies]\ncommand = [\"python3\", \"{path}\", \"dies\"]\n\
         [mcp.far]\nurl = \"http://127.0.0.1:{port}/mcp\"\n\
         [mcp.hangs]\ncommand = [\"sleep\", \"1000\"]\nstart_timeout = 600\n"
    ));
    let warned = |stderr: &str| {
        let warnings = stderr.lines().filter_map(|line| line.strip_prefix("haft: warning: "));
        let mut warnings: Vec<String> = warnings.map(str::to_owned).collect();
        warnings.sort();
        warnings
    };
    let ran = world.haft(&["run", "go"]).env("TEST_KEY", "k").run().done();
    assert_eq!(ran.stdout, "Done.\n");
    let [dies, far, hangs] = warned(&ran.stderr).try_into().expect("one of each");
    assert!(dies.contains("`dies`") && dies.contains("no licence"), "{dies}");
    assert!(far.contains("`far`") && far.contains("refused"), "{far}");
    assert!(hangs.contains("`hangs`") && hangs.contains("not answered"), "{hangs}");
    let ran = world.haft(&["run", "go", "--jsonl"]).env("TEST_KEY", "k").run().done();
    assert_eq!(warned(&ran.stderr).len(), 3, "{}", ran.stderr);
    let lines = ran.lines();
    let told = lines.iter().filter(|line| line["type"] == "server.broken");
    let mut told: Vec<&str> = told.map(|line| line["server"].as_str().unwrap()).collect();
    told.sort_unstable();
    assert_eq!(told, ["dies", "far", "hangs"]);
}

#[test]
fn the_log_of_a_client_names_each_server_that_does_not_work() {
    let world = World::new();
    world.with_server("dies", "");
    let mut run = world.haft(&["mcp"]);
    run.command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = run.command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let who = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} }),
    ] {
        writeln!(stdin, "{message}").unwrap();
    }
    let log = BufReader::new(child.stderr.take().unwrap());
    let told = log.lines().map_while(Result::ok).find(|line| line.contains("does not work"));
    drop(stdin);
    child.wait().unwrap();
    let told = told.expect("the log ends without it");
    assert!(told.starts_with("haft: warning: the MCP server `srv`"), "{told}");
    assert!(told.contains("no licence"), "{told}");
}
