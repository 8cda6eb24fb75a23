//! A store that is opened when it is needed.

use haft_runtime::Store;
use haft_store::{LazyStore, Options};
use serde_json::json;

use crate::samples::{draft, noted, numbers, session};

#[test]
fn nothing_is_made_before_the_first_use() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let store = LazyStore::new(&state, Options::default());
    assert!(!state.exists());
    assert_eq!(store.session(&session("ses_a")).unwrap(), None);
    assert!(state.join("haft.db").exists());
}

#[test]
fn a_store_that_could_not_be_opened_is_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    fs_err::write(&state, "in the way").unwrap();
    let store = LazyStore::new(&state, Options::default());
    assert!(store.sessions(None, 1).is_err());
    assert!(store.sessions(None, 1).is_err());
    fs_err::remove_file(&state).unwrap();
    assert_eq!(store.sessions(None, 1).unwrap(), []);
}

#[test]
fn threads_that_need_it_at_once_share_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = LazyStore::new(dir.path(), Options::default());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| store.append(&[draft("ses_a", noted(json!(1)))]).unwrap());
        }
    });
    assert_eq!(numbers(&store, "ses_a"), [1, 2, 3, 4]);
}
