//! What is offered, and what a call gives to the model and to the host.

use serde_json::{Value, json};

use super::{Client, ERAS, Era, Forms, text};
use crate::world::{TOOLS, World};

#[test]
fn both_eras_offer_the_same_small_list_in_the_same_order() {
    let world = World::new();
    let lists = ERAS.map(|era| {
        let mut client = Client::start(&world, era, Forms::Unknown, &[]);
        let listed = client.request("tools/list", json!({}))["result"].clone();
        let bytes = listed.to_string().len();
        assert!(bytes <= 12 * 1024, "{bytes} bytes are too many to show to every model");
        listed["tools"].clone()
    });
    assert_eq!(lists[0], lists[1]);
    let names: Vec<&str> =
        lists[0].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    // What agents have of their own is left out, and stands last.
    assert_eq!(names, TOOLS.split_at(11).0);
}

#[test]
fn annotations_are_the_tools_own_traits() {
    let world = World::new();
    let mut client = Client::start(&world, Era::Old, Forms::Unknown, &["--tools", "all"]);
    let listed = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let own = world.haft(&["tools", "--json"]).run().done().json();
    let own = own["tools"].as_array().unwrap();
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), own.len());
    for (listed, own) in listed.iter().zip(own) {
        assert_eq!(listed["name"], own["id"]);
        let (hints, traits) = (&listed["annotations"], &own["traits"]);
        assert_eq!(hints["readOnlyHint"], traits["read_only"], "{listed}");
        assert_eq!(hints["destructiveHint"], traits["destructive"], "{listed}");
        assert_eq!(hints["idempotentHint"], traits["idempotent"], "{listed}");
        assert_eq!(hints["openWorldHint"], traits["open_world"], "{listed}");
        assert!(!listed["title"].as_str().unwrap().is_empty());
    }
}

#[test]
fn only_the_tools_that_were_asked_for_are_there() {
    let world = World::new();
    world.put("work/a.txt", "one\n");
    let mut client = Client::start(&world, Era::New, Forms::Unknown, &["--tools", "read,question"]);
    let listed = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&Value> = listed.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["read", "question"]);
    let refused = client.call("bash", &json!({ "command": "touch there" }));
    assert_eq!(refused["isError"], true);
    assert!(text(&refused).contains("available: read, question"), "{refused}");
    assert!(!world.path("work/there").exists());
    let unknown = world.haft(&["mcp", "--tools", "read,nothing"]).run().coded(2);
    assert!(unknown.stderr.contains("there is no tool `nothing`"), "{unknown:?}");
}

#[test]
fn the_model_gets_the_text_and_the_host_the_facts() {
    for era in ERAS {
        let world = World::new();
        world.put("work/a.txt", "one\ntwo\n");
        let mut client = Client::start(&world, era, Forms::Unknown, &[]);
        let args = json!({ "file_path": "a.txt" });
        let result = client.call("read", &args);
        let alone = world.call("read", &args, &[]).done().json();
        assert_eq!(text(&result), alone["output"]);
        assert_eq!(result["_meta"]["haft/metadata"], alone["metadata"]);
        assert_eq!(result["_meta"]["haft/title"], alone["title"]);
        assert_eq!(result["_meta"]["haft/tool"], "read");
        assert_eq!(result["isError"], false);
        assert!(result.get("structuredContent").is_none(), "{result}");
    }
}

#[test]
fn structured_content_is_given_to_those_who_ask_for_it() {
    let world = World::new();
    world.put("work/a.txt", "one\n");
    let mut client = Client::start(&world, Era::Old, Forms::Unknown, &["--structured"]);
    let args = json!({ "file_path": "a.txt" });
    let result = client.call("read", &args);
    assert_eq!(result["structuredContent"], world.call("read", &args, &[]).done().json());
    let failed = client.call("read", &json!({ "file_path": "gone.txt" }));
    assert_eq!(failed["structuredContent"]["state"], "error");
}

#[test]
fn what_goes_wrong_in_a_call_is_for_the_model() {
    for era in ERAS {
        let world = World::new();
        let mut client = Client::start(&world, era, Forms::Unknown, &[]);
        for (tool, args, says) in [
            ("nothing", json!({}), "there is no tool `nothing`; available: read"),
            ("read", json!({ "file_path": "gone.txt" }), "gone.txt"),
            ("read", json!({ "file_path": 7, "nonsense": 1 }), "do not fit"),
            ("invalid", json!({ "tool": "x" }), "there is no tool `x`"),
        ] {
            let result = client.call(tool, &args);
            assert_eq!(result["isError"], true, "{result}");
            assert!(text(&result).contains(says), "{result}");
        }
    }
}

#[test]
fn requests_that_do_not_fit_are_errors_of_the_protocol() {
    for era in ERAS {
        let world = World::new();
        let mut client = Client::start(&world, era, Forms::Unknown, &[]);
        for (method, params, code) in [
            ("tools/call", json!({}), -32602),
            ("tools/call", json!({ "name": 7 }), -32602),
            ("tools/call", json!({ "name": "read", "arguments": [] }), -32602),
            ("tools/list", json!({ "cursor": "elsewhere" }), -32602),
            ("resources/read", json!({}), -32602),
            ("nothing/at_all", json!({}), -32601),
            ("prompts/list", json!({}), -32601),
            (
                "completion/complete",
                json!({ "ref": { "type": "ref/prompt", "name": "x" },
                "argument": { "name": "a", "value": "b" } }),
                -32601,
            ),
        ] {
            let answer = client.request(method, params);
            assert_eq!(answer["error"]["code"], code, "{era:?} {method}: {answer}");
        }
        assert_eq!(client.call("glob", &json!({ "pattern": "*" }))["isError"], false);
    }
}

#[test]
fn pictures_are_content_of_their_own() {
    let world = World::new();
    let pixel = "\u{89}PNG\r\n\u{1a}\n";
    let bytes: Vec<u8> = pixel.chars().map(|c| c as u8).chain(PIXEL.iter().copied()).collect();
    world.put("work/dot.png", bytes);
    let mut client = Client::start(&world, Era::Old, Forms::Unknown, &[]);
    let result = client.call("read", &json!({ "file_path": "dot.png" }));
    let picture = result["content"].as_array().unwrap().iter().find(|it| it["type"] == "image");
    assert_eq!(picture.unwrap_or_else(|| panic!("{result}"))["mimeType"], "image/png");
}

/// What follows the mark of a PNG file of one pixel.
const PIXEL: &[u8] = &[
    0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 31, 21, 196, 137, 0, 0, 0,
    13, 73, 68, 65, 84, 120, 156, 99, 248, 207, 192, 240, 31, 0, 5, 0, 1, 255, 137, 153, 61, 29, 0,
    0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];

#[test]
fn a_kept_output_is_a_resource() {
    for era in ERAS {
        let world = World::new();
        let whole: String = (0..5_000).map(|n| format!("line number {n}\n")).collect();
        world.put("work/long.txt", &whole);
        let mut client = Client::start(&world, era, Forms::Unknown, &[]);
        let result = client.call("bash", &json!({ "command": "cat long.txt" }));
        let blocks = result["content"].as_array().unwrap();
        let link = blocks.iter().find(|it| it["type"] == "resource_link");
        let uri = link.unwrap_or_else(|| panic!("{result}"))["uri"].clone();
        let listed = client.request("resources/list", json!({}))["result"]["resources"].clone();
        assert_eq!(listed[0]["uri"], uri, "{listed}");
        let read = client.request("resources/read", json!({ "uri": uri }));
        assert_eq!(read["result"]["contents"][0]["text"], whole);
    }
}

#[test]
fn nothing_but_kept_outputs_is_read_as_a_resource() {
    for (era, code) in [(Era::Old, -32002), (Era::New, -32602)] {
        let world = World::new();
        let own = world.put("work/a.txt", "one\n");
        let mut client = Client::start(&world, era, Forms::Unknown, &[]);
        for uri in [format!("file://{own}"), "file:///etc/passwd".into(), "x".into()] {
            let answer = client.request("resources/read", json!({ "uri": uri }));
            assert_eq!(answer["error"]["code"], code, "{answer}");
            assert_eq!(answer["error"]["data"]["uri"], uri);
        }
    }
}

#[test]
fn the_calls_of_a_process_are_one_session() {
    let world = World::new();
    let mut client = Client::start(&world, Era::New, Forms::Unknown, &["--session", "s"]);
    for pattern in ["a*", "b*"] {
        client.call("glob", &json!({ "pattern": pattern }));
    }
    assert_eq!(client.close(), 0);
    let calls = world.calls("s");
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|call| call["state"] == "completed"));
}

#[test]
fn the_clients_roots_are_a_hint_where_no_folder_was_named() {
    let world = World::new();
    let root = world.put("elsewhere/a b.txt", "there\n").replace("/a b.txt", "");
    world.put("work/a b.txt", "here\n");
    let file = world.put("file", "no folder");
    let work = world.path("work").to_str().unwrap().to_owned();
    let roots = |uris: &[String]| {
        let all: Vec<Value> = uris.iter().map(|uri| json!({ "uri": uri })).collect();
        json!({ "roots": all })
    };
    let there = roots(&["https://no".into(), format!("file://{file}"), format!("file://{root}")]);
    for (flags, answer, says) in [
        (&[][..], json!({ "result": there }), "there"),
        (&[], json!({ "result": roots(&[]) }), "here"),
        (&[], json!({ "error": { "code": -32601, "message": "no" } }), "here"),
        (&["--dir", work.as_str()], Value::Null, "here"),
    ] {
        let mut client = Client::bare(&world, Era::Old, Forms::Unknown, flags);
        let who = json!({ "name": "test", "version": "1" });
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": { "roots": {} }, "clientInfo": who
        });
        client.request("initialize", params);
        let id = client.begin("read", &json!({ "file_path": "a b.txt" }));
        if let Value::Object(mut answer) = answer {
            let asked = client.next().unwrap();
            assert_eq!(asked["method"], "roots/list", "{asked}");
            answer.insert("jsonrpc".into(), "2.0".into());
            answer.insert("id".into(), asked["id"].clone());
            client.send(&answer.into());
        }
        let result = client.answer(id)["result"].clone();
        assert!(text(&result).contains(says), "{flags:?}: {result}");
    }
}

#[test]
fn the_id_that_a_host_gives_a_call_is_its_id_and_is_used_once() {
    for era in ERAS {
        let world = World::new();
        let mut client = Client::start(&world, era, Forms::Unknown, &["--session", "s"]);
        let params = json!({
            "name": "bash",
            "arguments": { "command": "echo once >> log" },
            "_meta": { "claudecode/toolUseId": "toolu_017" },
        });
        let first = client.request("tools/call", params.clone())["result"].clone();
        assert_eq!(first["_meta"]["haft/call"], "toolu_017");
        let second = client.request("tools/call", params)["result"].clone();
        assert_eq!(second["isError"], true, "{second}");
        assert_eq!(fs_err::read_to_string(world.path("work/log")).unwrap(), "once\n");
        assert_eq!(world.calls("s")[0]["id"], "toolu_017");
    }
}

#[test]
fn a_call_that_takes_its_time_tells_how_far_it_is() {
    for era in ERAS {
        let world = World::new();
        let mut client = Client::start(&world, era, Forms::Unknown, &[]);
        let script =
            "for i in 1 2 3 4; do echo line $i; until [ -e line-$i ]; do sleep 0.02; done; done";
        let params = json!({
            "name": "bash", "arguments": { "command": script }, "_meta": { "progressToken": "p" }
        });
        let id = client.ask("tools/call", params);
        let answer = client.answer_line_by_line(&world, id);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        let told = client.aside();
        assert!(told.len() >= 4, "{told:?}");
        assert!(told.iter().all(|it| it["method"] == "notifications/progress"), "{told:?}");
        assert!(told.iter().all(|it| it["params"]["progressToken"] == "p"), "{told:?}");
        let values: Vec<f64> =
            told.iter().map(|it| it["params"]["progress"].as_f64().unwrap()).collect();
        assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "{values:?}");
        assert!(told.iter().any(|it| it["params"]["message"] == "line 2"), "{told:?}");
        let quiet = client.call("bash", &json!({ "command": "echo a; sleep 0.3; echo b" }));
        assert_eq!(quiet["isError"], false);
        assert_eq!(client.aside(), Vec::<Value>::new(), "nobody asked to be told");
    }
}
