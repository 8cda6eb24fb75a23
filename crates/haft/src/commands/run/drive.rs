//! A session at work, while somebody looks on, speaks, or ends it.

use haft_agent::message::Content;
use haft_agent::{AgentError, Ended, Session, Spent, Steering};
use haft_mcp::client::{State, Trouble};
use haft_runtime::{CancellationToken, Delivery, Event, EventKind, Events, Question, SessionId};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::show::Show;
use super::steer::{Word, Words};
use crate::open::Haft;
use crate::print::Printer;
use crate::servers;
use crate::terminal::Terminal;

/// How a run ended.
pub(super) enum Driven {
    /// By itself, or because it was cancelled; what was spent until then.
    Ended(Result<Ended, AgentError>, Spent),
    /// At once: whoever cancelled it would not wait.
    Abandoned,
}

/// Lets the session work while showing what happens, and heeding what is said and who ends it.
pub(super) async fn drive(
    haft: &Haft,
    printer: Printer<'_>,
    mut session: Session,
    prompt: Option<String>,
    mut events: Events,
    mut words: Words,
    terminal: Terminal,
) -> anyhow::Result<(Driven, Vec<String>)> {
    let cancel = CancellationToken::new();
    let steering = session.steering();
    let mut screen = Screen::new(haft, printer, terminal, session.id().clone());
    let mut signals = Signals::new()?;
    let work = async {
        let outcome = match prompt {
            Some(text) => session.prompt(vec![Content::text(text)], &cancel).await,
            None => session.go_on(&cancel).await,
        };
        (outcome, session.spent())
    };
    let mut work = std::pin::pin!(work);
    let driven = loop {
        tokio::select! {
            biased;
            Some(delivery) = events.next() => screen.heed(delivery)?,
            Some(trouble) = haft.servers.trouble() => screen.trouble(&trouble)?,
            (outcome, spent) = &mut work => break Driven::Ended(outcome, spent),
            Some(word) = words.next() => match word {
                Word::Say(text) => {
                    steering.say(vec![Content::text(text)]);
                    screen.heard();
                }
                Word::Cancel => cancel.cancel(),
                Word::Answer { .. } | Word::Choose { .. } => {}
                Word::Ask { id, questions } => screen.ask(&id, &questions)?,
                Word::Bad { line, message } => screen.bad(line, &message)?,
            },
            () = signals.next() => {
                if cancel.is_cancelled() {
                    break Driven::Abandoned;
                }
                screen.cancelling();
                cancel.cancel();
            }
        }
    };
    while let Some(delivery) = events.try_next() {
        screen.heed(delivery)?;
    }
    silent_servers(haft).try_for_each(|trouble| screen.trouble(&trouble))?;
    Ok((driven, unread(&steering, &mut words)))
}

/// Servers whose tools were not there in all this time.
fn silent_servers(haft: &Haft) -> impl Iterator<Item = Trouble> {
    let silent = haft.servers.reports().into_iter().filter(|it| it.state == State::Idle);
    silent.map(|it| Trouble { server: it.name, why: "it has not answered yet".to_owned() })
}

/// What was said too late.
fn unread(steering: &Steering, words: &mut Words) -> Vec<String> {
    let said = std::iter::from_fn(|| steering.take()).flatten().filter_map(|part| match part {
        Content::Text { text } => Some(text),
        Content::Image { .. } => None,
    });
    let mut texts: Vec<String> = said.collect();
    texts.extend(std::iter::from_fn(|| words.try_next()).filter_map(|word| match word {
        Word::Say(text) => Some(text),
        _ => None,
    }));
    texts
}

/// Where everything is shown, in the form asked for.
struct Screen<'a> {
    printer: Printer<'a>,
    /// The session that is shown.
    own: SessionId,
    /// For a person.
    show: Option<Show<'a>>,
    /// For a program.
    jsonl: bool,
}

impl<'a> Screen<'a> {
    fn new(haft: &Haft, printer: Printer<'a>, terminal: Terminal, own: SessionId) -> Self {
        let is_shown = !haft.common.json && !haft.common.jsonl;
        let is_terminal = haft.environment.stdout_is_terminal;
        let show = is_shown.then(|| Show::new(printer, is_terminal, terminal));
        Self { printer, own, show, jsonl: haft.common.jsonl }
    }

    fn heed(&mut self, delivery: Delivery) -> anyhow::Result<()> {
        if matches!(&delivery, Delivery::Event(event) if !self.shows(event)) {
            return Ok(());
        }
        match (&mut self.show, delivery) {
            (Some(show), Delivery::Event(event)) => show.event(&event),
            (None, Delivery::Event(event)) if self.jsonl => self.printer.json(&event)?,
            (None, Delivery::Missed(count)) if self.jsonl => {
                self.printer.json(&json!({ "type": "missed", "count": count }))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether an event is of this session, or something that another agent asks the same person.
    fn shows(&self, event: &Event) -> bool {
        let is_own = event.session.as_ref().is_none_or(|session| *session == self.own);
        let is_ask =
            matches!(*event.kind, EventKind::AskOpened { .. } | EventKind::AskClosed { .. });
        is_own || is_ask
    }

    /// A program hears of it when the message is added.
    fn heard(&mut self) {
        if let Some(show) = &mut self.show {
            show.aside("… the model reads it before its next reply");
        }
    }

    /// A server whose tools the model does not have.
    fn trouble(&mut self, trouble: &Trouble) -> anyhow::Result<()> {
        let Trouble { server, why } = trouble;
        if let Some(show) = &mut self.show {
            show.end_line();
        }
        self.printer.note(format!("haft: warning: {}", servers::told(trouble)));
        if self.jsonl {
            self.printer.json(&json!({ "type": "server.broken", "server": server, "why": why }))?;
        }
        Ok(())
    }

    fn cancelling(&mut self) {
        if let Some(show) = &mut self.show {
            show.aside("… cancelling; once more ends at once");
        }
    }

    fn ask(&self, id: &str, questions: &[Question]) -> anyhow::Result<()> {
        self.printer.json(&json!({ "type": "question.opened", "id": id, "questions": questions }))
    }

    fn bad(&self, line: u64, message: &str) -> anyhow::Result<()> {
        self.printer.json(&json!({ "type": "input.error", "line": line, "message": message }))
    }
}

/// Whatever ends a run from outside.
struct Signals([Signal; 3]);

impl Signals {
    fn new() -> std::io::Result<Self> {
        let [interrupt, terminate, hangup] =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        Ok(Self([interrupt?, terminate?, hangup?]))
    }

    async fn next(&mut self) {
        let Self([interrupt, terminate, hangup]) = self;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
