//! Long texts are kept, found again, and go in their time.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use haft_runtime::{KeptOutput, Store};
use haft_store::{Options, SqliteStore};

use crate::samples::{behind, call, open, session, store};

fn keep(store: &dyn Store, text: &str) -> KeptOutput {
    store.keep(&session("ses_a"), &call("call_1"), text).unwrap()
}

fn files(dir: &Path) -> usize {
    fs_err::read_dir(dir.join("outputs")).unwrap().count()
}

fn with_quota(dir: &Path, keep_bytes: u64) -> SqliteStore {
    SqliteStore::open(dir, Options { keep_bytes, ..Options::default() }).unwrap()
}

#[test]
fn a_kept_output_is_found_again_by_its_path() {
    let (dir, store) = store();
    let text = "line\n\u{0}ü".repeat(1000);
    let kept = keep(&store, &text);
    assert_eq!((kept.bytes, &kept.call), (text.len() as u64, &call("call_1")));
    assert!(kept.path.starts_with(dir.path().canonicalize().unwrap().join("outputs")));
    assert_eq!(fs_err::read_to_string(&kept.path).unwrap(), text);
    assert_eq!(store.kept(&kept.path).unwrap(), Some(kept.clone()));
    assert_eq!(open(dir.path()).kept(&kept.path).unwrap(), Some(kept.clone()));

    let detour = dir.path().join("outputs/../outputs").join(kept.path.file_name().unwrap());
    assert_eq!(store.kept(&detour).unwrap(), Some(kept));
}

#[test]
fn other_paths_are_not_kept_outputs() {
    let (dir, store) = store();
    let kept = keep(&store, "a");
    let outputs = dir.path().join("outputs");
    let (stranger, outside) = (outputs.join("out_stranger.txt"), dir.path().join("outside.txt"));
    fs_err::write(&stranger, "no row").unwrap();
    fs_err::write(&outside, "no row").unwrap();
    let same_name = dir.path().join(kept.path.file_name().unwrap());
    fs_err::write(&same_name, "elsewhere").unwrap();
    for path in [&stranger, &outside, &same_name, &outputs, &PathBuf::from("/no/such/file")] {
        assert_eq!(store.kept(path).unwrap(), None, "{}", path.display());
    }
    fs_err::remove_file(&kept.path).unwrap();
    assert_eq!(store.kept(&kept.path).unwrap(), None, "its file is gone");
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_is_not_a_kept_output() {
    let (dir, store) = store();
    let kept = keep(&store, "a");
    let outside = dir.path().join("outside.txt");
    fs_err::write(&outside, "secret").unwrap();
    fs_err::remove_file(&kept.path).unwrap();
    fs_err::os::unix::fs::symlink(&outside, &kept.path).unwrap();
    assert_eq!(store.kept(&kept.path).unwrap(), None);
}

#[test]
fn the_oldest_go_when_there_is_too_much() {
    let dir = tempfile::tempdir().unwrap();
    let store = with_quota(dir.path(), 100);
    let kept: Vec<_> = ["a", "b", "c"].map(|text| keep(&store, &text.repeat(40))).into();
    assert_eq!(store.kept(&kept[0].path).unwrap(), None);
    assert!(!kept[0].path.exists());
    for still in &kept[1..] {
        assert_eq!(store.kept(&still.path).unwrap().as_ref(), Some(still));
    }
    let whole = keep(&store, &"d".repeat(100));
    assert_eq!(files(dir.path()), 1);
    assert!(store.kept(&whole.path).unwrap().is_some());
}

#[test]
fn the_one_just_kept_stays_whatever_the_clock_says() {
    let dir = tempfile::tempdir().unwrap();
    let store = with_quota(dir.path(), 100);
    let before = keep(&store, &"a".repeat(60));
    behind(dir.path())
        .execute("UPDATE outputs SET created = '9000-01-01T00:00:00.000000000Z'", [])
        .unwrap();
    let kept = keep(&store, &"b".repeat(60));
    assert!(store.kept(&kept.path).unwrap().is_some());
    assert!(store.kept(&before.path).unwrap().is_none());
}

#[test]
fn the_one_just_kept_stays_even_if_nothing_may_grow_old() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { keep_age: Duration::ZERO, ..Options::default() };
    let store = SqliteStore::open(dir.path(), options).unwrap();
    let before = keep(&store, "a");
    assert!(store.kept(&before.path).unwrap().is_some());
    keep(&store, "b");
    assert!(store.kept(&before.path).unwrap().is_none());
}

#[test]
fn one_that_is_too_much_alone_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = with_quota(dir.path(), 100);
    let before = keep(&store, "a");
    let refused = store.keep(&session("ses_a"), &call("call_1"), &"x".repeat(101)).unwrap_err();
    assert!(refused.to_string().contains("101 bytes"), "{refused}");
    assert!(refused.to_string().contains("may take 100"), "{refused}");
    assert!(store.kept(&before.path).unwrap().is_some());
    assert_eq!(files(dir.path()), 1);
}

/// Makes an output older than it is.
fn make_old(dir: &Path, kept: &KeptOutput) {
    let name = kept.path.file_name().unwrap().to_str().unwrap();
    behind(dir)
        .execute(
            "UPDATE outputs SET created = '2001-01-01T00:00:00.000000000Z' WHERE file = ?1",
            [name],
        )
        .unwrap();
}

#[test]
fn the_old_go_when_another_is_kept() {
    let (dir, store) = store();
    let (old, young) = (keep(&store, "old"), keep(&store, "young"));
    make_old(dir.path(), &old);
    let new = keep(&store, "new");
    assert!(!old.path.exists() && store.kept(&old.path).unwrap().is_none());
    assert!(store.kept(&young.path).unwrap().is_some());
    assert!(store.kept(&new.path).unwrap().is_some());
}

#[test]
fn the_old_and_the_too_many_go_when_a_store_is_opened() {
    let (dir, store) = store();
    let old = keep(&store, "old");
    let (first, second) = (keep(&store, &"1".repeat(60)), keep(&store, &"2".repeat(60)));
    make_old(dir.path(), &old);
    drop(open(dir.path()));
    assert!(!old.path.exists() && first.path.exists() && second.path.exists());
    drop(with_quota(dir.path(), 100));
    assert!(!first.path.exists() && second.path.exists());
}

#[test]
fn a_store_that_is_being_written_to_is_opened_without_tidying_it() {
    let (dir, store) = store();
    let old = keep(&store, "old");
    make_old(dir.path(), &old);
    let other = behind(dir.path());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    drop(open(dir.path()));
    assert!(old.path.exists());
}

#[test]
fn files_that_lost_their_process_are_removed_once_they_are_old() {
    let (dir, store) = store();
    let outputs = dir.path().join("outputs");
    let file = |name: &str, age| {
        let path = outputs.join(name);
        let file = fs_err::File::create(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        path
    };
    let gone = [file("out_1.txt", 4000), file("out_2.tmp", 4000)];
    let stay = [file("out_3.txt", 3000), file("out_4.tmp", 10), file("notes.txt", 9000)];
    let kept = keep(&store, "a");
    let age = SystemTime::now() - Duration::from_secs(4000);
    fs_err::OpenOptions::new().write(true).open(&kept.path).unwrap().set_modified(age).unwrap();
    keep(&store, "b");
    assert!(gone.iter().all(|path| !path.exists()));
    assert!(stay.iter().all(|path| path.exists()));
    assert!(kept.path.exists(), "it has a row");
}

#[test]
fn a_file_written_to_a_place_of_the_store_is_kept_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let store = with_quota(dir.path(), 100);
    let spill = store.spill().unwrap();
    assert_eq!(spill.room, 100);
    fs_err::write(&spill.path, "a".repeat(60)).unwrap();
    let adopt = |path: &Path| store.adopt(&session("ses_a"), &call("call_1"), path);
    let kept = adopt(&spill.path).unwrap();
    assert_eq!(kept.bytes, 60);
    assert!(!spill.path.exists());
    assert_eq!(store.kept(&kept.path).unwrap(), Some(kept.clone()));
    let next = store.spill().unwrap();
    fs_err::write(&next.path, "b".repeat(60)).unwrap();
    let next = adopt(&next.path).unwrap();
    assert!(!kept.path.exists() && next.path.exists(), "the quota holds for files too");
}

#[test]
fn no_other_file_is_adopted_and_what_is_too_long_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let store = with_quota(dir.path(), 100);
    let adopt = |path: &Path| store.adopt(&session("ses_a"), &call("call_1"), path);
    let other = dir.path().join("out_x.tmp");
    fs_err::write(&other, "mine").unwrap();
    assert!(adopt(&other).unwrap_err().to_string().contains("no place for a kept output"));
    assert!(other.exists());
    let spill = store.spill().unwrap();
    assert!(adopt(&spill.path).is_err(), "nothing was written");
    fs_err::write(&spill.path, "c".repeat(101)).unwrap();
    assert!(adopt(&spill.path).unwrap_err().to_string().contains("101 bytes"));
    assert!(!spill.path.exists());
}
