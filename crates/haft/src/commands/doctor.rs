//! `haft doctor`: what works here, what does not, and what to do about it.

use std::path::Path;

use haft_exec::sandbox::layers::State as Layer;
use haft_runtime::permission::check;
use haft_runtime::{Headless, LeftOut, Store, plain};
use haft_tools::SandboxMode;
use serde::Serialize;

use crate::args::Common;
use crate::environment::Environment;
use crate::open::Haft;
use crate::print::Printer;

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
        Ok(haft) => findings.extend(look(&haft).await?),
        Err(error) => findings.push(broken("config", format!("{error:#}"))),
    }
    let is_broken = findings.iter().any(|finding| finding.state == State::Broken);
    if json {
        printer.json(&findings)?;
    } else {
        findings.iter().for_each(|finding| printer.line(line(finding, printer)));
    }
    Ok(u8::from(is_broken))
}

async fn look(haft: &Haft) -> anyhow::Result<Vec<Finding>> {
    let mut findings = vec![fine("workspace", haft.root.display().to_string())];
    for config in &haft.configs {
        let rules = config.rules.rules.len();
        findings.push(fine("config", format!("{}: {rules} rules", config.path.display())));
    }
    if haft.configs.is_empty() {
        findings.push(fine("config", "none; the built-in rules hold".to_owned()));
    }
    findings.extend(haft.warnings.iter().map(|warning| note("config", warning.clone())));
    findings.push(rules(haft));
    findings.push(store(haft));
    findings.extend(sandbox(haft).await);
    findings.extend(tools(haft).await?);
    Ok(findings)
}

fn rules(haft: &Haft) -> Finding {
    match haft.policy() {
        Err(error) => broken("rules", format!("{error:#}")),
        Ok(policy) => match check(&policy).len() {
            0 => fine("rules", "every rule can decide something".to_owned()),
            count => note("rules", format!("{count} can never decide; see `haft policy check`")),
        },
    }
}

/// Opens the store for real: a folder that cannot be written to shows only then.
fn store(haft: &Haft) -> Finding {
    match haft.store.sessions(None, usize::MAX) {
        Ok(sessions) => {
            let place = haft.environment.state_dir.as_deref().unwrap_or(Path::new("nowhere"));
            fine("store", format!("{}: {} sessions", place.display(), sessions.len()))
        }
        Err(error) => broken("store", error.to_string()),
    }
}

/// The shell, and each layer of the sandbox as the kernel gives it here.
async fn sandbox(haft: &Haft) -> Vec<Finding> {
    let commands = haft.commands();
    let settings = commands.settings();
    let mut findings = vec![fine("shell", settings.shell.display().to_string())];
    let mode = settings.sandbox.as_str();
    if settings.sandbox == SandboxMode::Off {
        let says = format!("{mode}: commands may do what you may do");
        findings.push(note("sandbox", says));
        return findings;
    }
    findings.push(fine("sandbox", mode.to_owned()));
    match commands.keeper().layers().await {
        Err(error) => findings.push(broken("sandbox", error.to_string())),
        Ok(layers) => findings.extend(layers.0.iter().map(|(layer, state)| match state {
            Layer::Missing(why) => {
                note("sandbox", format!("{} missing ({why}): {}", layer.name(), layer.without()))
            }
            _ => fine("sandbox", format!("{} in force", layer.name())),
        })),
    }
    findings
}

async fn tools(haft: &Haft) -> anyhow::Result<Vec<Finding>> {
    let runtime = haft.runtime(Headless)?;
    let toolset = haft.toolset(&runtime).await;
    let mut findings = vec![fine("tools", toolset.names().join(", "))];
    let left_out = haft.left_out(&toolset).into_iter();
    let says = |one: LeftOut| note("tools", format!("{}: {}", one.id, plain(&one.reason)));
    findings.extend(left_out.map(says));
    Ok(findings)
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

fn line(finding: &Finding, printer: Printer<'_>) -> String {
    use anstyle::AnsiColor;
    let (colour, mark) = match finding.state {
        State::Fine => (AnsiColor::Green, "✓"),
        State::Note => (AnsiColor::Yellow, "·"),
        State::Broken => (AnsiColor::Red, "✗"),
    };
    format!("{} {:10} {}", printer.paint(colour, mark), finding.what, finding.says)
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
