//! Search services as they speak on the wire, and what becomes of their errors.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_web::search::{Account, Found, Hit, Key, Provider, Query, Service};
use haft_web::{Client, Settings, WebError};
use serde_json::{Value, json};

use crate::site::{Names, Site, answer, ok};

fn query() -> Query {
    Query {
        text: "rust & \"async\" traits".into(),
        results: 2,
        characters: 8_000,
        deadline: Duration::from_secs(10),
    }
}

fn provider(service: Service, site: &Site, path: &str) -> Arc<dyn Provider> {
    let base_url = Some(format!("http://127.0.0.1:{}{path}", site.port));
    Account { service, base_url, key: Some(Key::new("k-123")) }.open().unwrap()
}

fn client() -> Client {
    Client::with_resolver(Settings::default(), Arc::new(Names::default()))
}

async fn search(service: Service, site: &Site, path: &str) -> Result<Found, WebError> {
    provider(service, site, path).search(&client(), &query()).await
}

const EXA: &str = r#"{"requestId":"r1","resolvedSearchType":"neural","results":[
 {"id":"https://a.test/1","title":"Async traits","url":"https://a.test/1","publishedDate":"2025-06-01T00:00:00.000Z","author":"A. Nobody","score":0.3,"text":"They are in the language now. "},
 {"id":"https://a.test/2","title":null,"url":"https://a.test/2","publishedDate":null,"text":""},
 {"id":"https://a.test/3","title":"One too many","url":"https://a.test/3","text":"x"}],"costDollars":{"total":0.005}}"#;

#[tokio::test]
async fn exa_is_asked_by_its_interface() {
    let site = Site::saying(ok("application/json", EXA));
    let found = search(Service::Exa, &site, "").await.unwrap();
    let first = Hit {
        title: "Async traits".into(),
        url: "https://a.test/1".into(),
        date: Some("2025-06-01T00:00:00.000Z".into()),
        text: "They are in the language now.".into(),
    };
    let second = Hit { url: "https://a.test/2".into(), ..Hit::default() };
    assert_eq!(found, Found::Results(vec![first, second]));
    let asked = &site.requests()[0];
    assert!(asked.head.starts_with("POST /search HTTP/1.1\r\n"), "{asked:?}");
    assert_eq!(asked.header("x-api-key"), Some("k-123"));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    let wanted = json!({ "query": query().text, "type": "auto", "numResults": 2,
        "contents": { "text": { "maxCharacters": 4_000 } } });
    assert_eq!(body, wanted);
}

#[tokio::test]
async fn exa_searches_code() {
    let answer = json!({ "requestId": "r", "query": "q", "response": "## Use it so\n```rust\nfn f() {}\n```",
        "resultsCount": 3, "outputTokens": 20 });
    let site = Site::saying(ok("application/json", answer.to_string()));
    let exa = provider(Service::Exa, &site, "");
    assert!(exa.has_code());
    let found = exa.code(&client(), &query()).await.unwrap();
    assert_eq!(found, Found::Text("## Use it so\n```rust\nfn f() {}\n```".into()));
    let asked = &site.requests()[0];
    assert!(asked.head.starts_with("POST /context HTTP/1.1\r\n"), "{asked:?}");
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    assert_eq!(body, json!({ "query": query().text, "tokensNum": 2_000 }));
}

#[tokio::test]
async fn exa_is_asked_by_its_mcp_server_in_both_of_its_forms() {
    let result = json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [{ "type": "text", "text": "Title: A\nURL: https://a.test" }] } });
    let stream = format!(
        ": ping\r\n\r\nevent: message\r\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}}\r\n\r\nevent: message\r\ndata: {result}\r\n\r\n"
    );
    for (mime, text) in [("application/json", result.to_string()), ("text/event-stream", stream)] {
        let site = Site::saying(ok(mime, text));
        let found = search(Service::ExaMcp, &site, "/mcp").await.unwrap();
        assert_eq!(found, Found::Text("Title: A\nURL: https://a.test".into()), "{mime}");
        let asked = &site.requests()[0];
        assert!(asked.head.starts_with("POST /mcp HTTP/1.1\r\n"), "{asked:?}");
        assert_eq!(asked.header("accept"), Some("application/json, text/event-stream"));
        let body: Value = serde_json::from_str(&asked.body).unwrap();
        assert_eq!(body["method"], "tools/call");
        assert_eq!(body["params"]["name"], "web_search_exa");
        assert_eq!(body["params"]["arguments"]["numResults"], 2);
    }
    let site = Site::saying(ok("application/json", result.to_string()));
    provider(Service::ExaMcp, &site, "").code(&client(), &query()).await.unwrap();
    let body: Value = serde_json::from_str(&site.requests()[0].body).unwrap();
    assert_eq!(body["params"]["name"], "get_code_context_exa");
}

#[tokio::test]
async fn brave_marks_what_it_found_and_the_marks_are_taken_off() {
    let answer = json!({ "type": "search", "query": { "original": "q" }, "web": { "type": "search", "results": [
        { "title": "<strong>Async</strong> &amp; traits", "url": "https://b.test/", "age": "2 days ago",
          "description": "All about <strong>async</strong>." }] } });
    let site = Site::saying(ok("application/json", answer.to_string()));
    let found = search(Service::Brave, &site, "/res/v1").await.unwrap();
    let hit = Hit {
        title: "Async & traits".into(),
        url: "https://b.test/".into(),
        date: Some("2 days ago".into()),
        text: "All about async.".into(),
    };
    assert_eq!(found, Found::Results(vec![hit]));
    let asked = &site.requests()[0];
    assert_eq!(asked.path(), "/res/v1/web/search?q=rust+%26+%22async%22+traits&count=2");
    assert_eq!(asked.header("x-subscription-token"), Some("k-123"));
    let nothing = Site::saying(ok("application/json", r#"{"type":"search"}"#));
    assert_eq!(search(Service::Brave, &nothing, "").await.unwrap(), Found::Results(Vec::new()));
}

#[tokio::test]
async fn searxng_needs_a_place_and_no_key() {
    let answer = json!({ "query": "q", "results": [
        { "title": "Async", "url": "https://s.test/", "content": "About it", "engine": "x" },
        { "title": "B", "url": "https://s.test/b", "content": "", "publishedDate": "2024-01-01" }] });
    let site = Site::saying(ok("application/json", answer.to_string()));
    let base_url = Some(format!("http://127.0.0.1:{}/searx/", site.port));
    let searxng = Account { service: Service::Searxng, base_url, key: None }.open().unwrap();
    let Found::Results(hits) = searxng.search(&client(), &query()).await.unwrap() else { panic!() };
    assert_eq!((hits[0].text.as_str(), hits[1].date.as_deref()), ("About it", Some("2024-01-01")));
    assert_eq!(
        site.requests()[0].path(),
        "/searx/search?q=rust+%26+%22async%22+traits&format=json"
    );
    assert!(!searxng.has_code());
    let error = searxng.code(&client(), &query()).await.unwrap_err();
    assert!(error.to_string().contains("does not search code"), "{error}");
}

#[test]
fn an_account_that_lacks_something_says_what() {
    let open = |service, base_url: Option<&str>| {
        let base_url = base_url.map(str::to_owned);
        Account { service, base_url, key: None }.open().unwrap_err()
    };
    assert!(open(Service::Exa, None).contains("EXA_API_KEY"));
    assert!(open(Service::Brave, None).contains("BRAVE_API_KEY"));
    assert!(open(Service::Searxng, None).contains("base_url"));
    assert!(open(Service::Exa, Some("ftp://x")).contains("base_url"));
    assert!(Account { service: Service::ExaMcp, base_url: None, key: None }.open().is_ok());
    let key = Key::new("k-123");
    assert!(
        !format!(
            "{key:?} {:?}",
            Account { service: Service::Exa, base_url: None, key: Some(key.clone()) }
        )
        .contains("k-123")
    );
}

#[tokio::test]
async fn every_refusal_says_who_has_to_do_what() {
    for (status, word) in [
        ("401 Unauthorized", "key"),
        ("402 Payment Required", "credit"),
        ("403 Forbidden", "key"),
        ("404 Not Found", "base_url"),
        ("422 Unprocessable Entity", "other words"),
        ("429 Too Many Requests", "later"),
        ("500 Internal Server Error", "later"),
        ("302 Found", "later"),
    ] {
        let site =
            Site::saying(answer(status, "location: http://127.0.0.1/\r\n", "{\"key\":\"k-123\"}"));
        let error = search(Service::Exa, &site, "").await.unwrap_err().to_string();
        assert!(
            error.contains(word)
                && error.contains(status.split(' ').next().unwrap())
                && !error.contains("k-123"),
            "{error}"
        );
        assert_eq!(site.hits(), 1, "{status}");
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_used_is_an_error_and_never_no_results() {
    let answers =
        ["", "<html>hello</html>", "{\"results\":", "[]", "{}", "{\"results\":7}", "null"];
    for service in [Service::Exa, Service::ExaMcp, Service::Brave, Service::Searxng] {
        for text in answers {
            // What Brave finds nothing for has no list.
            if service == Service::Brave && text.starts_with("{") && text.ends_with('}') {
                continue;
            }
            let site = Site::saying(ok("application/json", text));
            let error = search(service, &site, "").await.unwrap_err().to_string();
            assert!(error.contains("cannot be used"), "{service:?} {text:?}: {error}");
        }
    }
    let said = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32602, "message": "no such tool" } });
    let site = Site::saying(ok("application/json", said.to_string()));
    assert!(
        search(Service::ExaMcp, &site, "").await.unwrap_err().to_string().contains("no such tool")
    );
    let said =
        json!({ "result": { "isError": true, "content": [{ "type": "text", "text": "quota" }] } });
    let site = Site::saying(ok("application/json", said.to_string()));
    assert!(search(Service::ExaMcp, &site, "").await.unwrap_err().to_string().contains("quota"));
}

#[tokio::test]
async fn a_service_that_asks_to_wait_a_little_gets_its_wait() {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let site = Site::new(move |_, stream| {
        let busy = answer("429 Too Many Requests", "retry-after: 1\r\n", "");
        let first = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        crate::site::send(stream, if first { busy.as_slice() } else { EXA_OK });
    });
    let begin = Instant::now();
    assert!(search(Service::Exa, &site, "").await.is_ok());
    assert!(begin.elapsed() >= Duration::from_secs(1));
    assert_eq!(site.hits(), 2);
    let busy = Site::saying(answer("429 Too Many Requests", "retry-after: 600\r\n", ""));
    let error = search(Service::Exa, &busy, "").await.unwrap_err().to_string();
    assert!(error.contains("try again in 600 s"), "{error}");
    assert_eq!(busy.hits(), 1);
    let always = Site::saying(answer("503 Service Unavailable", "retry-after: 0\r\n", ""));
    assert!(search(Service::Exa, &always, "").await.unwrap_err().to_string().contains("503"));
    assert_eq!(always.hits(), 3);
}

const EXA_OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{\"results\":[]}";

#[tokio::test]
async fn a_service_that_does_not_answer_runs_out_of_time() {
    let site = Site::new(|_, stream| drop(std::io::Read::read(stream, &mut [0])));
    let query = Query { deadline: Duration::from_millis(300), ..query() };
    let error = provider(Service::Exa, &site, "").search(&client(), &query).await.unwrap_err();
    assert!(matches!(error, WebError::TimedOut { .. }), "{error}");
}
