//! `haft setup`: the config that plugs haft into another program, printed, written or taken out again.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Parser;
use haft_runtime::{plain, plain_lines};
use haft_workspace::write::{self, Expected, Replace};
use serde_json::{Value, json};

use crate::args::{Cli, Common, SetupArgs};
use crate::diff;
use crate::environment::Environment;
use crate::print::Printer;
use crate::setup::{Left, Scope, Target};
use crate::small_file;
use crate::terminal::Terminal;

/// More than any program's config; some keep their history beside it.
const MOST: u64 = 64 * 1024 * 1024;

pub(crate) async fn run(
    environment: Environment,
    common: Common,
    printer: Printer<'_>,
    args: SetupArgs,
) -> anyhow::Result<u8> {
    check_passed_on(&args.extra)?;
    let root = environment.workspace(common.dir.as_deref())?;
    let mut target = args.host.target(args.scope, &environment, &root)?;
    // A link to a file elsewhere stays one: what it leads to is changed.
    if target.file.is_symlink() {
        let link = target.file.display();
        target.file = fs_err::canonicalize(&target.file).with_context(|| {
            format!("{link} is a link that leads to no file; mend or remove it")
        })?;
        target.within.clear();
    }
    let program = match args.scope {
        Scope::User => program(&environment)?,
        // The file is everybody's, and this machine's paths are not.
        Scope::Project => "haft".to_owned(),
    };
    let entry = args.host.entry(args.scope, &program, &args.extra);
    let text = small_file::read_up_to(&target.file, MOST)?;
    let setup = Setup { environment, common, printer, args, target, entry, text };
    if setup.args.write {
        setup.write().await
    } else if setup.args.remove {
        setup.remove().await
    } else {
        setup.print()
    }
}

/// All that one run is about.
struct Setup<'a> {
    environment: Environment,
    common: Common,
    printer: Printer<'a>,
    args: SetupArgs,
    target: Target,
    entry: Value,
    text: Option<String>,
}

impl Setup<'_> {
    /// Shows what would be in the file, and where that is.
    fn print(&self) -> anyhow::Result<u8> {
        let found = self.found();
        let state = match &found {
            Ok(None) => "absent",
            Ok(Some(entry)) if *entry == self.entry => "present",
            Ok(Some(_)) => "other",
            Err(_) => "unreadable",
        };
        if self.common.json {
            self.report(state)?;
            return Ok(0);
        }
        let spot = self.target.spot(&self.args.name);
        let whole = self.target.format.with(None, spot, &self.entry).map_err(anyhow::Error::msg)?;
        let (printer, file) = (self.printer, self.shown());
        printer.note(printer.dim(&match (state, found) {
            ("present", _) => format!("{file} has this already:"),
            ("other", _) => format!(
                "{file} has another `{}`; --write --replace puts this there:",
                self.args.name
            ),
            (_, Err(why)) => {
                format!("{file} cannot be read ({}); this belongs there:", plain(&why))
            }
            _ => format!("for {file}; --write puts it there:"),
        }));
        printer.line(whole.trim_end());
        self.note_path();
        Ok(0)
    }

    async fn write(&self) -> anyhow::Result<u8> {
        let spot = self.target.spot(&self.args.name);
        match self.found() {
            Err(why) => return self.refuse(&why),
            Ok(Some(entry)) if entry == self.entry => {
                return self.done("unchanged", "has this already; nothing was changed");
            }
            Ok(Some(other)) if !self.args.replace => {
                let name = &self.args.name;
                let show = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
                return self.refuse(&format!(
                    "there is another `{name}` already:\n{}\nthis would be:\n{}\nadd --replace to put it there, or choose another --name",
                    show(&other),
                    show(&self.entry)
                ));
            }
            Ok(_) => {}
        }
        match self.target.format.with(self.text.as_deref(), spot, &self.entry) {
            Err(why) => self.refuse(&why),
            Ok(new) => {
                let code = self.change(Left::Text(new), "written", "written").await?;
                if code == 0 && !self.common.json {
                    self.note_path();
                }
                Ok(code)
            }
        }
    }

    async fn remove(&self) -> anyhow::Result<u8> {
        let text = match (self.found(), &self.text) {
            (Err(why), _) => return self.refuse(&why),
            (Ok(Some(_)), Some(text)) => text,
            _ => return self.done("unchanged", "has no such entry; nothing was changed"),
        };
        match self.target.format.without(text, self.target.spot(&self.args.name)) {
            Err(why) => self.refuse(&why),
            Ok(Left::Nothing) => self.change(Left::Nothing, "removed", "removed").await,
            Ok(left) => self.change(left, "removed", "the entry was taken out").await,
        }
    }

    /// Shows what changes, asks, and does it.
    async fn change(&self, left: Left, state: &str, says: &str) -> anyhow::Result<u8> {
        let old = self.text.as_deref().unwrap_or_default();
        let new = match &left {
            Left::Text(new) => new.as_str(),
            Left::Nothing => "",
        };
        if !self.common.json {
            diff::show(self.printer, &self.shown(), old.as_bytes(), new.as_bytes());
        }
        if !self.args.yes {
            let answer = Terminal::find(&self.environment).confirm("write this? y, n [n] ").await;
            match answer {
                Some(true) => {}
                Some(false) => return self.stop("nothing was changed"),
                None => {
                    return self
                        .stop("nothing was changed: nobody can be asked here, so add --yes");
                }
            }
        }
        let changed = change_file(&self.target.file, self.text.as_deref(), &left);
        changed.with_context(|| format!("{} is as it was", self.shown()))?;
        if left == Left::Nothing {
            self.target.remove_empty_folders();
        }
        self.done(state, says)
    }

    fn found(&self) -> Result<Option<Value>, String> {
        self.target.format.entry(self.text.as_deref(), self.target.spot(&self.args.name))
    }

    fn done(&self, state: &str, says: &str) -> anyhow::Result<u8> {
        if self.common.json {
            self.report(state)?;
        } else {
            self.printer.note(format!("{}: {says}", self.shown()));
        }
        Ok(0)
    }

    /// Says what has to be true where a file is for everybody.
    fn note_path(&self) {
        if self.args.scope == Scope::Project {
            let says = "everybody who works here needs haft on their PATH";
            self.printer.note(self.printer.dim(says));
        }
    }

    fn refuse(&self, why: &str) -> anyhow::Result<u8> {
        self.printer.note(format!("haft: {} is left as it is: {}", self.shown(), plain_lines(why)));
        Ok(1)
    }

    fn stop(&self, why: &str) -> anyhow::Result<u8> {
        self.printer.note(format!("haft: {why}"));
        Ok(1)
    }

    fn report(&self, state: &str) -> anyhow::Result<()> {
        self.printer.json(&json!({
            "host": self.args.host.word(),
            "file": self.target.file,
            "table": self.target.table,
            "name": self.args.name,
            "state": state,
            "entry": self.entry,
        }))
    }

    fn shown(&self) -> String {
        plain(&self.target.file.display().to_string())
    }
}

/// Holds what is passed on to what `haft mcp` takes.
fn check_passed_on(extra: &[String]) -> anyhow::Result<()> {
    let words = ["haft", "mcp"].into_iter().chain(extra.iter().map(String::as_str));
    let Err(error) = Cli::try_parse_from(words) else { return Ok(()) };
    if !error.use_stderr() {
        bail!("what stands after `--` starts no server; `haft mcp --help` says what does");
    }
    let says = error.render().to_string();
    bail!("what stands after `--` is for `haft mcp`: {}", says.trim_start_matches("error: ").trim())
}

/// The path by which hosts start us.
fn program(environment: &Environment) -> anyhow::Result<String> {
    let path = environment.program.as_ref().context("the path of this program cannot be found")?;
    match path.to_str() {
        Some(path) => Ok(path.to_owned()),
        None => bail!("{} is not UTF-8, and no config file can name it", path.display()),
    }
}

/// Makes the file what it should be, if it still is what was looked at.
fn change_file(file: &Path, old: Option<&str>, left: &Left) -> anyhow::Result<()> {
    let name: &OsStr = file.file_name().context("it has no name")?;
    let folder: PathBuf = file.parent().map(Path::to_path_buf).unwrap_or_default();
    if old.is_none() {
        fs_err::create_dir_all(&folder)?;
    }
    let dir = fs_err::File::open(&folder)?;
    let expected =
        old.map_or(Expected::Absent, |old| Expected::Content(write::hash(old.as_bytes())));
    match left {
        Left::Nothing => write::remove(dir.as_fd(), name, expected, true).map(drop)?,
        Left::Text(new) => {
            let what = Replace {
                dir: dir.as_fd(),
                name,
                expected,
                durable: true,
                mode: None,
                recovery: None,
            };
            write::replace(&what, &mut |_| Ok(new.clone().into_bytes())).map(drop)?;
        }
    }
    Ok(())
}
