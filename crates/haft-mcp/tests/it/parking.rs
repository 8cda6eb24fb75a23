//! Calls that wait for an answer which never comes, or comes in another order.

use std::time::Duration;

use haft_mcp::server::{Elicited, elicit};
use haft_runtime::{Delivery, EventKind, Output, ToolError};
use serde_json::{Value, json};

use crate::client::{Client, Plain};

fn curious() -> Plain {
    Plain("curious", |_| {
        Box::pin(async {
            let schema = || {
                let name = json!({ "name": { "type": "string" } });
                json!({ "type": "object", "properties": name, "required": ["name"] })
            };
            let (a, b) =
                tokio::join!(elicit("a", "First?", schema()), elicit("b", "Second?", schema()));
            let (Some(Elicited::Accepted(a)), Some(Elicited::Accepted(b))) = (a, b) else {
                return Err(ToolError::failed("nobody answered"));
            };
            Ok(Output::new("", format!("{} and {}", a["name"], b["name"])))
        })
    })
}

fn accepted(name: &str) -> Value {
    json!({ "action": "accept", "content": { "name": name } })
}

#[tokio::test]
async fn what_is_asked_at_once_is_answered_together_or_one_after_the_other() {
    let mut client = Client::of(vec![curious()]);
    client.ask(1, "tools/call", json!({ "name": "curious" })).await;
    let (asked, _) = client.answer(1).await;
    let requests = asked["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.keys().collect::<Vec<_>>(), ["a", "b"], "{asked}");
    let params = json!({
        "name": "curious",
        "requestState": asked["result"]["requestState"],
        "inputResponses": { "b": accepted("Bea") },
    });
    client.ask(2, "tools/call", params).await;
    let (asked, _) = client.answer(2).await;
    let requests = asked["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.keys().collect::<Vec<_>>(), ["a"], "{asked}");
    let params = json!({
        "name": "curious",
        "requestState": asked["result"]["requestState"],
        "inputResponses": { "a": accepted("Ada"), "b": accepted("nobody") },
    });
    client.ask(3, "tools/call", params).await;
    let (done, _) = client.answer(3).await;
    assert_eq!(done["result"]["content"][0]["text"], "\"Ada\" and \"Bea\"", "{done}");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_ends_its_call() {
    let mut client = Client::of(vec![curious()]);
    let mut events = client.runtime.events(None);
    client.ask(1, "tools/call", json!({ "name": "curious" })).await;
    let (asked, _) = client.answer(1).await;
    tokio::time::sleep(Duration::from_secs(11 * 60)).await;
    let ended = loop {
        match events.next().await {
            Some(Delivery::Event(event)) => {
                if let EventKind::CallError { error, .. } = &*event.kind {
                    break error.clone();
                }
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(ended.message, "nobody answered");
    let params = json!({
        "name": "curious",
        "requestState": asked["result"]["requestState"],
        "inputResponses": { "a": accepted("Ada"), "b": accepted("Bea") },
    });
    client.ask(2, "tools/call", params).await;
    let (late, _) = client.answer(2).await;
    assert_eq!(late["result"]["isError"], true, "{late}");
    assert!(late["result"]["content"][0]["text"].as_str().unwrap().contains("in time"), "{late}");
}
