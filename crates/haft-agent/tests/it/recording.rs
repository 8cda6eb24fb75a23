//! Conversations that are recorded and replayed.

use haft_agent::message::Message;
use haft_agent::provider::{Protocol, ProviderError, Recording, Replay, ReplayError};
use haft_scripted::{Model, Turn};
use serde_json::json;

use crate::talk::{remote, reply, to_the_end, tools};

#[tokio::test]
async fn a_recorded_conversation_is_replayed_as_it_was() {
    let script = vec![
        Turn::call("read", json!({ "file_path": "a" }))
            .and("write", json!({ "file_path": "b" }))
            .thinking("Hm."),
        Turn::say("Done."),
    ];
    let model = Model::start(script).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("talk.jsonl");
    let recording = Recording::create(remote(&model, Protocol::OpenAi), &path).unwrap();
    let first = to_the_end(&recording, &tools(Protocol::OpenAi)).await;
    drop(model);
    let second = to_the_end(&Replay::open(&path).unwrap(), &[]).await;
    let calls =
        |talk: &[Message]| talk.iter().flat_map(Message::calls).cloned().collect::<Vec<_>>();
    assert_eq!(calls(&first), calls(&second));
    assert_eq!(second.last().unwrap().words(), "Done.");
    // Another process goes on where the conversation is.
    let (said, ..) = reply(&Replay::open(&path).unwrap(), &[], &second[..3]).await.unwrap();
    assert_eq!(Message::Assistant { content: said }.words(), "Done.");
    // A recording is never written over.
    assert!(Recording::create(Replay::open(&path).unwrap(), &path).is_err());
}

#[tokio::test]
async fn a_recording_that_ends_too_early_says_so() {
    let replay = Replay::parse("{\"haft_conversation\":1}\n").unwrap();
    let error = reply(&replay, &[], &[Message::user("go")]).await.unwrap_err();
    assert!(matches!(&error, ProviderError::Setup { why } if why.contains("0 replies")), "{error}");
}

#[test]
fn what_is_no_recording_is_refused_with_its_line() {
    assert!(matches!(Replay::parse("hello").err(), Some(ReplayError::Unknown)));
    assert!(matches!(Replay::parse("{\"haft_conversation\":2}").err(), Some(ReplayError::Unknown)));
    let broken = "{\"haft_conversation\":1}\n\n{\"said\":7}";
    assert!(matches!(Replay::parse(broken).err(), Some(ReplayError::Line { line: 3, .. })));
}
