//! The loop: real tools on real files, in a log that outlives it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};

use haft_agent::message::{Content, Message};
use haft_agent::provider::{Piece, Prompt, Protocol, Provider, ProviderError};
use haft_agent::{AgentError, Session, Steering, Why};
use haft_runtime::{
    AgentId, BoxFuture, CallId, CallState, CancellationToken, Delivery, DeltaKind, Draft,
    EventKind, Form, SessionId,
};
use haft_scripted::{Fault, Model, Turn};
use serde_json::json;

use crate::talk::{PROTOCOLS, remote};
use crate::world::{World, prompt, results};

fn script() -> Vec<Turn> {
    vec![
        Turn::call("grep", json!({ "pattern": "alpha" }))
            .and("read", json!({ "file_path": "a.txt" })),
        Turn::call(
            "edit",
            json!({ "file_path": "a.txt", "old_string": "alpha", "new_string": "beta" }),
        )
        .and("read", json!({ "file_path": "a.txt" }))
        .and("write", json!({ "file_path": "b.txt", "content": "new\n" })),
        Turn::say("It says beta now."),
    ]
}

#[tokio::test]
async fn the_same_work_is_done_whatever_the_protocol() {
    for protocol in PROTOCOLS {
        let world = World::new().await;
        let model = Model::start(script()).unwrap();
        let agent = world.agent(&model, protocol);
        let mut session = Session::open(agent, world.session.clone()).await.unwrap();
        let ended = prompt(&mut session, "make it beta").await.unwrap();
        assert_eq!((ended.why, ended.text.as_str()), (Why::Done, "It says beta now."));
        assert_eq!((ended.usage.input, ended.usage.output), (300, 30));
        assert!((ended.cost.unwrap() - 6.0).abs() < 1e-9, "{:?}", ended.cost);
        assert_eq!(world.get("a.txt"), "beta\n");
        assert_eq!(world.get("b.txt"), "new\n");
        // The read that stands after the edit saw what it did.
        assert!(results(session.messages())[3].contains("beta"), "{protocol:?}");
        assert_eq!(model.requests()[0].tools(), world.toolset.names());
    }
}

#[tokio::test]
async fn another_process_goes_on_with_what_was_said() {
    let world = World::new().await;
    let model = Model::start(script()).unwrap();
    let mut session = world.open(&model).await;
    prompt(&mut session, "make it beta").await.unwrap();
    let before = session.messages().to_vec();
    drop(session);
    let mut session = world.open(&model).await;
    assert_eq!(session.messages(), before);
    assert!(matches!(session.go_on(&CancellationToken::new()).await, Err(AgentError::NothingToDo)));
    prompt(&mut session, "thanks").await.unwrap();
    assert_eq!(session.usage().input, 400);
    assert_eq!(session.messages().len(), before.len() + 2);
}

#[tokio::test]
async fn a_failed_call_is_read_by_the_model_and_not_the_end() {
    let world = World::new().await;
    let script = vec![
        Turn::call("read", json!({ "file_path": "missing.txt" }))
            .and("reed", json!({}))
            .and("edit", json!({ "file_path": 7 })),
        Turn::say("So be it."),
    ];
    let model = Model::start(script).unwrap();
    let mut session = world.open(&model).await;
    assert_eq!(prompt(&mut session, "go").await.unwrap().why, Why::Done);
    let texts = results(session.messages());
    assert!(texts[0].contains("missing.txt") && texts[2].contains("do not fit"), "{texts:?}");
}

/// A provider during whose replies the user says something: the n-th words during the n-th.
struct Interrupting<P> {
    provider: P,
    words: Mutex<VecDeque<&'static str>>,
    steering: OnceLock<Steering>,
}

impl<P: Provider> Provider for Interrupting<P> {
    fn form(&self) -> Form {
        self.provider.form()
    }

    fn reply<'a>(
        &'a self,
        prompt: Prompt<'a>,
        hear: &'a mut (dyn FnMut(Piece) + Send),
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        if let Some(words) = self.words.lock().unwrap().pop_front() {
            self.steering.get().unwrap().say(vec![Content::text(words)]);
        }
        self.provider.reply(prompt, hear)
    }
}

#[tokio::test]
async fn what_the_user_says_meanwhile_is_read_before_the_next_reply() {
    let world = World::new().await;
    let model = Model::start(script()).unwrap();
    let words = ["only if it is safe", "really?", "and now?"];
    let provider = Arc::new(Interrupting {
        provider: remote(&model, Protocol::Anthropic),
        words: Mutex::new(VecDeque::from(words)),
        steering: OnceLock::new(),
    });
    let mut agent = world.agent(&model, Protocol::Anthropic);
    agent.provider = Arc::clone(&provider) as Arc<dyn Provider>;
    let mut session = Session::open(agent, world.session.clone()).await.unwrap();
    drop(provider.steering.set(session.steering()));
    session.steering().say(vec![Content::text("first of all")]);
    assert_eq!(prompt(&mut session, "make it beta").await.unwrap().why, Why::Done);
    let place =
        |text: &str| session.messages().iter().position(|it| *it == Message::user(text)).unwrap();
    assert_eq!((place("first of all"), place(words[0]), place(words[1])), (1, 4, 7));
    // Said when the model is done, it makes it go on.
    assert_eq!((place(words[2]), session.messages().len()), (9, 11));
    assert!(model.requests()[1].body.to_string().contains(words[0]));
}

#[tokio::test]
async fn cancelling_ends_a_reply_that_hangs_and_keeps_what_was_said() {
    let world = World::new().await;
    let model = Model::unreliable(vec![Turn::say("I think that")], |_| Fault::Hang(700)).unwrap();
    let mut session = world.open(&model).await;
    let cancel = CancellationToken::new();
    let mut events = world.runtime.events(Some(world.session.clone()));
    let heard = async {
        while let Some(Delivery::Event(event)) = events.next().await {
            if let EventKind::MessageDelta { kind: DeltaKind::Text, .. } = &*event.kind {
                return cancel.cancel();
            }
        }
    };
    let content = vec![Content::text("go")];
    let (ended, ()) = tokio::join!(session.prompt(content, &cancel), heard);
    assert_eq!(ended.unwrap().why, Why::Cancelled);
    assert!(session.messages().last().unwrap().words().starts_with("I "));
}

#[tokio::test]
async fn cancelling_ends_every_call_and_starts_none() {
    let world = World::new().await;
    let script = vec![
        Turn::call("write", json!({ "file_path": "secret.txt", "content": "x" }))
            .and("edit", json!({ "file_path": "secret.txt", "old_string": "", "new_string": "y" }))
            .and("read", json!({ "file_path": "a.txt" })),
        Turn::say("Never said."),
    ];
    let model = Model::start(script).unwrap();
    let mut session = world.open(&model).await;
    let cancel = CancellationToken::new();
    let mut events = world.runtime.events(Some(world.session.clone()));
    let asked = async {
        while let Some(Delivery::Event(event)) = events.next().await {
            if let EventKind::AskOpened { .. } = &*event.kind {
                return cancel.cancel();
            }
        }
    };
    let content = vec![Content::text("go")];
    let (ended, ()) = tokio::join!(session.prompt(content, &cancel), asked);
    assert_eq!(ended.unwrap().why, Why::Cancelled);
    assert!(!world.path("secret.txt").exists());
    assert_eq!(results(session.messages()).len(), 3, "every call has an answer");
    assert_eq!(model.requests().len(), 1);
    assert_eq!(world.open(&model).await.messages(), session.messages());
}

#[tokio::test]
async fn calls_of_a_killed_process_are_interrupted_and_never_run_again() {
    let world = World::new().await;
    let model = Model::start(script()).unwrap();
    let store = world.runtime.store().unwrap();
    let add = |kind| store.append(&[Draft::now(Some(world.session.clone()), kind)]).unwrap();
    let said =
        |id: &str, tool: &str| json!({ "type": "call", "id": id, "tool": tool, "arguments": "{}" });
    let message = haft_runtime::MessageId::fresh();
    let body = json!({ "role": "user", "content": [{ "type": "text", "text": "go" }] });
    add(EventKind::MessageAdded { message: message.clone(), body });
    let content = [said("call_a", "write"), said("call_b", "write")];
    let usage = json!({ "input": 1, "output": 1 });
    let body = json!({ "role": "assistant", "content": content, "usage": usage });
    add(EventKind::MessageAdded { message, body });
    // The first had begun when the process was killed; the second had not.
    let (call, agent) = (CallId::parse("call_a").unwrap(), AgentId::parse("build").unwrap());
    let (tool, args) = ("write".to_owned(), json!({}));
    let (parent, of) = (None, None);
    add(EventKind::CallPending {
        call: call.clone(),
        parent,
        message: of,
        agent,
        tool: tool.clone(),
        args: args.clone(),
    });
    add(EventKind::CallRunning { call: call.clone(), tool, args });

    let mut session = world.open(&model).await;
    let texts = results(session.messages());
    assert!(texts[0].starts_with("interrupted") && texts[1].starts_with("not run"), "{texts:?}");
    let record = store.call(&world.session, &call).unwrap().unwrap();
    assert_eq!(
        (record.state, record.error.unwrap().kind.as_str()),
        (CallState::Error, "interrupted")
    );
    // Opened again, it is the same; and the work goes on.
    assert_eq!(results(world.open(&model).await.messages()), texts);
    assert_eq!(session.go_on(&CancellationToken::new()).await.unwrap().why, Why::Done);
    assert_eq!(world.get("a.txt"), "beta\n");
}

#[tokio::test]
async fn a_conversation_that_grows_too_long_is_pruned_then_summarised() {
    let world = World::new().await;
    fs_err::write(world.path("long.txt"), "0123456789\n".repeat(400)).unwrap();
    let read =
        |offset: usize| Turn::call("read", json!({ "file_path": "long.txt", "offset": offset }));
    let mut script: Vec<Turn> = (1..9).map(read).collect();
    script.push(Turn::say("Read."));
    let model = Model::start(script).unwrap();
    let mut agent = world.agent(&model, Protocol::OpenAi);
    agent.model.context = 12_000;
    agent.model.max_tokens = 1_000;
    let mut session = Session::open(agent.clone(), world.session.clone()).await.unwrap();
    // The scripted model counts every prompt as 110 tokens, so only our own guesses fill the window.
    let ended = prompt(&mut session, "read it").await.unwrap();
    assert_eq!(ended.why, Why::Done);

    agent.model.context = 3_000;
    let id = SessionId::fresh();
    let mut session = Session::open(agent, id.clone()).await.unwrap();
    prompt(&mut session, &"a long wish ".repeat(1_000)).await.unwrap();
    assert!(matches!(session.messages().first(), Some(Message::User { content })
        if matches!(&content[..], [Content::Text { text }] if text.contains("summarised"))));
    let summarised =
        model.requests().into_iter().find(|request| request.tools().is_empty()).unwrap();
    assert!(summarised.body.to_string().contains("a long wish"));
}
