//! Failing system calls, one after the other, and a file system that is really full.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use haft_workspace::write::recover;
use rustix::fs::XattrFlags;

use super::child::{REFUSED, new, old};
use super::support::{Ground, child, child_under, has, is_root, names, report, skip};

/// The calls that writing is made of. Each is counted by itself.
pub(crate) const WRITING: [&str; 14] = [
    "openat",
    "write",
    "fchmod",
    "fchown",
    "fsetxattr",
    "fsync",
    "ftruncate",
    "renameat",
    "renameat2",
    "unlinkat",
    "flock",
    "close",
    "lseek",
    "faccessat2",
];

/// The calls that only look.
const LOOKING: [&str; 7] =
    ["read", "newfstatat", "fstat", "fstatfs", "flistxattr", "fgetxattr", "readlinkat"];

/// One write under examination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scene {
    Replace,
    Create,
    InPlace,
    Remove,
}

impl Scene {
    pub(crate) const ALL: [Self; 4] = [Self::Replace, Self::Create, Self::InPlace, Self::Remove];

    fn task(self) -> &'static str {
        match self {
            Self::Replace | Self::InPlace => "replace",
            Self::Create => "create",
            Self::Remove => "remove",
        }
    }

    pub(crate) fn prepare(self) -> Ground {
        let ground = Ground::new();
        if self != Self::Create {
            ground.put("a", old());
            let file = ground.file("a");
            fs_err::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o640))
                .unwrap();
            rustix::fs::setxattr(&file, "user.x", b"kept", XattrFlags::empty()).unwrap();
            if is_root() {
                std::os::unix::fs::chown(&file, Some(1), Some(1)).unwrap();
            }
        }
        if self == Self::InPlace {
            fs_err::hard_link(ground.file("a"), ground.outside().join("b")).unwrap();
        }
        ground
    }

    pub(crate) fn content(self, ground: &Ground) -> Option<Vec<u8>> {
        let path = match self {
            Self::InPlace => ground.outside().join("b"),
            _ => ground.file("a"),
        };
        fs_err::read(path).ok()
    }

    pub(crate) fn is_untouched(self, content: Option<&[u8]>) -> bool {
        content == (self != Self::Create).then(old).as_deref()
    }

    pub(crate) fn is_done(self, content: Option<&[u8]>) -> bool {
        content == (self != Self::Remove).then(new).as_deref()
    }

    pub(crate) fn is_whole(self, content: Option<&[u8]>) -> bool {
        self.is_untouched(content) || self.is_done(content)
    }

    pub(crate) fn assert_tidy(self, ground: &Ground, when: &str) {
        let left: Vec<String> = ground.names().into_iter().filter(|name| name != "a").collect();
        assert!(left.is_empty(), "{when}: {left:?}");
        let left = names(&ground.recovery());
        assert!(left.is_empty(), "{when}: {left:?}");
    }
}

/// How a scene ended.
pub(crate) struct Run {
    /// The exit code, if it was not killed.
    pub(crate) code: Option<i32>,
    /// What it said.
    pub(crate) stderr: String,
    /// The calls that were watched.
    pub(crate) log: String,
}

/// Plays a scene and has `fault` happen at one of its calls.
pub(crate) fn strace(ground: &Ground, scene: Scene, call: &str, fault: &str) -> Run {
    let run = watch(ground, scene, &["-e", &format!("inject={call}:{fault}")], &[call]);
    let hit = run.log.contains("INJECTED") || run.log.contains("killed by SIGKILL");
    assert!(hit, "{scene:?} never came to {call}, {fault}: {}", run.log);
    run
}

/// Counts how often a scene makes each call.
pub(crate) fn count(scene: Scene, calls: &[&'static str]) -> Vec<(&'static str, usize)> {
    let run = watch(&scene.prepare(), scene, &[], calls);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let made =
        |call: &str| run.log.lines().filter(|line| line.starts_with(&format!("{call}("))).count();
    calls.iter().map(|call| (*call, made(call))).collect()
}

/// Whether one process can watch another here.
pub(crate) fn can_watch() -> bool {
    let scene = Scene::Create;
    has("strace") && !watch(&scene.prepare(), scene, &[], &["openat"]).log.is_empty()
}

/// Plays a scene while `strace` watches the one thread that it is played in.
fn watch(ground: &Ground, scene: Scene, options: &[&str], calls: &[&str]) -> Run {
    watch_task(ground, &["once", scene.task()], options, calls)
}

/// The same for any task whose last word is where it is done.
pub(crate) fn watch_task(ground: &Ground, task: &[&str], options: &[&str], calls: &[&str]) -> Run {
    let root = ground.root().to_str().unwrap();
    let task = [task, &[root]].concat();
    let mut player = child(&task).stdin(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(player.stdout.take().unwrap()).lines().map(Result::unwrap);
    let thread = lines.find_map(|line| Some(line.split_once("thread ")?.1.to_owned())).unwrap();
    let log = ground.root().join("strace.log");
    let mut watcher = Command::new("strace")
        .args(["-p", &thread, "-o", log.to_str().unwrap()])
        .args(["-e", &format!("trace={}", calls.join(","))])
        .args(options)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It says that it is attached, or why it is not.
    BufReader::new(watcher.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    player.stdin.take().unwrap().write_all(b"!").unwrap();
    let output = player.wait_with_output().unwrap();
    watcher.wait().unwrap();
    Run {
        code: output.status.code(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        log: fs_err::read_to_string(&log).unwrap_or_default(),
    }
}

#[test]
fn every_failing_system_call_leaves_the_file_old_or_new_as_it_is_reported() {
    if !can_watch() {
        return skip("every_failing_system_call", "no strace, or it may not attach");
    }
    let faults = [
        ("EIO", [WRITING.as_slice(), &LOOKING].concat()),
        ("ENOSPC", vec!["openat", "write", "fsetxattr", "fsync", "renameat", "renameat2"]),
        ("EDQUOT", vec!["openat", "write", "fsync"]),
        ("EROFS", vec!["openat", "fchmod", "renameat", "renameat2", "unlinkat"]),
        ("EACCES", vec!["openat", "fchown", "fsetxattr", "renameat", "renameat2", "unlinkat"]),
        ("EINTR", vec!["openat", "write", "fsync", "flock", "read", "ftruncate"]),
    ];
    for scene in Scene::ALL {
        let (mut points, mut refused) = (0, 0);
        for (error, calls) in &faults {
            for (call, times) in count(scene, calls) {
                for at in 1..=times {
                    let ground = scene.prepare();
                    let run = strace(&ground, scene, call, &format!("error={error}:when={at}"));
                    points += 1;
                    let when = format!("{scene:?}, {error} at {call} {at}: {}", run.stderr);
                    let after = scene.content(&ground);
                    match run.code {
                        Some(0) => assert!(scene.is_done(after.as_deref()), "{when}"),
                        Some(REFUSED) => {
                            refused += 1;
                            assert!(scene.is_untouched(after.as_deref()), "{when}");
                        }
                        // The fault has hit what the test itself does around the write.
                        _ => assert!(scene.is_whole(after.as_deref()), "{when}"),
                    }
                    assert!(
                        !run.stderr.contains("panicked at crates/haft-workspace/src"),
                        "{when}"
                    );
                    scene.assert_tidy(&ground, &when);
                }
            }
        }
        report(&format!("{scene:?}: {points} faults, {refused} reported, 0 partial effects"));
    }
}

#[test]
fn a_disk_that_fails_for_good_leaves_a_way_back() {
    if !can_watch() {
        return skip("fails_for_good", "no strace, or it may not attach");
    }
    for scene in Scene::ALL {
        let calls = ["write", "fsync", "ftruncate", "unlinkat", "renameat", "renameat2"];
        for (call, times) in count(scene, &calls) {
            for at in 1..=times {
                let ground = scene.prepare();
                let run = strace(&ground, scene, call, &format!("error=EIO:when={at}+"));
                recover(&ground.recovery()).unwrap();
                ground.sweep();
                let when = format!("{scene:?}, EIO from {call} {at} on: {}", run.stderr);
                assert!(scene.is_whole(scene.content(&ground).as_deref()), "{when}");
                scene.assert_tidy(&ground, &when);
            }
        }
    }
}

#[test]
fn a_file_on_a_full_file_system_stays_as_it_was() {
    let ground = Ground::new();
    fs_err::create_dir(ground.root().join("small")).unwrap();
    let root = ground.root().to_str().unwrap();
    if !Command::new("unshare").args(["-Urm", "true"]).status().is_ok_and(|status| status.success())
    {
        return skip("full_file_system", "no user namespaces");
    }
    let script = "mount -t tmpfs -o size=256k none \"$1\" && shift && exec \"$@\"";
    let small = format!("{root}/small");
    let wrapper = ["unshare", "-Urm", "sh", "-c", script, "sh", &small];
    let output = child_under(&wrapper, &["full", root]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}
