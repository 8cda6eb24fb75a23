//! `haft doctor`: what works here, what does not, and what to do about it.

mod looks;

use serde::Serialize;

use crate::args::Common;
use crate::environment::Environment;
use crate::open::Haft;
use crate::print::{Printer, set_in};

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    what: &'static str,
    state: State,
    says: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Fine,
    Note,
    Broken,
}

pub(crate) async fn run(
    environment: Environment,
    common: Common,
    printer: Printer<'_>,
) -> anyhow::Result<u8> {
    let json = common.json;
    let mut findings = vec![version(), terminal(&environment)];
    match Haft::open(environment, common) {
        Ok(haft) => findings.extend(looks::all(&haft).await),
        Err(error) => findings.push(broken("config", format!("{error:#}"))),
    }
    let is_broken = findings.iter().any(|finding| finding.state == State::Broken);
    if json {
        printer.json(&findings)?;
    } else {
        lines(&findings, printer).iter().for_each(|line| printer.line(line));
        printer.line(summary(&findings, printer));
    }
    Ok(u8::from(is_broken))
}

fn version() -> Finding {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    fine("haft", format!("{} on {os} {arch}", env!("CARGO_PKG_VERSION")))
}

fn terminal(environment: &Environment) -> Finding {
    if environment.stderr_is_terminal {
        fine("terminal", "you are asked here".to_owned())
    } else {
        note("terminal", "none: what would be asked is denied".to_owned())
    }
}

/// A line for each finding, in columns; what is about the same thing as the line above does not repeat it.
fn lines(findings: &[Finding], printer: Printer<'_>) -> Vec<String> {
    use anstyle::AnsiColor;
    let width = findings.iter().map(|finding| finding.what.len()).max().unwrap_or(0);
    let mut above = "";
    let line = |finding: &Finding| {
        let (colour, mark) = match finding.state {
            State::Fine => (AnsiColor::Green, "✓"),
            State::Note => (AnsiColor::Yellow, "·"),
            State::Broken => (AnsiColor::Red, "✗"),
        };
        let what = if above == finding.what { "" } else { finding.what };
        above = finding.what;
        let what = printer.bold(&format!("{what:width$}"));
        format!("{} {what}  {}", printer.paint(colour, mark), set_in(&finding.says))
    };
    findings.iter().map(line).collect()
}

fn summary(findings: &[Finding], printer: Printer<'_>) -> String {
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let says = match (count(State::Broken), count(State::Note)) {
        (0, 0) => "everything works".to_owned(),
        (0, notes) => format!("everything works; {notes} to note"),
        (broken, notes) => format!("{broken} broken, {notes} to note"),
    };
    printer.dim(&says)
}

fn fine(what: &'static str, says: String) -> Finding {
    Finding { what, state: State::Fine, says }
}

fn note(what: &'static str, says: String) -> Finding {
    Finding { what, state: State::Note, says }
}

fn broken(what: &'static str, says: String) -> Finding {
    Finding { what, state: State::Broken, says }
}
