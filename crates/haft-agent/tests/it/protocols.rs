//! The same conversation in every protocol.

use haft_agent::message::{Message, Said};
use haft_agent::provider::{Piece, Protocol, ProviderError, Stop, Usage};
use haft_scripted::{Fault, Model, Turn};
use serde_json::{Value, json};

use crate::talk::{PROTOCOLS, remote, reply, to_the_end, tools};

fn script() -> Vec<Turn> {
    let long = "é\"\\".repeat(50_000);
    vec![
        Turn::call("read", json!({ "file_path": "a folder/é.txt" }))
            .and("read", json!({ "file_path": "picture.png" }))
            .thinking("Where is it?"),
        Turn::call("write", json!({ "content": long })),
        Turn::say("Well done. 再见"),
    ]
}

#[tokio::test]
async fn the_same_session_is_heard_in_every_protocol() {
    let model = Model::start(script()).unwrap();
    let mut conversations = Vec::new();
    for protocol in PROTOCOLS {
        let conversation = to_the_end(&remote(&model, protocol), &tools(protocol)).await;
        assert_eq!(conversation.last().unwrap().words(), "Well done. 再见");
        let thought = conversation.iter().any(|message| match message {
            Message::Assistant { content } => content
                .iter()
                .any(|said| matches!(said, Said::Reasoning { text, .. } if text == "Where is it?")),
            _ => false,
        });
        assert!(thought, "{protocol:?}");
        let calls: Vec<_> = conversation.iter().flat_map(Message::calls).cloned().collect();
        conversations.push(calls);
    }
    assert_eq!(conversations[0].len(), 3);
    assert_eq!(conversations[0], conversations[1]);
    assert_eq!(conversations[0], conversations[2]);
    let arguments: Value = serde_json::from_str(&conversations[0][2].arguments).unwrap();
    assert_eq!(arguments["content"].as_str().unwrap().len(), 200_000);
}

#[tokio::test]
async fn what_was_said_and_thought_goes_back_as_the_provider_wrote_it() {
    for protocol in PROTOCOLS {
        let model = Model::start(script()).unwrap();
        to_the_end(&remote(&model, protocol), &tools(protocol)).await;
        let requests = model.requests();
        let body = &requests[1].body;
        let results = requests[1].results();
        assert_eq!(results[0].call, "call_0000");
        assert_eq!(results[0].text, r#"read: {"file_path":"a folder/é.txt"}"#);
        let text = body.to_string();
        assert!(text.contains("iVBORw0KGgo="), "{protocol:?}: no picture in {text}");
        let sealed = match protocol {
            Protocol::Anthropic => &body["messages"][1]["content"][0]["signature"],
            Protocol::OpenAi => &body["input"][1]["encrypted_content"],
            Protocol::OpenAiChat => continue,
        };
        let expected = if protocol == Protocol::Anthropic { "signed" } else { "ciphered" };
        assert_eq!(sealed, expected);
    }
}

#[tokio::test]
async fn keys_are_sent_as_each_provider_wants_and_shown_to_nobody() {
    for protocol in PROTOCOLS {
        let model = Model::start(vec![Turn::say("hi")]).unwrap();
        to_the_end(&remote(&model, protocol), &tools(protocol)).await;
        let request = model.requests().remove(0);
        let header = |name: &str| {
            let found = request.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.as_str())
        };
        match protocol {
            Protocol::Anthropic => {
                assert_eq!(header("x-api-key"), Some("hush"));
                assert_eq!(header("anthropic-version"), Some("2023-06-01"));
            }
            _ => assert_eq!(header("authorization"), Some("Bearer hush")),
        }
        assert!(!request.body.to_string().contains("hush"));
    }
    assert_eq!(format!("{:?}", haft_agent::provider::Key::new("hush")), "Key(…)");
}

#[tokio::test]
async fn usage_and_the_reason_to_stop_are_told() {
    let model = Model::start(script()).unwrap();
    for protocol in PROTOCOLS {
        let tools = tools(protocol);
        let (_, heard, pieces) =
            reply(&remote(&model, protocol), &tools, &[Message::user("go")]).await.unwrap();
        assert_eq!(heard.usage, Usage { input: 100, output: 10, ..Usage::default() });
        assert_eq!(heard.stop(), Stop::Calls);
        let ended = pieces.iter().filter(|piece| matches!(piece, Piece::CallEnded { .. })).count();
        assert_eq!(ended, 2, "{protocol:?}");
    }
}

#[tokio::test]
async fn what_goes_wrong_is_told_apart() {
    type Check = fn(&ProviderError) -> bool;
    let cases: [(Fault, Check); 6] = [
        (Fault::Status(401, None), |e| matches!(e, ProviderError::Refused { status: 401, .. })),
        (Fault::Status(429, Some(9)), |e| match e {
            ProviderError::Busy { retry_after, .. } => retry_after.unwrap().as_secs() == 9,
            _ => false,
        }),
        (Fault::Status(529, None), |e| matches!(e, ProviderError::Busy { status: 529, .. })),
        (Fault::Refuse, |e| matches!(e, ProviderError::Unreachable { .. })),
        (Fault::Cut(150), |e| matches!(e, ProviderError::BrokeOff { .. })),
        (Fault::Error, |e| matches!(e, ProviderError::BrokeOff { .. })),
    ];
    for (fault, expected) in cases {
        let shown = format!("{fault:?}");
        let model = Model::unreliable(script(), move |_| fault.clone()).unwrap();
        for protocol in PROTOCOLS {
            let remote = remote(&model, protocol);
            let error = reply(&remote, &tools(protocol), &[Message::user("go")]).await.unwrap_err();
            assert!(expected(&error), "{shown}, {protocol:?}: {error:?}");
            assert!(!error.to_string().contains("hush"));
        }
    }
}
