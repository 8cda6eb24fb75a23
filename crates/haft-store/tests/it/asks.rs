//! Asks that one process puts up and another answers.

use haft_runtime::permission::{Ask, PendingAsk, Reply};
use haft_runtime::{AskId, PostedAsk, Store};
use jiff::{SignedDuration, Timestamp};

use crate::samples::{behind, call, open, session, store};

fn posted(project: &str, now: Timestamp) -> PostedAsk {
    let ask = PendingAsk {
        id: AskId::fresh(),
        session: session("ses_a"),
        call: call("call_1"),
        agent: None,
        tool: "write".into(),
        ask: Ask::default(),
        rule: None,
        escalation: None,
    };
    PostedAsk { project: project.into(), created: now, until: later(now, 10), ask }
}

fn later(now: Timestamp, seconds: i64) -> Timestamp {
    now.checked_add(SignedDuration::from_secs(seconds)).unwrap()
}

#[test]
fn an_ask_is_seen_and_answered_once_by_another_process() {
    let (dir, here) = store();
    let there = open(dir.path());
    let now = Timestamp::now();
    let (first, second) = (posted("/a", now), posted("/b", now));
    here.post_ask(&first).unwrap();
    here.post_ask(&second).unwrap();
    let mine = there.posted_asks(Some("/a"), now).unwrap();
    assert_eq!(mine, std::slice::from_ref(&first));
    assert_eq!(there.posted_asks(None, now).unwrap(), [first.clone(), second]);
    let no = Reply::Reject { feedback: Some("use the other file".into()) };
    assert_eq!(here.ask_answer(&first.ask.id).unwrap(), None);
    assert!(there.answer_ask(&first.ask.id, &no, now).unwrap());
    assert!(!there.answer_ask(&first.ask.id, &Reply::Once, now).unwrap(), "the first answer holds");
    assert_eq!(here.ask_answer(&first.ask.id).unwrap(), Some(no));
    assert_eq!(there.posted_asks(Some("/a"), now).unwrap(), []);
}

#[test]
fn what_nobody_waits_for_is_neither_shown_nor_answered() {
    let (_dir, store) = store();
    let now = Timestamp::now();
    let ask = posted("/a", now);
    let id = ask.ask.id.clone();
    store.post_ask(&ask).unwrap();
    let dead = later(now, 11);
    assert_eq!(store.posted_asks(None, dead).unwrap(), []);
    assert!(!store.answer_ask(&id, &Reply::Once, dead).unwrap());
    // A process that slept with the machine and woke up is heard again.
    store.await_ask(&id, later(now, 20)).unwrap();
    assert_eq!(store.posted_asks(None, dead).unwrap().len(), 1);
    assert!(store.answer_ask(&id, &Reply::Once, dead).unwrap());
    store.withdraw_ask(&id).unwrap();
    assert_eq!(store.ask_answer(&id).unwrap(), None);
}

#[test]
fn what_was_left_behind_is_gone_a_day_later() {
    let (dir, store) = store();
    let now = Timestamp::now();
    store.post_ask(&posted("/a", now)).unwrap();
    store.post_ask(&posted("/a", later(now, 25 * 60 * 60))).unwrap();
    let rows = behind(dir.path());
    let left: i64 = rows.query_row("SELECT count(*) FROM asks", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 1);
}

#[test]
fn a_store_of_the_first_format_learns_of_asks_and_keeps_what_it_has() {
    let (dir, store) = store();
    let kept = store.keep(&session("ses_a"), &call("call_1"), "text").unwrap();
    drop(store);
    behind(dir.path()).execute_batch("DROP TABLE asks; PRAGMA user_version = 1").unwrap();
    let store = open(dir.path());
    let now = Timestamp::now();
    store.post_ask(&posted("/a", now)).unwrap();
    assert_eq!(store.posted_asks(None, now).unwrap().len(), 1);
    assert_eq!(store.kept(&kept.path).unwrap(), Some(kept));
}
