//! Providers that fail in every way they can: no call is lost, none is made twice.

use haft_agent::message::Message;
use haft_scripted::{Fault, Model, Turn};
use serde_json::json;

use crate::talk::{PROTOCOLS, eager, remote, to_the_end, tools};

/// How many runs; `HAFT_FAULTS` makes them more.
fn runs() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a test is told by its environment")]
    let told = std::env::var("HAFT_FAULTS").ok();
    told.and_then(|text| text.parse().ok()).unwrap_or(500)
}

/// What goes wrong with request `number` of run `run`; about half go well.
fn fault(run: u64, number: usize) -> Fault {
    let mut state = (run << 20 | number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for _ in 0..3 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    match state % 10 {
        0 => Fault::Status(429, Some(0)),
        1 => Fault::Status(529, None),
        2 => Fault::Refuse,
        3 | 4 => Fault::Cut((state >> 8) as usize % 2_500),
        5 => Fault::Error,
        6 => Fault::None,
        _ => Fault::Split(state >> 8),
    }
}

#[tokio::test]
async fn no_call_is_lost_or_doubled_whatever_goes_wrong() {
    let script = || {
        vec![
            Turn::call("read", json!({ "n": 1 })).and("read", json!({ "n": 2 })).thinking("Hm."),
            Turn::call("write", json!({ "n": 3, "text": "ünïcödé".repeat(20) })),
            Turn::call("read", json!({ "n": 4 }))
                .and("write", json!({ "n": 5 }))
                .and("read", json!({ "n": 6 })),
            Turn::say("End."),
        ]
    };
    for run in 0..runs() {
        let protocol = PROTOCOLS[run as usize % 3];
        let model = Model::unreliable(script(), move |number| fault(run, number)).unwrap();
        let conversation = to_the_end(&eager(remote(&model, protocol)), &tools(protocol)).await;
        let numbers: Vec<String> = conversation
            .iter()
            .flat_map(Message::calls)
            .map(|call| {
                serde_json::from_str::<serde_json::Value>(&call.arguments).unwrap()["n"].to_string()
            })
            .collect();
        assert_eq!(numbers, ["1", "2", "3", "4", "5", "6"], "run {run}, {protocol:?}");
        assert_eq!(conversation.last().unwrap().words(), "End.");
        // What the model was shown in the end is one answer for each call, in order.
        let shown: Vec<String> = model.results().into_iter().map(|shown| shown.call).collect();
        assert_eq!(shown.len(), 6, "run {run}");
    }
}
