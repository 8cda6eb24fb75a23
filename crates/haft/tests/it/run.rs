//! `haft run` and `haft demo`: a model works, recorded or over the wire.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use haft_scripted::{Fault, Model, Turn};
use serde_json::json;

use crate::world::World;

/// A world whose config names the scripted model.
pub(crate) fn world(model: &Model, kind: &str) -> World {
    let world = World::new();
    let url = model.url();
    world.user_config(&format!(
        "model = \"test/scripted\"\n[provider.test]\nkind = \"{kind}\"\nbase_url = \"{url}/v1\"\n\
         key_env = \"TEST_KEY\"\n[provider.test.models.scripted]\ncontext = 100000\n\
         price = {{ input = 10.0, output = 100.0 }}\n"
    ));
    world.put("work/a.txt", "alpha\n");
    world
}

fn script() -> Vec<Turn> {
    vec![
        Turn::call("read", json!({ "file_path": "a.txt" })),
        Turn::call(
            "edit",
            json!({ "file_path": "a.txt", "old_string": "alpha", "new_string": "beta" }),
        ),
        Turn::say("It says beta now."),
    ]
}

#[test]
fn the_words_go_to_standard_output_and_the_calls_beside_them() {
    for kind in ["anthropic", "openai", "openai-chat"] {
        let model = Model::start(script()).unwrap();
        let world = world(&model, kind);
        let run = world.haft(&["run", "make it beta", "--allow-edits"]).env("TEST_KEY", "hush");
        let ran = run.run().done();
        assert_eq!(ran.stdout, "It says beta now.\n");
        let err = &ran.stderr;
        assert!(err.contains("✓ read a.txt") && err.contains("✓ edit a.txt"), "{err}");
        assert!(err.contains("+beta") && err.contains("$0.0060"), "{err}");
        assert_eq!(fs_err::read_to_string(world.path("work/a.txt")).unwrap(), "beta\n");
        assert!(!err.contains("hush") && !err.contains('\u{1b}'), "{err}");
    }
}

#[test]
fn json_is_one_object_and_jsonl_every_event() {
    let model = Model::start(script()).unwrap();
    let world = world(&model, "anthropic");
    let ran =
        world.haft(&["run", "go", "--json", "--allow-edits"]).env("TEST_KEY", "k").run().done();
    let result = ran.json();
    assert_eq!((&result["why"], &result["text"]), (&json!("done"), &json!("It says beta now.")));
    assert_eq!(result["usage"]["input"], 300);
    let ran = world.haft(&["run", "go", "--jsonl"]).env("TEST_KEY", "k").run().done();
    let lines = ran.lines();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds.first(), Some(&"message.added"));
    assert_eq!(kinds.last(), Some(&"result"));
    for kind in ["message.delta", "call.pending", "call.completed"] {
        assert!(kinds.contains(&kind), "{kind} in {kinds:?}");
    }
}

#[test]
fn each_call_is_shown_with_what_came_of_it() {
    let model = Model::start(vec![
        Turn::call("read", json!({ "file_path": "a.txt" }))
            .and("grep", json!({ "pattern": "alpha" }))
            .and("glob", json!({ "pattern": "*.txt" })),
        Turn::call("write", json!({ "file_path": "b.txt", "content": "one\ntwo\n" }))
            .and("bash", json!({ "command": "echo fine" })),
        Turn::call("bash", json!({ "command": "echo not fine; exit 7" })),
        Turn::call("bash", json!({ "command": "kill -9 $$" })),
        Turn::say("Done."),
    ]);
    let model = model.unwrap();
    let world = world(&model, "anthropic");
    let run = world.haft(&["run", "go", "--allow-all"]).env("TEST_KEY", "k");
    let err = run.run().done().stderr;
    for line in [
        "✓ read a.txt · 1 line\n",
        "✓ grep alpha in . · 1 match in 1 file\n",
        "✓ glob *.txt · 1 file\n",
        "✓ write b.txt · +2 −0\n",
        "✓ bash echo fine\n",
        "✗ bash echo not fine; exit 7 · exit 7\n  not fine\n",
        "✗ bash kill -9 $$ · signal 9\n",
    ] {
        assert!(err.contains(line), "{line:?} in {err}");
    }
}

#[test]
fn with_nobody_to_ask_the_model_is_told_what_was_denied() {
    let model = Model::start(script()).unwrap();
    let world = world(&model, "openai");
    world.haft(&["run", "go"]).env("TEST_KEY", "k").run().done();
    assert!(model.results()[1].text.contains("nobody is there"), "{:?}", model.results());
    assert_eq!(fs_err::read_to_string(world.path("work/a.txt")).unwrap(), "alpha\n");
}

#[test]
fn a_session_is_continued_by_another_process() {
    let model = Model::start(script()).unwrap();
    let world = world(&model, "anthropic");
    let none = world.haft(&["run", "--continue"]).env("TEST_KEY", "k").run().coded(2);
    assert!(none.stderr.contains("no session to continue"), "{}", none.stderr);
    world.haft(&["run", "go", "--allow-edits"]).env("TEST_KEY", "k").run().done();
    // A call of its own is no conversation.
    world.call("todoread", &json!({}), &[]).done();
    world.haft(&["run", "thanks", "-c"]).env("TEST_KEY", "k").run().done();
    let last = model.requests().pop().unwrap().body.to_string();
    assert!(last.contains("thanks") && last.contains("It says beta now."), "{last}");
    let over = world.haft(&["run", "-c"]).env("TEST_KEY", "k").run().coded(2);
    assert!(over.stderr.contains("last word"), "{}", over.stderr);
}

#[test]
fn a_reply_that_was_cut_goes_on() {
    for kind in ["anthropic", "openai", "openai-chat"] {
        let model = Model::start(vec![Turn::say("and so they lived.")]).unwrap();
        let world = world(&model, kind);
        let cut = json!({ "said": [{ "type": "text", "text": "Once upon a" }], "stop": "length" });
        let tape = world.put("cut.jsonl", format!("{{\"haft_conversation\": 1}}\n{cut}\n"));
        let ran = world.haft(&["run", "a tale", "--replay", &tape]).env("TEST_KEY", "k").run();
        assert!(ran.coded(1).stderr.contains("--continue goes on"));
        let ran = world.haft(&["run", "--continue"]).env("TEST_KEY", "k").run().done();
        assert_eq!(ran.stdout, "and so they lived.\n");
        let asked = model.requests().pop().unwrap().body.to_string();
        let (before, after) = asked.split_once("Once upon a").unwrap();
        assert!(before.contains("a tale") && after.contains("cut short. Go on"), "{asked}");
        let over = world.haft(&["run", "-c"]).env("TEST_KEY", "k").run().coded(2);
        assert!(over.stderr.contains("last word"), "{}", over.stderr);
    }
}

#[test]
fn only_a_session_that_is_there_is_continued() {
    let model = Model::start(vec![Turn::say("Yes.")]).unwrap();
    let world = world(&model, "anthropic");
    let refused = |args: &[&str], why: &str| {
        let run = world.haft(&[&["run"], args].concat()).env("TEST_KEY", "k");
        let said = run.run().coded(2).stderr;
        assert!(said.contains(why), "{args:?}: {said}");
    };
    refused(&["--continue"], "give a prompt instead");
    refused(&["--continue", "hi"], "leave out --continue to begin one");
    refused(&["--continue", "hi", "--session", "s9"], "there is no session s9");
    world.call("todoread", &json!({}), &["--session", "s1"]).done();
    refused(&["--continue", "hi", "--session", "s1"], "s1 has no conversation yet");
    assert!(model.requests().is_empty());
    // After a call of its own, a session is a conversation too.
    world.haft(&["run", "hi", "--session", "s1"]).env("TEST_KEY", "k").run().done();
    world.haft(&["run", "-c", "hi", "--session", "s1"]).env("TEST_KEY", "k").run().done();
    assert_eq!(model.requests().len(), 2);
    assert_eq!(world.sessions(), 1);
}

#[test]
fn an_empty_prompt_is_not_sent() {
    let model = Model::start(script()).unwrap();
    let world = world(&model, "anthropic");
    for prompt in ["", " \n", "-"] {
        let run = world.haft(&["run", prompt]).env("TEST_KEY", "k").stdin(" \n");
        let said = run.run().coded(2).stderr;
        assert!(said.contains("the prompt is empty"), "{prompt:?}: {said}");
    }
    assert!(model.requests().is_empty());
}

#[test]
fn a_model_that_is_not_running_is_told_soon() {
    let model = Model::start(script()).unwrap();
    let world = world(&model, "openai-chat");
    let place = model.url().trim_start_matches("http://").to_owned();
    drop(model);
    let ran = world.haft(&["run", "go", "--session", "s1"]).env("TEST_KEY", "k").run().coded(1);
    let err = &ran.stderr;
    assert_eq!(err.matches("asked again").count(), 2, "{err}");
    assert!(err.contains("(try 2 of 3 in 0.") && err.contains("(try 3 of 3 in "), "{err}");
    assert_eq!(err.matches(&format!("nobody listens at {place}")).count(), 3, "{err}");
    assert!(err.contains("haft run --continue goes on") && err.ends_with("s1\n"), "{err}");
}

#[test]
fn what_is_wrong_at_a_provider_is_told_with_what_was_spent() {
    let model = Model::unreliable(script(), |number| match number {
        0 => Fault::Status(500, None),
        1 => Fault::None,
        _ => Fault::Status(429, Some(3600)),
    });
    let model = model.unwrap();
    let world = world(&model, "anthropic");
    let ran = world.haft(&["run", "go", "--session", "s1"]).env("TEST_KEY", "k").run().coded(1);
    let err = &ran.stderr;
    assert!(err.contains("reports an error of the server (status 500)"), "{err}");
    assert!(err.contains("(try 2 of 8 in 0."), "{err}");
    assert!(err.contains("wants fewer requests (status 429)"), "{err}");
    assert!(err.contains("it asks to wait 60 minutes\nhaft run --continue goes on"), "{err}");
    assert!(err.ends_with("100 tokens read, 10 written · $0.0020 · s1\n"), "{err}");
    let ran = world.haft(&["run", "-c", "go", "--json"]).env("TEST_KEY", "k").run().coded(1);
    let result = ran.json();
    assert_eq!((&result["why"], &result["session"]), (&json!("error"), &json!("s1")));
    assert_eq!(result["usage"]["input"], 0);
}

#[test]
fn anthropics_protocol_is_spoken_at_a_host_without_a_path_too() {
    let model = Model::start(vec![Turn::say("Yes.")]).unwrap();
    let world = world(&model, "anthropic");
    let config = fs_err::read_to_string(world.path("config/haft/config.toml")).unwrap();
    for (base, path) in [("", "/v1/messages"), ("/", "/v1/messages"), ("/x/v1", "/x/v1/messages")] {
        let url = model.url();
        world.user_config(&config.replace(&format!("{url}/v1"), &format!("{url}{base}")));
        world.haft(&["run", "hi"]).env("TEST_KEY", "k").run().done();
        assert_eq!(model.requests().pop().unwrap().path, path);
    }
}

#[test]
fn a_session_goes_on_with_the_agent_and_the_model_that_led_it() {
    let turns = (0..6).map(|_| Turn::say("Yes.")).collect();
    let model = Model::start(turns).unwrap();
    let world = world(&model, "anthropic");
    let config = fs_err::read_to_string(world.path("config/haft/config.toml")).unwrap();
    let careful =
        "[agent.careful]\nprompt = \"Be careful.\"\n[agent.careful.permission]\nedit = \"deny\"\n";
    let other = "[provider.test.models.other]\ncontext = 100000\n";
    world.user_config(&format!("{config}{other}{careful}"));
    let run = |args: &[&str]| world.haft(&[&["run"], args].concat()).env("TEST_KEY", "k").run();
    let last = || {
        let body = model.requests().pop().unwrap().body;
        let is_careful = body["system"].to_string().contains("Be careful.");
        let edits = body["tools"].to_string().contains("\"edit\"");
        (body["model"].as_str().unwrap().to_owned(), is_careful, edits)
    };
    run(&["hi", "--agent", "careful", "--model", "test/other"]).done();
    let careful = ("other".to_owned(), true, false);
    assert_eq!(last(), careful);
    run(&["still?", "-c"]).done();
    assert_eq!(last(), careful);
    // Who says otherwise is heeded, now and from then on.
    run(&["now you", "-c", "--agent", "build", "--model", "test/scripted"]).done();
    run(&["still?", "-c"]).done();
    assert_eq!(last(), ("scripted".to_owned(), false, true));
    run(&["back", "-c", "--agent", "careful"]).done();
    world.user_config(&config);
    let gone = run(&["still?", "-c"]).coded(2);
    assert!(gone.stderr.contains("careful") && gone.stderr.contains("--agent"), "{}", gone.stderr);
    run(&["a new one"]).done();
    assert_eq!(last(), ("scripted".to_owned(), false, true));
}

#[test]
fn a_cost_is_told_without_digits_of_chance() {
    let model = Model::start(script()).unwrap();
    let world = world(&model, "anthropic");
    let config = fs_err::read_to_string(world.path("config/haft/config.toml")).unwrap();
    // Three times 100 tokens read and 10 written, which floating point makes 0.0004590000000000001.
    world.user_config(&config.replace("input = 10.0, output = 100.0", "input = 1.1, output = 4.3"));
    let run = world.haft(&["run", "go", "--json", "--allow-edits"]).env("TEST_KEY", "k");
    let told = run.run().done().stdout;
    assert!(told.contains("\"cost\":0.000459,"), "{told}");
}

#[test]
fn sessions_are_listed_with_their_first_words() {
    let model = Model::start(script()).unwrap();
    let world = world(&model, "anthropic");
    let prompt = format!("mend\n  the \u{1b}[2J build {}", "x".repeat(100));
    let run = world.haft(&["run", &prompt, "--session", "s1"]).env("TEST_KEY", "k");
    run.run().done();
    world.call("todoread", &json!({}), &["--session", "s2"]).done();
    let list = world.haft(&["sessions"]).run().done().stdout;
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with("s2  1 call ") && lines[0].ends_with("build"), "{list}");
    assert!(lines[1].starts_with("s1  2 calls "), "{list}");
    assert!(lines[1].contains("  mend the \\u{1b}[2J build xxx"), "{list}");
    assert!(lines[1].ends_with("xxx…") && lines[1].len() < 130, "{list}");
}

#[test]
fn a_recorded_session_is_replayed_without_a_model() {
    let model = Model::start(script()).unwrap();
    let world = world(&model, "openai-chat");
    let run = world.haft(&["run", "go", "--allow-edits", "--record", "talk.jsonl"]);
    run.env("TEST_KEY", "k").run().done();
    let run = world.haft(&["run", "go", "--record", "talk.jsonl"]).env("TEST_KEY", "k");
    let said = run.run().coded(2).stderr;
    assert!(
        said.ends_with("talk.jsonl exists already; choose another name or remove it\n"),
        "{said}"
    );
    drop(model);
    world.put("work/a.txt", "alpha\n");
    let ran = world.haft(&["run", "go", "--allow-edits", "--replay", "talk.jsonl"]).run().done();
    assert_eq!(ran.stdout, "It says beta now.\n");
    assert_eq!(fs_err::read_to_string(world.path("work/a.txt")).unwrap(), "beta\n");
}

#[test]
fn tools_of_servers_are_offered_and_those_that_were_found_from_then_on() {
    let search = Turn::call("tool_search", json!({ "query": "srv_echo", "limit": 1 }));
    let echo = Turn::call("srv_echo", json!({ "text": "hello" }));
    let model = Model::start(vec![search, echo, Turn::say("Done.")]).unwrap();
    let world = world(&model, "anthropic");
    let server = world.put("server.py", include_str!("servers/server.py"));
    let config = fs_err::read_to_string(world.path("config/haft/config.toml")).unwrap();
    world.user_config(&format!(
        "{config}[limits]\ntool_bytes = 0\n[mcp.srv]\ncommand = [\"python3\", \"{server}\", \"fine\"]\n"
    ));
    world.haft(&["run", "go", "--allow-all"]).env("TEST_KEY", "k").run().done();
    let offered = |number: usize, name: &str| {
        model.requests()[number].tools().iter().any(|tool| tool == name)
    };
    assert!(offered(0, "tool_search") && !offered(0, "srv_echo") && offered(1, "srv_echo"));
    assert_eq!(model.results()[1].text, "hello");
}

#[test]
fn what_is_missing_is_named() {
    let world = World::new();
    let says = |args: &[&str]| world.haft(args).run().coded(2).stderr;
    assert!(says(&["run", "go"]).contains("set ANTHROPIC_API_KEY"));
    assert!(says(&["run", "go", "--model", "openai/gpt-5"]).contains("set OPENAI_API_KEY"));
    assert!(says(&["run", "go", "--model", "x/y"]).contains("[provider.x]"));
    assert!(says(&["run"]).contains("say what to do"));
    let missing = says(&["run", "go", "--replay", "/none"]);
    assert!(missing.starts_with("haft: /none cannot be read:"), "{missing}");
}

#[test]
fn a_provider_that_refuses_is_an_error_that_does_not_show_the_key() {
    let model = Model::unreliable(script(), |_| Fault::Status(401, None)).unwrap();
    let world = world(&model, "anthropic");
    let ran = world.haft(&["run", "go", "--json"]).env("TEST_KEY", "hush").run().coded(1);
    assert!(ran.json()["error"].as_str().unwrap().contains("401"));
    assert!(!ran.stdout.contains("hush") && !ran.stderr.contains("hush"));
    let shown = world.haft(&["config", "show", "--json"]).env("TEST_KEY", "hush").run().done();
    assert!(!shown.stdout.contains("hush"));
}

#[test]
fn a_project_cannot_send_the_key_elsewhere_before_it_is_trusted() {
    let model = Model::start(script()).unwrap();
    let thief = Model::start(vec![Turn::say("Thanks.")]).unwrap();
    let world = world(&model, "anthropic");
    world.project_config(&format!(
        "model = \"test/other\"\n[provider.test]\nbase_url = \"{}/v1\"\n",
        thief.url()
    ));
    let ran = world.haft(&["run", "go"]).env("TEST_KEY", "hush").run().done();
    assert!(ran.stderr.contains("warning"), "{}", ran.stderr);
    assert_eq!((thief.requests().len(), model.requests().len()), (0, 3));
    assert_eq!(model.requests()[0].body["model"], "scripted");
}

#[test]
fn two_processes_do_not_work_in_one_session() {
    let model = Model::unreliable(script(), |_| Fault::Hang(10)).unwrap();
    let world = world(&model, "anthropic");
    let mut first = world.haft(&["run", "go", "--session", "s1", "--jsonl"]).env("TEST_KEY", "k");
    let mut child = first.command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let second = world.haft(&["run", "go", "--session", "s1"]).env("TEST_KEY", "k").run().coded(2);
    assert!(second.stderr.contains("another haft works"), "{}", second.stderr);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_demo_ends_with_the_checks_of_its_project_passing() {
    let world = World::new();
    let ran = world.haft(&["demo"]).env("TMPDIR", world.path("work")).run().done();
    let err = &ran.stderr;
    assert!(ran.stdout.contains("All checks pass."), "{}", ran.stdout);
    for tool in ["grep", "bash", "read", "edit", "undo"] {
        assert!(err.contains(&format!("✓ {tool}")), "{tool}: {err}");
    }
    // The checks fail, as they do after the first attempt to mend it, and pass at last.
    let ends: Vec<bool> =
        err.lines().filter(|line| line.contains(" bash ")).map(|it| it.starts_with('✓')).collect();
    assert_eq!(ends, [false, false, true], "{err}");
    assert_eq!(err.matches(" · exit 1\n").count(), 2, "{err}");
    let demo = fs_err::read_dir(world.path("work")).unwrap().next().unwrap().unwrap().path();
    let mut check = std::process::Command::new("sh");
    let checked = check.arg("test.sh").current_dir(demo.join("project")).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success() && said.matches("ok ").count() == 3, "{said}");
}
