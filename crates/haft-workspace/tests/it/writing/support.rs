//! What the tests of writing share: folders, contents, and starting this program again.

use std::ffi::OsStr;
use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use haft_workspace::write::{self, Change, Expected, Replace, WriteError, Written};

/// The variable that tells a child what to do.
pub(crate) const TASK: &str = "HAFT_WRITE_CHILD";

/// Nobody, on every system that the tests run on.
const NOBODY: &str = "65534";

/// A folder with nothing in it, and a recovery folder beside it.
pub(crate) struct Ground {
    root: tempfile::TempDir,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let ground = Self { root };
        for path in [ground.folder(), ground.recovery(), ground.outside()] {
            fs_err::create_dir(path).unwrap();
        }
        ground
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.root.path().join("folder")
    }

    pub(crate) fn recovery(&self) -> PathBuf {
        self.root.path().join("recovery")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.root.path().join("outside")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        fs_err::write(self.file(name), content).unwrap();
    }

    pub(crate) fn get(&self, name: &str) -> Vec<u8> {
        fs_err::read(self.file(name)).unwrap()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        names(&self.folder())
    }

    pub(crate) fn sweep(&self) -> usize {
        write::sweep(open(&self.folder()).as_fd()).unwrap()
    }

    pub(crate) fn replace(
        &self,
        name: &str,
        expected: Expected,
        content: impl AsRef<[u8]>,
    ) -> Result<Written, WriteError> {
        self.change(name, expected, &mut |_| Ok(content.as_ref().to_vec()))
    }

    pub(crate) fn change(
        &self,
        name: &str,
        expected: Expected,
        change: &mut Change<'_>,
    ) -> Result<Written, WriteError> {
        replace_in(&self.folder(), name, expected, true, None, change)
    }

    /// Replaces with a recovery folder at hand.
    pub(crate) fn replace_safely(
        &self,
        name: &str,
        content: impl AsRef<[u8]>,
    ) -> Result<Written, WriteError> {
        let recovery = self.recovery();
        replace_in(&self.folder(), name, Expected::Anything, true, Some(&recovery), &mut |_| {
            Ok(content.as_ref().to_vec())
        })
    }
}

pub(crate) fn replace_in(
    folder: &Path,
    name: &str,
    expected: Expected,
    durable: bool,
    recovery: Option<&Path>,
    change: &mut Change<'_>,
) -> Result<Written, WriteError> {
    let dir = open(folder);
    let name = OsStr::new(name);
    let what = Replace { dir: dir.as_fd(), name, expected, durable, mode: None, recovery };
    write::replace(&what, change)
}

pub(crate) fn open(folder: &Path) -> fs_err::File {
    fs_err::File::open(folder).unwrap()
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs_err::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A content of about 256 KiB that tells which version it is; every version has another length.
pub(crate) fn version(number: u64) -> Vec<u8> {
    let words = (256 << 10) / 8 - usize::try_from(number % 7).unwrap() * 1000;
    number.to_le_bytes().repeat(words)
}

/// Returns which version it is, if it is exactly that.
pub(crate) fn version_of(content: &[u8]) -> Option<u64> {
    let number = u64::from_le_bytes(*content.first_chunk()?);
    (version(number) == content).then_some(number)
}

/// This program, told to do `task` and nothing else.
pub(crate) fn child(task: &[&str]) -> Command {
    with_task(Command::new(program()), task)
}

/// The same, under another program with its own arguments.
pub(crate) fn child_under(wrapper: &[&str], task: &[&str]) -> Command {
    let (first, rest) = wrapper.split_first().unwrap();
    let mut command = Command::new(first);
    command.args(rest).arg(program());
    with_task(command, task)
}

fn program() -> PathBuf {
    std::env::current_exe().unwrap()
}

fn with_task(mut command: Command, task: &[&str]) -> Command {
    command
        .args(["--exact", "writing::child::does_what_the_parent_asks", "--nocapture"])
        .env(TASK, task.join("\n"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs the task without root's powers, and returns what it wrote on stderr.
pub(crate) fn as_nobody(ground: &Ground, task: &[&str]) -> Option<std::process::Output> {
    if !is_root() {
        return Some(child(task).output().unwrap());
    }
    if !has("setpriv") {
        return None;
    }
    fs_err::set_permissions(ground.root(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let wrapper = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"];
    Some(child_under(&wrapper, task).output().unwrap())
}

pub(crate) fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

pub(crate) fn skip(name: &str, reason: &str) {
    std::io::stderr().write_all(format!("SKIP {name}: {reason}\n").as_bytes()).unwrap();
}

pub(crate) fn report(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

pub(crate) fn random(below: u64) -> u64 {
    RandomState::new().hash_one(0) % below
}

/// How often a test is repeated: `default`, or what the variable says.
#[expect(clippy::disallowed_methods, reason = "a test is told by its caller how long to run")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

pub(crate) fn times(name: &str, default: u64) -> u64 {
    variable(name).map_or(default, |count| count.parse().unwrap())
}
