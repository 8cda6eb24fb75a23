//! How far a call is, told to a client that wants to know.

use std::sync::Arc;
use std::time::Duration;

use haft_runtime::{
    AskId, BoxFuture, CallId, Delivery, EventKind, Events, Metadata, plain, plain_lines,
};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout};

use super::call::OpenCall;
use super::line::Line;

/// Ten a second are as many as an eye can use.
const BEAT: Duration = Duration::from_millis(100);
/// Clients that count the silence start anew with each word.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// Longest message that is sent.
const MESSAGE: usize = 200;
/// An ask that is answered sooner is not worth a word.
const UNANSWERED: Duration = Duration::from_millis(500);
/// How long the last word may take to go out before the answer does.
const LAST_WORD: Duration = Duration::from_millis(100);

/// Tells one client about one call.
pub(super) struct Progress {
    events: Events,
    call: CallId,
    /// Knows how its asks are answered.
    line: Arc<Line>,
    token: ProgressToken,
    peer: Peer<RoleServer>,
    started: Instant,
    told: Option<Instant>,
    news: Option<News>,
    last: f64,
    message: Option<String>,
    /// Held here, so that it is not lost when something else happens meanwhile.
    in_flight: Option<BoxFuture<'static, ()>>,
}

/// What is told next.
#[derive(Default)]
struct News {
    message: Option<String>,
    progress: Option<f64>,
    total: Option<f64>,
    /// The ask that it tells of.
    ask: Option<Asked>,
}

struct Asked {
    id: AskId,
    title: String,
    /// When it becomes worth telling.
    worth_it: Instant,
}

impl Progress {
    /// Whether the client asked to be told.
    pub(super) fn is_wanted(cx: &RequestContext<RoleServer>) -> bool {
        cx.meta.get_progress_token().is_some()
    }

    /// None if the client did not ask to be told.
    pub(super) fn wanted(cx: &RequestContext<RoleServer>, open: &OpenCall) -> Option<Self> {
        Some(Self {
            token: cx.meta.get_progress_token()?,
            events: open.runtime.events(Some(open.session.clone())),
            call: open.id.clone(),
            line: Arc::clone(&open.line),
            peer: cx.peer.clone(),
            started: Instant::now(),
            told: None,
            news: None,
            last: f64::NEG_INFINITY,
            message: None,
            in_flight: None,
        })
    }

    /// Tells what there is to tell. Never ends; may be dropped and called again at any moment.
    pub(super) async fn run(&mut self) {
        loop {
            if let Some(sending) = &mut self.in_flight {
                sending.await;
                self.in_flight = None;
            }
            let due = self.due();
            tokio::select! {
                biased;
                delivery = self.events.next() => match delivery {
                    Some(delivery) => self.hear(&delivery),
                    None => std::future::pending().await,
                },
                () = sleep_until(due) => self.tell(),
            }
        }
    }

    /// Lets what is under way go out; nothing may follow the answer.
    pub(super) async fn finish(&mut self) {
        if let Some(sending) = self.in_flight.take() {
            let _late = timeout(LAST_WORD, sending).await;
        }
    }

    /// When the next word is due.
    fn due(&self) -> Instant {
        let Some(news) = &self.news else {
            return self.told.unwrap_or(self.started) + HEARTBEAT;
        };
        let soonest = self.told.map_or(self.started, |told| told + BEAT);
        news.ask.as_ref().map_or(soonest, |ask| soonest.max(ask.worth_it))
    }

    fn hear(&mut self, delivery: &Delivery) {
        let Delivery::Event(event) = delivery else { return };
        match &*event.kind {
            EventKind::CallProgress { call, title, metadata } if *call == self.call => {
                let number = |key: &str| metadata.get(key).and_then(Value::as_f64);
                let (progress, total) = (number("progress"), number("total"));
                let message = message(title, metadata);
                self.news = Some(News { message, progress, total, ask: None });
            }
            EventKind::AskOpened { ask } if ask.call == self.call => {
                let (id, title) = (ask.id.clone(), plain(&ask.ask.title));
                let asked = Asked { id, title, worth_it: Instant::now() + UNANSWERED };
                self.news = Some(News { ask: Some(asked), ..News::default() });
            }
            EventKind::AskClosed { ask, .. } => {
                self.news.take_if(|news| news.ask.as_ref().is_some_and(|it| it.id == *ask));
            }
            _ => {}
        }
    }

    /// What is waited for, and how it is answered where the client does not show it.
    fn asks(&self, Asked { id, title, .. }: &Asked) -> String {
        short(&match self.line.is_queued(id) {
            true => format!("waits for an answer (`haft approve allow {id}`): {title}"),
            false => format!("waits for an answer: {title}"),
        })
    }

    fn tell(&mut self) {
        let news = self.news.take().unwrap_or_default();
        let reported = news.progress.unwrap_or_else(|| self.started.elapsed().as_secs_f64());
        // It has to rise, whatever the tool says.
        let rising = if reported > self.last { reported } else { self.last + 0.001 };
        self.last = rising;
        self.told = Some(Instant::now());
        let asks = news.ask.map(|ask| self.asks(&ask));
        if let Some(message) = asks.or(news.message) {
            self.message = Some(message);
        }
        let mut params = ProgressNotificationParam::new(self.token.clone(), rising);
        params.total = news.total;
        params.message.clone_from(&self.message);
        let peer = self.peer.clone();
        self.in_flight = Some(Box::pin(async move {
            // A client that is gone is noticed by whoever reads from it.
            let _unheard = peer.notify_progress(params).await;
        }));
    }
}

/// The last thing that a command said, else what the call is about.
fn message(title: &str, metadata: &Metadata) -> Option<String> {
    let said = metadata.get("output").and_then(Value::as_str);
    let line = said.and_then(|text| text.lines().rev().find(|line| !line.trim().is_empty()));
    let text = line.map_or(title, str::trim);
    (!text.is_empty()).then(|| short(&plain_lines(text)))
}

fn short(text: &str) -> String {
    text.chars().take(MESSAGE).collect()
}
