//! Carries out what the table says of a program's options and operands.

use super::Walk;
use super::place::Touch;
use super::scripts::{Start, is_shell, shell_named};
use super::simple::Lookup;
use super::state::below;
use super::value::{Atom, Field};
use crate::effect::{Action, Certainty, Changes, Extent, Settlement};
use crate::programs::options::Line;
use crate::programs::{Act, Program};
use crate::syntax::Span;

impl Walk<'_> {
    /// Everything that a command line of a known program does.
    pub(super) fn invoked(&mut self, name: &str, program: &Program, line: &Line, span: Span) {
        self.doubts(line, name, span);
        if !program.marks.told {
            self.found.changes = Changes::Open;
        }
        let doubtful = matches!(program.operands.first(), Some((Act::Doubt, _)));
        let is_told = line.options.iter().any(|(act, _)| *act != Act::Perhaps);
        if doubtful && !is_told && line.operands.is_empty() {
            self.act(name, Act::Doubt, &Field::default(), span);
        }
        let folders = self.state.cwd.clone();
        self.options(name, program, line, span);
        self.operands(name, program, line, span);
        self.state.cwd = folders;
    }

    pub(super) fn options(&mut self, name: &str, program: &Program, line: &Line, span: Span) {
        for (act, value) in &line.options {
            match value {
                Some(value) if *act == Act::Value && program.is_plain_reader() => {
                    self.perhaps(value, span);
                }
                Some(value) => self.option(name, *act, value, span),
                None if *act == Act::Doubt => self.option(name, *act, &Field::default(), span),
                None if *act == Act::Here => self.here(span),
                None => {}
            }
        }
        let commands = line.options.iter().filter(|(act, _)| *act == Act::CommandList);
        let words: Vec<Field> = commands.filter_map(|(_, value)| value.clone()).collect();
        self.command_list(&words, span);
        for (act, value) in &line.options {
            if matches!(act, Act::Cwd | Act::Repository) {
                self.enter(&value.clone().unwrap_or_default(), *act, span);
            }
        }
        if matches!(program.operands.first(), Some((Act::Archive, _))) {
            self.here(span);
        }
    }

    fn option(&mut self, name: &str, act: Act, value: &Field, span: Span) {
        match act {
            Act::Doubt => self.doubt(
                format!("an option of `{name}` can run commands or change where it works"),
                span,
            ),
            Act::Patterns => self.read(value, span),
            Act::Pair
            | Act::Pattern
            | Act::Attached
            | Act::InPlace
            | Act::Unset
            | Act::Replace
            | Act::Replaced
            | Act::Mode => {}
            Act::Cwd | Act::Repository | Act::CommandList | Act::Split => {}
            _ => self.act(name, act, value, span),
        }
    }

    /// One value or operand on its own.
    fn act(&mut self, name: &str, act: Act, value: &Field, span: Span) {
        let certain = Certainty::Certain;
        if value.literal() == Some("-") {
            if act == Act::Script {
                self.script_file(value, span);
            }
            return;
        }
        match act {
            Act::Read | Act::Patterns => self.read(value, span),
            Act::Below => self.touch(Touch::Read, value, Extent::Below, certain, span),
            Act::Write => self.write(value, span),
            Act::Target => self.touch(Touch::Write, value, Extent::Below, certain, span),
            Act::Edit => self.edited(value, span),
            Act::Delete => self.touch(Touch::Delete, value, Extent::Below, certain, span),
            Act::Moved => {
                self.touch(Touch::Read, value, Extent::Below, certain, span);
                self.touch(Touch::Delete, value, Extent::Below, certain, span);
            }
            Act::Script => {
                self.script_file(value, span);
                if is_shell(name) {
                    self.content(value, Start::Given(shell_named(name)), span);
                }
            }
            Act::Code => self.doubt(format!("`{name}` runs code that is not worked out"), span),
            Act::Module => self.module(value, span),
            Act::Name => self.project_script(value, span),
            Act::Shell | Act::Program => self.shell("sh", value, span),
            Act::Connect => match value.literal() {
                Some(host) => {
                    let host = host.rsplit('@').next().unwrap_or(host);
                    self.note(Action::Connect(host.to_owned()), certain, span);
                }
                None => self.doubt("the host of a connection is not known", span),
            },
            Act::Url => self.address(value, span),
            Act::Sent => self.sent(value, span),
            Act::Pairs => self.pair(value, span),
            Act::Archive => self.touch(Touch::Read, value, Extent::Below, certain, span),
            Act::Revisions => self.revision(value, span),
            Act::Remotes => self.remote(name, value, span),
            Act::SedScript => self.sed_script(value, span),
            Act::Perhaps => self.perhaps(value, span),
            Act::Doubt => {
                self.doubt(
                    format!("`{name}` can run commands, and what it does is not worked out"),
                    span,
                );
            }
            _ => {}
        }
    }

    fn edited(&mut self, value: &Field, span: Span) {
        let text = value.prefix();
        let remote =
            text.split_once(':').filter(|(host, _)| !host.contains('/') && !host.is_empty());
        if text.contains("://") {
            return self.address(value, span);
        }
        if let Some((host, _)) = remote {
            let host = host.rsplit('@').next().unwrap_or(host).to_owned();
            self.note(Action::Connect(host), Certainty::Possible, span);
        }
        self.read(value, span);
        self.write(value, span);
    }

    fn operands(&mut self, name: &str, program: &Program, line: &Line, span: Span) {
        let mut operands = line.operands.as_slice();
        let given = [Act::Pattern, Act::Patterns, Act::Mode];
        let mut pattern_given = given.iter().any(|act| line.has(*act));
        let targeted = line.has(Act::Target);
        if line.has(Act::Module) {
            for operand in operands {
                if let Some(text) = operand.literal() {
                    self.perhaps_touched(text, span);
                }
            }
            return;
        }
        if line.has(Act::ShellWords) {
            if let Some(script) = operands.first() {
                self.shell(name, script, span);
            }
            return;
        }
        if line.has(Act::Shell) && program.operands.iter().any(|(act, _)| *act == Act::Command) {
            let kept = operands.len().min(1);
            operands = operands.get(..kept).unwrap_or_default();
        }
        if program.marks.lists && operands.iter().any(|operand| operand.prefix().starts_with('@')) {
            self.doubt(format!("`{name}` reads more arguments from a file"), span);
        }
        let shape = program.operands.as_slice();
        let last = shape
            .last()
            .filter(|_| shape.len() > 1 && shape.iter().rev().skip(1).any(|(_, many)| *many));
        for (index, (act, many)) in shape.iter().enumerate() {
            match act {
                Act::Value if pattern_given && !many => pattern_given = false,
                Act::Command => {
                    let split = line.has(Act::Split);
                    let split = split.then(|| self.split_words(name, line, operands, span));
                    let command = split.as_deref().unwrap_or(operands);
                    return self.run(command, Lookup::WithoutFunctions, span);
                }
                // Behind a text that is split they are not the first words.
                Act::Assignments if line.has(Act::Split) => {}
                Act::Assignments => operands = self.assignments(name, operands, span),
                Act::Joined => return self.joined(operands, span),
                Act::Xargs => return self.xargs(line, span),
                Act::Find => return self.find(operands, line, span),
                Act::Sed => return self.sed(line, span),
                Act::Awk => return self.awk(line, span),
                _ if *many => {
                    let kept = usize::from(last.is_some() && index + 1 < shape.len() && !targeted);
                    let all = operands.len().saturating_sub(kept);
                    let (these, rest) = operands.split_at(all);
                    for operand in these {
                        self.act(name, *act, operand, span);
                    }
                    operands = rest;
                }
                _ => {
                    if let Some((first, rest)) = operands.split_first() {
                        self.act(name, *act, first, span);
                        operands = rest;
                    }
                }
            }
        }
        for operand in operands {
            if let Some(text) = operand.literal() {
                self.perhaps_touched(text, span);
            }
        }
    }

    /// Words that are put together to a script for the shell.
    fn joined(&mut self, words: &[Field], span: Span) {
        let words: Option<Vec<&str>> = words.iter().map(Field::literal).collect();
        match words {
            Some(words) => self.shell("sh", &Field::text(&words.join(" ")), span),
            None => self.doubt("what the shell is told to run is not known", span),
        }
    }

    /// What may be the name of a file or an address. A single character is a separator.
    fn perhaps(&mut self, value: &Field, span: Span) {
        if let Some(text) = value.literal().filter(|text| text.chars().nth(1).is_some()) {
            let text = text.to_owned();
            // `cfg=/a/file`
            if let Some((_, place)) = text.rsplit_once('=') {
                self.perhaps_touched(place, span);
            }
            self.perhaps_touched(&text, span);
        }
    }

    fn here(&mut self, span: Span) {
        self.touch(Touch::Write, &Field::text("."), Extent::Below, Certainty::Possible, span);
    }

    fn enter(&mut self, folder: &Field, act: Act, span: Span) {
        self.read(folder, span);
        self.state.cwd = match folder.literal() {
            Some(path) => self.state.cwd.iter().map(|cwd| below(cwd, path, false)).collect(),
            None => Vec::new(),
        };
        if act == Act::Repository {
            self.check_repository(span);
        }
    }

    /// git runs what the settings of a repository name: another folder may hold another one.
    pub(super) fn check_repository(&mut self, span: Span) {
        let reason =
            "git would work in another folder, where another repository may name commands to run";
        let elsewhere: Vec<_> = self
            .state
            .cwd
            .iter()
            .filter(|cwd| cwd.as_path() != self.setting.cwd)
            .cloned()
            .collect();
        if self.state.cwd.is_empty() {
            self.doubt(reason, span);
        }
        for folder in elsewhere {
            self.doubt_until(reason, span, Settlement::SameRepository(folder));
        }
    }

    /// Data that is sent: `@name` means the file of that name.
    fn sent(&mut self, value: &Field, span: Span) {
        if value.is_open() && value.prefix().is_empty() {
            return self.doubt("what is sent may be a file", span);
        }
        let text = value.prefix();
        let named = text.strip_prefix('@').or_else(|| {
            let (_, file) = text.split_once("=@").or_else(|| text.split_once("=<"))?;
            Some(file)
        });
        if let Some(file) = named {
            let file = file.split(';').next().unwrap_or(file);
            let skipped = text.find(file).unwrap_or_default();
            self.read(&value.without_prefix(skipped), span);
        }
    }

    /// `if=…`, `of=…`
    fn pair(&mut self, value: &Field, span: Span) {
        match value.prefix().split_once('=') {
            Some(("if", _)) => self.read(&value.without_prefix(3), span),
            Some(("of", _)) => self.write(&value.without_prefix(3), span),
            Some(_) => {}
            None => self.doubt("an operand is not known", span),
        }
    }

    fn revision(&mut self, value: &Field, span: Span) {
        let text = value.prefix();
        if text.contains("::") || text.contains("://") {
            return self.remote("", value, span);
        }
        if let Some((_, path)) = text.split_once(':') {
            let skipped = text.len() - path.len();
            let path = value.without_prefix(skipped);
            return self.touch(Touch::Read, &path, Extent::Below, Certainty::Possible, span);
        }
        if value.is_open() {
            return;
        }
        self.touch(Touch::Read, value, Extent::Below, Certainty::Possible, span);
    }

    fn remote(&mut self, name: &str, value: &Field, span: Span) {
        let text = value.prefix().to_owned();
        // These make a folder, and any word may be its name.
        let makes = matches!(name, "git/clone" | "git/init");
        if name == "git/clone" && text.contains(':') {
            let last = text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
            self.write(&Field::text(last.trim_end_matches(".git")), span);
        }
        if text.contains("::") || value.is_open() {
            self.doubt("the address of a repository can name a command to run", span);
        } else if text.contains("://") {
            self.address(value, span);
        } else if makes || text.contains(['/', '.', ':']) {
            self.edited(value, span);
        }
    }
}

/// `word` with the names of files that are not known in place of `{}` and its kin.
pub(super) fn with_names(word: &Field) -> Field {
    let holds =
        word.atoms.iter().any(|atom| matches!(atom, Atom::Text(text) if text.contains('{')));
    if holds { Field::unknown(&word.shown()) } else { word.clone() }
}
