//! `batch` through the pipeline.

use haft_runtime::permission::Reply;
use serde_json::{Value, json};

use crate::world::World;

fn write(content: &str) -> Value {
    json!({ "tool": "todowrite", "args": { "todos": [{ "content": content, "status": "pending" }] } })
}

fn read() -> Value {
    json!({ "tool": "todoread", "args": {} })
}

#[tokio::test]
async fn results_come_in_the_order_of_the_calls_and_changes_happen_in_it() {
    let world = World::new().await;
    let calls = json!({ "calls": [read(), write("one"), read(), write("two"), read()] });
    let text = world.text("batch", calls).await;
    let expected = "## 1. todoread: 0 of 0 open\nThe list is empty.\n\n\
        ## 2. todowrite: 1 of 1 open\n[ ] 1. one\n1 of 1 open\n\n\
        ## 3. todoread: 1 of 1 open\n[ ] 1. one\n\n\
        ## 4. todowrite: 1 of 1 open\n[ ] 1. two\n1 of 1 open\n\n\
        ## 5. todoread: 1 of 1 open\n[ ] 1. two";
    assert_eq!(text, expected);
}

#[tokio::test]
async fn one_wrong_argument_and_none_runs() {
    let world = World::new().await;
    let wrong = json!({ "tool": "todowrite", "args": { "todos": 7 } });
    let absent = json!({ "tool": "teleport", "args": {} });
    let calls = json!({ "calls": [write("one"), wrong, absent] });
    let message = world.error("batch", calls, "invalid_params").await;
    assert!(
        message.contains("calls[1]") && message.contains("calls[2]"),
        "all faults at once: {message}"
    );
    assert!(!message.contains("calls[0]"), "{message}");
    assert_eq!(world.text("todoread", json!({})).await, "The list is empty.");
}

#[tokio::test]
async fn a_batch_in_a_batch_is_refused_under_any_name() {
    let world = World::new().await;
    for name in ["batch", "Batch", "parallel"] {
        let inner = json!({ "tool": name, "args": { "calls": [read()] } });
        let message = world.error("batch", json!({ "calls": [inner] }), "invalid_params").await;
        assert!(message.contains("a batch cannot contain a batch"), "{message}");
    }
}

#[tokio::test]
async fn a_call_that_is_denied_does_not_stop_the_rest() {
    let rules = "[permission]\n\"*\" = \"allow\"\ntodowrite = \"ask\"\n";
    let world = World::ruled(rules, Reply::Unattended).await;
    let answer = world.call("batch", json!({ "calls": [write("one"), read()] })).await;
    assert_eq!(answer["title"], "2 calls, 1 failed");
    assert_eq!(answer["metadata"]["calls"][0]["kind"], "denied");
    assert_eq!(answer["metadata"]["calls"][1]["state"], "completed");
}

#[tokio::test]
async fn a_tool_that_was_hidden_stays_hidden_inside_a_batch() {
    let rules = "[permission]\n\"*\" = \"allow\"\ntodowrite = \"deny\"\n";
    let world = World::ruled(rules, Reply::Unattended).await;
    let message = world.error("batch", json!({ "calls": [write("one")] }), "invalid_params").await;
    assert!(message.contains("not allowed: todowrite"), "{message}");
}

#[tokio::test]
async fn twenty_five_calls_are_taken_and_twenty_six_are_not() {
    let world = World::new().await;
    let text = world.text("batch", json!({ "calls": vec![read(); 25] })).await;
    assert!(text.contains("## 25. todoread"));
    world.error("batch", json!({ "calls": vec![read(); 26] }), "invalid_params").await;
    world.error("batch", json!({ "calls": [] }), "invalid_params").await;
}

#[tokio::test]
async fn long_results_share_the_limit_so_that_each_is_seen() {
    let world = World::new().await;
    let content = "x".repeat(1_900);
    let todos: Vec<Value> =
        (0..90).map(|_| json!({ "content": content, "status": "pending" })).collect();
    world.text("todowrite", json!({ "todos": todos })).await;
    let text = world.text("batch", json!({ "calls": vec![read(); 10] })).await;
    assert!(text.len() <= 50 * 1024, "{}", text.len());
    for number in 1..=10 {
        assert!(text.contains(&format!("## {number}. todoread")), "{number}");
    }
}

#[tokio::test]
async fn explaining_a_batch_names_what_its_calls_would_do() {
    let world = World::new().await;
    let call = world.prepare("batch", json!({ "calls": [read(), write("x")] }));
    let explained = world.toolset.explain(&call).await.unwrap();
    let keys: Vec<&str> = explained
        .effects
        .iter()
        .filter_map(|effect| effect.rule.as_ref())
        .map(|rule| rule.key.as_str())
        .collect();
    assert_eq!(keys, ["batch", "todoread", "todowrite"]);
}
