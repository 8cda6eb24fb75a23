//! Files that a script writes and that run as well: what they hold by then cannot be seen before.

use std::path::{Path, PathBuf};

use super::Walk;
use super::links::plain;
use crate::effect::{Action, Certainty, Doubt, Effect, Place, Run, Settlement, Standing};
use crate::syntax::Span;

/// Programs that change no file's content, or that compile it: nobody looks into a program.
const SPARING: [&str; 15] = [
    "chmod", "chown", "chgrp", "chattr", "touch", "mkdir", "gcc", "g++", "cc", "c++", "clang",
    "clang++", "ld", "rustc", "go",
];

/// Programs, and the files of a project that name commands for them to run.
const NAMING: [(&[&str], &[&str]); 4] = [
    (&["make", "gmake", "bmake"], &["Makefile", "makefile", "GNUmakefile", "BSDmakefile"]),
    (
        &["ninja", "just", "task"],
        &["build.ninja", "justfile", "Justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml"],
    ),
    (&["npm", "npx", "pnpm", "yarn", "bun"], &["package.json", ".npmrc", ".yarnrc", ".yarnrc.yml"]),
    (
        &["cargo"],
        &[
            "build.rs",
            ".cargo/config",
            ".cargo/config.toml",
            "rust-toolchain",
            "rust-toolchain.toml",
        ],
    ),
];

impl Walk<'_> {
    /// Notes that a place is written. Nothing is said of when: what runs beside it may run later.
    pub(super) fn note_written(&mut self, place: &Place) {
        self.written.insert(plain(&place.path));
    }

    /// Does what the program `name` does, whose files are not kept in mind if it is among the sparing.
    pub(super) fn sparing(&mut self, name: &str, work: impl FnOnce(&mut Self)) {
        let written = SPARING.contains(&name).then(|| self.written.clone());
        work(self);
        if let Some(written) = written {
            self.written = written;
        }
    }

    /// Notes that the commands of a file are run, by the name `shown`.
    pub(super) fn note_started(&mut self, file: &Path, shown: &str, span: Span) {
        let (excerpt, line) = (self.excerpt(span), self.line(span));
        let effect =
            Effect { action: anything(shown), certainty: Certainty::Possible, excerpt, line };
        self.started_files.insert(plain(file), effect);
    }

    /// Adds what files may run that the script writes itself.
    pub(super) fn add_written(&mut self) {
        // What is written through a link has another name.
        let links = self.found.runs().any(|run| matches!(program(run), "ln" | "link"));
        for (file, effect) in &self.started_files {
            let is_written = |written: &PathBuf| {
                links || file.starts_with(written) || file.file_name() == written.file_name()
            };
            if self.written.iter().any(is_written) {
                self.found.effects.push(effect.clone());
            }
        }
        let mut doubts = Vec::new();
        for effect in &self.found.effects {
            let Action::Run(run) = &effect.action else { continue };
            let named = NAMING.iter().find(|(programs, _)| programs.contains(&program(run)));
            let files = named.map_or(&[][..], |(_, files)| *files);
            if self.written.iter().any(|path| files.iter().any(|file| path.ends_with(file))) {
                let name = program(run);
                let reason = format!("the script writes a file that names commands for `{name}`");
                let (excerpt, line) = (effect.excerpt.clone(), effect.line);
                doubts.push(Doubt { reason, excerpt, line, settled_by: Settlement::Asking });
            }
        }
        self.found.doubts.extend(doubts);
    }
}

/// That a script may run whatever there is.
pub(super) fn anything(path: &str) -> Action {
    let (words, text) = (vec![path.to_owned()], path.to_owned());
    Action::Run(Run { words, text, standing: Standing::Mentioned, known: 0 })
}

/// The name of a command's program, without a folder.
fn program(run: &Run) -> &str {
    let first = run.words.first().map_or("", String::as_str);
    first.rsplit('/').next().unwrap_or(first)
}
