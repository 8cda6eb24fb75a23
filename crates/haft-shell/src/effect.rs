//! What an analysis answers: effects, how sure they are, and doubts.

use std::fmt;
use std::path::{Path, PathBuf};

/// What is known of the shell before the script begins.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The folder it starts in, absolute.
    pub cwd: &'a Path,
    /// The home folder, for `~` and `cd`.
    pub home: Option<&'a Path>,
    /// Variables whose values are certain, beside `HOME` and `PWD`.
    pub variables: &'a [(&'a str, &'a str)],
    /// What reads the script.
    pub shell: Shell,
    /// A way to look into scripts that it runs by name; without it, only their names count.
    pub scripts: Option<Scripts<'a>>,
}

impl<'a> Setting<'a> {
    /// A script for bash, started in `cwd`, of which nothing else is known.
    #[must_use]
    pub const fn new(cwd: &'a Path) -> Self {
        Self { cwd, home: None, variables: &[], shell: Shell::Bash, scripts: None }
    }
}

/// What reads a script.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shell {
    /// Bash: what this crate reads as it does.
    #[default]
    Bash,
    /// A plain shell such as dash, which reads the same unless bash's own forms are used.
    Posix,
    /// Another one, of which nothing is known.
    Other,
}

impl Shell {
    /// By the name of the program.
    #[must_use]
    pub fn named(program: &Path) -> Self {
        match program.file_name().and_then(|name| name.to_str()) {
            Some("bash") => Self::Bash,
            Some("sh" | "dash" | "ash") => Self::Posix,
            _ => Self::Other,
        }
    }
}

/// Gives the text of the script at an absolute path; none if it cannot be read, or is no text.
#[derive(Clone, Copy)]
pub struct Scripts<'a>(pub &'a dyn Fn(&Path) -> Option<String>);

impl fmt::Debug for Scripts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripts")
    }
}

/// What a script would do, and what of it cannot be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Every program that would run, every file and host that would be touched, as far as it is known.
    pub effects: Vec<Effect>,
    /// What could not be worked out. If there is anything here, the script may do more than the
    /// effects say, and somebody has to be asked.
    pub doubts: Vec<Doubt>,
    /// Whether files may be changed that no effect names, beside what is doubted.
    pub changes: Changes,
}

/// What is known of the files that a script changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Changes {
    /// Every one of them is among the effects.
    #[default]
    Told,
    /// A program runs that may change others: a build, a test, a script of the project.
    Open,
}

/// One thing the script would do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Effect {
    /// What it is.
    pub action: Action,
    /// Whether it happens for sure when its command is reached.
    pub certainty: Certainty,
    /// The part of the script that it comes from.
    pub excerpt: String,
    /// The line of the script, from 1.
    pub line: usize,
}

/// What kind of thing is done, and to what.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    /// A program or builtin runs.
    Run(Run),
    /// A file is read, or a folder listed or entered.
    Read(Place),
    /// A file is created or changed.
    Write(Place),
    /// A file is removed.
    Delete(Place),
    /// A host is talked to.
    Connect(String),
}

/// A command, without its quotes and without what is wrapped around it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Run {
    /// Its name and arguments. What is unknown is written as it stands in the script.
    pub words: Vec<String>,
    /// The words as one line: what rules are compared with.
    pub text: String,
    /// What a rule has to say about it.
    pub standing: Standing,
    /// How many of the words, from the first, are certain. Where this is fewer than all, a rule that
    /// denies some arguments may mean this command, although the text does not show it.
    pub known: usize,
}

impl Run {
    /// Whether all of its arguments are certain.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.known == self.words.len()
    }
}

/// What a rule has to say about a command before it may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// A rule has to allow it.
    Asked,
    /// It does nothing that is not among the effects already (`export`, `cd`), or it is another name
    /// of a command that is asked for: only a rule that denies it counts.
    Mentioned,
}

/// A path, or all that is known of one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The absolute path; of a pattern, the folder above its first wildcard. Parts `..` that follow
    /// a name are left in, because what they mean depends on symbolic links.
    pub path: PathBuf,
    /// What is meant by it.
    pub extent: Extent,
}

/// What is meant by a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Extent {
    /// The one file or folder.
    Exact,
    /// The folder and all that is in it.
    Below,
    /// The same, and all that links in it lead to.
    Followed,
    /// The same, where links to folders are followed alone: files take the place of other links.
    Entered,
    /// All that this shell pattern matches: the whole absolute path with its wildcards.
    Matching(String),
    /// Anything anywhere. There is always a doubt beside it.
    Anywhere,
}

/// Whether an effect happens for sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Certainty {
    /// It happens when its command is reached.
    Certain,
    /// It may happen: an argument looks like a path, but the program is not known.
    Possible,
    /// The same of an argument that does not look like one: only where there is a file of that name.
    IfThere,
}

/// Something that could not be worked out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Doubt {
    /// Why, in words for a person.
    pub reason: String,
    /// The part of the script that it is about.
    pub excerpt: String,
    /// The line of the script, from 1.
    pub line: usize,
    /// What would settle it.
    pub settled_by: Settlement,
}

/// What would settle a doubt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Settlement {
    /// Only a person's word.
    Asking,
    /// That the repository which holds this folder is the workspace's own: git runs what the settings
    /// of a repository name.
    SameRepository(PathBuf),
    /// That there is no symbolic link at or below any of these.
    NoLinks(Vec<PathBuf>),
}

impl Analysis {
    /// Whether all that the script does is among the effects.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.doubts.is_empty()
    }

    /// The commands that would run.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.effects.iter().filter_map(|effect| match &effect.action {
            Action::Run(run) => Some(run),
            _ => None,
        })
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.action {
            Action::Run(run) => write!(f, "run {}", run.text),
            Action::Read(place) => write!(f, "read {place}"),
            Action::Write(place) => write!(f, "write {place}"),
            Action::Delete(place) => write!(f, "delete {place}"),
            Action::Connect(host) => write!(f, "connect to {host}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.extent {
            Extent::Exact => write!(f, "{}", self.path.display()),
            Extent::Below => write!(f, "{} and all below it", self.path.display()),
            Extent::Followed | Extent::Entered => {
                write!(f, "{} and all below it, through links", self.path.display())
            }
            Extent::Matching(pattern) => f.write_str(pattern),
            Extent::Anywhere => f.write_str("a file that is not known"),
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, `{}`: {}", self.line, self.excerpt, self.reason)
    }
}
