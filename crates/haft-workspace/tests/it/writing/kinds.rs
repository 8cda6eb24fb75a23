//! Files with a mode, an owner, attributes, several names; and what is no file at all.

use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use haft_workspace::write::{self, Expected, Obstacle, Replace, WriteError};
use rustix::fs::XattrFlags;

use super::support::{Ground, as_nobody, is_root, names, open, replace_in, skip};

fn set_mode(path: &Path, mode: u32) {
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs_err::metadata(path).unwrap().mode() & 0o7777
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = Vec::with_capacity(4096);
    rustix::fs::getxattr(path, name, rustix::buffer::spare_capacity(&mut value)).ok()?;
    Some(value)
}

/// An access list in the kernel's own layout: owner, one more user, group, mask, others.
fn access_list() -> Vec<u8> {
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, bits, id) in [
        (1_u16, 6_u16, u32::MAX),
        (2, 6, 1),
        (4, 4, u32::MAX),
        (0x10, 6, u32::MAX),
        (0x20, 0, u32::MAX),
    ] {
        list.extend(tag.to_le_bytes());
        list.extend(bits.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

#[test]
fn the_mode_stays() {
    let ground = Ground::new();
    for bits in [0o600, 0o640, 0o664, 0o755, 0o700, 0o666, 0o1644, 0o2755, 0o4755] {
        ground.put("a", "old");
        set_mode(&ground.file("a"), bits);
        ground.replace("a", Expected::Anything, "new").unwrap();
        assert_eq!(mode(&ground.file("a")), bits);
    }
}

#[test]
fn a_new_file_has_the_mode_that_was_asked_for_or_the_usual_one() {
    let ground = Ground::new();
    ground.put("usual", "");
    let dir = open(&ground.folder());
    for (name, bits) in [("a", Some(0o600)), ("b", Some(0o755)), ("c", Some(0o444)), ("d", None)] {
        let what = Replace {
            dir: dir.as_fd(),
            name: name.as_ref(),
            expected: Expected::Absent,
            durable: false,
            mode: bits,
            recovery: None,
        };
        let written = write::replace(&what, &mut |_| Ok(b"x".to_vec())).unwrap();
        assert!(written.created && !written.durable);
        let expected = bits.unwrap_or_else(|| mode(&ground.file("usual")));
        assert_eq!(mode(&ground.file(name)), expected);
    }
}

#[test]
fn attributes_and_access_lists_stay_and_none_is_added() {
    let ground = Ground::new();
    let file = ground.file("a");
    ground.put("a", "old");
    rustix::fs::setxattr(&file, "user.x", b"one", XattrFlags::empty()).unwrap();
    rustix::fs::setxattr(&file, "user.empty", b"", XattrFlags::empty()).unwrap();
    let list = "system.posix_acl_access";
    if rustix::fs::setxattr(&file, list, &access_list(), XattrFlags::empty()).is_err() {
        skip("attributes_and_access_lists_stay", "no access lists on this file system");
    }
    let (bits, before) = (mode(&file), attribute(&file, list));
    let written = ground.replace("a", Expected::Anything, "new").unwrap();
    assert!(!written.in_place);
    assert_eq!(attribute(&file, "user.x").as_deref(), Some(b"one".as_slice()));
    assert_eq!(attribute(&file, "user.empty").as_deref(), Some(b"".as_slice()));
    assert_eq!((mode(&file), attribute(&file, list)), (bits, before));

    // A default list of the folder goes to files that are new, and not to those that are old.
    ground.put("b", "old");
    set_mode(&ground.file("b"), 0o640);
    let default = "system.posix_acl_default";
    if rustix::fs::setxattr(ground.folder(), default, &access_list(), XattrFlags::empty()).is_err()
    {
        return skip("none_is_added", "no access lists on this file system");
    }
    ground.replace("b", Expected::Anything, "new").unwrap();
    assert_eq!((mode(&ground.file("b")), attribute(&ground.file("b"), list)), (0o640, None));
    ground.replace("c", Expected::Absent, "new").unwrap();
    assert!(attribute(&ground.file("c"), list).is_some());
}

#[test]
fn the_owner_stays_when_root_writes() {
    if !is_root() {
        return skip("the_owner_stays_when_root_writes", "not root");
    }
    let ground = Ground::new();
    ground.put("a", "old");
    std::os::unix::fs::chown(ground.file("a"), Some(1), Some(2)).unwrap();
    set_mode(&ground.file("a"), 0o4755);
    let written = ground.replace("a", Expected::Anything, "new").unwrap();
    assert!(!written.in_place);
    let now = fs_err::metadata(ground.file("a")).unwrap();
    assert_eq!((now.uid(), now.gid(), now.mode() & 0o7777), (1, 2, 0o4755));
}

#[test]
fn a_file_of_another_owner_is_rewritten_in_place_and_stays_theirs() {
    if !is_root() {
        return skip("a_file_of_another_owner", "only root can make one");
    }
    let ground = Ground::new();
    ground.put("a", "old");
    set_mode(&ground.file("a"), 0o664);
    std::os::unix::fs::chown(ground.file("a"), Some(1), Some(65534)).unwrap();
    for path in [ground.folder(), ground.recovery()] {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
    set_mode(&ground.folder(), 0o1777);
    let (folder, recovery) = (ground.folder(), ground.recovery());
    let task = |recovery| ["report", folder.to_str().unwrap(), "a", recovery];
    let Some(output) = as_nobody(&ground, &task("")) else {
        return skip("a_file_of_another_owner", "no setpriv");
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("its owner or group could not be kept"), "{said}");
    assert_eq!(ground.get("a"), b"old");
    let output = as_nobody(&ground, &task(recovery.to_str().unwrap())).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("in_place: true"), "{said}");
    let now = fs_err::metadata(ground.file("a")).unwrap();
    assert_eq!((now.uid(), now.gid(), now.mode() & 0o7777), (1, 65534, 0o664));
    assert_eq!(ground.get("a"), b"new");
    assert_eq!(ground.names(), ["a"]);
    assert_eq!(names(&ground.recovery()).len(), 0);
}

#[test]
fn a_file_in_a_folder_that_is_closed_is_rewritten_in_place_or_refused() {
    let ground = Ground::new();
    ground.put("a", "old");
    set_mode(&ground.file("a"), 0o666);
    set_mode(&ground.recovery(), 0o777);
    set_mode(&ground.folder(), 0o555);
    let (folder, recovery) = (ground.folder(), ground.recovery());
    let task = |name, recovery| ["report", folder.to_str().unwrap(), name, recovery];
    let Some(output) = as_nobody(&ground, &task("a", "")) else {
        return skip("a_folder_that_is_closed", "no setpriv");
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("no file can be created in its folder"), "{said}");
    let output = as_nobody(&ground, &task("b", "")).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("Denied"), "{said}");
    assert_eq!(ground.get("a"), b"old");
    let output = as_nobody(&ground, &task("a", recovery.to_str().unwrap())).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("in_place: true"), "{said}");
    assert_eq!(ground.get("a"), b"new");
    set_mode(&ground.folder(), 0o755);
    assert_eq!(ground.names(), ["a"]);
}

#[test]
fn a_read_only_file_is_refused_and_not_replaced() {
    let ground = Ground::new();
    ground.put("a", "old");
    set_mode(&ground.file("a"), 0o444);
    set_mode(&ground.folder(), 0o777);
    let (folder, recovery) = (ground.folder(), ground.recovery());
    let error = ground.replace_safely("a", "new").unwrap_err();
    assert!(matches!(error, WriteError::ReadOnly { .. }), "{error:?}");
    let error = write::remove(open(&folder).as_fd(), "a".as_ref(), Expected::Anything, false);
    assert!(matches!(error, Err(WriteError::ReadOnly { .. })), "{error:?}");
    // The owner may not write, though others might: the system's own rule, for all but root.
    for bits in [0o444, 0o466] {
        set_mode(&ground.file("a"), bits);
        let task = ["report", folder.to_str().unwrap(), "a", recovery.to_str().unwrap()];
        if is_root() {
            std::os::unix::fs::chown(ground.file("a"), Some(65534), Some(65534)).unwrap();
        }
        let Some(output) = as_nobody(&ground, &task) else {
            return skip("a_read_only_file", "no setpriv");
        };
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("ReadOnly"), "{said}");
        assert_eq!(mode(&ground.file("a")), bits);
    }
    assert_eq!(ground.get("a"), b"old");
    assert_eq!(ground.names(), ["a"]);
}

#[test]
fn all_names_of_a_file_show_the_new_content() {
    let ground = Ground::new();
    ground.put("a", "old");
    fs_err::hard_link(ground.file("a"), ground.outside().join("b")).unwrap();
    let error = ground.replace("a", Expected::Anything, "new").unwrap_err();
    assert!(matches!(error, WriteError::NoRecovery { why: Obstacle::Links, .. }), "{error:?}");
    assert_eq!(ground.get("a"), b"old");
    for content in ["new and longer", "short", ""] {
        let written = ground.replace_safely("a", content).unwrap();
        assert!(written.in_place);
        assert_eq!(ground.get("a"), content.as_bytes());
        assert_eq!(fs_err::read(ground.outside().join("b")).unwrap(), content.as_bytes());
    }
    assert_eq!(names(&ground.recovery()).len(), 0);
    assert_eq!(ground.names(), ["a"]);
}

#[test]
fn what_is_not_a_regular_file_is_refused_at_once() {
    let ground = Ground::new();
    fs_err::create_dir(ground.file("dir")).unwrap();
    let dir = open(&ground.folder());
    rustix::fs::mknodat(&dir, "fifo", rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(ground.file("socket")).unwrap();
    fs_err::os::unix::fs::symlink("../outside/x", ground.file("link")).unwrap();
    let here = ground.folder();
    let folders: [(&Path, &str, &str); 7] = [
        (&here, "dir", "a directory"),
        (&here, "fifo", "a FIFO"),
        (&here, "socket", "a socket"),
        (Path::new("/dev"), "null", "a device"),
        (Path::new("/dev"), "full", "a device"),
        (Path::new("/proc/self"), "comm", "a table of the kernel"),
        (Path::new("/proc/sys/kernel"), "hostname", "a table of the kernel"),
    ];
    let recovery = ground.recovery();
    for (folder, name, kind) in folders {
        let error =
            replace_in(folder, name, Expected::Anything, true, Some(&recovery), &mut |_| {
                panic!("must not be asked")
            })
            .unwrap_err();
        assert!(
            matches!(error, WriteError::NotAFile { kind: found, .. } if found == kind),
            "{error:?}"
        );
        let error = write::remove(open(folder).as_fd(), name.as_ref(), Expected::Anything, true)
            .unwrap_err();
        assert!(matches!(error, WriteError::NotAFile { .. }), "{error:?}");
    }
    let error = ground.replace_safely("link", "new").unwrap_err();
    assert!(matches!(error, WriteError::Swapped { .. }), "{error:?}");
    drop(socket);
    assert_eq!(ground.names(), ["dir", "fifo", "link", "socket"]);
    assert_eq!(names(&ground.outside()).len(), 0);
}

#[test]
fn a_file_mounted_by_itself_is_rewritten_in_place() {
    let ground = Ground::new();
    ground.put("a", "old");
    ground.put("b", "old");
    let possible = std::process::Command::new("unshare")
        .args(["-Urm", "true"])
        .status()
        .is_ok_and(|status| status.success());
    if !possible {
        return skip("a_file_mounted_by_itself", "no user namespaces");
    }
    let (folder, recovery) = (ground.folder(), ground.recovery());
    let script = "mount --bind \"$1/a\" \"$1/b\" && shift && exec \"$@\"";
    let wrapper = ["unshare", "-Urm", "sh", "-c", script, "sh", folder.to_str().unwrap()];
    let task = ["report", folder.to_str().unwrap(), "b", recovery.to_str().unwrap()];
    let output = super::support::child_under(&wrapper, &task).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("in_place: true"), "{said}");
    assert_eq!((ground.get("a"), ground.get("b")), (b"new".to_vec(), b"old".to_vec()));
}
