//! What this program does when another test has started it as a child.

use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use haft_workspace::write::{self, Expected, WriteError};

use super::support::{TASK, names, open, replace_in, variable, version};

/// The child was refused by the code under test, as opposed to having failed otherwise.
pub(crate) const REFUSED: i32 = 10;

/// Does nothing in an ordinary run.
#[test]
fn does_what_the_parent_asks() {
    let Some(task) = variable(TASK) else { return };
    let task: Vec<&str> = task.split('\n').collect();
    let result = match task.as_slice() {
        ["once", scene, root] => once(scene, Path::new(root)),
        ["versions", folder, durable, recovery] => versions(folder, durable, recovery),
        ["slots", folder, name, index, count, recovery] => {
            slots(folder, name, index.parse().unwrap(), count.parse().unwrap(), recovery)
        }
        ["hold", folder, name] => hold(folder, name),
        ["transactions", root] => crate::journal::child::transactions(Path::new(root)),
        ["transaction", root] => {
            wait_until_watched();
            crate::journal::child::transaction(Path::new(root))
        }
        ["full", root] => full(Path::new(root)),
        ["report", folder, name, recovery] => report(folder, name, recovery),
        other => panic!("no such task: {other:?}"),
    };
    match result {
        Ok(()) => std::process::exit(0),
        Err(error) => {
            let line = format!("{error:?}\n{error}\n");
            drop(std::io::stderr().write_all(line.as_bytes()));
            std::process::exit(REFUSED);
        }
    }
}

/// The old and the new content of the sweeps.
pub(crate) fn old() -> Vec<u8> {
    version(3)
}

pub(crate) fn new() -> Vec<u8> {
    version(6)
}

/// Says which thread it is, and waits until it is being watched.
fn wait_until_watched() {
    let thread = fs_err::read_link("/proc/thread-self").unwrap();
    let line = format!("thread {}\n", thread.file_name().unwrap().display());
    std::io::stdout().write_all(line.as_bytes()).unwrap();
    // Not by `read`, which is one of the calls that are counted.
    let mut byte = [0];
    rustix::io::readv(std::io::stdin(), &mut [std::io::IoSliceMut::new(&mut byte)]).unwrap();
}

/// Does one thing while it is being watched.
fn once(scene: &str, root: &Path) -> Result<(), WriteError> {
    wait_until_watched();
    let folder = root.join("folder");
    let recovery = root.join("recovery");
    let expected = match scene {
        "create" => Expected::Absent,
        _ => Expected::Content(blake3::hash(&old())),
    };
    if scene == "remove" {
        return write::remove(open(&folder).as_fd(), "a".as_ref(), expected, true).map(drop);
    }
    replace_in(&folder, "a", expected, true, Some(&recovery), &mut |_| Ok(new())).map(drop)
}

/// Replaces the file by one version after the other until it is killed.
fn versions(folder: &str, durable: &str, recovery: &str) -> Result<(), WriteError> {
    let recovery = (!recovery.is_empty()).then(|| PathBuf::from(recovery));
    std::io::stdout().write_all(b"ready\n").unwrap();
    for number in 1.. {
        replace_in(
            folder.as_ref(),
            "a",
            Expected::Anything,
            durable == "durable",
            recovery.as_deref(),
            &mut |_| Ok(version(number)),
        )?;
    }
    Ok(())
}

/// Adds one to its own line, as often as asked.
fn slots(
    folder: &str,
    name: &str,
    index: usize,
    count: usize,
    recovery: &str,
) -> Result<(), WriteError> {
    let recovery = (!recovery.is_empty()).then(|| PathBuf::from(recovery));
    let mut done = 0;
    while done < count {
        let add = &mut |content: Option<&[u8]>| Ok(added(content, index));
        match replace_in(folder.as_ref(), name, Expected::Anything, false, recovery.as_deref(), add)
        {
            Ok(_) => done += 1,
            // On a slow disk seven others can take longer than anyone's patience.
            Err(WriteError::Busy { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(crate) fn added(content: Option<&[u8]>, index: usize) -> Vec<u8> {
    let text = std::str::from_utf8(content.unwrap()).unwrap();
    let mut numbers: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
    numbers[index] += 1;
    numbers.iter().map(|number| format!("{number:08}\n")).collect::<String>().into_bytes()
}

/// Holds the lock until it is killed or its stdin ends.
fn hold(folder: &str, name: &str) -> Result<(), WriteError> {
    replace_in(folder.as_ref(), name, Expected::Anything, false, None, &mut |_| {
        std::io::stdout().write_all(b"held\n").unwrap();
        std::io::stdin().read_exact(&mut [0]).map_err(WriteError::refused)?;
        Ok(Vec::new())
    })
    .map(drop)
}

/// Runs out of room on the small file system that is mounted at `root/small`.
fn full(root: &Path) -> Result<(), WriteError> {
    let small = root.join("small");
    let recovery = root.join("recovery");
    let file = small.join("a");
    let write = |content: &[u8], recovery: Option<&Path>| {
        replace_in(&small, "a", Expected::Anything, true, recovery, &mut |_| Ok(content.to_vec()))
    };
    write(&[1; 100 << 10], None)?;
    for size in [200 << 10, 300 << 10, 1 << 20] {
        let error = write(&vec![2; size], None).unwrap_err();
        assert!(matches!(error, WriteError::Full { .. }), "{error:?}");
        assert_eq!(names(&small), ["a"]);
        assert!(fs_err::read(&file).unwrap() == [1; 100 << 10]);
    }
    fs_err::hard_link(&file, small.join("b")).unwrap();
    for (size, recovery) in [(300 << 10, &recovery), (200 << 10, &small)] {
        let error = write(&vec![2; size], Some(recovery)).unwrap_err();
        assert!(matches!(error, WriteError::Full { .. }), "{error:?}");
        assert_eq!(names(&small), ["a", "b"]);
        assert_eq!(names(&root.join("recovery")).len(), 0);
        assert!(fs_err::read(&file).unwrap() == [1; 100 << 10]);
    }
    write(&[3; 120 << 10], Some(&recovery))?;
    assert!(fs_err::read(small.join("b")).unwrap() == [3; 120 << 10]);
    Ok(())
}

/// Writes `new` and says how that went.
fn report(folder: &str, name: &str, recovery: &str) -> Result<(), WriteError> {
    let recovery = (!recovery.is_empty()).then_some(Path::new(recovery));
    let written =
        replace_in(folder.as_ref(), name, Expected::Anything, true, recovery, &mut |_| {
            Ok(b"new".to_vec())
        })?;
    std::io::stderr().write_all(format!("in_place: {}\n", written.in_place).as_bytes()).unwrap();
    Ok(())
}
