//! `websearch`, as a model calls it: results within bounds, errors that say what is missing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_runtime::CancellationToken;
use haft_runtime::permission::Reply;
use haft_tools::{Web, WebSettings};
use haft_web::search::{Account, Key, Service};
use haft_web::{Client, Settings};
use serde_json::json;

use crate::site::{Names, Site, answer, ok};
use crate::world::World;

pub(crate) const ALLOW: &str = "[permission]\nwebsearch = \"allow\"\ncodesearch = \"allow\"\n";

pub(crate) fn web(service: Service, base_url: Option<String>, key: Option<&str>) -> Web {
    let search = Account { service, base_url, key: key.map(Key::new) };
    let client = Client::with_resolver(Settings::default(), Arc::new(Names::default()));
    Web::new(client, WebSettings { search, ..WebSettings::default() })
}

pub(crate) async fn world(service: Service, site: &Site, rules: &str, reply: Reply) -> World {
    let base_url = Some(format!("http://127.0.0.1:{}", site.port));
    World::surfing(rules, reply, web(service, base_url, Some("k-123"))).await
}

/// A wait until a date, by the server's clock.
const BY_DATE: &str =
    "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:50:38 GMT\r\n";

fn results(count: usize, text: &str) -> String {
    let one = |number: usize| json!({ "title": format!("Title {number}"), "url": format!("https://a.test/{number}"), "text": text });
    json!({ "results": (0..count).map(one).collect::<Vec<_>>() }).to_string()
}

#[tokio::test]
async fn results_are_shown_with_their_urls_between_marks() {
    let site = Site::saying(ok("application/json", results(3, "Some text.")));
    let world = world(Service::Exa, &site, ALLOW, Reply::Unattended).await;
    let text = world.text("WebSearch", json!({ "query": "words", "numResults": "2" })).await;
    assert!(text.contains("## Title 0\nhttps://a.test/0\nSome text.\n\n## Title 1\n"), "{text}");
    assert!(!text.contains("Title 2") && text.ends_with(">>>"), "{text}");
}

#[tokio::test]
async fn a_long_answer_is_bounded_with_every_result_in_it() {
    let site = Site::saying(ok("application/json", results(8, &"long ".repeat(20_000))));
    let world = world(Service::Exa, &site, ALLOW, Reply::Unattended).await;
    let text = world.text("websearch", json!({ "query": "words" })).await;
    assert!(text.len() <= 51_200, "{}", text.len());
    assert!((0..8).all(|number| text.contains(&format!("## Title {number}\n"))));
    assert!(text.ends_with(">>>"));
}

#[tokio::test]
async fn it_is_shown_only_where_it_is_configured_and_otherwise_says_what_is_missing() {
    for (service, key, missing, words) in [
        (Service::Exa, None, vec!["websearch", "codesearch"], "EXA_API_KEY"),
        (Service::Searxng, None, vec!["websearch", "codesearch"], "base_url"),
        (Service::Brave, Some("k"), vec!["codesearch"], "brave does not search code"),
        (Service::ExaMcp, None, vec![], ""),
    ] {
        let world = World::surfing(ALLOW, Reply::Unattended, web(service, None, key)).await;
        let left_out: Vec<_> = world.toolset.left_out().iter().map(|one| one.id.as_str()).collect();
        assert_eq!(left_out, missing, "{service:?}");
        assert!(
            world.toolset.left_out().iter().all(|one| one.reason.contains(words)),
            "{service:?}"
        );
        assert!(world.toolset.names().contains(&"webfetch".to_owned()));
    }
}

#[tokio::test]
async fn it_asks_and_always_means_every_search() {
    let site = Site::saying(ok("application/json", results(1, "x")));
    let ask = "[permission]\nwebsearch = \"ask\"\n";
    let denied = world(Service::Exa, &site, ask, Reply::Reject { feedback: None }).await;
    denied.error("websearch", json!({ "query": "one" }), "denied").await;
    assert_eq!(site.hits(), 0);
    let world = world(Service::Exa, &site, ask, Reply::Always).await;
    world.text("websearch", json!({ "query": "one" })).await;
    world.text("websearch", json!({ "query": "two" })).await;
    assert_eq!(world.asked_effects().len(), 1);
}

#[tokio::test]
async fn errors_name_what_to_do_and_never_the_key() {
    for (site, words) in [
        (Site::saying(answer("401 Unauthorized", "", "k-123")), "[web.search]"),
        (
            Site::saying(answer("429 Too Many Requests", "retry-after: 90\r\n", "")),
            "try again in 90 s",
        ),
        (Site::saying(answer("429 Too Many Requests", BY_DATE, "")), "try again in 61 s"),
        (Site::saying(ok("application/json", "{")), "cannot be used"),
    ] {
        let world = world(Service::Exa, &site, ALLOW, Reply::Unattended).await;
        let message = world.error("websearch", json!({ "query": "words" }), "failed").await;
        assert!(message.contains(words) && !message.contains("k-123"), "{message}");
    }
    let none = Site::saying(ok("application/json", results(0, "")));
    let world = world(Service::Exa, &none, ALLOW, Reply::Unattended).await;
    let text = world.text("websearch", json!({ "query": "words" })).await;
    assert_eq!(text, "exa found nothing for \"words\"; try other words.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_search_ends_at_once_also_while_it_waits_for_its_turn() {
    let silent = Site::new(|_, stream| drop(std::io::Read::read(stream, &mut [0])));
    let busy = Site::saying(answer("429 Too Many Requests", "retry-after: 5\r\n", ""));
    for site in [&silent, &busy] {
        let world = world(Service::Exa, site, ALLOW, Reply::Unattended).await;
        let cancel = CancellationToken::new();
        let call = world.prepare("websearch", json!({ "query": "words" }));
        let stop = async {
            while site.requests().is_empty() {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
            Instant::now()
        };
        let (settled, since) = tokio::join!(world.toolset.execute(call, cancel.clone()), stop);
        assert_eq!(settled.to_json()["error"]["kind"], "cancelled", "{}", settled.to_json());
        assert!(since.elapsed() < Duration::from_millis(400), "{:?}", since.elapsed());
    }
}
