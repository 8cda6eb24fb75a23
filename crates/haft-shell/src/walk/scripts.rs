//! Scripts inside of scripts: text for another shell, and files whose commands are run.

use std::path::PathBuf;

use super::Walk;
use super::place::is_stream;
use super::state::below;
use super::value::Field;
use super::written::anything;
use crate::effect::{Action, Certainty, Changes, Run, Shell, Standing};
use crate::syntax::Span;

/// What shells that are not bash read in another way.
const BASH_ONLY: [&str; 6] = ["$'", "$\"", "&>", "<<<", "((", "[["];

/// Builtins that shells which are not bash take for the names of programs.
const BASH_BUILTINS: [&str; 20] = [
    "declare",
    "typeset",
    "let",
    "mapfile",
    "readarray",
    "pushd",
    "popd",
    "dirs",
    "shopt",
    "source",
    "builtin",
    "enable",
    "compgen",
    "complete",
    "compopt",
    "caller",
    "disown",
    "suspend",
    "logout",
    "bind",
];

/// Shells whose scripts are read here.
const SHELLS: [&str; 5] = ["bash", "rbash", "sh", "dash", "ash"];

/// How many files are read for one script.
const MOST_FILES: usize = 16;

/// How a file's commands come to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// A shell is given the file.
    Given(Shell),
    /// It is run as a program, and says itself what reads it.
    Executed,
}

/// Whether the program of this name reads scripts as they are read here.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

impl Walk<'_> {
    /// Runs a script in a new shell.
    pub(super) fn shell(&mut self, shell: &str, script: &Field, span: Span) {
        match script.literal() {
            Some(text) => {
                let kind = shell_named(shell);
                let text = text.to_owned();
                self.in_new_shell(kind, &text, span);
            }
            None => self.doubt("a shell runs text that is not known", span),
        }
    }

    /// Doubts what a shell may read in another way than bash.
    pub(super) fn check_shell(&mut self, shell: Shell, text: &str, span: Span) {
        match shell {
            Shell::Bash => {}
            Shell::Posix if !BASH_ONLY.iter().any(|form| text.contains(form)) => {}
            Shell::Posix | Shell::Other => {
                self.doubt("the shell may read the script in another way than bash", span);
            }
        }
    }

    /// Doubts a builtin that the shell may not have: what it would have set stays as it was.
    pub(super) fn check_builtin(&mut self, name: &str, span: Span) {
        if self.shell == Shell::Posix && BASH_BUILTINS.contains(&name) {
            self.doubt(format!("the shell may not know `{name}`"), span);
        }
    }

    /// Doubts a function that is defined by the word `function`, which only bash knows.
    pub(super) fn check_function(&mut self, name: &str, span: Span) {
        let text = self.source.chars.iter().skip(span.start);
        let first: String = text.take_while(|next| !matches!(next, '(' | ' ' | '\t')).collect();
        if self.shell == Shell::Posix && first != name {
            self.doubt("the shell may not know `function`", span);
        }
    }

    fn in_new_shell(&mut self, shell: Shell, text: &str, span: Span) {
        self.check_shell(shell, text, span);
        let outer = std::mem::replace(&mut self.shell, shell);
        let traps = std::mem::take(&mut self.traps);
        self.apart(|walk| {
            walk.state.functions.clear();
            // Variables may have been handed over, or not.
            for (name, value) in &mut walk.state.variables {
                if name != "HOME" {
                    *value = Field::unknown(&format!("${name}"));
                }
            }
            walk.state.own_separators = false;
            walk.inner_script(text, span);
            walk.walk_traps();
        });
        (self.shell, self.traps) = (outer, traps);
    }

    /// A file whose commands are run: it is a program of its own.
    pub(super) fn script_file(&mut self, file: &Field, span: Span) {
        self.found.changes = Changes::Open;
        let is_device = |path: &str| {
            let root = path.starts_with('/').then(|| below("/".as_ref(), path, true));
            let places = self.state.cwd.iter().map(|folder| below(folder, path, true));
            let is_device = |it: PathBuf| it.starts_with("/dev") || it.starts_with("/proc");
            is_stream(path) || places.chain(root).any(is_device)
        };
        match file.literal() {
            Some(path) if path == "-" || is_device(path) => {
                self.doubt("commands are run that come from another command", span);
            }
            Some(path) => {
                let shown = if path.contains('/') { path.to_owned() } else { format!("./{path}") };
                self.note_run(&[Field::text(&shown)], Standing::Asked, span);
                let bare = path.rsplit('/').next().unwrap_or(path);
                self.note_run(&[Field::text(bare)], Standing::Mentioned, span);
                self.read(file, span);
            }
            None => self.doubt("the commands of a file are run, and which file is not known", span),
        }
    }

    /// Looks into a script that is run by name. The name has to be allowed; of what the script runs,
    /// only what a rule denies counts. Where that cannot be told, any such rule counts.
    pub(super) fn content(&mut self, file: &Field, start: Start, span: Span) {
        let Some(path) = file.literal() else { return };
        for folder in self.state.cwd.clone() {
            self.note_started(&below(&folder, path, false), path, span);
        }
        let Some(scripts) = self.setting.scripts else { return };
        for folder in self.state.cwd.clone() {
            let file = below(&folder, path, false);
            if self.scripts_read.contains(&file) {
                continue;
            }
            let is_too_much = self.scripts_read.len() >= MOST_FILES;
            self.scripts_read.insert(file.clone());
            let text = (scripts.0)(&file);
            let read = text.as_deref().and_then(|text| Some((text, reader(text, start)?)));
            match read {
                Some((text, shell)) if !is_too_much => self.mention(shell, path, text, span),
                Some(_) => self.mention_anything(path, span),
                None => {}
            }
        }
        if self.state.cwd.is_empty() && !path.starts_with('/') {
            self.mention_anything(path, span);
        }
    }

    fn mention(&mut self, shell: Shell, path: &str, text: &str, span: Span) {
        let (found, seen) = (std::mem::take(&mut self.found), std::mem::take(&mut self.seen));
        let steps = self.steps;
        self.in_new_shell(shell, text, span);
        let inner = std::mem::replace(&mut self.found, found);
        (self.seen, self.steps) = (seen, steps);
        for run in inner.runs() {
            let run = Run { standing: Standing::Mentioned, ..run.clone() };
            self.note(Action::Run(run), Certainty::Possible, span);
        }
        if !inner.is_proven() {
            self.mention_anything(path, span);
        }
    }

    /// Notes that a script may run whatever there is.
    fn mention_anything(&mut self, path: &str, span: Span) {
        self.note(anything(path), Certainty::Possible, span);
    }
}

/// What reads the text of a script; none if it is no shell that is read here.
fn reader(text: &str, start: Start) -> Option<Shell> {
    if let Start::Given(shell) = start {
        return Some(shell);
    }
    // Without a first line that says so, it is read by whatever shell there is.
    let Some(first) = text.lines().next().and_then(|line| line.strip_prefix("#!")) else {
        return Some(Shell::Posix);
    };
    let mut words = first.split_whitespace().filter(|word| !word.starts_with('-'));
    let program = words.next().and_then(|word| word.rsplit('/').next()).unwrap_or_default();
    let program = if program == "env" { words.next().unwrap_or_default() } else { program };
    is_shell(program).then(|| shell_named(program))
}

pub(super) fn shell_named(name: &str) -> Shell {
    if name == "rbash" { Shell::Bash } else { Shell::named(name.as_ref()) }
}
