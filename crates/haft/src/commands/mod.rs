//! The commands, one file each.

use std::io::{ErrorKind, Read};

use anyhow::{anyhow, bail};

use crate::args::{Command, Common, ConfigCommand};
use crate::environment::Environment;
use crate::open::Haft;
use crate::print::{Printer, set_in};
use haft_workspace::journal::Way;

mod approve;
mod call;
mod completions;
mod config;
mod demo;
mod doctor;
mod grants;
mod log;
mod man;
mod mcp;
mod policy;
mod run;
mod schema;
mod sessions;
mod setup;
mod tools;
mod trust;
mod undo;

/// More than any call needs, and less than would hurt the machine.
const MOST_INPUT: u64 = 64 * 1024 * 1024;

/// Runs a command; the answer is the exit code.
pub(crate) async fn run(
    command: Command,
    environment: Environment,
    common: Common,
    printer: Printer<'_>,
) -> anyhow::Result<u8> {
    // Opened per command: some need neither workspace nor config, and must work where both are broken.
    let open = |environment, common| {
        let haft = Haft::open(environment, common)?;
        haft.warnings
            .iter()
            .for_each(|text| printer.note(format!("haft: warning: {}", set_in(text))));
        anyhow::Ok(haft)
    };
    match command {
        Command::Call { tool, args, asks } => {
            call::run(&open(environment, common)?, printer, tool, args, asks).await
        }
        Command::Run(args) => run::run(open(environment, common)?, printer, args).await,
        Command::Demo => demo::run(environment, common, printer).await,
        Command::Tools => tools::run(&open(environment, common)?, printer).await,
        Command::Schema { format, strict, tools } => {
            schema::run(&open(environment, common)?, printer, format, strict, &tools).await
        }
        Command::Policy(command) => {
            policy::run(&open(environment, common)?, printer, command).await
        }
        Command::Approve { command } => {
            approve::run(&open(environment, common)?, printer, command).await
        }
        Command::Grants { command } => grants::run(&open(environment, common)?, printer, command),
        Command::Sessions { command } => {
            sessions::run(&open(environment, common)?, printer, command).await
        }
        Command::Log(args) => log::run(&open(environment, common)?, printer, args),
        Command::Undo(args) => undo::run(&open(environment, common)?, printer, Way::Undo, args),
        Command::Redo(args) => undo::run(&open(environment, common)?, printer, Way::Redo, args),
        Command::Config(ConfigCommand::Show) => config::show(&open(environment, common)?, printer),
        Command::Config(ConfigCommand::Schema) => config::schema(printer),
        // It says itself what the others warn about.
        Command::Trust { command } => {
            trust::run(&Haft::open(environment, common)?, printer, command)
        }
        Command::Setup(args) => setup::run(environment, common, printer, args).await,
        Command::Doctor => doctor::run(environment, common, printer).await,
        Command::Mcp(args) => mcp::run(open(environment, common)?, printer, args).await,
        Command::Completions { shell } => completions::run(shell, printer),
        Command::Man { command } => man::run(command.as_deref(), printer),
    }
}

/// The arguments of a call: the text itself, or standard input for `-`.
fn arguments(given: String) -> anyhow::Result<String> {
    if given != "-" {
        return Ok(given);
    }
    let mut text = String::new();
    let read = std::io::stdin().take(MOST_INPUT + 1).read_to_string(&mut text);
    read.map_err(|error| match error.kind() {
        ErrorKind::InvalidData => anyhow!("standard input is not UTF-8 text"),
        _ => anyhow!("standard input cannot be read: {error}"),
    })?;
    if text.len() as u64 > MOST_INPUT {
        bail!("standard input has more than 64 MiB; no call takes so much");
    }
    Ok(text)
}
