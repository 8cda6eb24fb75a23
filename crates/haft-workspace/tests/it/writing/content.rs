//! What is expected, what is written, and what someone else does in between.

use haft_workspace::write::{self, Expected, WriteError};
use proptest::prelude::*;
use rustix::fs::Timestamps;
use std::os::fd::AsFd as _;

use super::support::{Ground, names, open};

fn hash(content: &str) -> blake3::Hash {
    blake3::hash(content.as_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..Default::default() })]

    #[test]
    fn any_content_is_read_and_written_as_it_is(
        old in prop::collection::vec(any::<u8>(), 0..70_000),
        new in prop::collection::vec(any::<u8>(), 0..70_000),
    ) {
        let ground = Ground::new();
        let created = ground.replace("a", Expected::Absent, &old).unwrap();
        prop_assert!(created.created && created.before.is_none());
        let mut seen = None;
        let written = ground.change("a", Expected::Content(created.after), &mut |before| {
            seen = before.map(<[u8]>::to_vec);
            Ok(new.clone())
        }).unwrap();
        prop_assert_eq!(seen, Some(old.clone()));
        prop_assert_eq!(written.before, Some(blake3::hash(&old)));
        prop_assert_eq!(written.after, blake3::hash(&new));
        prop_assert_eq!(written.bytes, new.len() as u64);
        prop_assert!(written.durable && !written.in_place && !written.created);
        prop_assert_eq!(ground.get("a"), new.clone());
        fs_err::hard_link(ground.file("a"), ground.file("b")).unwrap();
        let written = ground.replace_safely("b", &old).unwrap();
        prop_assert!(written.in_place && written.durable);
        prop_assert_eq!(ground.get("a"), old);
        prop_assert_eq!(ground.names(), ["a", "b"]);
    }
}

#[test]
fn a_content_that_was_not_expected_is_refused_and_not_touched() {
    let ground = Ground::new();
    ground.put("a", "theirs");
    let error = ground
        .change("a", Expected::Content(hash("seen")), &mut |_| panic!("must not be asked"))
        .unwrap_err();
    assert!(matches!(error, WriteError::Changed { now, .. } if now == hash("theirs")), "{error:?}");
    assert!(error.to_string().contains("`a` has changed"), "{error}");
    let error = ground.replace("a", Expected::Absent, "mine").unwrap_err();
    assert!(matches!(error, WriteError::Exists { .. }), "{error:?}");
    let error = ground.replace("b", Expected::Content(hash("seen")), "mine").unwrap_err();
    assert!(matches!(error, WriteError::Missing { .. }), "{error:?}");
    assert_eq!(ground.get("a"), b"theirs");
    assert_eq!(ground.names(), ["a"]);
}

#[test]
fn a_change_that_declines_changes_nothing() {
    let ground = Ground::new();
    ground.put("a", "old");
    for name in ["a", "b"] {
        let error = ground
            .change(name, Expected::Anything, &mut |_| Err(WriteError::refused("not unique")))
            .unwrap_err();
        assert_eq!(error.to_string(), "not unique");
    }
    assert_eq!(ground.get("a"), b"old");
    assert_eq!(ground.names(), ["a"]);
}

/// Each of these is done to the file by someone without a lock while the change is being made.
#[test]
fn what_someone_else_saves_meanwhile_is_kept_and_reported() {
    type Deed = fn(&Ground);
    let deeds: [(&str, Deed); 5] = [
        ("renamed over", |ground| {
            ground.put("new", "theirs");
            fs_err::rename(ground.file("new"), ground.file("a")).unwrap();
        }),
        ("renamed over with the same content", |ground| {
            ground.put("new", "old");
            fs_err::rename(ground.file("new"), ground.file("a")).unwrap();
        }),
        ("same length, same times", |ground| {
            let path = ground.file("a");
            let stat = rustix::fs::stat(&path).unwrap();
            ground.put("a", "OLD");
            let time = |seconds, nanos: u64| rustix::fs::Timespec {
                tv_sec: seconds,
                tv_nsec: i64::try_from(nanos).unwrap(),
            };
            let times = Timestamps {
                last_access: time(stat.st_atime, stat.st_atime_nsec),
                last_modification: time(stat.st_mtime, stat.st_mtime_nsec),
            };
            rustix::fs::futimens(open(&path), &times).unwrap();
        }),
        ("appended to", |ground| ground.put("a", "old and more")),
        ("emptied", |ground| ground.put("a", "")),
    ];
    for recoverable in [false, true] {
        for (deed, act) in deeds {
            let ground = Ground::new();
            ground.put("a", "old");
            if recoverable {
                fs_err::hard_link(ground.file("a"), ground.outside().join("b")).unwrap();
            }
            let recovery = ground.recovery();
            let error = super::support::replace_in(
                &ground.folder(),
                "a",
                Expected::Content(hash("old")),
                true,
                recoverable.then_some(recovery.as_path()),
                &mut |_| {
                    act(&ground);
                    Ok(b"mine".to_vec())
                },
            )
            .unwrap_err();
            let theirs = ground.get("a");
            assert_ne!(theirs, b"mine", "{deed}");
            match error {
                WriteError::Changed { now, .. } => assert_eq!(now, blake3::hash(&theirs), "{deed}"),
                // In place, the inode that would be written is not the one that was locked.
                WriteError::Swapped { .. } if recoverable && deed.starts_with("renamed") => {}
                other => panic!("{deed}: {other:?}"),
            }
            assert_eq!(ground.names(), ["a"], "{deed}");
            assert_eq!(names(&recovery).len(), 0, "{deed}");
        }
    }
}

#[test]
fn a_name_that_vanishes_or_appears_meanwhile_is_reported() {
    let ground = Ground::new();
    ground.put("a", "old");
    let error = ground
        .change("a", Expected::Anything, &mut |_| {
            fs_err::remove_file(ground.file("a")).unwrap();
            Ok(b"mine".to_vec())
        })
        .unwrap_err();
    assert!(matches!(error, WriteError::Missing { .. }), "{error:?}");
    let error = ground
        .change("a", Expected::Anything, &mut |_| {
            ground.put("a", "theirs");
            Ok(b"mine".to_vec())
        })
        .unwrap_err();
    assert!(matches!(error, WriteError::Exists { .. }), "{error:?}");
    assert_eq!(ground.get("a"), b"theirs");
    let error = ground
        .change("a", Expected::Anything, &mut |_| {
            fs_err::remove_file(ground.file("a")).unwrap();
            fs_err::os::unix::fs::symlink("../outside/x", ground.file("a")).unwrap();
            Ok(b"mine".to_vec())
        })
        .unwrap_err();
    assert!(matches!(error, WriteError::Swapped { .. }), "{error:?}");
    assert_eq!(ground.names(), ["a"]);
    assert_eq!(names(&ground.outside()).len(), 0);
}

#[test]
fn a_file_is_removed_only_if_it_is_the_one_that_was_seen() {
    let ground = Ground::new();
    ground.put("a", "old");
    let dir = open(&ground.folder());
    let remove = |name: &str, expected| write::remove(dir.as_fd(), name.as_ref(), expected, true);
    let error = remove("a", Expected::Content(hash("seen"))).unwrap_err();
    assert!(matches!(error, WriteError::Changed { now, .. } if now == hash("old")), "{error:?}");
    let error = remove("a", Expected::Absent).unwrap_err();
    assert!(matches!(error, WriteError::Exists { .. }), "{error:?}");
    assert_eq!(ground.get("a"), b"old");
    let removed = remove("a", Expected::Content(hash("old"))).unwrap();
    assert_eq!((removed.before, removed.bytes, removed.durable), (hash("old"), 3, true));
    assert_eq!(ground.names().len(), 0);
    let error = remove("a", Expected::Anything).unwrap_err();
    assert!(matches!(error, WriteError::Missing { .. }), "{error:?}");
}

#[test]
fn a_folder_that_is_only_named_by_its_descriptor_will_do() {
    use rustix::fs::{CWD, Mode, OFlags};
    let ground = Ground::new();
    ground.put("a", "old");
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::openat(CWD, ground.folder(), flags, Mode::empty()).unwrap();
    for name in ["a", "b"] {
        let what = write::Replace {
            dir: dir.as_fd(),
            name: name.as_ref(),
            expected: Expected::Anything,
            durable: true,
            mode: None,
            recovery: None,
        };
        let written = write::replace(&what, &mut |_| Ok(b"new".to_vec())).unwrap();
        assert!(written.durable);
    }
    ground.put(".haft-1-0123456789abcdef.tmp", "");
    assert_eq!(write::sweep(dir.as_fd()).unwrap(), 1);
    assert_eq!(ground.names(), ["a", "b"]);
}

#[test]
fn a_name_must_be_one_component() {
    let ground = Ground::new();
    for name in ["", ".", "..", "x/y", "../outside/a", "/etc/passwd", "a\0b"] {
        let error = ground.replace(name, Expected::Anything, "x").unwrap_err();
        assert!(matches!(error, WriteError::BadName { .. }), "{name:?}: {error:?}");
    }
    let long = "x".repeat(255);
    ground.replace(&long, Expected::Absent, "x").unwrap();
    ground.replace(&long, Expected::Anything, "y").unwrap();
    assert_eq!(ground.get(&long), b"y");
}
