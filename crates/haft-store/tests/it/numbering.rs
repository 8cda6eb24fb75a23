//! Each session counts its own events.

use haft_runtime::{Draft, EventKind, Store};
use serde_json::json;

use crate::samples::{draft, noted, numbers, open, pending, progress, session, store};

#[test]
fn numbers_go_on_where_they_stopped() {
    let (dir, store) = store();
    let one = || draft("ses_a", noted(json!(1)));
    assert_eq!(store.append(&[one(), one(), one()]).unwrap(), [1, 2, 3]);
    assert_eq!(store.append(&[one()]).unwrap(), [4]);
    drop(store);
    let again = open(dir.path());
    assert_eq!(again.append(&[one(), one()]).unwrap(), [5, 6]);
    assert_eq!(numbers(&again, "ses_a"), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn sessions_in_one_batch_are_counted_apart() {
    let (_dir, store) = store();
    let (a, b) = (|| draft("ses_a", noted(json!(1))), || draft("ses_b", noted(json!(2))));
    assert_eq!(store.append(&[a(), b(), a(), b(), b()]).unwrap(), [1, 1, 2, 2, 3]);
    assert_eq!(store.append(&[b(), a()]).unwrap(), [4, 3]);
    assert_eq!(numbers(&store, "ses_a"), [1, 2, 3]);
    assert_eq!(numbers(&store, "ses_b"), [1, 2, 3, 4]);
}

#[test]
fn progress_is_numbered_but_not_logged() {
    let (_dir, store) = store();
    let batch = [pending("call_1"), progress("call_1"), progress("call_1"), noted(json!(1))];
    let batch = batch.map(|kind| draft("ses_a", kind));
    assert_eq!(store.append(&batch).unwrap(), [1, 2, 3, 4]);
    assert_eq!(store.append(&batch[1..2]).unwrap(), [5]);
    assert_eq!(numbers(&store, "ses_a"), [1, 4]);
}

#[test]
fn what_concerns_all_sessions_has_no_number() {
    let (_dir, store) = store();
    let global = || Draft::now(None, EventKind::ToolsChanged { tool: "t".into() });
    assert_eq!(store.append(&[global(), global()]).unwrap(), [0, 0]);
    let mixed = [global(), draft("ses_a", noted(json!(1))), global()];
    assert_eq!(store.append(&mixed).unwrap(), [0, 1, 0]);
    assert_eq!(store.append(&[]).unwrap(), [0; 0]);
    assert_eq!(store.sessions(None, 10).unwrap().len(), 1);
}

#[test]
fn an_event_of_an_unknown_session_creates_it() {
    let (_dir, store) = store();
    let (early, late) = (draft("ses_a", noted(json!(1))), draft("ses_a", noted(json!(2))));
    store.append(&[late.clone(), early.clone()]).unwrap();
    let created = store.session(&session("ses_a")).unwrap().unwrap();
    assert_eq!((&*created.project, created.calls), ("", 0));
    assert_eq!((created.created, created.updated), (early.at, late.at));
}

#[test]
fn events_are_read_in_pages() {
    let (_dir, store) = store();
    let drafts: Vec<_> = (0..10).map(|n| draft("ses_a", noted(json!(n)))).collect();
    store.append(&drafts).unwrap();
    let page = |after, limit| -> Vec<u64> {
        let events = store.events(&session("ses_a"), after, limit).unwrap();
        events.iter().map(|event| event.seq).collect()
    };
    assert_eq!(page(0, 3), [1, 2, 3]);
    assert_eq!(page(3, 3), [4, 5, 6]);
    assert_eq!(page(9, 3), [10]);
    assert_eq!(page(10, 3), [0; 0]);
    assert_eq!(page(u64::MAX, usize::MAX), [0; 0]);
    assert_eq!(page(0, 0), [0; 0]);
}

#[test]
fn threads_share_a_store() {
    let (dir, store) = store();
    let other = open(dir.path());
    std::thread::scope(|scope| {
        for store in [&store, &other, &store, &other] {
            scope.spawn(move || {
                for n in 0..50 {
                    store.append(&[draft("ses_a", noted(json!(n)))]).unwrap();
                }
            });
        }
    });
    assert_eq!(numbers(&store, "ses_a"), (1..=200).collect::<Vec<_>>());
}

#[test]
fn a_log_that_is_tidied_does_not_grow_for_ever() {
    let (dir, store) = store();
    let log = dir.path().join("haft.db-wal");
    let mut longest = 0;
    for round in 0..60 {
        // Each round writes about a megabyte.
        for _ in 0..20 {
            let note = noted(serde_json::json!("x".repeat(50_000)));
            store.append(&[draft("ses_a", note)]).unwrap();
        }
        store.tidy().unwrap();
        if round >= 20 {
            longest = longest.max(fs_err::metadata(&log).unwrap().len());
        }
    }
    assert!(longest < 16 * 1024 * 1024, "{longest}");
    assert_eq!(store.events(&session("ses_a"), 0, usize::MAX).unwrap().len(), 1200);
}
