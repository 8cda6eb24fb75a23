//! Who answers asks, in each mode and both eras.

use serde_json::{Value, json};

use super::{Client, ERAS, Era, Forms, text};
use crate::world::World;

/// A file that is not read without asking.
fn world_with_secret() -> World {
    let world = World::new();
    world.put("work/.env", "KEY=1\n");
    world
}

fn secret() -> Value {
    json!({ "file_path": ".env" })
}

/// Makes a call that asks, and answers each form with `content`, or refuses it.
fn call_and_answer(
    client: &mut Client,
    era: Era,
    tool: &str,
    args: &Value,
    reply: &Value,
) -> Value {
    let mut params = json!({ "name": tool, "arguments": args });
    if era == Era::Old {
        let id = client.ask("tools/call", params);
        let form = client.next().unwrap();
        assert_eq!(form["method"], "elicitation/create", "{form}");
        client.send(&json!({ "jsonrpc": "2.0", "id": form["id"], "result": reply }));
        return client.answer(id)["result"].clone();
    }
    let asked = client.request("tools/call", params.clone())["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let keys = asked["inputRequests"].as_object().unwrap().keys();
    params["inputResponses"] = keys.map(|key| (key.clone(), reply.clone())).collect();
    params["requestState"] = asked["requestState"].clone();
    client.request("tools/call", params)["result"].clone()
}

fn accept(decision: &str) -> Value {
    json!({ "action": "accept", "content": { "decision": decision } })
}

#[test]
fn plain_work_in_the_workspace_is_the_hosts_own_business() {
    for era in ERAS {
        for mode in ["auto", "host", "allow"] {
            let world = World::new();
            let mut client = Client::start(&world, era, Forms::Unknown, &["--asks", mode]);
            let done = client.call("bash", &json!({ "command": "echo here > made" }));
            assert_eq!(done["isError"], false, "{mode}: {done}");
            assert!(world.path("work/made").exists());
        }
    }
}

#[test]
fn an_escalation_is_put_to_the_user() {
    for era in ERAS {
        let world = world_with_secret();
        let mut client = Client::start(&world, era, Forms::Shown, &[]);
        let done = call_and_answer(&mut client, era, "read", &secret(), &accept("once"));
        assert!(text(&done).contains("KEY=1"), "{done}");
        for (reply, says) in [
            (accept("reject"), "the user rejected read `.env`"),
            (json!({ "action": "decline" }), "the user rejected"),
            (json!({ "action": "cancel" }), "the user rejected"),
            (
                json!({ "action": "accept", "content": {
                    "decision": "reject", "feedback": "read .env.example" } }),
                "said: read .env.example",
            ),
        ] {
            let refused = call_and_answer(&mut client, era, "read", &secret(), &reply);
            assert_eq!(refused["isError"], true, "{refused}");
            assert!(text(&refused).contains(says), "{refused}");
            assert!(!text(&refused).contains("KEY"), "{refused}");
        }
    }
}

#[test]
fn always_is_a_grant() {
    for era in ERAS {
        let world = world_with_secret();
        let mut client = Client::start(&world, era, Forms::Shown, &[]);
        let done = call_and_answer(&mut client, era, "read", &secret(), &accept("always"));
        assert_eq!(done["isError"], false, "{done}");
        assert_eq!(client.call("read", &secret())["isError"], false, "not asked again");
        let grants = world.haft(&["grants", "--json"]).run().done().json();
        assert_eq!(grants[0]["pattern"], ".env", "{grants}");
    }
}

#[test]
fn an_answer_that_cannot_be_read_is_no_yes() {
    let world = world_with_secret();
    let mut client = Client::start(&world, Era::Old, Forms::Shown, &[]);
    for content in [json!({}), json!({ "decision": "yes" }), json!({ "decision": true }), json!([])]
    {
        let reply = json!({ "action": "accept", "content": content });
        let refused = call_and_answer(&mut client, Era::Old, "read", &secret(), &reply);
        assert_eq!(refused["isError"], true, "{content}: {refused}");
    }
}

#[test]
fn an_answer_that_cannot_be_read_is_asked_for_again() {
    let world = world_with_secret();
    let mut client = Client::start(&world, Era::New, Forms::Shown, &[]);
    let params = json!({ "name": "read", "arguments": secret() });
    let mut asked = client.request("tools/call", params.clone())["result"].clone();
    for answers in [
        json!({}),
        json!({ "other": accept("once") }),
        json!({ "form1": 7 }),
        json!({
        "form1": { "action": "accept", "content": { "decision": "yes" } } }),
    ] {
        let mut again = params.clone();
        again["requestState"] = asked["requestState"].clone();
        again["inputResponses"] = answers;
        let next = client.request("tools/call", again)["result"].clone();
        assert_eq!(next["resultType"], "input_required", "{next}");
        assert_ne!(next["requestState"], asked["requestState"], "a ticket is good for once");
        asked = next;
    }
    let mut last = params;
    last["requestState"] = asked["requestState"].clone();
    last["inputResponses"] = json!({ "form1": accept("once"), "more": accept("once") });
    let done = client.request("tools/call", last)["result"].clone();
    assert!(text(&done).contains("KEY=1"), "{done}");
}

#[test]
fn a_ticket_is_good_for_one_call_of_one_session_once() {
    let world = world_with_secret();
    world.put("work/other.env", "OTHER=1\n");
    let mut client = Client::start(&world, Era::New, Forms::Shown, &[]);
    let params = json!({ "name": "read", "arguments": secret() });
    let asked = client.request("tools/call", params.clone())["result"].clone();
    let ticket = asked["requestState"].as_str().unwrap();
    let mut good = params.clone();
    good["requestState"] = ticket.into();
    good["inputResponses"] = json!({ "form1": accept("once") });

    let mut forged: Vec<Value> = Vec::new();
    for state in [format!("{ticket}x"), ticket.replacen('7', "6", 1), "x".into(), String::new()] {
        let mut params = good.clone();
        params["requestState"] = state.into();
        forged.push(params);
    }
    let mut other_file = good.clone();
    other_file["arguments"] = json!({ "file_path": "other.env" });
    let mut other_tool = good.clone();
    other_tool["name"] = "list".into();
    forged.extend([other_file, other_tool]);
    for params in forged {
        let refused = client.request("tools/call", params.clone());
        assert_eq!(refused["error"]["code"], -32602, "{params}: {refused}");
    }
    // Another process, with another key.
    let mut stranger = Client::start(&world, Era::New, Forms::Shown, &[]);
    let refused = stranger.request("tools/call", good.clone());
    assert_eq!(refused["error"]["code"], -32602, "{refused}");

    let done = client.request("tools/call", good.clone())["result"].clone();
    assert!(text(&done).contains("KEY=1"), "{done}");
    let replayed = client.request("tools/call", good)["result"].clone();
    assert_eq!(replayed["isError"], true, "{replayed}");
    assert!(!text(&replayed).contains("KEY"), "{replayed}");
    assert!(text(&replayed).contains("answered already"), "{replayed}");
    // One that was declined is answered too.
    let mut declined = params.clone();
    declined["requestState"] = client.call("read", &secret())["requestState"].clone();
    declined["inputResponses"] = json!({ "form1": { "action": "decline" } });
    let refused = client.request("tools/call", declined.clone())["result"].clone();
    assert!(text(&refused).contains("the user rejected"), "{refused}");
    declined["inputResponses"] = json!({ "form1": accept("once") });
    let again = client.request("tools/call", declined)["result"].clone();
    assert!(text(&again).contains("answered already"), "{again}");
}

#[test]
fn a_parked_call_ends_with_the_client() {
    let world = world_with_secret();
    let mut client = Client::start(&world, Era::New, Forms::Shown, &["--session", "s"]);
    let asked = client.call("read", &secret());
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert_eq!(client.close(), 0);
    let calls = world.calls("s");
    assert_eq!(calls[0]["error"]["kind"], "cancelled", "{calls:?}");
    let events = world.events("s");
    assert!(events.iter().any(|event| event["type"] == "ask.closed"), "{events:?}");
}

#[test]
fn a_call_that_is_parked_goes_on_with_the_progress_of_the_next_request() {
    let world = world_with_secret();
    let mut client = Client::start(&world, Era::New, Forms::Shown, &[]);
    let script = "cat .env; for i in 1 2 3; do echo line $i; until [ -e line-$i ]; do sleep 0.02; done; done";
    let mut params = json!({
        "name": "bash", "arguments": { "command": script }, "_meta": { "progressToken": "first" }
    });
    let asked = client.request("tools/call", params.clone())["result"].clone();
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({ "form1": accept("once") });
    params["_meta"] = json!({ "progressToken": "second" });
    let id = client.ask("tools/call", params);
    let done = client.answer_line_by_line(&world, id);
    assert_eq!(done["result"]["isError"], false, "{done}");
    let told = client.aside();
    assert!(told.len() >= 3, "{told:?}");
    assert!(told.iter().all(|it| it["params"]["progressToken"] == "second"), "{told:?}");
}

#[test]
fn where_nobody_can_be_asked_the_refusal_says_what_would_allow_it() {
    for era in ERAS {
        for (mode, forms) in
            [("host", Forms::Shown), ("deny", Forms::Shown), ("elicit", Forms::Unknown)]
        {
            let world = world_with_secret();
            let mut client = Client::start(&world, era, forms, &["--asks", mode]);
            let refused = client.call("read", &secret());
            assert_eq!(refused["isError"], true, "{mode}: {refused}");
            assert!(text(&refused).contains("[permission.read] \".env\" = \"allow\""), "{refused}");
        }
    }
}

#[test]
fn in_the_mode_elicit_every_ask_is_put_to_the_user() {
    for era in ERAS {
        let world = World::new();
        let mut client = Client::start(&world, era, Forms::Shown, &["--asks", "elicit"]);
        let args = json!({ "command": "echo here > made" });
        let refused = call_and_answer(&mut client, era, "bash", &args, &accept("reject"));
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(!world.path("work/made").exists());
        let done = call_and_answer(&mut client, era, "bash", &args, &accept("once"));
        assert_eq!(done["isError"], false, "{done}");
        assert!(world.path("work/made").exists());
    }
}

#[test]
fn in_the_mode_allow_rules_that_deny_still_hold() {
    for mode in ["allow", "auto", "elicit", "queue"] {
        let world = world_with_secret();
        world.user_config("[permission.read]\n\"*.env\" = \"deny\"\n");
        let mut client = Client::start(&world, Era::Old, Forms::Shown, &["--asks", mode]);
        let refused = client.call("read", &secret());
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(text(&refused).contains("by the rule"), "{refused}");
        assert!(client.aside().is_empty(), "nobody is asked");
    }
}

#[test]
fn in_the_mode_allow_what_is_protected_needs_a_rule_that_names_it() {
    let world = World::new();
    let config = "[core]\n";
    world.put("work/.git/config", config);
    world.put("work/haft.toml", "");
    let write = |path: &str| json!({ "file_path": path, "content": "x\n" });
    let overwrite = json!({ "command": "echo x > .git/config" });
    let mut client = Client::start(&world, Era::Old, Forms::Shown, &["--asks", "allow"]);
    for (tool, args, path) in [
        ("write", write(".git/hooks/pre-commit"), ".git/hooks/pre-commit"),
        ("write", write(".haft/tools/x.toml"), ".haft/tools/x.toml"),
        (
            "edit",
            json!({ "file_path": "haft.toml", "old_string": "", "new_string": "x" }),
            "haft.toml",
        ),
        ("bash", overwrite.clone(), ".git/config"),
    ] {
        let refused = client.call(tool, &args);
        assert_eq!(refused["isError"], true, "{refused}");
        let rule = format!("`[permission.edit] \"{path}\" = \"allow\"`");
        assert!(text(&refused).contains(&rule), "{refused}");
    }
    assert!(client.aside().is_empty(), "nobody is asked");
    assert_eq!(fs_err::read_to_string(world.path("work/.git/config")).unwrap(), config);
    world.user_config("[permission.edit]\n\".git/config\" = \"allow\"\n");
    let mut client = Client::start(&world, Era::Old, Forms::Shown, &["--asks", "allow"]);
    let done = client.call("bash", &overwrite);
    assert_eq!(done["isError"], false, "{done}");
    assert_eq!(fs_err::read_to_string(world.path("work/.git/config")).unwrap(), "x\n");
}

#[test]
fn an_ask_waits_in_the_queue_for_an_answer_from_another_process() {
    for era in ERAS {
        for (mode, answer) in [("auto", "allow"), ("queue", "allow"), ("queue", "reject")] {
            let world = world_with_secret();
            let mut client = Client::start(&world, era, Forms::Unknown, &["--asks", mode]);
            let id = client.begin("read", &secret());
            let ask = wait_for_ask(&world);
            world.haft(&["approve", answer, &ask]).run().done();
            let result = client.answer(id)["result"].clone();
            assert_eq!(result["isError"], answer == "reject", "{mode} {answer}: {result}");
        }
    }
}

fn wait_for_ask(world: &World) -> String {
    let patience = std::time::Instant::now() + super::PATIENCE;
    while std::time::Instant::now() < patience {
        let asks = world.haft(&["approve", "list", "--json"]).run().done().json();
        if let Some(ask) = asks[0]["id"].as_str().or_else(|| asks[0]["ask"]["id"].as_str()) {
            return ask.to_owned();
        }
    }
    panic!("nothing waits");
}

#[test]
fn an_ask_that_nobody_answers_is_refused_when_its_time_is_up() {
    let world = world_with_secret();
    let mut client = Client::start(&world, Era::Old, Forms::Unknown, &["--patience", "0"]);
    let refused = client.call("read", &secret());
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(text(&refused).contains("by `haft approve` in the 0 s it waited"), "{refused}");
    assert!(text(&refused).contains("it would be allowed by"), "{refused}");
    let asks = world.haft(&["approve", "list", "--json"]).run().done().json();
    assert_eq!(asks, json!([]), "nothing is left behind");
}

#[test]
fn a_client_is_told_which_command_answers_what_waits() {
    for (forms, mode) in [(Forms::Unknown, "auto"), (Forms::Shown, "queue")] {
        let world = world_with_secret();
        let mut client = Client::start(&world, Era::Old, forms, &["--asks", mode]);
        let meta = json!({ "progressToken": 1 });
        let id = client
            .ask("tools/call", json!({ "name": "read", "arguments": secret(), "_meta": meta }));
        let told = client.next().expect("the server lives");
        let says = told["params"]["message"].as_str().unwrap_or_else(|| panic!("{told}"));
        let command = says.split('`').nth(1).unwrap_or_else(|| panic!("{told}"));
        let (program, args) = command.split_once(' ').unwrap();
        assert_eq!(program, "haft", "{told}");
        world.haft(&args.split(' ').collect::<Vec<_>>()).run().done();
        let done = client.answer(id)["result"].clone();
        assert!(text(&done).contains("KEY=1"), "{done}");
    }
}

#[test]
fn asks_do_not_outlive_the_client() {
    let world = world_with_secret();
    let mut client = Client::start(&world, Era::Old, Forms::Unknown, &["--asks", "queue"]);
    client.begin("read", &secret());
    wait_for_ask(&world);
    assert_eq!(client.close(), 0);
    let asks = world.haft(&["approve", "list", "--json"]).run().done().json();
    assert_eq!(asks, json!([]));
}

#[test]
fn questions_are_put_to_the_user() {
    for era in ERAS {
        let world = World::new();
        let mut client = Client::start(&world, era, Forms::Shown, &["--tools", "question"]);
        let option = |label: &str| json!({ "label": label, "description": "so" });
        let args = json!({ "questions": [
            { "question": "Which?", "header": "Which", "options": [option("A"), option("B")] },
            { "question": "What?", "header": "What", "options": [option("C"), option("D")],
              "multiple": true },
            { "question": "Else?", "header": "Else", "options": [option("E"), option("F")] },
        ] });
        let reply = json!({ "action": "accept", "content": {
            "answer1": "B", "answer2": ["C", "D"], "other3": "something of my own" } });
        let done = call_and_answer(&mut client, era, "question", &args, &reply);
        let answers = &done["_meta"]["haft/metadata"]["answers"];
        let expected = json!([
            { "chosen": ["B"] }, { "chosen": ["C", "D"] }, { "chosen": ["something of my own"] }
        ]);
        assert_eq!(*answers, expected, "{done}");
        let declined =
            call_and_answer(&mut client, era, "question", &args, &json!({ "action": "decline" }));
        assert_eq!(declined["isError"], true, "{declined}");
    }
}
