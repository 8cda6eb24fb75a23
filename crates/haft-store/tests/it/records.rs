//! What is put in comes out.

use haft_runtime::permission::{
    Action, Ask, Closed, Denial, DeniedBy, Effect, Escalation, PendingAsk, Reply, RuleRef,
};
use haft_runtime::{
    AgentId, AskId, Attachment, CallRecord, CallState, ErrorReport, Event, EventKind, Grant,
    GrantId, MessageId, Metadata, NewSession, Output, Scope, SessionId, Store, StoreError,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::samples::{
    behind, call, completed, draft, error, noted, open, pending, progress, running, session, store,
};

#[test]
fn every_kind_of_event_comes_back_as_it_was() {
    let (dir, store) = store();
    let drafts: Vec<_> = every_kept_kind().into_iter().map(|kind| draft("ses_a", kind)).collect();
    let seqs = store.append(&drafts).unwrap();
    let logged: Vec<Event> =
        drafts.into_iter().zip(seqs).map(|(draft, seq)| draft.numbered(seq)).collect();
    assert_eq!(store.events(&session("ses_a"), 0, 100).unwrap(), logged);
    drop(store);
    assert_eq!(open(dir.path()).events(&session("ses_a"), 0, 100).unwrap(), logged);
}

fn every_kept_kind() -> Vec<EventKind> {
    let mut output = Output::new("pic", "line\r\n\u{0}\u{fffd}ü").with("x", 0.1 + 0.2);
    output.truncated = true;
    output.attachments.push(Attachment {
        mime: "image/png".into(),
        name: Some("pic.png".into()),
        data: "AAAA".into(),
    });
    let rule = RuleRef {
        key: "bash".into(),
        pattern: "rm *".into(),
        action: Action::Deny,
        source: "haft.toml:3".into(),
        reason: Some("never".into()),
        protected: true,
    };
    let denial = Denial {
        effect: Effect::run("rm -rf /").unproven("who knows"),
        more: vec![Effect::run("ls")],
        rule: Some(rule.clone()),
        by: DeniedBy::User { feedback: Some("no".into()) },
    };
    let denied = ErrorReport {
        kind: "denied".into(),
        message: denial.to_string(),
        denial: Some(denial.clone()),
    };
    let mut ask = Ask::new("run it", vec![denial.effect.clone()]);
    ask.metadata.insert("diff".into(), json!("+a\n-b"));
    let pending_ask = PendingAsk {
        id: AskId::fresh(),
        session: session("ses_a"),
        call: call("call_2"),
        agent: None,
        tool: "bash".into(),
        ask,
        rule: Some(rule),
        escalation: Some(Escalation::Outside),
    };
    vec![
        EventKind::CallPending {
            call: call("call_1"),
            parent: Some(call("call_0")),
            message: Some(MessageId::fresh()),
            agent: AgentId::parse("plan").unwrap(),
            tool: "Read".into(),
            args: json!("not json {"),
        },
        running("call_1"),
        EventKind::CallCompleted {
            call: call("call_1"),
            tool: "read".into(),
            output: output.into(),
        },
        pending("call_2"),
        EventKind::AskClosed {
            ask: pending_ask.id.clone(),
            how: Closed::Answered(Reply::Reject { feedback: Some("no".into()) }),
        },
        EventKind::AskOpened { ask: pending_ask },
        EventKind::CallError {
            call: call("call_2"),
            tool: "bash".into(),
            error: denied,
            metadata: Metadata::new(),
        },
        EventKind::ToolsChanged { tool: "mcp_x".into() },
        noted(json!({ "z": 1, "a": [null, -1.5e-300, u64::MAX, i64::MIN] })),
    ]
}

#[test]
fn arguments_as_deep_as_a_parser_allows_come_back() {
    let (_dir, store) = store();
    let text = format!("{}{}", "[".repeat(127), "]".repeat(127));
    let deep: Value = serde_json::from_str(&text).unwrap();
    let kind =
        EventKind::CallRunning { call: call("call_1"), tool: "t".into(), args: deep.clone() };
    store.append(&[draft("ses_a", pending("call_1")), draft("ses_a", kind)]).unwrap();
    assert_eq!(store.events(&session("ses_a"), 1, 1).unwrap().len(), 1);
    assert_eq!(store.calls(&session("ses_a"), 1).unwrap()[0].args, deep);
    let scope = Scope::Project("/p".into());
    store.update_document(&scope, "deep", &mut |_| Ok(deep.clone())).unwrap();
    assert_eq!(store.document(&scope, "deep").unwrap(), Some(deep));
}

#[test]
fn times_come_back_to_the_nanosecond() {
    let (_dir, store) = store();
    let times = [
        Timestamp::MIN,
        Timestamp::UNIX_EPOCH,
        Timestamp::new(1_700_000_000, 1).unwrap(),
        Timestamp::new(1_700_000_000, 999_999_999).unwrap(),
        Timestamp::MAX,
    ];
    let drafts = times.map(|at| haft_runtime::Draft { at, ..draft("ses_a", noted(json!(1))) });
    store.append(&drafts).unwrap();
    let events = store.events(&session("ses_a"), 0, 10).unwrap();
    assert_eq!(events.iter().map(|event| event.at).collect::<Vec<_>>(), times);
}

#[test]
fn a_call_is_remembered_as_far_as_it_has_come() {
    let (_dir, store) = store();
    let ses = session("ses_a");
    let get = |id: &str| store.call(&ses, &call(id)).unwrap();
    assert_eq!(get("call_1"), None);

    let arrived = draft("ses_a", pending("call_1"));
    let at = arrived.at;
    store.append(&[arrived, draft("ses_a", pending("call_2"))]).unwrap();
    let mut expected = CallRecord {
        session: ses.clone(),
        id: call("call_1"),
        parent: None,
        message: None,
        agent: AgentId::parse("build").unwrap(),
        tool: "Read".into(),
        args: json!("{\"path\": \"a\"}"),
        state: CallState::Pending,
        output: None,
        error: None,
        metadata: Metadata::new(),
        started: at,
        ended: None,
    };
    assert_eq!(get("call_1"), Some(expected.clone()));

    store.append(&[draft("ses_a", running("call_1")), draft("ses_a", progress("call_1"))]).unwrap();
    expected.tool = "read".into();
    expected.args = json!({ "path": "a" });
    expected.state = CallState::Running;
    assert_eq!(get("call_1"), Some(expected.clone()));

    let ended = draft("ses_a", completed("call_1"));
    let failed = draft("ses_a", error("call_2"));
    store.append(&[ended.clone(), failed.clone()]).unwrap();
    expected.output = Some(Output::new("a", "text of a").with("lines", 1));
    expected.state = CallState::Completed;
    expected.ended = Some(ended.at);
    assert_eq!(get("call_1"), Some(expected.clone()));

    let second = get("call_2").unwrap();
    assert_eq!((second.state, second.ended), (CallState::Error, Some(failed.at)));
    assert_eq!(second.tool, "Read", "it never ran");
    assert_eq!(second.error.as_ref().unwrap().message, "a is gone");
    assert_eq!(second.metadata["seen"], 3);
    assert_eq!(store.calls(&ses, 10).unwrap(), [expected.clone(), second]);
    assert_eq!(store.calls(&ses, 1).unwrap(), [expected]);
    assert_eq!(store.calls(&session("ses_b"), 10).unwrap(), []);
    assert_eq!(store.session(&ses).unwrap().unwrap().calls, 2);
}

#[test]
fn a_call_id_is_never_used_twice_in_a_session() {
    let (_dir, store) = store();
    store.append(&[draft("ses_a", pending("call_1"))]).unwrap();
    let batch = [draft("ses_a", noted(json!(1))), draft("ses_a", pending("call_1"))];
    let refused = store.append(&batch).unwrap_err();
    let StoreError::RepeatedCall { session: of, call: id } = refused else { panic!("{refused}") };
    assert_eq!((of, id), (session("ses_a"), call("call_1")));
    assert_eq!(store.events(&session("ses_a"), 0, 10).unwrap().len(), 1, "all or nothing");
    let twice = [draft("ses_a", pending("call_2")), draft("ses_a", pending("call_2"))];
    assert!(matches!(store.append(&twice), Err(StoreError::RepeatedCall { .. })));
    assert_eq!(store.append(&[draft("ses_b", pending("call_1"))]).unwrap(), [1]);
    assert_eq!(store.append(&[draft("ses_a", noted(json!(2)))]).unwrap(), [2]);
}

#[test]
fn a_call_that_is_unknown_or_has_ended_cannot_go_on() {
    let (_dir, store) = store();
    for kind in [running("call_9"), completed("call_9"), error("call_9")] {
        let refused = store.append(&[draft("ses_a", kind)]).unwrap_err().to_string();
        assert!(refused.contains("call_9") && refused.contains("unknown"), "{refused}");
    }
    assert_eq!(store.session(&session("ses_a")).unwrap(), None, "all or nothing");
    store.append(&[draft("ses_a", pending("call_1")), draft("ses_a", error("call_1"))]).unwrap();
    for kind in [running("call_1"), completed("call_1"), error("call_1")] {
        let refused = store.append(&[draft("ses_a", kind)]).unwrap_err().to_string();
        assert!(refused.contains("call_1") && refused.contains("nothing goes back"), "{refused}");
    }
    store.append(&[draft("ses_a", pending("call_2")), draft("ses_a", running("call_2"))]).unwrap();
    let again = store.append(&[draft("ses_a", running("call_2"))]);
    assert!(matches!(again, Err(StoreError::OutOfTurn { .. })), "a call runs once");
}

fn new_session(id: &str, project: &str) -> NewSession {
    NewSession {
        id: session(id),
        project: project.into(),
        parent: Some(session("ses_parent")),
        agent: AgentId::parse("build").unwrap(),
    }
}

#[test]
fn a_session_is_created_once() {
    let (dir, store) = store();
    let new = new_session("ses_a", "/p");
    let created = store.open_session(&new).unwrap();
    assert_eq!((&created.id, &*created.project), (&new.id, "/p"));
    assert_eq!((&created.parent, &created.agent), (&new.parent, &new.agent));
    assert_eq!((created.calls, created.created), (0, created.updated));
    let other = NewSession { parent: None, ..new_session("ses_a", "/q") };
    assert_eq!(store.open_session(&other).unwrap(), created);
    drop(store);
    assert_eq!(open(dir.path()).session(&new.id).unwrap(), Some(created));
}

#[test]
fn sessions_used_last_come_first() {
    let (_dir, store) = store();
    for (id, project) in [("ses_a", "/p"), ("ses_b", "/q"), ("ses_c", "/p")] {
        store.open_session(&new_session(id, project)).unwrap();
    }
    store.append(&[draft("ses_a", noted(json!(1)))]).unwrap();
    let ids = |project, limit| -> Vec<String> {
        let found = store.sessions(project, limit).unwrap();
        found.into_iter().map(|session| session.id.to_string()).collect()
    };
    assert_eq!(ids(None, 10), ["ses_a", "ses_c", "ses_b"]);
    assert_eq!(ids(Some("/p"), 10), ["ses_a", "ses_c"]);
    assert_eq!(ids(None, 1), ["ses_a"]);
    assert_eq!(ids(Some("/nowhere"), 10), [""; 0]);
}

#[test]
fn a_session_that_began_with_an_event_can_still_be_told_its_project() {
    let (_dir, store) = store();
    store.append(&[draft("ses_a", pending("call_1"))]).unwrap();
    let begun = store.session(&session("ses_a")).unwrap().unwrap();
    assert_eq!((&*begun.project, begun.agent.as_str()), ("", "build"));
    let told = store.open_session(&new_session("ses_a", "/p")).unwrap();
    assert_eq!((&*told.project, told.calls, told.created), ("/p", 1, begun.created));
    assert_eq!(store.sessions(Some("/p"), 10).unwrap(), [told]);
}

#[test]
fn grants_are_kept_once_and_can_be_revoked() {
    let (_dir, store) = store();
    let grant = |project: &str, pattern: &str, second| Grant {
        id: GrantId::fresh(),
        project: project.into(),
        key: "bash".into(),
        pattern: pattern.into(),
        created: Timestamp::new(second, 5).unwrap(),
        session: SessionId::fresh(),
    };
    let (late, early) = (grant("/p", "git *", 20), grant("/p", "ls", 10));
    let elsewhere = grant("/q", "git *", 15);
    for grant in [&late, &early, &elsewhere, &grant("/p", "git *", 1)] {
        store.add_grant(grant).unwrap();
    }
    assert_eq!(store.grants(Some("/p")).unwrap(), [early.clone(), late.clone()]);
    assert_eq!(store.grants(None).unwrap(), [early.clone(), elsewhere, late.clone()]);
    assert!(store.revoke_grant(&late.id).unwrap());
    assert!(!store.revoke_grant(&late.id).unwrap());
    assert_eq!(store.grants(Some("/p")).unwrap(), [early]);
}

#[test]
fn documents_of_different_scopes_and_names_are_different() {
    let (_dir, store) = store();
    let scopes = [Scope::Session(session("x")), Scope::Project("x".into())];
    for (scope, value) in scopes.iter().zip([1, 2]) {
        assert_eq!(store.document(scope, "todos").unwrap(), None);
        store
            .update_document(scope, "todos", &mut |before| {
                assert_eq!(before, None);
                Ok(json!({ "z": value, "a": 0.1 + 0.2 }))
            })
            .unwrap();
    }
    let expected = |value| Some(json!({ "z": value, "a": 0.1 + 0.2 }));
    assert_eq!(store.document(&scopes[0], "todos").unwrap(), expected(1));
    assert_eq!(store.document(&scopes[1], "todos").unwrap(), expected(2));
    assert_eq!(store.document(&scopes[1], "other").unwrap(), None);
}

#[test]
fn a_change_that_fails_leaves_the_document_as_it_was() {
    let (_dir, store) = store();
    let scope = Scope::Project("/p".into());
    store.update_document(&scope, "todos", &mut |_| Ok(json!(["a"]))).unwrap();
    let failed = store.update_document(&scope, "todos", &mut |before| {
        assert_eq!(before, Some(json!(["a"])));
        Err(StoreError::failed("no thanks"))
    });
    assert_eq!(failed.unwrap_err().to_string(), "no thanks");
    assert_eq!(store.document(&scope, "todos").unwrap(), Some(json!(["a"])));
}

#[test]
fn a_change_may_use_the_store_and_is_asked_again_when_it_was_overtaken() {
    let (_dir, store) = store();
    let scope = Scope::Project("/p".into());
    let mut asked = 0;
    store
        .update_document(&scope, "n", &mut |before| {
            asked += 1;
            if asked == 1 {
                store.update_document(&scope, "n", &mut |_| Ok(json!(10)))?;
            }
            Ok(json!(before.and_then(|n| n.as_i64()).unwrap_or(0) + 1))
        })
        .unwrap();
    assert_eq!((asked, store.document(&scope, "n").unwrap()), (2, Some(json!(11))));
}

#[test]
fn a_store_still_works_after_a_change_that_panicked() {
    let (_dir, store) = store();
    let scope = Scope::Project("/p".into());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        store.update_document(&scope, "n", &mut |_| panic!("a defect"))
    }));
    assert!(panicked.is_err());
    store.update_document(&scope, "n", &mut |_| Ok(json!(1))).unwrap();
    assert_eq!(store.document(&scope, "n").unwrap(), Some(json!(1)));
}

#[test]
fn the_log_can_be_looked_at_with_plain_sql() {
    let (dir, store) = store();
    store.append(&[draft("ses_a", noted(json!(1))), draft("ses_a", pending("call_1"))]).unwrap();
    let found: (i64, i64, String) = behind(dir.path())
        .query_row(
            "SELECT session, seq, type FROM events WHERE body ->> 'call' = 'call_1'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert_eq!(found, (1, 2, "call.pending".into()));
}

#[test]
fn a_long_log_is_emptied_when_the_store_is_closed() {
    let (dir, store) = store();
    for _ in 0..300 {
        store.append(&[draft("ses_a", noted(json!("x".repeat(5000))))]).unwrap();
    }
    let log = dir.path().join("haft.db-wal");
    assert!(fs_err::metadata(&log).unwrap().len() > 1024 * 1024);
    drop(store);
    assert_eq!(fs_err::metadata(&log).map_or(0, |log| log.len()), 0);
    assert_eq!(crate::samples::numbers(&open(dir.path()), "ses_a").len(), 300);
}

#[test]
fn a_session_without_a_project_is_returned_as_it_is() {
    let (_dir, store) = store();
    let created = store.open_session(&new_session("ses_a", "")).unwrap();
    let other = NewSession { parent: None, ..new_session("ses_a", "") };
    assert_eq!(store.open_session(&other).unwrap(), created);
}

#[test]
fn a_session_that_is_forgotten_leaves_nothing_and_takes_no_other_with_it() {
    let (_dir, store) = store();
    let mut kept = Vec::new();
    for name in ["ses_a", "ses_b"] {
        store.append(&[draft(name, pending("call_1")), draft(name, noted(json!(1)))]).unwrap();
        let scope = Scope::Session(session(name));
        store.update_document(&scope, "todos", &mut |_| Ok(json!([name]))).unwrap();
        kept.push(store.keep(&session(name), &call("call_1"), "long").unwrap().path);
    }
    assert!(store.forget_session(&session("ses_a")).unwrap());
    assert!(!store.forget_session(&session("ses_a")).unwrap());
    assert_eq!(store.session(&session("ses_a")).unwrap(), None);
    assert_eq!(store.events(&session("ses_a"), 0, 10).unwrap(), []);
    assert_eq!(store.calls(&session("ses_a"), 10).unwrap(), []);
    assert_eq!(store.document(&Scope::Session(session("ses_a")), "todos").unwrap(), None);
    assert!(!kept[0].exists() && kept[1].exists());
    assert_eq!(store.events(&session("ses_b"), 0, 10).unwrap().len(), 2);
    assert_eq!(
        store.document(&Scope::Session(session("ses_b")), "todos").unwrap(),
        Some(json!(["ses_b"]))
    );
    assert_eq!(store.append(&[draft("ses_a", pending("call_1"))]).unwrap(), [1], "its id is free");
}
