//! Whatever is logged in whatever order: the store agrees with a few lines over vectors.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_runtime::{
    AgentId, CallRecord, CallState, Draft, ErrorReport, Event, EventKind, MessageId, Metadata,
    Output, SessionId, Store, StoreError,
};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::Value;

use crate::samples::{call, session, store};

/// A draft that is to be, before it is known which calls there are.
#[derive(Debug, Clone)]
struct Plan {
    session: Option<u8>,
    second: i64,
    nanosecond: i32,
    what: What,
    /// Chooses among the calls that are open.
    which: prop::sample::Index,
    value: Value,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Begin,
    Run,
    Complete,
    Fail,
    Progress,
    Note,
    Repeat,
}

#[derive(Default, Clone)]
struct Model {
    sessions: BTreeMap<SessionId, Log>,
}

#[derive(Default, Clone)]
struct Log {
    last: u64,
    updated: Option<Timestamp>,
    events: Vec<Event>,
    calls: Vec<CallRecord>,
}

impl Model {
    /// What the store should answer.
    fn append(&mut self, drafts: &[Draft]) -> Option<Vec<u64>> {
        let before = self.clone();
        let numbers: Option<Vec<u64>> = drafts.iter().map(|draft| self.add(draft)).collect();
        if numbers.is_none() {
            *self = before;
        }
        numbers
    }

    fn add(&mut self, draft: &Draft) -> Option<u64> {
        let Some(id) = &draft.session else {
            return Some(0);
        };
        let log = self.sessions.entry(id.clone()).or_default();
        log.last += 1;
        log.updated = log.updated.max(Some(draft.at));
        if draft.is_kept() {
            log.events.push(draft.clone().numbered(log.last));
            log.follow(id, draft)?;
        }
        Some(log.last)
    }
}

impl Log {
    fn follow(&mut self, id: &SessionId, draft: &Draft) -> Option<()> {
        match (*draft.kind).clone() {
            EventKind::CallPending { call, parent, message, agent, tool, args } => {
                if self.calls.iter().any(|known| known.id == call) {
                    return None;
                }
                self.calls.push(CallRecord {
                    session: id.clone(),
                    id: call,
                    parent,
                    message,
                    agent,
                    tool,
                    args,
                    state: CallState::Pending,
                    output: None,
                    error: None,
                    metadata: Metadata::new(),
                    started: draft.at,
                    ended: None,
                });
            }
            EventKind::CallRunning { call, tool, args } => {
                let is_meant = |known: &&mut CallRecord| known.id == call;
                let known = self.calls.iter_mut().find(is_meant)?;
                if known.state != CallState::Pending {
                    return None;
                }
                (known.tool, known.args, known.state) = (tool, args, CallState::Running);
            }
            EventKind::CallCompleted { call, output, .. } => {
                let known = self.calls.iter_mut().find(|known| known.id == call)?;
                known.output = Some((*output).clone());
                (known.state, known.ended) = (CallState::Completed, Some(draft.at));
            }
            EventKind::CallError { call, error, metadata, .. } => {
                let known = self.calls.iter_mut().find(|known| known.id == call)?;
                (known.error, known.metadata) = (Some(error), metadata);
                (known.state, known.ended) = (CallState::Error, Some(draft.at));
            }
            _ => {}
        }
        Some(())
    }
}

impl Plan {
    /// The draft, given what the model knows; a step of a call that cannot be is only a note.
    fn draft(&self, model: &Model) -> Draft {
        let id = self.session.map(|n| session(&format!("ses_{n}")));
        let at = Timestamp::new(self.second, self.nanosecond).unwrap();
        let log = id.as_ref().and_then(|id| model.sessions.get(id)).cloned().unwrap_or_default();
        Draft { session: id, at, kind: Arc::new(self.kind(&log)) }
    }

    fn kind(&self, log: &Log) -> EventKind {
        let is_open = |record: &&CallRecord| !record.state.is_terminal();
        let open: Vec<_> = log.calls.iter().filter(is_open).collect();
        let chosen = |among: &[&CallRecord]| {
            (!among.is_empty()).then(|| among[self.which.index(among.len())].id.clone())
        };
        let fresh = call(&format!("call_{}", log.calls.len()));
        let (tool, text) = (String::from("tool"), self.value.to_string());
        let metadata = Metadata::from_iter([("value".to_owned(), self.value.clone())]);
        let error = ErrorReport { kind: "failed".into(), message: text.clone(), denial: None };
        let args = self.value.clone();
        match (self.what, chosen(&open)) {
            (What::Begin, parent) => self.begin(fresh, parent),
            (What::Repeat, _) if !log.calls.is_empty() => {
                let all: Vec<_> = log.calls.iter().collect();
                self.begin(chosen(&all).unwrap(), None)
            }
            (What::Run, Some(call)) => EventKind::CallRunning { call, tool, args },
            (What::Progress, Some(call)) => EventKind::CallProgress { call, title: text, metadata },
            (What::Fail, Some(call)) => EventKind::CallError { call, tool, error, metadata },
            (What::Complete, Some(call)) => {
                let output = Output { metadata, ..Output::new("title", text) };
                EventKind::CallCompleted { call, tool, output: Arc::new(output) }
            }
            _ => EventKind::Noted { call: fresh, name: "note".into(), data: args },
        }
    }

    fn begin(&self, call: haft_runtime::CallId, parent: Option<haft_runtime::CallId>) -> EventKind {
        EventKind::CallPending {
            call,
            message: parent.is_some().then(MessageId::fresh),
            parent,
            agent: AgentId::parse("build").unwrap(),
            tool: "Tool".into(),
            args: self.value.clone(),
        }
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..4).prop_map(Value::from_iter),
        ]
    })
}

fn plans() -> impl Strategy<Value = Plan> {
    let what = prop_oneof![
        6 => Just(What::Begin),
        6 => Just(What::Run),
        4 => Just(What::Complete),
        2 => Just(What::Fail),
        2 => Just(What::Progress),
        2 => Just(What::Note),
        1 => Just(What::Repeat),
    ];
    let session = prop_oneof![1 => Just(None), 9 => (0..3_u8).prop_map(Some)];
    // Years 1 to 9999.
    let second =
        prop_oneof![-62_135_596_800..253_402_207_200_i64, 1_700_000_000..1_700_000_100_i64];
    (session, second, 0..1_000_000_000, what, any::<prop::sample::Index>(), values()).prop_map(
        |(session, second, nanosecond, what, which, value)| Plan {
            session,
            second,
            nanosecond,
            what,
            which,
            value,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn the_store_agrees_with_the_model(
        batches in prop::collection::vec(prop::collection::vec(plans(), 0..8), 0..12),
        after in 0..20_u64,
        limit in 0..20_usize,
    ) {
        let (_dir, store) = store();
        let mut model = Model::default();
        for plans in &batches {
            let mut ahead = model.clone();
            let drafts: Vec<Draft> = plans
                .iter()
                .map(|plan| {
                    let draft = plan.draft(&ahead);
                    ahead.append(std::slice::from_ref(&draft));
                    draft
                })
                .collect();
            match (store.append(&drafts), model.append(&drafts)) {
                (Ok(numbers), Some(expected)) => prop_assert_eq!(numbers, expected),
                (Err(StoreError::RepeatedCall { .. } | StoreError::OutOfTurn { .. }), None) => {}
                (answer, expected) => prop_assert!(false, "{answer:?}, not {expected:?}"),
            }
        }
        prop_assert_eq!(store.sessions(None, usize::MAX).unwrap().len(), model.sessions.len());
        for (id, log) in &model.sessions {
            let found = store.session(id).unwrap().unwrap();
            prop_assert_eq!(found.calls, log.calls.len() as u64);
            prop_assert_eq!(Some(found.updated), log.updated);
            prop_assert_eq!(&store.events(id, 0, usize::MAX).unwrap(), &log.events);
            let page = log.events.iter().filter(|event| event.seq > after).take(limit);
            prop_assert_eq!(
                store.events(id, after, limit).unwrap(), page.cloned().collect::<Vec<_>>());
            prop_assert_eq!(&store.calls(id, usize::MAX).unwrap(), &log.calls);
            prop_assert_eq!(
                &store.calls(id, limit).unwrap(), &log.calls[..limit.min(log.calls.len())]);
            for record in &log.calls {
                prop_assert_eq!(&store.call(id, &record.id).unwrap().unwrap(), record);
            }
        }
    }
}
