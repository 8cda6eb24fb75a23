//! Providers that fail in every way they can: no call is lost, none is made twice.

use std::borrow::Cow;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use haft_agent::message::Message;
use haft_agent::provider::{Protocol, Provider};
use haft_agent::{Session, Why};
use haft_runtime::permission::Effect;
use haft_runtime::{BoxFuture, CallState, Context, DynTool, Output, Schema, SessionId, ToolError};
use haft_scripted::{Fault, Model, Turn};
use serde_json::{Value, json};

use crate::talk::{PROTOCOLS, compatible, eager, remote, to_the_end, tools};
use crate::world::{World, prompt};

/// How many runs, unless `HAFT_FAULTS` says so.
fn runs(usual: u64) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "a test is told by its environment")]
    let told = std::env::var("HAFT_FAULTS").ok();
    told.and_then(|text| text.parse().ok()).unwrap_or(usual)
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
    for run in 0..runs(120) {
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

/// A tool that leaves a mark each time it runs.
struct Mark(PathBuf);

impl DynTool for Mark {
    fn id(&self) -> &str {
        "mark"
    }

    fn description(&self) -> Cow<'_, str> {
        "Leave a mark.".into()
    }

    fn schema(&self) -> Result<Schema, String> {
        let number = json!({ "n": { "type": "integer" } });
        Schema::from_value(json!({ "type": "object", "properties": number, "required": ["n"] }))
    }

    fn effects<'a>(
        &'a self,
        _: Value,
        _: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<Effect>, ToolError>> {
        Box::pin(async { Ok(vec![Effect::using("mark", "*")]) })
    }

    fn prepare<'a>(
        &'a self,
        args: Value,
        _: &'a Context,
    ) -> Result<BoxFuture<'a, Result<Output, ToolError>>, ToolError> {
        Ok(Box::pin(async move {
            let mut options = fs_err::OpenOptions::new();
            let mut file = options.create(true).append(true).open(&self.0).unwrap();
            file.write_all(format!("{}\n", args.get("n").unwrap()).as_bytes()).unwrap();
            Ok(Output::new("mark", "marked"))
        }))
    }
}

/// What each run does: marks, an edit that would show if it were made twice, and a file.
fn work() -> Vec<Turn> {
    let mark = |n: u32| Turn::call("mark", json!({ "n": n }));
    let edit = json!({ "file_path": "a.txt", "old_string": "alpha", "new_string": "alpha alpha" });
    vec![
        mark(1).and("mark", json!({ "n": 2 })).thinking("Hm."),
        Turn::call("read", json!({ "file_path": "a.txt" })),
        mark(3).and("edit", edit).and("mark", json!({ "n": 4 })),
        Turn::call("write", json!({ "file_path": "b.txt", "content": "ünïcödé\n".repeat(99) })),
        mark(5),
        Turn::say("End."),
    ]
}

#[tokio::test]
async fn sessions_make_each_call_once_whatever_goes_wrong_in_all_four_dialects() {
    let world = World::new().await;
    let marks = world.path("marks");
    world.runtime.add_tool(Arc::new(Mark(marks.clone()))).unwrap();
    let toolset = world.toolset.renewed().await.unwrap();
    let (total, mut requests, mut calls) = (runs(40), 0, 0);
    for run in 0..total {
        let model = Model::unreliable(work(), move |number| fault(run, number)).unwrap();
        let mut agent = world.agent(&model, Protocol::OpenAiChat);
        agent.toolset = toolset.clone();
        agent.provider = match PROTOCOLS.get(run as usize % 4) {
            Some(protocol) => Arc::new(eager(remote(&model, *protocol))) as Arc<dyn Provider>,
            None => Arc::new(eager(compatible(&model))),
        };
        fs_err::write(world.path("a.txt"), "alpha\n").unwrap();
        for left in [&marks, &world.path("b.txt")] {
            drop(fs_err::remove_file(left));
        }
        let id = SessionId::fresh();
        let mut session = Session::open(agent, id.clone()).await.unwrap();
        let ended = prompt(&mut session, "go").await.unwrap();
        assert_eq!((ended.why, ended.text.as_str()), (Why::Done, "End."), "run {run}");
        let mut marked: Vec<String> = world.get("marks").lines().map(str::to_owned).collect();
        marked.sort();
        assert_eq!(marked, ["1", "2", "3", "4", "5"], "run {run}");
        assert_eq!(world.get("a.txt"), "alpha alpha\n", "run {run}");
        assert_eq!(world.get("b.txt"), "ünïcödé\n".repeat(99), "run {run}");
        let store = world.runtime.store().unwrap();
        let made = store.calls(&id, 100).unwrap();
        assert_eq!(made.len(), 8, "run {run}");
        assert!(made.iter().all(|call| call.state == CallState::Completed), "run {run}: {made:#?}");
        assert_eq!(model.results().len(), 8, "run {run}");
        (requests, calls) = (requests + model.requests().len(), calls + made.len());
    }
    eprintln!("{total} sessions, {requests} requests, {calls} calls: 0 lost, 0 doubled");
}
