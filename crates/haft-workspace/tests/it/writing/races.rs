//! Many writers at once, and someone who swaps what the names mean.

use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_workspace::write::{Expected, WriteError};
use rustix::fs::RenameFlags;

use super::child::added;
use super::faults::{Scene, can_watch, strace};
use super::support::{Ground, child, open, random, replace_in, report, skip, times};

const WRITERS: usize = 8;

fn zeros() -> String {
    "00000000\n".repeat(WRITERS)
}

fn all(count: usize) -> Vec<u8> {
    format!("{count:08}\n").repeat(WRITERS).into_bytes()
}

fn finish(children: Vec<Child>) {
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
}

#[test]
fn no_edit_of_eight_processes_is_lost() {
    for _ in 0..times("HAFT_ROUNDS", 5) {
        let ground = Ground::new();
        ground.put("a", zeros());
        let folder = ground.folder();
        let folder = folder.to_str().unwrap();
        let start = |index: usize| {
            child(&["slots", folder, "a", &index.to_string(), "100", ""]).spawn().unwrap()
        };
        finish((0..WRITERS).map(start).collect());
        assert_eq!(ground.get("a"), all(100));
        assert_eq!(ground.names(), ["a"]);
    }
}

#[test]
fn no_edit_through_different_hard_links_is_lost() {
    let ground = Ground::new();
    ground.put("a", zeros());
    fs_err::hard_link(ground.file("a"), ground.outside().join("b")).unwrap();
    let places = [(ground.folder(), "a"), (ground.outside(), "b")];
    let recovery = ground.recovery();
    let recovery = recovery.to_str().unwrap();
    let start = |index: usize| {
        let (folder, name) = &places[index % 2];
        let folder = folder.to_str().unwrap();
        child(&["slots", folder, name, &index.to_string(), "20", recovery]).spawn().unwrap()
    };
    finish((0..WRITERS).map(start).collect());
    assert_eq!(ground.get("a"), all(20));
    assert_eq!(fs_err::read(ground.outside().join("b")).unwrap(), all(20));
    assert_eq!(super::support::names(&ground.recovery()).len(), 0);
}

#[test]
fn no_edit_of_eight_threads_is_lost() {
    let ground = Ground::new();
    ground.put("a", zeros());
    std::thread::scope(|scope| {
        for index in 0..WRITERS {
            let folder = ground.folder();
            scope.spawn(move || {
                for _ in 0..100 {
                    let add = &mut |content: Option<&[u8]>| Ok(added(content, index));
                    replace_in(&folder, "a", Expected::Anything, false, None, add).unwrap();
                }
            });
        }
    });
    assert_eq!(ground.get("a"), all(100));
    assert_eq!(ground.names(), ["a"]);
}

#[test]
fn of_two_who_create_a_file_one_wins_and_the_other_is_told() {
    for _ in 0..200 {
        let ground = Ground::new();
        let gate = std::sync::Barrier::new(2);
        let create = |content: &'static str| {
            ground.change("a", Expected::Absent, &mut |before| {
                assert!(before.is_none());
                gate.wait();
                Ok(content.into())
            })
        };
        let (one, two) = std::thread::scope(|scope| {
            let one = scope.spawn(|| create("one"));
            let two = scope.spawn(|| create("two"));
            (one.join().unwrap(), two.join().unwrap())
        });
        let winner = match (one, two) {
            (Ok(written), Err(WriteError::Exists { .. })) if written.created => "one",
            (Err(WriteError::Exists { .. }), Ok(written)) if written.created => "two",
            other => panic!("{other:?}"),
        };
        assert_eq!(ground.get("a"), winner.as_bytes());
        assert_eq!(ground.names(), ["a"]);
    }
}

/// Swaps two names of a folder until told to stop.
fn swap_until(stop: &AtomicBool, folder: &std::path::Path, one: &str, two: &str, turn: &Mutex<()>) {
    let dir = open(folder);
    while !stop.load(Ordering::Relaxed) {
        // Long enough at times for a whole write, short enough at times to fall into one.
        for _ in 0..random(1 << random(13)) {
            std::hint::spin_loop();
        }
        let _turn = turn.lock().unwrap();
        swap(&dir, one, two);
    }
}

fn swap(dir: &fs_err::File, one: &str, two: &str) {
    rustix::fs::renameat_with(dir, one, dir, two, RenameFlags::EXCHANGE).unwrap();
}

/// An editor that takes no lock saves after our last look, while the rename is held up.
#[test]
fn what_is_saved_between_the_last_look_and_a_durable_rename_is_kept() {
    if !can_watch() {
        return skip("what_is_saved_between", "no strace, or it may not attach");
    }
    let scene = Scene::Replace;
    let ground = scene.prepare();
    let run = std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            strace(&ground, scene, "renameat2", "error=EINTR:delay_enter=8000000:when=1")
        });
        let is_ready = || {
            let mut others = ground.names().into_iter().filter(|name| name != "a");
            others.next().is_some_and(|name| {
                fs_err::metadata(ground.file(&name)).is_ok_and(|meta| meta.mode() & 0o777 == 0o640)
            })
        };
        while !is_ready() && !run.is_finished() {
            std::hint::spin_loop();
        }
        // The mode is set last; from here to the rename it is one sync.
        let since = std::time::Instant::now();
        while since.elapsed() < std::time::Duration::from_secs(3) {
            std::thread::yield_now();
        }
        fs_err::write(ground.outside().join("saved"), "theirs").unwrap();
        fs_err::rename(ground.outside().join("saved"), ground.file("a")).unwrap();
        run.join().unwrap()
    });
    assert!(run.stderr.contains("Changed"), "{}", run.stderr);
    assert_eq!(ground.get("a"), b"theirs");
    assert_eq!(ground.names(), ["a"]);
}

#[test]
fn a_link_swapped_in_for_the_name_never_leads_a_write_outside() {
    let races = times("HAFT_RACES", 20_000);
    let ground = Ground::new();
    let secret = ground.outside().join("secret");
    fs_err::write(&secret, "outside").unwrap();
    ground.put("a", "inside");
    let link = || {
        fs_err::os::unix::fs::symlink("../outside/secret", ground.file("c")).unwrap();
        fs_err::rename(ground.file("c"), ground.file("b")).unwrap();
    };
    link();
    let turn = Mutex::new(());
    let stop = AtomicBool::new(false);
    let (mut written, mut replaced, mut swapped, mut other) = (0, 0, 0, 0);
    let (mut entered, mut attempts) = (0, 0_u64);
    std::thread::scope(|scope| {
        scope.spawn(|| swap_until(&stop, &ground.folder(), "a", "b", &turn));
        let recovery = ground.recovery();
        // Only those count that found a file at first; the others were refused at once.
        while entered < races {
            attempts += 1;
            let content = format!("new {attempts}");
            let recovery = attempts.is_multiple_of(2).then_some(recovery.as_path());
            let result = replace_in(
                &ground.folder(),
                "a",
                Expected::Anything,
                attempts.is_multiple_of(8),
                recovery,
                &mut |before| {
                    entered += 1;
                    assert_ne!(before, Some(b"outside".as_slice()));
                    Ok(content.clone().into_bytes())
                },
            );
            match result {
                Ok(_) => written += 1,
                Err(WriteError::Swapped { .. }) => swapped += 1,
                Err(_) => other += 1,
            }
            let _turn = turn.lock().unwrap();
            if !ground.file("a").is_symlink() && !ground.file("b").is_symlink() {
                // The new file took the link's place; `b` is a link again for the next race.
                link();
                replaced += 1;
            } else if ground.file("a").is_symlink() {
                // Begin with the file, so that the swap falls into the write.
                swap(&open(&ground.folder()), "a", "b");
            }
            assert_eq!(fs_err::read(&secret).unwrap(), b"outside");
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs_err::read(&secret).unwrap(), b"outside");
    assert_eq!(super::support::names(&ground.outside()), ["secret"]);
    assert_eq!(ground.sweep(), 0);
    assert!(written > 0 && swapped > 0, "{written} written, {swapped} swapped");
    report(&format!(
        "{entered} races in {attempts} attempts: {written} written ({replaced} over the link \
         itself), {swapped} swapped, {other} otherwise refused, 0 outside"
    ));
}

#[test]
fn a_link_swapped_in_for_the_folder_has_no_effect() {
    let ground = Ground::new();
    ground.put("a", "old");
    fs_err::write(ground.outside().join("a"), "outside").unwrap();
    fs_err::os::unix::fs::symlink("outside", ground.root().join("swap")).unwrap();
    let dir = open(&ground.folder());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| swap_until(&stop, ground.root(), "folder", "swap", &Mutex::new(())));
        for race in 0..2000 {
            let what = haft_workspace::write::Replace {
                dir: dir.as_fd(),
                name: "a".as_ref(),
                expected: Expected::Anything,
                durable: false,
                mode: None,
                recovery: None,
            };
            let write = &mut |_: Option<&[u8]>| Ok(format!("new {race}").into_bytes());
            haft_workspace::write::replace(&what, write).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs_err::read(ground.outside().join("a")).unwrap(), b"outside");
    assert_eq!(super::support::names(&ground.outside()), ["a"]);
}
