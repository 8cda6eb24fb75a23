//! How often a client is told, measured with a clock that is turned by hand.

use std::time::Duration;

use haft_runtime::Output;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::client::{Client, Plain};

#[tokio::test(start_paused = true)]
async fn a_silent_call_is_heard_of_every_ten_seconds() {
    let mut client = Client::of(vec![Plain("silent", |_| {
        Box::pin(async {
            sleep(Duration::from_secs(35)).await;
            Ok(Output::new("", "done"))
        })
    })]);
    let params = json!({ "name": "silent", "_meta": { "progressToken": 7 } });
    let started = Instant::now();
    client.ask(1, "tools/call", params).await;
    for beat in 1..=3 {
        let told = client.next().await;
        assert_eq!(told["params"]["progressToken"], 7, "{told}");
        assert_eq!(started.elapsed().as_secs(), beat * 10);
    }
    let (answer, before) = client.answer(1).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert!(before.is_empty(), "{before:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_chatters_is_heard_of_ten_times_a_second() {
    let mut client = Client::of(vec![Plain("chatter", |cx| {
        Box::pin(async {
            for n in 0..3_000 {
                cx.metadata("on and on", json!({ "output": format!("line {n}") }));
                sleep(Duration::from_millis(1)).await;
            }
            Ok(Output::new("", "done"))
        })
    })]);
    let params = json!({ "name": "chatter", "_meta": { "progressToken": "t" } });
    client.ask(1, "tools/call", params).await;
    let (_, told) = client.answer(1).await;
    assert!((20..=31).contains(&told.len()), "{} in three seconds", told.len());
    let message = told.last().unwrap()["params"]["message"].as_str().unwrap();
    let last: u32 = message.strip_prefix("line ").expect(message).parse().unwrap();
    assert!(last > 2_500, "what is told is what is new: {message}");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_who_did_not_ask() {
    let mut client = Client::of(vec![Plain("silent", |_| {
        Box::pin(async {
            sleep(Duration::from_secs(100)).await;
            Ok(Output::new("", "done"))
        })
    })]);
    client.ask(1, "tools/call", json!({ "name": "silent" })).await;
    let (_, told) = client.answer(1).await;
    assert!(told.is_empty(), "{told:?}");
}
