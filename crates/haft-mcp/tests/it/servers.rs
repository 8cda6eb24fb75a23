//! Another server, over HTTP and in the same process, that does not work at first.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_exec::Keeper;
use haft_mcp::client::{Reach, ServerSettings, Servers, State, ToolFilter};
use haft_runtime::Runtime;
use haft_web::{Client, Settings};
use serde_json::{Value, json};

use crate::site::{Asked, Site, answer, ok, send};

/// What a server of the old era answers; its list of tools fails as often as `failures` says.
fn answered(asked: &Asked, failures: &AtomicUsize) -> Vec<u8> {
    let message: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let Some(id) = message.get("id") else { return answer("202 Accepted", "", "") };
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "late", "version": "1" },
        }),
        Some("tools/list") if failures.load(Ordering::SeqCst) == 0 => {
            json!({ "tools": [{ "name": "one", "inputSchema": { "type": "object" } }] })
        }
        _ => Value::Null,
    };
    let message = if result.is_null() {
        let left = failures.load(Ordering::SeqCst);
        failures.store(left.saturating_sub(1), Ordering::SeqCst);
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "not now" } })
    } else {
        json!({ "jsonrpc": "2.0", "id": id, "result": result })
    };
    ok("application/json", message.to_string())
}

#[tokio::test]
async fn a_server_that_works_after_all_is_no_longer_broken() {
    // One for the question of the new era, one for the list.
    let failures = AtomicUsize::new(2);
    let site = Site::new(move |asked, stream| send(stream, &answered(asked, &failures)));
    let settings = ServerSettings {
        name: "late".to_owned(),
        reach: Reach::Http {
            url: format!("http://127.0.0.1:{}/mcp", site.port),
            headers: Vec::new(),
            client: Arc::new(Client::new(Settings::default())),
        },
        tools: ToolFilter::default(),
        timeout: Duration::from_secs(10),
        start_timeout: Duration::from_secs(10),
    };
    let keeper = Arc::new(Keeper::new("/proc/self/exe"));
    let servers = Servers::new(vec![settings], keeper);
    let runtime = Runtime::builder("/here").build();
    servers.offer(&runtime, |_| true).await;
    let report = servers.reports().remove(0);
    assert!(matches!(&report.state, State::Broken { why } if why == "not now"), "{report:?}");
    let mut clock = tokio::time::interval(Duration::from_millis(20));
    let works = async {
        while !matches!(servers.reports()[0].state, State::Connected { .. }) {
            clock.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), works).await.expect("it is asked again");
    let report = servers.reports().remove(0);
    assert_eq!(report.tools, ["late_one"], "{report:?}");
}
