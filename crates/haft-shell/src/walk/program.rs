//! Programs: their names, and what is known of them.

use super::Walk;
use super::links::{goes_through, has_option};
use super::place::{Touch, anywhere, is_stream};
use super::scripts::{Start, is_shell};
use super::value::{Atom, Field};
use crate::effect::{Action, Certainty, Changes, Extent, Standing};
use crate::programs::{self, Act, Program, options};
use crate::syntax::Span;

/// Where the programs of the table are.
const SYSTEM: [&str; 2] = ["/usr/bin/", "/bin/"];

/// How many words of an unknown program may each be the name of another one.
const MOST_TAILS: usize = 6;

/// How long the name of a file, and a path, may be.
const LONGEST_NAME: usize = 255;
const LONGEST_PATH: usize = 4095;

impl Walk<'_> {
    /// Runs the program `name` with the words `fields`, of which it is the first.
    pub(super) fn program(&mut self, name: &str, fields: &[Field], span: Span) {
        self.note_run(fields, Standing::Asked, span);
        let bare = name.rsplit('/').next().unwrap_or(name);
        if bare != name {
            self.note_alias(bare, fields, span);
        }
        // A program of the same name in another folder is another program.
        if bare != name && !SYSTEM.iter().any(|folder| name.starts_with(folder)) {
            self.found.changes = Changes::Open;
            self.content(&Field::text(name), Start::Executed, span);
        }
        self.sparing(bare, |walk| match programs::find(bare) {
            Some(program) => walk.known_program(bare, program, fields, span),
            None => walk.unknown_program(fields, span),
        });
    }

    /// Notes the same command under the name that rules which deny it would use.
    fn note_alias(&mut self, bare: &str, fields: &[Field], span: Span) {
        let mut named = fields.to_vec();
        if let Some(first) = named.first_mut() {
            *first = Field::text(bare);
        }
        self.note_run(&named, Standing::Mentioned, span);
    }

    fn known_program(
        &mut self,
        name: &str,
        program: &'static Program,
        fields: &[Field],
        span: Span,
    ) {
        let arguments = fields.get(1..).unwrap_or_default();
        if program.marks.doubt && !only_asks(arguments) {
            self.doubt(
                format!("`{name}` can run commands, and what it is told to do is not worked out"),
                span,
            );
        }
        let arguments = if matches!(program.operands.first(), Some((Act::Archive, _))) {
            options::dashed(program, arguments)
        } else if is_shell(name) {
            self.started(arguments, span)
        } else {
            arguments.to_vec()
        };
        for line in options::readings(program, &arguments) {
            self.told(name, program, fields, &line, span);
        }
    }

    /// A command line of a known program, in one way to read it.
    fn told(
        &mut self,
        name: &str,
        program: &'static Program,
        fields: &[Field],
        line: &options::Line,
        span: Span,
    ) {
        let arguments = line.raw.as_slice();
        let only_asks = only_asks(arguments);
        if program.marks.sub {
            self.doubts(line, name, span);
            let folders = self.state.cwd.clone();
            self.options(name, program, line, span);
            self.subcommand(name, program, line, fields, span);
            self.state.cwd = folders;
            return;
        }
        if program.marks.prompts && !only_asks && !line.is_told() {
            self.doubt(format!("`{name}` runs what it reads from its input"), span);
        }
        if program.marks.input && line.operands.is_empty() && !only_asks && !line.is_told() {
            let asked =
                line.options.iter().all(|(act, _)| *act == Act::Flag) && !line.options.is_empty();
            let informs = arguments.iter().all(|argument| {
                matches!(
                    argument.literal(),
                    Some("-v" | "-V" | "-VV" | "-h" | "--version" | "--help")
                )
            });
            if !(asked && informs) {
                self.doubt(format!("`{name}` runs what it reads from its input"), span);
            }
        }
        let outer = std::mem::replace(&mut self.goes_through, goes_through(name, line));
        self.invoked(name, program, line, span);
        self.changed_through(name, line, span);
        self.goes_through = outer;
        self.remade(name, line, span);
        match name {
            "curl" => self.uploaded(line, span),
            "mktemp" => self.temporary(line, span),
            _ => {}
        }
    }

    fn subcommand(
        &mut self,
        name: &str,
        program: &Program,
        line: &options::Line,
        fields: &[Field],
        span: Span,
    ) {
        let Some((first, rest)) = line.operands.split_first() else {
            return;
        };
        let Some(command) = first.literal() else {
            return self.doubt(format!("which command of `{name}` is run is not known"), span);
        };
        let key = format!("{name}/{command}");
        if name == "git" {
            self.check_repository(span);
        }
        match programs::find(&key) {
            Some(program) => {
                for line in options::readings(program, rest) {
                    self.invoked(&key, program, &line, span);
                    self.remade(&key, &line, span);
                }
            }
            // What these do not know as a command of their own is a script of the project.
            None if matches!(name, "npm" | "pnpm" | "yarn") => self.project_script(first, span),
            None if program.marks.open => self.unknown_program(fields, span),
            None => self.doubt(
                format!("`{command}` is not a known command of `{name}`, and may be an alias"),
                span,
            ),
        }
    }

    pub(super) fn doubts(&mut self, line: &options::Line, name: &str, span: Span) {
        for doubt in &line.doubts {
            self.doubt(format!("in a command of `{name}`, {doubt}"), span);
        }
    }

    /// Of a program that is not in the table, only what looks like a path or an address is seen.
    fn unknown_program(&mut self, fields: &[Field], span: Span) {
        self.found.changes = Changes::Open;
        // It may run what follows its name, so rules that deny that count.
        for at in 1..fields.len().min(MOST_TAILS) {
            let tail = fields.get(at..).unwrap_or_default();
            let named = tail.first().and_then(Field::literal).is_some_and(|name| {
                name.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '/')
            });
            if named {
                self.note_run(tail, Standing::Mentioned, span);
            }
        }
        for field in fields.iter().skip(1) {
            let Some(text) = field.literal() else {
                self.perhaps_named(field, span);
                continue;
            };
            let value = match text.split_once('=') {
                Some((_, value)) if !value.is_empty() => value,
                _ if text.starts_with('-') => {
                    // A letter may have its value joined to it.
                    let joined = text.get(2..).filter(|_| !text.starts_with("--"));
                    self.perhaps_there(joined.unwrap_or_default(), span);
                    match text.find(['/', '~']) {
                        Some(at) => text.get(at..).unwrap_or_default(),
                        None => continue,
                    }
                }
                _ => text,
            };
            self.perhaps_there(value, span);
        }
    }

    /// What a word would name of which not all is known.
    fn perhaps_named(&mut self, field: &Field, span: Span) {
        let prefix = field.prefix();
        let named = match prefix.split_once('=') {
            Some((name, _)) => field.without_prefix(name.len() + 1),
            None if prefix.starts_with('-') => {
                field.without_prefix(prefix.find(['/', '~']).unwrap_or(prefix.len()))
            }
            None => field.clone(),
        };
        let is_number = |atom: &Atom| matches!(atom, Atom::Number(_)) || atom.shown().is_empty();
        if named.many || !named.atoms.iter().all(is_number) {
            self.touch(Touch::Read, &named, Extent::Exact, Certainty::Possible, span);
        }
    }

    /// Notes what a word would mean to a program of which nothing is known: any may be a file's name.
    fn perhaps_there(&mut self, text: &str, span: Span) {
        if text.contains(['/', '.']) || file_of(text).is_some() {
            self.perhaps_touched(text, span);
        } else if !text.is_empty() && text.len() <= LONGEST_NAME {
            let value = Field::text(text);
            self.touch(Touch::Read, &value, Extent::Exact, Certainty::IfThere, span);
        }
    }

    /// Notes what a word would mean if it were a path or an address.
    pub(super) fn perhaps_touched(&mut self, text: &str, span: Span) {
        let value = Field::text(text);
        if text.contains("://") || file_of(text).is_some() {
            self.address(&value, span);
        } else if text.contains(['/', '.']) && !is_stream(text) && text.len() <= LONGEST_PATH {
            self.touch(Touch::Read, &value, Extent::Exact, Certainty::Possible, span);
        }
    }

    /// Notes a connection to an address, or the reading of a file that is written as one.
    pub(super) fn address(&mut self, field: &Field, span: Span) {
        let Some(text) = field.literal() else {
            return self.doubt("the address of a connection is not known", span);
        };
        if let Some(path) = file_of(text) {
            if path.contains(['%', '{', '[', '\\']) {
                self.doubt("which file an address means is not worked out", span);
                for touch in [Touch::Read, Touch::Write] {
                    self.note(touch.of(anywhere()), Certainty::Possible, span);
                }
            }
            return self.read(&Field::text(path), span);
        }
        let after = text.split_once("://").map_or(text, |(_, after)| after);
        let host = after.split(['/', '?', '#']).next().unwrap_or(after);
        let host = host.rsplit('@').next().unwrap_or(host);
        // Braces and ranges make several addresses of one; brackets are also for numbers.
        let is_range = |host: &str| host.contains('[') && host.contains('-');
        if host.contains(['{', '}']) || is_range(host) {
            self.doubt("which hosts an address means is not worked out", span);
        }
        if !host.is_empty() {
            self.note(Action::Connect(host.to_owned()), Certainty::Certain, span);
        }
    }

    /// `mktemp` makes a file in the folder for such files unless it is told another place.
    fn temporary(&mut self, line: &options::Line, span: Span) {
        let template = line.raw.iter().rfind(|word| !word.prefix().starts_with('-'));
        let is_bare = |word: &Field| {
            word.literal().is_some_and(|text| text.starts_with("--t") && !text.contains('='))
        };
        let told = has_option(line, "p", &["--t"]) && !line.raw.iter().any(is_bare);
        let there = has_option(line, "t", &[]) || template.is_none() && !told;
        let is_made = !has_option(line, "u", &["--dr"]);
        if is_made && (there || line.raw.iter().any(is_bare)) {
            let template = template.map_or("tmp.XXXXXXXXXX".to_owned(), Field::shown);
            self.write(&Field::text(&format!("/tmp/{template}")), span);
        }
    }

    /// `curl` writes to the files whose addresses it uploads to.
    fn uploaded(&mut self, line: &options::Line, span: Span) {
        let uploads = |word: &Field| {
            let text = word.prefix();
            let long = text.starts_with("--");
            word.may_be_option() && (text.starts_with("--up") || !long && text.contains('T'))
        };
        if !line.raw.iter().any(uploads) {
            return;
        }
        for word in &line.raw {
            let address = word.literal().map(|text| text.strip_prefix("--url=").unwrap_or(text));
            if let Some(path) = address.and_then(file_of) {
                self.write(&Field::text(path), span);
            }
        }
    }
}

/// The path of an address that means a file, whatever host it names.
fn file_of(address: &str) -> Option<&str> {
    let (scheme, rest) = address.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let Some(rest) = rest.strip_prefix("//") else {
        return Some(rest);
    };
    Some(rest.find('/').and_then(|at| rest.get(at..)).unwrap_or(rest))
}

/// Whether a program is only asked what it is.
fn only_asks(arguments: &[Field]) -> bool {
    let is_asking =
        |only: &Field| matches!(only.literal(), Some("--version" | "--help" | "-V" | "-version"));
    matches!(arguments, [only] if is_asking(only))
}
