//! Clients hear of tools that come and go.

use std::sync::Arc;

use haft_runtime::Output;
use serde_json::json;

use crate::client::{Client, Plain};

fn tool(id: &'static str) -> Plain {
    Plain(id, |_| Box::pin(async { Ok(Output::new("", "done")) }))
}

#[tokio::test]
async fn a_client_of_the_old_era_is_told() {
    let mut client = Client::of(vec![tool("one")]);
    let who = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who });
    client
        .send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }))
        .await;
    let (opened, _) = client.answer(0).await;
    assert_eq!(opened["result"]["capabilities"]["tools"]["listChanged"], true, "{opened}");
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    // An answer says that what was sent before it has been taken up.
    client.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await;
    client.answer(1).await;
    client.runtime.add_tool(Arc::new(tool("two"))).unwrap();
    assert_eq!(client.next().await["method"], "notifications/tools/list_changed");
    client.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" })).await;
    let (listed, _) = client.answer(2).await;
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_client_of_the_new_era_is_told_while_it_listens() {
    let mut client = Client::of(vec![tool("one")]);
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    client.ask(1, "subscriptions/listen", wanted).await;
    let told = client.next().await;
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged", "{told}");
    client.ask(2, "tools/list", json!({})).await;
    client.answer(2).await;
    client.runtime.remove_tool("one");
    let told = client.next().await;
    assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
}
