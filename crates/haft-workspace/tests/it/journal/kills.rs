//! Killing a change of five files at random moments and at every system call, and failing each call.

use haft_workspace::journal::{Options, Verdict};

use super::child::{put, version_of};
use super::world::open;
use crate::writing::child::REFUSED;
use crate::writing::faults::{Run, can_watch, watch_task};
use crate::writing::kills::kill_somewhere;
use crate::writing::support::{Ground, names, report, skip, times};

/// The calls that a change is made of.
const CHANGING: [&str; 17] = [
    "openat",
    "openat2",
    "write",
    "fchmod",
    "fsync",
    "fdatasync",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "flock",
    "close",
    "mkdir",
    "mkdirat",
    "newfstatat",
    "read",
];

#[test]
fn five_files_are_of_one_version_whenever_their_writer_is_killed() {
    let kills = times("HAFT_KILLS", 2_000);
    let ground = Ground::new();
    put(&ground.folder(), 0);
    let root = ground.root().to_str().unwrap();
    let (mut completed, mut taken_back, mut before) = (0, 0, 0);
    for round in 0..kills {
        kill_somewhere(&["transactions", root]);
        let (workspace, journal) = open(ground.root(), Options::default());
        for one in journal.recover(&workspace).unwrap().0 {
            match one.verdict {
                Verdict::Completed => completed += 1,
                Verdict::TakenBack => taken_back += 1,
                other => panic!("{other:?} after {round} kills"),
            }
        }
        let now = version_of(&ground.folder());
        assert!(now.is_some_and(|now| now >= before), "torn after {round} kills: {now:?}");
        before = now.unwrap();
        assert_tidy(&ground, "after recovery");
        if round % 100 == 0 {
            journal.forget("session").unwrap();
        }
    }
    report(&format!(
        "{kills} kills: 0 torn, at version {before}; {taken_back} taken back, {completed} completed"
    ));
}

#[test]
fn five_files_are_of_one_version_if_their_writer_is_killed_at_any_system_call() {
    if !can_watch() {
        return skip("five_files_killed_at_any_call", "no strace, or it may not attach");
    }
    let mut done = 0;
    let points = at_every_call(|ground, call, at| {
        let run = fault(ground, call, &format!("signal=KILL:when={at}"));
        assert_eq!(run.code, None, "{}", run.stderr);
        let (workspace, journal) = open(ground.root(), Options::default());
        for one in journal.recover(&workspace).unwrap().0 {
            assert!(!matches!(one.verdict, Verdict::Stuck(_)), "{call} {at}: {one:?}");
        }
        let version = version_of(&ground.folder());
        assert!(version.is_some(), "torn, killed at {call} {at}");
        done += u64::from(version == Some(3));
        assert_tidy(ground, &format!("killed at {call} {at}"));
    });
    report(&format!("a change of five files, killed at {points} points: 0 torn, {done} done"));
}

#[test]
fn every_failing_system_call_leaves_all_five_files_old_or_new_as_it_is_reported() {
    if !can_watch() {
        return skip("five_files_every_failing_call", "no strace, or it may not attach");
    }
    let mut refused = 0;
    let errors = ["EIO", "ENOSPC", "EROFS", "EACCES"];
    let points = at_every_call(|ground, call, at| {
        let error = errors[at % errors.len()];
        let run = fault(ground, call, &format!("error={error}:when={at}"));
        let when = format!("{error} at {call} {at}: {}", run.stderr);
        let (workspace, journal) = open(ground.root(), Options::default());
        let version = version_of(&ground.folder());
        match run.code {
            Some(0) => assert_eq!(version, Some(3), "{when}"),
            Some(REFUSED) => {
                refused += 1;
                assert_eq!(version, Some(2), "{when}");
            }
            // The fault has hit what the test itself does around the change.
            _ => assert!(version.is_some(), "{when}"),
        }
        journal.recover(&workspace).unwrap();
        assert!(version_of(&ground.folder()).is_some(), "{when}");
        assert!(!run.stderr.contains("panicked at crates/haft-workspace/src"), "{when}");
        assert_tidy(ground, &when);
    });
    report(&format!("a change of five files: {points} faults, {refused} reported, 0 partial"));
}

/// Calls `check` with a fresh ground for each call that one change makes.
fn at_every_call(mut check: impl FnMut(&Ground, &str, usize)) -> usize {
    let ground = prepared();
    let run = watch_task(&ground, &["transaction"], &[], &CHANGING);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(version_of(&ground.folder()), Some(3));
    let mut points = 0;
    for call in CHANGING {
        let made = |line: &&str| line.starts_with(&format!("{call}("));
        for at in 1..=run.log.lines().filter(made).count() {
            points += 1;
            check(&prepared(), call, at);
        }
    }
    points
}

fn prepared() -> Ground {
    let ground = Ground::new();
    put(&ground.folder(), 2);
    ground
}

fn fault(ground: &Ground, call: &str, fault: &str) -> Run {
    watch_task(ground, &["transaction"], &["-e", &format!("inject={call}:{fault}")], &[call])
}

fn assert_tidy(ground: &Ground, when: &str) {
    let mut left = Vec::new();
    let mut waiting = vec![ground.folder()];
    while let Some(folder) = waiting.pop() {
        for name in names(&folder) {
            if folder.join(&name).is_dir() {
                waiting.push(folder.join(&name));
            }
            left.extend(Some(name).filter(|name| name.starts_with(".haft")));
        }
    }
    let journals = ground.root().join("state/journal");
    for journal in journals.exists().then(|| names(&journals)).into_iter().flatten() {
        for folder in ["open", "stuck"] {
            let folder = journals.join(&journal).join(folder);
            left.extend(folder.exists().then(|| names(&folder)).into_iter().flatten());
        }
    }
    assert!(left.is_empty(), "{when}: {left:?}");
}
