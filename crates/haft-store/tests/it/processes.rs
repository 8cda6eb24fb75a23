//! Many processes at once, and processes that are killed.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};

use haft_runtime::{Scope, Store};
use serde_json::json;

use crate::children::Actor;
use crate::samples::{numbers, open};

#[test]
fn four_processes_count_without_losing_any() {
    let dir = tempfile::tempdir().unwrap();
    let mut actors: Vec<_> = (0..4).map(|_| Actor::new("count 250", dir.path())).collect();
    actors.iter_mut().for_each(Actor::begin);
    for actor in actors {
        assert!(actor.end().success());
    }
    let count = open(dir.path()).document(&Scope::Project("/p".into()), "count").unwrap();
    assert_eq!(count, Some(json!(1000)));
}

#[test]
fn four_processes_number_one_session_without_gaps_or_repeats() {
    let dir = tempfile::tempdir().unwrap();
    let mut actors: Vec<_> = (0..4).map(|_| Actor::new("append 250", dir.path())).collect();
    actors.iter_mut().for_each(Actor::begin);
    let mut told = Vec::new();
    for mut actor in actors {
        told.extend(actor.numbers());
        assert!(actor.end().success());
    }
    assert_eq!(told.len(), 1000);
    assert_eq!(BTreeSet::from_iter(told), (1..=1000).collect());
    assert_eq!(numbers(&open(dir.path()), "ses_shared"), (1..=1000).collect::<Vec<_>>());
}

#[test]
fn processes_that_start_at_once_on_an_empty_folder_all_succeed() {
    for _ in 0..20 {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let mut actors = [Actor::new("append 250", &state), Actor::new("append 250", &state)];
        actors.iter_mut().for_each(Actor::begin);
        for actor in actors {
            assert!(actor.end().success());
        }
        assert_eq!(numbers(&open(&state), "ses_shared"), (1..=500).collect::<Vec<_>>());
    }
}

#[test]
fn what_was_acknowledged_outlives_kill_nine() {
    let dir = tempfile::tempdir().unwrap();
    let mut last = 0;
    for round in 0..50 {
        let mut actor = Actor::new("append until killed", dir.path());
        actor.begin();
        // At none it is killed while it opens the store.
        let wanted = RandomState::new().build_hasher().finish() % 100;
        let mut acknowledged: Vec<u64> =
            (0..wanted).map(|_| actor.told().unwrap().parse().unwrap()).collect();
        actor.kill();
        acknowledged.extend(actor.numbers());
        assert!(!actor.end().success());

        let found = numbers(&open(dir.path()), "ses_shared");
        let expected = last + 1..=last + acknowledged.len() as u64;
        assert_eq!(acknowledged, expected.collect::<Vec<_>>(), "round {round}");
        // One more may have happened without word of it.
        last = found.len() as u64;
        assert_eq!(found, (1..=last).collect::<Vec<_>>(), "round {round}");
        assert!(acknowledged.last().is_none_or(|&told| told == last || told + 1 == last));
    }
    assert!(last > 0);
}
