//! Arguments and names as models really send them.

use haft_runtime::{Arguments, Call, CancellationToken};
use serde_json::json;

use crate::world::World;

async fn say(tool: &str, text: &str) -> serde_json::Value {
    let world = World::new().await;
    let call = Call::new(world.session.clone(), tool, Arguments::Text(text.to_owned()));
    world.toolset.execute(call, CancellationToken::new()).await.to_json()
}

#[tokio::test]
async fn every_repair_is_listed() {
    let answer = say("Follow", r#"{"action": "SAY", "text": "x", "times": "2"}"#).await;
    assert_eq!(answer["output"], "x\nx");
    assert_eq!(answer["tool"], "obey");
    assert_eq!(answer["metadata"]["repaired"].as_array().unwrap().len(), 4, "{answer}");
}

#[tokio::test]
async fn a_call_that_needs_no_repair_lists_none() {
    let answer = say("obey", r#"{"what": "say"}"#).await;
    assert_eq!(answer["metadata"], json!({}));
}

#[tokio::test]
async fn json_that_ends_in_the_middle_is_told_apart_from_json_that_is_wrong() {
    let cut = say("obey", r#"{"what": "say", "text": "lo"#).await;
    assert_eq!(cut["error"]["kind"], "cut_off");
    assert!(cut["error"]["message"].as_str().unwrap().contains("after 27 bytes"), "{cut}");
    let wrong = say("obey", r#"{"what": say}"#).await;
    assert_eq!(wrong["error"]["kind"], "invalid_params");
}

#[tokio::test]
async fn a_fault_names_the_path_what_was_expected_and_what_came() {
    let answer = say("obey", r#"{"what": "say", "times": -1, "colour": 1}"#).await;
    let message = answer["error"]["message"].as_str().unwrap();
    for part in ["obey", "times", "-1", "colour", "nothing has run"] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[tokio::test]
async fn a_name_that_means_nothing_is_answered_with_those_that_do() {
    let answer = say("teleport", "{}").await;
    assert_eq!(answer["error"]["kind"], "unknown");
    assert_eq!(answer["error"]["message"], "there is no tool `teleport`; available: obey");
}
