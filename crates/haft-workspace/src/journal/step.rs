//! One path from one state to another: planned, checked, done.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::Journal;
use super::entry::{Changed, State};
use super::error::{ChangeError, Conflict};
use super::look::{At, Look, look};
use crate::Workspace;
use crate::open::OpenError;
use crate::write::{self, Expected, Hash, Replace};

/// What a path is, or is to become, with the content itself where it is a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Absent,
    /// A file with these bytes; without a mode it keeps its own, or gets that of any new file.
    File {
        /// All of them.
        bytes: Vec<u8>,
        /// Their hash.
        hash: Hash,
        /// The exact permission bits.
        mode: Option<u32>,
    },
    /// The state that an entry names; a file's bytes are those on disk, or those that are kept.
    Of(State),
}

impl Content {
    /// A file with these bytes.
    #[must_use]
    pub fn file(bytes: Vec<u8>, mode: Option<u32>) -> Self {
        let hash = blake3::hash(&bytes);
        Self::File { bytes, hash, mode }
    }

    fn state(&self) -> State {
        match self {
            Self::Absent => State::Absent,
            Self::File { bytes, hash, mode } => {
                State::File { content: *hash, bytes: bytes.len() as u64, mode: *mode }
            }
            Self::Of(state) => state.clone(),
        }
    }
}

/// What is to be done to one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The path: absolute and canonical.
    pub path: PathBuf,
    /// What must be there.
    pub before: Content,
    /// What it becomes.
    pub after: Content,
}

/// A step whose states are known.
pub(super) struct Planned {
    path: PathBuf,
    before: State,
    after: State,
    /// The content that is overwritten, where the caller has it.
    seen: Option<Vec<u8>>,
    /// The new content, where it is not kept.
    new: Option<Vec<u8>>,
}

/// Adds the folders that are missing on the way to what is made.
pub(super) fn with_folders(
    workspace: &Workspace,
    steps: Vec<Step>,
) -> Result<Vec<Step>, ChangeError> {
    let mut made: HashSet<PathBuf> = HashSet::new();
    let mut all = Vec::with_capacity(steps.len());
    for step in steps {
        if step.after != Content::Absent && step.before == Content::Absent {
            for folder in missing_folders(workspace, &step.path, &made)? {
                made.insert(folder.clone());
                let after = Content::Of(State::Folder { mode: None });
                all.push(Step { path: folder, before: Content::Absent, after });
            }
        }
        made.insert(step.path.clone());
        all.push(step);
    }
    Ok(all)
}

/// The folders of `path` that are not there, nor `made` before, outermost first.
fn missing_folders(
    workspace: &Workspace,
    path: &Path,
    made: &HashSet<PathBuf>,
) -> Result<Vec<PathBuf>, ChangeError> {
    let mut missing = Vec::new();
    for folder in path.ancestors().skip(1).take_while(|folder| !made.contains(*folder)) {
        match workspace.open_folder(folder) {
            Ok(_) => break,
            Err(OpenError::Missing { .. }) => match look(workspace, folder)? {
                Look::State(State::Absent) => missing.push(folder.to_owned()),
                _ => return Err(ChangeError::conflict(folder, "is not a folder")),
            },
            Err(error) => return Err(error.into()),
        }
    }
    missing.reverse();
    Ok(missing)
}

/// Finds out what the steps amount to, and that everything is as they expect.
pub(super) fn prepare(
    workspace: &Workspace,
    steps: Vec<Step>,
) -> Result<Vec<Planned>, ChangeError> {
    let mut paths = HashSet::new();
    let several = steps.len() > 1;
    let mut conflicts = Vec::new();
    let mut planned = Vec::with_capacity(steps.len());
    for step in steps {
        if !paths.insert(step.path.clone()) {
            return Err(ChangeError::Twice { path: step.path });
        }
        if makes_a_folder_that_is_there(workspace, &step)? {
            continue;
        }
        // A single file is compared under its lock when it is written; nothing else is at stake.
        if several || matches!(step.before, Content::Of(_)) {
            conflicts.extend(conflict(workspace, &step)?);
        }
        planned.push(Planned::of(step));
    }
    if conflicts.is_empty() { Ok(planned) } else { Err(ChangeError::Conflicts(conflicts)) }
}

/// Whether somebody else has just made the folder, on the way to a file of their own.
fn makes_a_folder_that_is_there(workspace: &Workspace, step: &Step) -> Result<bool, ChangeError> {
    let makes = matches!(step.after, Content::Of(State::Folder { .. }));
    let is_there = |now| matches!(now, Look::State(State::Folder { .. }));
    Ok(makes && step.before == Content::Absent && is_there(look(workspace, &step.path)?))
}

fn conflict(workspace: &Workspace, step: &Step) -> Result<Option<Conflict>, ChangeError> {
    let expected = step.before.state();
    let why = match look(workspace, &step.path)? {
        Look::State(now) if now.agrees_with(&expected) => return Ok(None),
        Look::State(now) => describe(&expected, &now).to_owned(),
        Look::Special(kind) => format!("is {kind} now"),
    };
    Ok(Some(Conflict { path: step.path.clone(), why }))
}

/// How what is there differs from what was expected.
pub(super) fn describe(expected: &State, now: &State) -> &'static str {
    match (expected, now) {
        (State::Absent, _) => "exists already",
        (_, State::Absent) => "is gone",
        (State::File { content: one, .. }, State::File { content: two, .. }) if one == two => {
            "has other permission bits now"
        }
        (State::File { .. }, State::File { .. }) => "was changed by somebody else",
        _ => "is something else now",
    }
}

impl Planned {
    fn of(step: Step) -> Self {
        let (before, after) = (step.before.state(), step.after.state());
        let bytes = |content| match content {
            Content::File { bytes, .. } => Some(bytes),
            Content::Absent | Content::Of(_) => None,
        };
        let (seen, new) = (bytes(step.before), bytes(step.after));
        Self { path: step.path, before, after, seen, new }
    }

    /// From one recorded state to another.
    pub(super) fn between(path: PathBuf, before: State, after: State) -> Self {
        Self { path, before, after, seen: None, new: None }
    }

    /// Whether there is nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.before.agrees_with(&self.after)
    }

    pub(super) fn changed(&self) -> Changed {
        Changed { path: self.path.clone(), before: self.before.clone(), after: self.after.clone() }
    }

    /// Hands the content that is lost by this step to `keep`.
    pub(super) fn overwritten(
        &self,
        workspace: &Workspace,
        keep: &mut dyn FnMut(Hash, &[u8]) -> std::io::Result<()>,
    ) -> Result<(), ChangeError> {
        let State::File { content, .. } = self.before else { return Ok(()) };
        if self.after.content() == Some(content) {
            return Ok(());
        }
        if let Some(seen) = &self.seen {
            return keep(content, seen).map_err(ChangeError::journal);
        }
        let at = At::open(workspace, &self.path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = retry_on_intr(|| rustix::fs::openat(at.dir(), at.name(), flags, Mode::empty()))
            .map_err(|error| at.failed("read", error))?;
        let mut bytes = Vec::new();
        let read = std::fs::File::from(file).read_to_end(&mut bytes);
        read.map_err(|error| at.failed("read", error))?;
        if blake3::hash(&bytes) != content {
            return Err(ChangeError::conflict(&self.path, "was changed by somebody else"));
        }
        keep(content, &bytes).map_err(ChangeError::journal)
    }

    /// Does it, if what is there is what is expected.
    pub(super) fn perform(
        &self,
        workspace: &Workspace,
        journal: &Journal,
    ) -> Result<(), ChangeError> {
        let at = At::open(workspace, &self.path)?;
        match (&self.before, &self.after) {
            _ if self.is_idle() => Ok(()),
            (State::Absent | State::File { .. }, State::File { content, mode, .. }) => {
                if self.before.content() != Some(*content) {
                    self.write(&at, *content, *mode, journal)?;
                }
                set_mode(&at, self.before.mode(), *mode)
            }
            (State::Folder { .. }, State::Folder { mode }) => set_mode(&at, None, *mode),
            (_, State::Absent) => self.remove(&at),
            (State::Absent, State::Folder { mode }) => {
                let wide = Mode::from_raw_mode(0o777);
                match retry_on_intr(|| rustix::fs::mkdirat(at.dir(), at.name(), wide)) {
                    Ok(()) => set_mode(&at, None, *mode),
                    Err(Errno::EXIST) if workspace.open_folder(&self.path).is_ok() => Ok(()),
                    Err(error) => Err(at.failed("make the folder", error)),
                }
            }
            (State::Absent, State::Link { target }) => {
                retry_on_intr(|| rustix::fs::symlinkat(target, at.dir(), at.name()))
                    .map_err(|error| at.failed("make the link", error))
            }
            // Another kind of thing: the old one goes first.
            (_, after) => {
                self.remove(&at)?;
                let new = self.new.clone();
                let (path, after) = (self.path.clone(), after.clone());
                Self { path, before: State::Absent, after, seen: None, new }
                    .perform(workspace, journal)
            }
        }
    }

    fn write(
        &self,
        at: &At<'_>,
        content: Hash,
        mode: Option<u32>,
        journal: &Journal,
    ) -> Result<(), ChangeError> {
        let kept = match &self.new {
            Some(_) => None,
            None => {
                let lost = || ChangeError::Lost { path: self.path.clone() };
                Some(journal.content(content).map_err(ChangeError::journal)?.ok_or_else(lost)?)
            }
        };
        let bytes = kept.as_ref().or(self.new.as_ref()).map(Vec::as_slice).unwrap_or_default();
        let expected = self.before.content().map_or(Expected::Absent, Expected::Content);
        let what = Replace {
            dir: at.dir(),
            name: at.name(),
            expected,
            durable: true,
            mode,
            recovery: Some(&journal.recovery),
        };
        let written = write::replace(&what, &mut |_| Ok(bytes.to_vec()));
        written.map(drop).map_err(|source| self.unwritten(source))
    }

    fn remove(&self, at: &At<'_>) -> Result<(), ChangeError> {
        let unlink =
            |name: &OsStr, flags| retry_on_intr(|| rustix::fs::unlinkat(at.dir(), name, flags));
        match &self.before {
            State::Absent => Ok(()),
            State::File { content, .. } => {
                let expected = Expected::Content(*content);
                let removed = write::remove(at.dir(), at.name(), expected, true);
                removed.map(drop).map_err(|source| self.unwritten(source))
            }
            State::Folder { .. } => match unlink(at.name(), AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY | Errno::EXIST) => {
                    Err(ChangeError::conflict(&self.path, "is not empty"))
                }
                done => done.map_err(|error| at.failed("remove the folder", error)),
            },
            State::Link { target } => match at.target() {
                Ok(now) if now == *target => unlink(at.name(), AtFlags::empty())
                    .map_err(|error| at.failed("remove the link", error)),
                Ok(_) | Err(Errno::INVAL) => {
                    Err(ChangeError::conflict(&self.path, "is something else now"))
                }
                Err(error) => Err(at.failed("read the link", error)),
            },
        }
    }

    /// What a file is not as expected is a conflict like any other.
    fn unwritten(&self, source: write::WriteError) -> ChangeError {
        ChangeError::Write { path: self.path.clone(), source }
    }
}

/// Gives the permission bits that are wanted, unless they are there.
fn set_mode(at: &At<'_>, had: Option<u32>, wanted: Option<u32>) -> Result<(), ChangeError> {
    let Some(wanted) = wanted.filter(|wanted| Some(*wanted) != had) else { return Ok(()) };
    let mode = Mode::from_raw_mode(wanted);
    // Opened first, because changing the mode by name would follow a link.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let set = retry_on_intr(|| rustix::fs::openat(at.dir(), at.name(), flags, Mode::empty()))
        .and_then(|opened| retry_on_intr(|| rustix::fs::fchmod(&opened, mode)));
    set.map_err(|error| at.failed("set the mode of", error))
}
