//! A runtime with one tool that does as it is told, and a host that does, too.

use std::sync::{Arc, Mutex};

use haft_runtime::permission::{Action, Ask, Effect, Layer, LayerKind, PendingAsk, Policy, Reply};
use haft_runtime::{
    AgentId, Audience, BoxFuture, Builder, Call, CancellationToken, Context, Delivery, Event,
    EventKind, Events, Host, InitContext, InitError, Keep, Output, Registry, Runtime, SessionId,
    Settled, Tool, ToolError, Toolset,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Does what its argument says.
pub(crate) struct Obey;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// What to do.
    #[schemars(extend("x-aliases" = ["action"]))]
    pub(crate) what: What,
    /// What to say.
    pub(crate) text: Option<String>,
    /// How often.
    #[schemars(range(max = 1000000))]
    pub(crate) times: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    Say,
    Ask,
    Fail,
    Panic,
    Hang,
    HangWithProgress,
    StopWhenTold,
    Progress,
    Nest,
    AskTwo,
    Long,
    Nothing,
}

impl Tool for Obey {
    const ID: &'static str = "obey";
    const DESCRIPTION: &'static str = "Does as it is told.";
    const ALIASES: &'static [&'static str] = &["follow"];
    type Params = Params;

    async fn init(_: &InitContext<'_>) -> Result<Self, InitError> {
        Ok(Self)
    }

    async fn run(&self, params: Params, cx: &Context) -> Result<Output, ToolError> {
        let text = params.text.clone().unwrap_or_default();
        match params.what {
            What::Say => {
                let times = usize::try_from(params.times.unwrap_or(1)).unwrap();
                let said = vec![text.as_str(); times].join("\n");
                Ok(Output { keep: Keep::Both, ..Output::new("said", said) })
            }
            What::Ask => {
                cx.ask(Ask::new("ask", self.effects(&params, cx).await?)).await?;
                Ok(Output::new("asked", text))
            }
            What::Fail => Err(ToolError::failed(text)),
            What::Panic => panic!("told to"),
            What::Hang => std::future::pending().await,
            What::HangWithProgress => {
                cx.metadata("hanging", json!({ "output": text }));
                std::future::pending().await
            }
            What::StopWhenTold => {
                cx.cancel.cancelled().await;
                Err(ToolError::Cancelled { partial: text })
            }
            What::Progress => {
                for count in 0..params.times.unwrap_or(1) {
                    // Twice, so that one always comes too fast.
                    cx.metadata("counting", json!({ "count": count }));
                    cx.metadata("counting", json!({ "count": count }));
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
                Ok(Output::new("counted", text))
            }
            What::AskTwo => {
                let effects = vec![Effect::using("free", "x"), Effect::using("obey", text)];
                cx.ask(Ask::new("ask", effects)).await?;
                Ok(Output::new("asked", ""))
            }
            What::Long => {
                let title = "T".repeat(1_000_000);
                Ok(Output::new(title, format!("head\n{}", "x".repeat(200_000))))
            }
            What::Nothing => Ok(Output::new("nothing", text)),
            What::Nest => cx.execute("obey", json!({ "what": "say", "text": text }), 1).await,
        }
    }

    async fn effects(&self, params: &Params, _: &Context) -> Result<Vec<Effect>, ToolError> {
        if params.what == What::Nothing {
            return Ok(Vec::new());
        }
        Ok(vec![Effect::using("obey", params.text.clone().unwrap_or_default())])
    }
}

/// A host whose answers are set beforehand; without one it never answers.
#[derive(Clone, Default)]
pub(crate) struct Scripted {
    pub(crate) reply: Arc<Mutex<Option<Reply>>>,
    pub(crate) asked: Arc<Mutex<Vec<PendingAsk>>>,
    late: Arc<tokio::sync::Notify>,
}

impl Scripted {
    /// Answers what it was asked without an answer so far.
    pub(crate) fn answer_now(&self, reply: Reply) {
        *self.reply.lock().unwrap() = Some(reply);
        self.late.notify_waiters();
    }

    pub(crate) fn always_says(reply: Reply) -> Self {
        Self { reply: Arc::new(Mutex::new(Some(reply))), ..Self::default() }
    }
}

impl Host for Scripted {
    fn approve<'a>(&'a self, ask: &'a PendingAsk) -> BoxFuture<'a, Reply> {
        self.asked.lock().unwrap().push(ask.clone());
        let reply = self.reply.lock().unwrap().clone();
        Box::pin(async move {
            match reply {
                Some(reply) => reply,
                None => {
                    self.late.notified().await;
                    self.reply.lock().unwrap().clone().unwrap()
                }
            }
        })
    }
}

/// One runtime and one session.
pub(crate) struct World {
    pub(crate) runtime: Runtime,
    pub(crate) toolset: Toolset,
    pub(crate) session: SessionId,
    pub(crate) events: Events,
}

impl World {
    /// Everything is allowed, and nobody is asked.
    pub(crate) async fn new() -> Self {
        Self::with(|builder| builder.policy(rules(&[("*", "*", Action::Allow)]))).await
    }

    pub(crate) async fn with(change: impl FnOnce(Builder) -> Builder) -> Self {
        let mut registry = Registry::new();
        registry.tool::<Obey>();
        let runtime = change(Runtime::builder("/project").registry(registry)).build();
        let toolset = runtime.toolset(&audience()).await;
        let events = runtime.events(None);
        Self { runtime, toolset, session: SessionId::fresh(), events }
    }

    pub(crate) fn call(&self, args: Value) -> Call {
        Call::new(self.session.clone(), "obey", args)
    }

    pub(crate) async fn run(&self, args: Value) -> Settled {
        self.toolset.execute(self.call(args), CancellationToken::new()).await
    }

    /// All events that are there by now.
    pub(crate) fn happened(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.events.try_next())
            .map(|delivery| match delivery {
                Delivery::Event(event) => event,
                Delivery::Missed(count) => panic!("missed {count}"),
            })
            .collect()
    }

    /// The types of all events that are there by now.
    pub(crate) fn kinds(&mut self) -> Vec<String> {
        self.happened().iter().map(kind).collect()
    }
}

pub(crate) fn kind(event: &Event) -> String {
    serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned()
}

pub(crate) fn is_terminal(event: &Event) -> bool {
    matches!(*event.kind, EventKind::CallCompleted { .. } | EventKind::CallError { .. })
}

pub(crate) fn audience() -> Audience {
    Audience::of(AgentId::parse("build").unwrap())
}

pub(crate) fn layer(kind: LayerKind, rules: &[(&str, &str, Action)]) -> Layer {
    let empty = Layer::new(kind, "test");
    rules.iter().fold(empty, |layer, (key, pattern, action)| layer.rule(key, pattern, *action))
}

pub(crate) fn rules(rules: &[(&str, &str, Action)]) -> Policy {
    Policy::new(vec![layer(LayerKind::User, rules)])
}
