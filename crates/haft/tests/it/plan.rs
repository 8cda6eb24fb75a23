//! Plan mode: entered and left with the user's word, held by the rules, kept with the session.

use haft_scripted::{Model, Turn};
use serde_json::{Value, json};

use crate::tasks::{model, world};
use crate::world::World;

fn enter() -> Turn {
    Turn::call("plan_enter", json!({ "reason": "It is delicate." }))
}

fn exit() -> Turn {
    Turn::call("plan_exit", json!({ "plan": "# The plan\n1. Write b.txt." }))
}

fn write() -> Turn {
    Turn::call("write", json!({ "file_path": "b.txt", "content": "x" }))
}

fn bash(command: &str) -> Turn {
    Turn::call("bash", json!({ "command": command, "description": "Try" }))
}

/// The tools that were offered with the n-th request.
fn offered(model: &Model, number: usize) -> Vec<String> {
    model.requests()[number].tools()
}

fn has(tools: &[String], name: &str) -> bool {
    tools.iter().any(|tool| tool == name)
}

fn results(model: &Model) -> Vec<String> {
    model.results().into_iter().map(|result| result.text).collect()
}

fn is_written(world: &World) -> bool {
    world.path("work/b.txt").exists()
}

#[test]
fn nothing_is_changed_until_the_user_agrees_to_the_plan() {
    let script = vec![
        enter(),
        write(),
        bash("touch b.txt"),
        exit(),
        bash("python3 -c 'open(\"b.txt\",\"w\")'"),
        exit(),
        write(),
        Turn::say("Done."),
    ];
    let model = model(script, Vec::new());
    let world = world(&model, "");
    let seat = world.sit(&["run", "begin", "--allow-all", "--session", "s1"]);
    // Not before a plan was shown twice; what cannot be proven to only read asks, though all is allowed.
    let seat = seat.sees("plan_exit wants to: carry out this plan").sees("  | 1. Write b.txt.");
    let seat = seat.sees("[n] ").types("f").sees("Tell the model: ").types("smaller steps");
    let seat = seat.sees_times(2, "[n] ").types("y");
    let seat = seat.sees_times(2, "carry out this plan").sees_times(3, "[n] ").types("y");
    let ran = seat.ends();
    assert_eq!(ran.code, 0, "{ran:#?}");
    let results = results(&model);
    assert!(results[0].contains("Plan mode is on"), "{results:?}");
    let denied = |text: &str| text.contains("edit * = deny");
    assert!(denied(&results[1]) && denied(&results[2]), "{results:?}");
    assert!(results[4].contains("Read-only file system"), "the sandbox holds too: {results:?}");
    assert!(results[3].contains("smaller steps") && results[3].contains("stays on"), "{results:?}");
    assert!(results[5].contains("Plan mode is off"), "{results:?}");
    assert_eq!(fs_err::read_to_string(world.path("work/b.txt")).unwrap(), "x");
    let (before, within, after) = (offered(&model, 0), offered(&model, 1), offered(&model, 6));
    assert!(has(&before, "plan_enter") && has(&before, "write") && !has(&before, "plan_exit"));
    assert!(has(&within, "plan_exit") && !has(&within, "write") && !has(&within, "plan_enter"));
    assert_eq!(before, after);
    let system = |number: usize| model.requests()[number].body["system"].to_string();
    assert!(system(1).contains("You plan, and change nothing"), "{}", system(1));
    assert_eq!(system(0), system(6));
}

#[test]
fn the_mode_holds_from_the_moment_it_is_on() {
    // Both in one reply: the second was offered, and is denied.
    let both = enter().and("write", json!({ "file_path": "b.txt", "content": "x" }));
    let model = model(vec![both, Turn::say("Done.")], Vec::new());
    let world = world(&model, "[permission]\nplan_enter = \"allow\"\n");
    world.sit(&["run", "begin", "--allow-all"]).sees("plan mode is on").ends();
    assert!(results(&model)[1].contains("(plan mode:"), "{:?}", results(&model));
    assert!(!is_written(&world));
}

#[test]
fn the_user_is_asked_before_a_plan_and_can_refuse_it() {
    let model = model(vec![enter(), write(), Turn::say("Done.")], Vec::new());
    let world = world(&model, "");
    let seat = world.sit(&["run", "begin", "--allow-edits"]).sees("It is delicate.");
    let ran = seat.sees("[n] ").types("n").ends();
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(results(&model)[0].contains("rejected plan_enter"), "{:?}", results(&model));
    assert!(is_written(&world), "the work goes on as it was");
}

#[test]
fn the_mode_is_the_sessions_and_outlives_the_process() {
    let model = model(vec![enter(), write(), Turn::say("Planned."), exit(), write()], Vec::new());
    let first = world(&model, "[permission]\nplan_enter = \"allow\"\n");
    first.sit(&["run", "begin", "--allow-edits", "--session", "s1"]).sees("plan mode is on").ends();
    assert!(!is_written(&first));
    // With nobody there, there is no way out, and the rules hold.
    first.haft(&["run", "go on", "--allow-all", "--session", "s1"]).run().done();
    let tools = model.requests().pop().unwrap().tools();
    assert!(!has(&tools, "write") && !has(&tools, "plan_exit") && !has(&tools, "plan_enter"));
    assert!(!is_written(&first));
}

#[test]
fn the_agent_that_plans_becomes_the_one_that_builds() {
    let model = model(vec![write(), exit(), write(), Turn::say("Done.")], Vec::new());
    let world = world(&model, "");
    let seat = world.sit(&["run", "begin", "--agent", "plan", "--allow-edits", "--session", "s1"]);
    let ran = seat.sees("carry out this plan").sees("[n] ").types("y").ends();
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(is_written(&world));
    assert!(results(&model)[0].contains("edit * = deny"), "{:?}", results(&model));
    let calls = world.events("s1");
    let agents: Vec<&Value> =
        calls.iter().filter(|it| it["type"] == "call.pending").map(|it| &it["agent"]).collect();
    assert_eq!(agents, [&json!("plan"), &json!("plan"), &json!("build")]);
}

#[test]
fn with_nobody_there_neither_way_is_offered() {
    let model = model(vec![Turn::say("Done.")], Vec::new());
    let world = world(&model, "");
    world.haft(&["run", "begin"]).run().done();
    world.haft(&["run", "begin", "--agent", "plan"]).run().done();
    for request in model.requests() {
        assert!(!has(&request.tools(), "plan_enter") && !has(&request.tools(), "plan_exit"));
    }
    assert!(has(&offered(&model, 0), "write") && !has(&offered(&model, 1), "write"));
    let listed = world.haft(&["tools", "--json"]).run().done().json()["tools"].to_string();
    assert!(!listed.contains("plan_enter") && !listed.contains("\"task\""), "{listed}");
}

#[test]
fn the_mode_holds_for_agents_that_were_started_before_and_within_it() {
    let background = json!({
        "description": "wait", "prompt": "part one", "subagent_type": "general", "background": true
    });
    let within = json!({ "description": "try", "prompt": "part two", "subagent_type": "general" });
    let script = vec![
        Turn::call("task", background),
        bash("until [ -e began ]; do sleep 0.02; done"),
        enter(),
        // A command that is asked about in the mode, and lets the first agent go on.
        Turn::call("write", json!({ "file_path": "go", "content": "" })),
        Turn::call("task", within),
        exit(),
        bash("touch go"),
        Turn::call("task", json!({ "action": "wait" })),
        Turn::say("Done."),
    ];
    let one = vec![
        bash("touch began; until [ -e go ]; do sleep 0.02; done"),
        Turn::call("write", json!({ "file_path": "one.txt", "content": "x" })),
        Turn::say("One."),
    ];
    let two = vec![
        Turn::call("write", json!({ "file_path": "two.txt", "content": "x" })),
        Turn::say("Two."),
    ];
    let model = model(script, vec![("part one", one), ("part two", two)]);
    let world = world(&model, "");
    let seat = world.sit(&["run", "begin", "--allow-all"]);
    let ran = seat.sees("carry out this plan").sees("[n] ").types("y").ends();
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(!world.path("work/two.txt").exists(), "an agent within the mode changes nothing");
    assert!(world.path("work/one.txt").exists(), "one that works on after it does");
    let tools_of = |mark: &str| {
        let all = model.requests();
        let last = all.into_iter().rfind(|it| it.opening().contains(mark)).unwrap();
        last.tools()
    };
    assert!(!has(&tools_of("part two"), "write"));
}
