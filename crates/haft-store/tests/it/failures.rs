//! What goes wrong is said clearly, and nothing is lost.

use std::io::Write;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use haft_runtime::{Store, StoreError};
use haft_store::{Options, SqliteStore};
use serde_json::json;

use crate::children::{ARGS, command};
use crate::samples::{behind, draft, noted, numbers, open, store};

fn refused(dir: &Path) -> StoreError {
    SqliteStore::open(dir, Options::default()).unwrap_err()
}

#[test]
fn a_later_format_is_refused() {
    let (dir, store) = store();
    drop(store);
    behind(dir.path()).pragma_update(None, "user_version", 999).unwrap();
    let StoreError::Newer { path, found: 999, known: 2 } = refused(dir.path()) else { panic!() };
    assert_eq!(path, dir.path().join("haft.db"));
}

#[test]
fn what_is_not_a_database_is_refused_and_left_alone() {
    for garbage in [&b"hello"[..], &[0xa5; 10_000]] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("haft.db");
        fs_err::write(&file, garbage).unwrap();
        let message = refused(dir.path()).to_string();
        assert!(message.contains(file.to_str().unwrap()), "{message}");
        assert!(message.contains("move it aside"), "{message}");
        assert_eq!(fs_err::read(&file).unwrap(), garbage);
        assert!(!dir.path().join("haft.db-wal").exists());
    }
}

#[test]
fn damage_inside_the_database_is_told() {
    let (dir, store) = store();
    for _ in 0..50 {
        store.append(&[draft("ses_a", noted(json!("x".repeat(2000))))]).unwrap();
    }
    drop(store);
    behind(dir.path()).query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let file = dir.path().join("haft.db");
    let mut bytes = fs_err::read(&file).unwrap();
    bytes[8192..].fill(0xa5);
    fs_err::write(&file, bytes).unwrap();
    let damaged = SqliteStore::open(dir.path(), Options::default())
        .and_then(|store| store.append(&[draft("ses_a", noted(json!(1)))]));
    let message = damaged.unwrap_err().to_string();
    assert!(message.contains("haft.db") && message.contains("damaged"), "{message}");
}

#[test]
fn a_file_in_the_place_of_the_folder_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("state");
    fs_err::write(&file, "mine").unwrap();
    let message = refused(&file).to_string();
    assert!(message.contains(file.to_str().unwrap()), "{message}");
    assert!(message.contains("a file is in its place"), "{message}");
    assert_eq!(fs_err::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_folder_in_the_place_of_the_database_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("haft.db");
    fs_err::create_dir(&file).unwrap();
    let message = refused(dir.path()).to_string();
    assert!(message.contains(file.to_str().unwrap()), "{message}");
    assert!(message.contains("see that it is a file"), "{message}");
    assert!(file.read_dir().is_ok(), "and it is left alone");
}

#[test]
fn a_writer_that_does_not_let_go_is_told_and_reading_goes_on() {
    let (dir, store) = store();
    store.append(&[draft("ses_a", noted(json!(1)))]).unwrap();
    let other = behind(dir.path());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();

    let options = Options { busy: Duration::from_millis(50), ..Options::default() };
    let impatient = SqliteStore::open(dir.path(), options).unwrap();
    let refused = impatient.append(&[draft("ses_a", noted(json!(2)))]).unwrap_err();
    assert!(matches!(&refused, StoreError::Busy { path, .. } if path.ends_with("haft.db")));
    assert_eq!(numbers(&impatient, "ses_a"), [1]);

    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(impatient.append(&[draft("ses_a", noted(json!(2)))]).unwrap(), [2]);
}

#[test]
fn a_store_from_before_its_first_step_is_completed() {
    let dir = tempfile::tempdir().unwrap();
    fs_err::write(dir.path().join("haft.db"), "").unwrap();
    assert_eq!(open(dir.path()).append(&[draft("ses_a", noted(json!(1)))]).unwrap(), [1]);
}

#[test]
fn a_full_disk_is_told_and_nothing_is_lost() {
    let script = r#"mount -t tmpfs -o size=700k tmpfs "$0" || exit 77; exec "$@""#;
    let Some(output) = on_a_disk_of_its_own("full_disk", script, "fill the disk") else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_disk_that_cannot_be_written_is_told() {
    let script = r#"mount -t tmpfs -o ro tmpfs "$0" || exit 77; exec "$@""#;
    let Some(output) = on_a_disk_of_its_own("read_only", script, "be refused") else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("cannot make haft's state folder"), "{told}");
    assert!(told.contains("see that you may write there"), "{told}");
}

#[test]
fn a_store_that_can_no_longer_be_written_is_told() {
    let script = r#"mount -t tmpfs tmpfs "$0" || exit 77
        HAFT_STORE_TEST_PART=make "$@" || exit
        mount -o remount,bind,ro "$0" || exit 77; exec "$@""#;
    let Some(output) = on_a_disk_of_its_own("remounted", script, "be refused") else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("haft.db") && told.contains("see that"), "{told}");
}

/// Runs `script` where it may mount; `$0` is the folder to mount on, `$@` the child.
fn on_a_disk_of_its_own(name: &str, script: &str, part: &str) -> Option<Output> {
    let dir = tempfile::tempdir().unwrap();
    let output = command("unshare", part, dir.path())
        .args(["-Urm", "sh", "-c", script])
        .arg(dir.path())
        .arg(std::env::current_exe().unwrap())
        .args(ARGS)
        .output();
    match output {
        // 1 is how `unshare` itself fails; a test that fails ends with 101.
        Ok(output) if !matches!(output.status.code(), Some(1 | 77)) => Some(output),
        Ok(output) => skip(name, String::from_utf8_lossy(&output.stderr).trim()),
        Err(error) => skip(name, &format!("unshare: {error}")),
    }
}

/// Tells past the harness, which keeps what tests print to itself as long as they pass.
fn skip(name: &str, why: &str) -> Option<Output> {
    std::io::stderr().write_all(format!("SKIP {name}: {why}\n").as_bytes()).unwrap();
    None
}
