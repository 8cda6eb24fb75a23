//! What the ignore files of git, ripgrep and haft leave out.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};
use rustix::fs::{CWD, Mode, OFlags, openat};

/// Never shown: it is git's, not the project's.
pub(crate) const NEVER: &str = ".git";

/// Ignore files by rank: the word of an earlier kind counts before any of a later one, wherever both stand.
const FILES: [&str; 3] = [".haftignore", ".ignore", ".gitignore"];
/// The rank from which on rules are git's, and end where a repository does.
const GITS: usize = 2;
/// What one ignore file may hold; nobody wrote a larger one by hand.
const LARGEST: u64 = 1024 * 1024;
/// All kinds: those files, the repository's own list, and the user's.
const KINDS: usize = FILES.len() + 2;

/// The rules that hold in a folder: its own, and behind them those of the folders above.
#[derive(Debug)]
pub(crate) struct Rules {
    /// By rank.
    own: [Option<Gitignore>; KINDS],
    /// How many bytes of an absolute path lead to the folder.
    base: usize,
    is_repository: bool,
    above: Option<Arc<Self>>,
}

/// Which names of a folder matter to the rules in it.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Marks {
    files: [bool; FILES.len()],
    repository: bool,
}

impl Marks {
    pub(crate) fn see(&mut self, name: &[u8]) {
        for (file, seen) in FILES.iter().zip(&mut self.files) {
            *seen |= name == file.as_bytes();
        }
        self.repository |= name == NEVER.as_bytes();
    }

    fn any(self) -> bool {
        self.repository || self.files.contains(&true)
    }

    /// All that there might be.
    pub(crate) const ALL: Self = Self { files: [true; FILES.len()], repository: true };
}

impl Rules {
    /// The rules that come from above a folder, the user's own among them.
    pub(crate) fn above(folder: &Path) -> Option<Arc<Self>> {
        let mut rules = user_rules(folder);
        let mut ancestors: Vec<&Path> = folder.ancestors().skip(1).collect();
        ancestors.reverse();
        for ancestor in ancestors {
            rules = Self::within(rules, CWD, ancestor, ancestor, Marks::ALL);
        }
        rules
    }

    /// The rules within a folder that is open as `dir`, or reached from it by `way`.
    pub(crate) fn within(
        above: Option<Arc<Self>>,
        dir: BorrowedFd<'_>,
        way: &Path,
        folder: &Path,
        marks: Marks,
    ) -> Option<Arc<Self>> {
        if !marks.any() {
            return above;
        }
        let mut own = [const { None }; KINDS];
        for ((name, slot), seen) in FILES.iter().zip(&mut own).zip(marks.files) {
            *slot = seen.then(|| read_small(dir, &way.join(name))).flatten().and_then(rules_of);
        }
        let is_repository = marks.repository && exists(dir, &way.join(NEVER));
        if let Some(exclude) = own.get_mut(FILES.len()).filter(|_| is_repository) {
            *exclude = exclude_file(dir, way).and_then(rules_of);
        }
        if !is_repository && own.iter().all(Option::is_none) {
            return above;
        }
        let base = folder.as_os_str().len();
        Some(Arc::new(Self { own, base, is_repository, above }))
    }

    /// Whether something at this absolute path, in the folder that the rules are of, is left out.
    pub(crate) fn leave_out(&self, path: &[u8], is_folder: bool) -> bool {
        let mut words: [Match<()>; KINDS] = [const { Match::None }; KINDS];
        let mut in_repository = true;
        let mut rules = Some(self);
        while let Some(level) = rules {
            let below = path.get(level.base..).unwrap_or_default();
            let below = Path::new(OsStr::from_bytes(below.strip_prefix(b"/").unwrap_or(below)));
            for (kind, (word, own)) in words.iter_mut().zip(&level.own).enumerate() {
                // The user's own list holds everywhere.
                let holds = in_repository || kind < GITS || kind == KINDS - 1;
                if let Some(own) = own.as_ref().filter(|_| word.is_none() && holds) {
                    *word = own.matched(below, is_folder).map(|_| ());
                }
            }
            in_repository &= !level.is_repository;
            rules = level.above.as_deref();
        }
        words.into_iter().find(|word| !word.is_none()).is_some_and(|word| word.is_ignore())
    }
}

/// What the user told git to ignore everywhere; seen from the folder, as git sees it from the work tree.
fn user_rules(folder: &Path) -> Option<Arc<Rules>> {
    let text = read_small(CWD, &gitconfig_excludes_path()?)?;
    let mut own = [const { None }; KINDS];
    *own.last_mut()? = rules_of(text);
    let base = folder.as_os_str().len();
    Some(Arc::new(Rules { own, base, is_repository: false, above: None }))
}

/// The list that a repository has for itself, also where the folder is a work tree of another one.
fn exclude_file(dir: BorrowedFd<'_>, way: &Path) -> Option<Vec<u8>> {
    let git = way.join(NEVER);
    let Some(pointer) = read_small(dir, &git) else {
        return read_small(dir, &git.join("info/exclude"));
    };
    let first_line = |text: Vec<u8>| text.split(|byte| *byte == b'\n').next().map(<[u8]>::to_vec);
    let as_path = |text: &[u8]| PathBuf::from(OsStr::from_bytes(text));
    let own = as_path(first_line(pointer)?.strip_prefix(b"gitdir: ")?);
    let shared = first_line(read_small(CWD, &own.join("commondir"))?)?;
    read_small(CWD, &own.join(as_path(&shared)).join("info/exclude"))
}

fn exists(dir: BorrowedFd<'_>, path: &Path) -> bool {
    rustix::fs::statat(dir, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// A file of a size that people write; no link, as git has it, and never waited for.
fn read_small(dir: BorrowedFd<'_>, path: &Path) -> Option<Vec<u8>> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = fs_err::File::from_parts(
        std::fs::File::from(openat(dir.as_fd(), path, flags, Mode::empty()).ok()?),
        path,
    );
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    let mut text = Vec::new();
    file.take(LARGEST).read_to_end(&mut text).ok()?;
    Some(text)
}

/// The rules in a file; a line that cannot be read is left out, as git and ripgrep do.
fn rules_of(text: Vec<u8>) -> Option<Gitignore> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
    let mut builder = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(text).lines() {
        drop(builder.add_line(None, line).map(|_| ()));
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
