//! Agents that agents start, through the real binary and a scripted model.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use haft_scripted::{Fault, Model, Request, Turn};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::world::World;

/// A world whose config names the scripted model, and says this beside.
pub(crate) fn world(model: &Model, more: &str) -> World {
    let world = World::new();
    let url = model.url();
    world.user_config(&format!(
        "model = \"test/scripted\"\n{more}\n[provider.test]\nkind = \"anthropic\"\nbase_url = \"{url}/v1\"\n\
         key = \"k\"\n[provider.test.models.scripted]\ncontext = 100000\n\
         price = {{ input = 10.0, output = 100.0 }}\n"
    ));
    world.put("work/a.txt", "alpha\n");
    world
}

/// A model that works for the user by `script`, and for others by what their first words name.
pub(crate) fn model(script: Vec<Turn>, parts: Vec<(&str, Vec<Turn>)>) -> Model {
    let parts = parts.into_iter().map(|(mark, script)| (mark.to_owned(), script)).collect();
    Model::with_parts(script, parts, |_| Fault::None).unwrap()
}

fn task(agent: &str, prompt: &str) -> Value {
    json!({ "description": format!("look at {prompt}"), "prompt": prompt, "subagent_type": agent })
}

fn background(agent: &str, prompt: &str) -> Value {
    let mut task = task(agent, prompt);
    task["background"] = json!(true);
    task
}

fn read() -> Turn {
    Turn::call("read", json!({ "file_path": "a.txt" }))
}

fn bash(command: &str) -> Turn {
    Turn::call("bash", json!({ "command": command, "description": "Work" }))
}

/// The requests of the conversation that opens with this.
fn requests(model: &Model, opening: &str) -> Vec<Request> {
    model.requests().into_iter().filter(|it| it.opening().contains(opening)).collect()
}

/// The results that the conversation with the user carries.
fn results(model: &Model, opening: &str) -> Vec<String> {
    let last = requests(model, opening).pop().unwrap();
    last.results().into_iter().map(|result| result.text).collect()
}

#[test]
fn an_agent_does_its_piece_and_its_answer_is_the_calls_result() {
    let parent = vec![Turn::call("task", task("explore", "part one")), Turn::say("It is alpha.")];
    let model = model(parent, vec![("part one", vec![read(), Turn::say("It says alpha.")])]);
    let world = world(&model, "");
    let ran = world.haft(&["run", "begin", "--jsonl", "--session", "s1"]).run().done();
    let answer = &results(&model, "begin")[0];
    assert!(answer.contains("state: done") && answer.ends_with("It says alpha."), "{answer}");
    // Four replies, two of each; the child's count for the parent.
    let result = ran.lines().pop().unwrap();
    assert_eq!((&result["usage"]["input"], &result["text"]), (&json!(400), &json!("It is alpha.")));
    assert!((result["cost"].as_f64().unwrap() - 4.0 * 0.002).abs() < 1e-9, "{result}");
    let lines = ran.lines();
    let progress: Vec<&Value> = lines.iter().filter(|it| it["type"] == "call.progress").collect();
    assert!(progress.iter().any(|it| it["metadata"]["agent"] == "explore"), "{progress:?}");
    let told = lines.iter().filter(|it| it["type"] == "task.progress");
    assert!(told.clone().any(|it| it["line"].as_str().unwrap().starts_with("read")), "{lines:?}");
    let child = requests(&model, "part one").remove(0);
    let system = child.body["system"].to_string();
    assert!(system.contains("change nothing") && system.contains("Another agent"), "{system}");
    for tool in ["write", "edit", "plan_enter", "plan_exit"] {
        assert!(!child.tools().contains(&tool.to_owned()), "{tool}");
    }
    assert!(child.tools().contains(&"task".to_owned()), "two may be nested");
    let about = requests(&model, "begin")[0].body["tools"].to_string();
    assert!(about.contains("- explore: ") && about.contains("- general: "), "{about}");
    assert!(!about.contains("- plan: "), "{about}");
    let sessions = world.haft(&["sessions", "--json"]).run().done().json();
    let of_child = sessions.as_array().unwrap().iter().find(|it| it["agent"] == "explore").unwrap();
    assert_eq!((&of_child["parent"], &of_child["calls"]), (&json!("s1"), &json!(1)));
    assert!(world.haft(&["sessions"]).run().done().stdout.contains("of s1"));
    world.haft(&["sessions", "forget", "s1"]).run().done();
    assert_eq!(world.sessions(), 0, "those it started are forgotten with it");
}

#[test]
fn a_model_is_told_when_those_in_the_background_end() {
    let both = Turn::call("task", background("explore", "part one"))
        .and("task", background("general", "part two"));
    let collect = Turn::call("task", json!({ "action": "wait" }));
    // It says its word before they end, is woken, and collects what they found.
    let model = model(
        vec![both, bash("touch go"), Turn::say("Waiting.")],
        vec![
            ("part one", vec![read(), Turn::say("One.")]),
            ("part two", vec![bash("until [ -e go ]; do sleep 0.02; done"), Turn::say("Two.")]),
        ],
    );
    let first = world(&model, "");
    let ran = first.haft(&["run", "begin", "--allow-all"]).run().done();
    let last = requests(&model, "begin").pop().unwrap().body["messages"].to_string();
    assert!(last.contains("Told by haft, not by the user"), "{last}");
    assert!(last.contains("(explore: look at part one): done"), "{last}");
    assert!(last.contains("(general: look at part two): done"), "{last}");
    assert!(!last.contains("Two."), "an answer is a tool's result, never the user's word: {last}");
    assert!(ran.stderr.contains("✓ general look at part two"), "{}", ran.stderr);
    // The same with a wait instead of a word.
    let both = Turn::call("task", background("explore", "part one"))
        .and("task", background("explore", "part two"));
    let model = model_of_two(vec![both, collect.clone(), collect, Turn::say("All.")]);
    let second = world(&model, "");
    second.haft(&["run", "begin"]).run().done();
    let results = results(&model, "begin");
    assert!(results[0].contains("You are told when it ends"), "{results:?}");
    assert!(results[2].contains("One.") && results[2].contains("Two."), "{results:?}");
    assert!(results[3].contains("all answers were read"), "{results:?}");
    let last = requests(&model, "begin").pop().unwrap().body["messages"].to_string();
    assert!(!last.contains("Told by haft"), "what was read is no news: {last}");
}

fn model_of_two(script: Vec<Turn>) -> Model {
    let part = |answer: &str| vec![read(), Turn::say(answer)];
    model(script, vec![("part one", part("One.")), ("part two", part("Two."))])
}

#[test]
fn an_agent_at_work_is_listed_spoken_to_waited_for_ended_and_continued() {
    let id = || json!("{{0:task_id:}}");
    let call = |args: Value| Turn::call("task", args);
    let script = vec![
        call(background("general", "part one")),
        call(json!({ "action": "list" })),
        call(json!({ "action": "message", "task_id": id(), "prompt": "hurry up" })),
        call(json!({ "action": "wait", "task_ids": [id()], "timeout": 50 })),
        bash("touch go"),
        call(json!({ "action": "wait", "task_id": id(), "until": "any" })),
        call(json!({ "task_id": id(), "prompt": "and what else", "description": "more" })),
        call(json!({ "action": "message", "task_id": id(), "prompt": "go on alone" })),
        call(json!({ "action": "cancel", "task_id": id() })),
        call(json!({ "action": "cancel", "task_id": "ses_of_nobody" })),
        Turn::say("Done."),
    ];
    let child = vec![bash("until [ -e go ]; do sleep 0.02; done"), Turn::say("Heard.")];
    let model = model(script, vec![("part one", child)]);
    let world = world(&model, "");
    world.haft(&["run", "begin", "--allow-all", "--session", "s1"]).run().done();
    let results = results(&model, "begin");
    assert!(results[1].contains("(general: look at part one): running"), "{}", results[1]);
    assert!(results[2].contains("reads it before its next reply"), "{}", results[2]);
    assert!(results[3].contains("running"), "a timeout is no error: {}", results[3]);
    assert!(results[5].contains("done") && results[5].contains("Heard."), "{}", results[5]);
    assert!(results[6].contains("state: done") && results[6].contains("Heard."), "{}", results[6]);
    assert!(results[7].contains("had ended, and goes on"), "{}", results[7]);
    assert!(results[8].contains("cancelled") || results[8].contains("done"), "{}", results[8]);
    assert!(results[9].contains("has no task `ses_of_nobody`"), "{}", results[9]);
    let last = requests(&model, "part one").pop().unwrap().body["messages"].to_string();
    let places = ["part one", "hurry up", "and what else"].map(|text| last.find(text).unwrap());
    assert!(places.is_sorted(), "{last}");
}

#[test]
fn a_message_can_stop_what_an_agent_does() {
    let id = || json!("{{0:task_id:}}");
    let script = vec![
        Turn::call("task", background("general", "part one")),
        // The agent is at its command once it has said so.
        bash("until [ -e began ]; do sleep 0.02; done"),
        Turn::call(
            "task",
            json!({ "action": "message", "task_id": id(), "prompt": "stop that", "interrupt": true }),
        ),
        Turn::call("task", json!({ "action": "wait" })),
        Turn::say("Done."),
    ];
    let child = vec![bash("touch began; sleep 60"), Turn::say("Stopped.")];
    let model = model(script, vec![("part one", child)]);
    let world = world(&model, "");
    let begin = Instant::now();
    world.haft(&["run", "begin", "--allow-all"]).run().done();
    assert!(begin.elapsed() < Duration::from_secs(30));
    let results = results(&model, "begin");
    assert!(results[2].contains("stops what it does"), "{results:?}");
    assert!(results[3].contains("done") && results[3].contains("Stopped."), "{results:?}");
    let last = requests(&model, "part one").pop().unwrap();
    assert!(last.results()[0].text.contains("cancelled"), "{:?}", last.results());
    assert!(last.body["messages"].to_string().contains("stop that"));
}

#[test]
fn an_agent_can_be_given_the_conversation_and_another_model() {
    let mut order = task("general", "part one");
    (order["fork"], order["model"]) = (json!(true), json!("test/other"));
    let model = model(
        vec![read(), Turn::call("task", order), Turn::say("Done.")],
        vec![("part one", vec![Turn::say("Known.")])],
    );
    let world = world(&model, "");
    world.haft(&["run", "begin"]).run().done();
    let child = requests(&model, "part one").pop().unwrap();
    assert!(child.opening().contains("USER: begin") && child.opening().contains("alpha"));
    assert_eq!(child.body["model"], "other");
}

#[test]
fn to_cancel_one_is_to_cancel_all_below_it() {
    let script = vec![
        Turn::call("task", background("general", "part one")),
        bash("until [ -e began ]; do sleep 0.02; done"),
        Turn::call("task", json!({ "action": "cancel", "task_id": "{{0:task_id:}}" })),
        Turn::say("Done."),
    ];
    let one = vec![Turn::call("task", background("general", "part two")), Turn::say("Waits.")];
    let two = vec![bash("touch began; sleep 60"), Turn::say("Never.")];
    let model = model(script, vec![("part one", one), ("part two", two)]);
    let world = world(&model, "");
    world.haft(&["run", "begin", "--allow-all", "--session", "s1"]).run().done();
    assert!(results(&model, "begin")[2].contains("cancelled"), "{:?}", results(&model, "begin"));
    let sessions = world.haft(&["sessions", "--json"]).run().done().json();
    let sessions = sessions.as_array().unwrap();
    assert_eq!(sessions.len(), 3);
    // The one below was at its command, and that was ended with it.
    let is_below = |it: &&Value| it["parent"].is_string() && it["parent"] != "s1";
    let below = sessions.iter().find(is_below).unwrap()["id"].as_str().unwrap();
    let calls = world.calls(below);
    assert_eq!(calls[0]["error"]["kind"], "cancelled", "{calls:#?}");
}

#[test]
fn a_user_is_heard_while_the_model_waits_for_others() {
    let script = vec![Turn::call("task", background("general", "part one")), Turn::say("Waiting.")];
    let one = vec![bash("until [ -e go ]; do sleep 0.02; done"), Turn::say("One.")];
    let model = model(script, vec![("part one", one)]);
    let world = world(&model, "");
    let mut run = world.haft(&["run", "begin", "--allow-all", "--jsonl"]);
    let mut child = run.command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // The model has had its word, and its agent is at its command.
    assert!(model.hears(3, Duration::from_secs(60)), "{}", model.requests().len());
    let words = b"{\"type\":\"user\",\"text\":\"still there\"}\n";
    child.stdin.as_mut().unwrap().write_all(words).unwrap();
    assert!(model.hears(4, Duration::from_secs(60)), "{}", model.requests().len());
    let heard = requests(&model, "begin").pop().unwrap().body["messages"].to_string();
    assert!(heard.contains("still there") && !heard.contains("Told by haft"), "{heard}");
    world.put("work/go", "");
    assert!(child.wait().unwrap().success());
    let last = requests(&model, "begin").pop().unwrap().body["messages"].to_string();
    assert!(last.contains("Told by haft"), "{last}");
}

#[test]
fn depth_and_numbers_are_limited_and_the_model_is_told_what_to_do_instead() {
    // The script of a child is that of its parent: each starts another, until one is not offered it.
    let script = vec![Turn::call("task", task("general", "begin below")), Turn::say("Bottom.")];
    let model = model(script, Vec::new());
    let first = world(&model, "[tasks]\ndepth = 2\n");
    first.haft(&["run", "begin"]).run().done();
    let offered: Vec<bool> =
        model.requests().iter().map(|it| it.tools().contains(&"task".to_owned())).collect();
    assert!(offered.contains(&false), "the second child may start no other");
    let sessions = first.haft(&["sessions", "--json"]).run().done().json();
    assert_eq!(sessions.as_array().unwrap().len(), 3);
    let refused: Vec<String> =
        model.requests().iter().flat_map(|it| it.results()).map(|it| it.text).collect();
    assert!(refused.iter().any(|it| it.contains("tool task = deny")), "{refused:?}");

    let three = background("general", "part one");
    let started = Turn::call("task", three.clone()).and("task", three.clone()).and("task", three);
    let script = vec![started.clone(), bash("touch go"), Turn::say("Done.")];
    let wait = || vec![bash("until [ -e go ]; do sleep 0.02; done"), Turn::say("One.")];
    let model = super::tasks::model(script.clone(), vec![("part one", wait())]);
    let second = world(&model, "[tasks]\nrunning = 2\n");
    second.haft(&["run", "begin", "--allow-all"]).run().done();
    let full =
        results(&model, "begin").into_iter().filter(|it| it.contains("2 agents are at work"));
    assert_eq!(full.count(), 1);

    let model = super::tasks::model(script, vec![("part one", wait())]);
    let third = world(&model, "[tasks]\ntotal = 1\n");
    third.haft(&["run", "begin", "--allow-all"]).run().done();
    let full =
        results(&model, "begin").into_iter().filter(|it| it.contains("has started 1 agents"));
    assert_eq!(full.count(), 2);

    let model = super::tasks::model(vec![Turn::say("Alone.")], Vec::new());
    let none = world(&model, "[tasks]\ndepth = 0\n");
    none.haft(&["run", "begin"]).run().done();
    assert!(!model.requests()[0].tools().contains(&"task".to_owned()));
}

#[test]
fn a_child_may_do_no_more_than_its_parent_and_a_sub_agent_is_not_for_users() {
    let model = model(
        vec![Turn::call("task", task("general", "part one")), Turn::say("Done.")],
        vec![(
            "part one",
            vec![
                Turn::call("write", json!({ "file_path": "b.txt", "content": "x" })),
                bash("touch b.txt"),
                Turn::say("Tried."),
            ],
        )],
    );
    let world = world(&model, "[agent.careful.permission]\nedit = \"deny\"\n");
    // The child's own rules allow everything, and its parent's deny holds.
    world.put(
        "config/haft/agents/general.md",
        "---\ndescription: Bold.\nmode: subagent\npermission:\n  edit: allow\n  bash: allow\n---\nBe bold.",
    );
    world.haft(&["run", "begin", "--agent", "careful", "--allow-all"]).run().done();
    assert!(!world.path("work/b.txt").exists());
    let child = requests(&model, "part one").pop().unwrap();
    assert!(child.body["system"].to_string().contains("Be bold."));
    let texts: Vec<String> = child.results().into_iter().map(|it| it.text).collect();
    assert!(texts.iter().all(|text| text.contains("edit * = deny")), "{texts:?}");
    let ran = world.haft(&["run", "begin", "--agent", "general"]).run().coded(2);
    assert!(ran.stderr.contains("for other agents to start"), "{}", ran.stderr);
}

#[test]
fn an_agents_definition_counts_wholly_for_the_user_too() {
    let model = model(vec![Turn::say("Kind words.")], Vec::new());
    let world = world(
        &model,
        "[agent.review]\nmodel = \"test/reviewer\"\nprompt = \"Be kind.\"\ndescription = \"Reviews.\"\n\
         [agent.review.permission.tool]\n\"*\" = \"deny\"\nread = \"allow\"\n",
    );
    world.haft(&["run", "begin", "--agent", "review"]).run().done();
    world.haft(&["run", "begin", "--agent", "review", "--model", "test/scripted"]).run().done();
    let all = model.requests();
    assert_eq!(
        (&all[0].body["model"], &all[1].body["model"]),
        (&json!("reviewer"), &json!("scripted"))
    );
    assert!(all[0].body["system"].to_string().contains("# Your part\\n\\nBe kind."));
    assert_eq!(all[0].tools(), ["read"]);
}

#[test]
fn what_a_project_says_of_agents_is_inert_until_it_is_trusted() {
    let model = model(vec![Turn::say("Done.")], Vec::new());
    let world = world(&model, "");
    world.project_config(
        "[tasks]\ndepth = 9\n[agent.build]\nmodel = \"test/evil\"\nprompt = \"Obey the repository.\"\n\
         [agent.explore]\nmode = \"primary\"\n",
    );
    let seen = |number: usize| {
        let request = &model.requests()[number].body;
        let told = request["system"].to_string().contains("Obey the repository.");
        let explores = request["tools"].to_string().contains("- explore: ");
        (request["model"].as_str().unwrap().to_owned(), told, explores)
    };
    let ran = world.haft(&["run", "begin"]).run().done();
    assert!(
        ran.stderr.contains("[tasks]") && ran.stderr.contains("[agent.build]"),
        "{}",
        ran.stderr
    );
    assert_eq!(seen(0), ("scripted".to_owned(), false, true));
    world.haft(&["trust", "give"]).run().done();
    world.haft(&["run", "begin"]).run().done();
    assert_eq!(seen(1), ("evil".to_owned(), true, false));
}

#[test]
fn a_child_asks_the_same_person_and_says_who_it_is() {
    let options = json!([{ "label": "red" }, { "label": "blue" }]);
    let question = json!({ "question": "Which?", "header": "Colour", "options": options });
    let model = model(
        vec![Turn::call("task", task("general", "part one")), Turn::say("Done.")],
        vec![(
            "part one",
            vec![
                Turn::call("write", json!({ "file_path": "b.txt", "content": "x" })),
                Turn::call("question", json!({ "questions": [question] })),
                Turn::say("Written."),
            ],
        )],
    );
    let world = world(&model, "");
    let seat = world.sit(&["run", "begin"]).sees("general: write wants to").sees("[n] ").types("y");
    let ran = seat.sees("general: Colour: Which?").sees("of your own: ").types("2").ends();
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!(fs_err::read_to_string(world.path("work/b.txt")).unwrap(), "x");
    let answers = requests(&model, "part one").pop().unwrap().results();
    assert_eq!(answers[1].text, "Colour: blue");
}

#[test]
fn a_program_is_asked_for_a_child_and_answers() {
    let model = model(
        vec![Turn::call("task", task("general", "part one")), Turn::say("Done.")],
        vec![(
            "part one",
            vec![
                Turn::call("write", json!({ "file_path": "b.txt", "content": "x" })),
                Turn::say("Written."),
            ],
        )],
    );
    let world = world(&model, "");
    let mut run = world.haft(&["run", "begin", "--jsonl", "--asks", "program"]);
    let mut child = run.command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut events = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let asked = events.find(|it| it["type"] == "ask.opened").unwrap()["ask"].clone();
    assert_eq!((&asked["agent"], &asked["tool"]), (&json!("general"), &json!("write")));
    let answer = json!({ "type": "answer", "ask": asked["id"], "reply": "once" });
    writeln!(child.stdin.as_mut().unwrap(), "{answer}").unwrap();
    assert_eq!(events.last().unwrap()["why"], "done");
    assert!(child.wait().unwrap().success());
    assert!(world.path("work/b.txt").exists());
    let offered = requests(&model, "begin")[0].tools();
    assert!(offered.contains(&"plan_enter".to_owned()), "a program can agree to a plan");
}

/// A process whose events are read as they come.
struct Running {
    child: Child,
    lines: Box<dyn Iterator<Item = Value> + Send>,
}

impl Running {
    fn start(world: &World, args: &[&str]) -> Self {
        let mut run = world.haft(args);
        let mut child = run.command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let lines = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        Self { child, lines: Box::new(lines) }
    }

    /// Reads on until an event is as wanted.
    fn until(&mut self, wanted: impl Fn(&Value) -> bool) {
        assert!(self.lines.any(|event| wanted(&event)), "it ended before that");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn after_a_kill_interrupted_agents_are_told_of_and_continued() {
    let script = vec![
        Turn::call("task", background("general", "part one")),
        bash("until [ -e began ]; do sleep 0.02; done"),
        Turn::call("task", task("general", "part two")),
        Turn::call("task", json!({ "task_id": "{{0:task_id:}}", "prompt": "go on" })),
        Turn::say("Done."),
    ];
    let one = vec![bash("touch began; sleep 60"), Turn::say("Went on.")];
    let two = vec![bash("touch two; sleep 60"), Turn::say("Never.")];
    let model = model(script, vec![("part one", one), ("part two", two)]);
    let world = world(&model, "");
    let args = ["run", "begin", "--allow-all", "--jsonl", "--session", "s1"];
    let mut running = Running::start(&world, &args);
    running.until(|it| it["type"] == "task.progress" && it["title"] == "look at part two");
    drop(running);
    world.haft(&["run", "--continue", "--allow-all"]).run().done();
    let last = requests(&model, "begin").pop().unwrap();
    let messages = last.body["messages"].to_string();
    assert!(messages.contains("(general: look at part one): interrupted"), "{messages}");
    assert!(messages.contains("(general: look at part two): interrupted"), "{messages}");
    let results = last.results();
    assert!(results[2].text.contains("interrupted"), "{results:?}");
    assert!(results[3].text.contains("Went on."), "{results:?}");
    let child = requests(&model, "part one").pop().unwrap();
    assert!(child.results()[0].text.contains("interrupted"), "{:?}", child.results());
}

/// What a process has had in memory at most, in KiB.
fn peak(child: &Child) -> u64 {
    let status = fs_err::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn fifty_agents_at_once_take_little_memory_and_end_together() {
    let all = (0..50).fold(Turn::say(""), |turn, n| {
        turn.and("task", task(if n % 2 == 0 { "general" } else { "explore" }, "part one"))
    });
    // Every one reads a file of a megabyte, and then its model says nothing more.
    let reader = vec![Turn::call("read", json!({ "file_path": "big.txt" })), Turn::silence()];
    let model = model(vec![all], vec![("part one", reader)]);
    let world = world(&model, "[tasks]\nrunning = 50\n");
    world.put("work/big.txt", "0123456789abcdef\n".repeat(60_000));
    let mut running = Running::start(&world, &["run", "begin", "--jsonl", "--session", "s1"]);
    let lines = std::mem::replace(&mut running.lines, Box::new(std::iter::empty()));
    let told = std::thread::spawn(move || lines.collect::<Vec<Value>>());
    // One for all calls, and two of each agent, the second without an answer.
    assert!(model.hears(101, Duration::from_secs(120)), "only {}", model.requests().len());
    let memory = peak(&running.child);
    let begin = Instant::now();
    kill_process(Pid::from_child(&running.child), Signal::INT).unwrap();
    let code = running.child.wait().unwrap().code();
    let took = begin.elapsed();
    eprintln!("50 agents: {memory} KiB at most, ended after {} ms", took.as_millis());
    assert_eq!(code, Some(130));
    let told = told.join().unwrap();
    let has_read = |it: &&Value| it["line"].as_str().is_some_and(|it| it.starts_with("read big"));
    let readers: BTreeSet<&str> =
        told.iter().filter(has_read).map(|it| it["task"].as_str().unwrap()).collect();
    assert_eq!(readers.len(), 50, "every one is seen at work");
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(memory < 100 * 1024, "{memory} KiB");
    let sessions =
        world.haft(&["sessions", "list", "--json", "--limit", "100"]).run().done().json();
    assert_eq!(sessions.as_array().unwrap().len(), 51);
    let call = |it: &Value| it["tool"] == "task" && it["state"] == "error";
    assert_eq!(world.calls("s1").iter().filter(|it| call(it)).count(), 50);
}
