//! `codesearch`, as a model calls it.

use haft_runtime::permission::Reply;
use haft_web::search::Service;
use serde_json::{Value, json};

use crate::site::{Site, ok};
use crate::websearch::{ALLOW, world};

#[tokio::test]
async fn what_was_found_is_shown_as_the_service_wrote_it() {
    let found = json!({ "response": "```rust\nfn f() {}\n```" });
    let site = Site::saying(ok("application/json", found.to_string()));
    let world = world(Service::Exa, &site, ALLOW, Reply::Unattended).await;
    let text = world.text("codesearch", json!({ "query": "a function", "tokensNum": 3_000 })).await;
    assert!(text.contains(">>>\n```rust\nfn f() {}\n```\n<<</"), "{text}");
    let sent: Value = serde_json::from_str(&site.requests()[0].body).unwrap();
    assert_eq!(sent, json!({ "query": "a function", "tokensNum": 3_000 }));
}

#[tokio::test]
async fn an_answer_of_any_length_is_bounded() {
    let found = json!({ "response": "line\n".repeat(200_000) });
    let site = Site::saying(ok("application/json", found.to_string()));
    let world = world(Service::Exa, &site, ALLOW, Reply::Unattended).await;
    let answer = world.call("codesearch", json!({ "query": "words", "tokens": 50_000 })).await;
    let text = answer["output"].as_str().unwrap();
    assert!(text.len() <= 51_200 && text.lines().count() <= 2_000 && text.ends_with(">>>"));
    assert!(text.lines().count() > 1_900, "{}", text.lines().count());
}

#[tokio::test]
async fn it_has_a_permission_of_its_own() {
    let site = Site::saying(ok("application/json", "{}"));
    let rules = "[permission]\nwebsearch = \"allow\"\ncodesearch = \"deny\"\n";
    let world = world(Service::ExaMcp, &site, rules, Reply::Once).await;
    world.error("codesearch", json!({ "query": "words" }), "denied").await;
    assert_eq!(site.hits(), 0);
}
