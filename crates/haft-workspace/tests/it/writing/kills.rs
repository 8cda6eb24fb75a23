//! Killing the writer at random moments and at every system call.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use haft_workspace::write::{Expected, Outcome, recover};

use super::child::{new, old};
use super::faults::{Scene, WRITING, can_watch, count, strace};
use super::support::{Ground, child, random, report, skip, times, version, version_of};

#[test]
fn a_file_is_whole_whenever_its_writer_is_killed() {
    let kills = times("HAFT_KILLS", 2_000);
    let ground = Ground::new();
    ground.put("a", version(0));
    let (mut strays, mut changed) = (0, 0);
    for round in 0..kills {
        let before = version_of(&ground.get("a"));
        let durable = if round % 4 == 0 { "durable" } else { "fast" };
        kill_somewhere(&["versions", ground.folder().to_str().unwrap(), durable, ""]);
        let content = ground.get("a");
        let now = version_of(&content);
        assert!(now.is_some(), "torn after {round} kills: {} bytes", content.len());
        changed += u64::from(now != before);
        let left = ground.names().len() - 1;
        assert!(left <= 1, "{:?}", ground.names());
        assert_eq!(ground.sweep(), left);
        strays += left;
        assert_eq!(ground.names(), ["a"]);
    }
    report(&format!("{kills} kills: 0 torn, {changed} changed, {strays} strays, all swept"));
}

#[test]
fn a_file_rewritten_in_place_is_whole_after_recovery_whenever_its_writer_is_killed() {
    let kills = times("HAFT_KILLS", 2_000) / 10;
    let ground = Ground::new();
    ground.put("a", version(0));
    fs_err::hard_link(ground.file("a"), ground.outside().join("b")).unwrap();
    let recovery = ground.recovery();
    let mut restored = 0;
    for round in 0..kills {
        let folder = ground.folder();
        kill_somewhere(&[
            "versions",
            folder.to_str().unwrap(),
            "durable",
            recovery.to_str().unwrap(),
        ]);
        for one in recover(&recovery).unwrap() {
            assert!(!matches!(one.outcome, Outcome::Kept { .. }), "{one:?}");
            restored += u64::from(matches!(one.outcome, Outcome::Restored));
        }
        let content = fs_err::read(ground.outside().join("b")).unwrap();
        assert!(version_of(&content).is_some(), "torn after {round} kills: {}", content.len());
        assert_eq!(ground.get("a"), content);
        assert_eq!(ground.names(), ["a"]);
        assert_eq!(super::support::names(&recovery).len(), 0);
    }
    report(&format!("{kills} kills in place: 0 torn after recovery, {restored} restored"));
}

/// Starts the task and kills it at a random moment of its work.
pub(crate) fn kill_somewhere(task: &[&str]) {
    let mut child = child(task).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("ready")));
    let moment = Instant::now() + Duration::from_micros(random(6000));
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn a_file_is_whole_if_its_writer_is_killed_at_any_system_call() {
    if !can_watch() {
        return skip("killed_at_any_system_call", "no strace, or it may not attach");
    }
    for scene in Scene::ALL {
        let (mut points, mut changed) = (0, 0);
        for (call, times) in count(scene, &WRITING) {
            for at in 1..=times {
                let ground = scene.prepare();
                let run = strace(&ground, scene, call, &format!("signal=KILL:when={at}"));
                assert_eq!(run.code, None, "{}", run.stderr);
                points += 1;
                recover(&ground.recovery()).unwrap();
                ground.sweep();
                let after = scene.content(&ground);
                assert!(
                    scene.is_whole(after.as_deref()),
                    "{scene:?} torn at {call} {at}: {:?}",
                    after.map(|bytes| bytes.len())
                );
                changed += u64::from(scene.is_done(after.as_deref()));
                scene.assert_tidy(&ground, &format!("{scene:?}, killed at {call} {at}"));
                // What is there can be worked with: no lock and no half state stays.
                let next = ground.replace_safely("a", version(1)).unwrap();
                assert_eq!(next.before, after.as_deref().map(blake3::hash));
            }
        }
        report(&format!("{scene:?}: killed at {points} points, 0 torn, {changed} done"));
    }
}

#[test]
fn a_killed_holder_frees_its_lock_at_once() {
    let ground = Ground::new();
    ground.put("a", old());
    let mut holder = child(&["hold", ground.folder().to_str().unwrap(), "a"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("held")));
    holder.kill().unwrap();
    holder.wait().unwrap();
    let since = Instant::now();
    ground.replace("a", Expected::Content(blake3::hash(&old())), new()).unwrap();
    assert!(since.elapsed() < Duration::from_secs(1));
    assert_eq!(ground.get("a"), new());
}

#[test]
fn recovery_puts_back_a_torn_file_and_leaves_alone_what_someone_has_worked_on_since() {
    if !can_watch() {
        return skip("recovery_puts_back", "no strace, or it may not attach");
    }
    let scene = Scene::InPlace;
    let ground = scene.prepare();
    strace(&ground, scene, "ftruncate", "signal=KILL:when=1");
    let torn = ground.get("a");
    assert_eq!(version_of(&torn), None, "new content before the rest of the old");
    let backup = ground.recovery().join(&super::support::names(&ground.recovery())[0]);
    let path = fs_err::canonicalize(ground.file("a")).unwrap();

    let worked_on = [b"my own words, and ".as_slice(), &torn].concat();
    ground.put("a", &worked_on);
    let found = recover(&ground.recovery()).unwrap();
    assert_eq!(found[0].path, path);
    match &found[0].outcome {
        Outcome::Kept { backup: kept, why } => {
            assert_eq!((kept, why.as_str()), (&backup, "the file has been changed since"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(ground.get("a"), worked_on);
    assert!(backup.exists());

    ground.put("a", &torn);
    let found = recover(&ground.recovery()).unwrap();
    assert!(matches!(found[0].outcome, Outcome::Restored), "{found:?}");
    assert_eq!(ground.get("a"), old());
    assert_eq!(fs_err::read(ground.outside().join("b")).unwrap(), old());
    assert!(recover(&ground.recovery()).unwrap().is_empty());
    scene.assert_tidy(&ground, "recovered");
}
