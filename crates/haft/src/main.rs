//! The command line of haft.

use std::cell::Cell;
use std::io::ErrorKind;
use std::process::ExitCode;

use anyhow::bail;
use clap::Parser;

use haft_runtime::plain_lines;
mod agents;
mod args;
mod commands;
mod config;
mod custom;
mod diff;
mod environment;
mod journal;
mod open;
mod print;
mod provider;
mod queue;
mod servers;
mod setup;
mod shell;
mod small_file;
mod terminal;
mod trust;
mod web;

use args::Cli;
use environment::Environment;
use print::Printer;

/// What the shell is told when the command line, or a file it names, cannot be used.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    // Before anything else: a keeper of commands must not have started a thread.
    #[cfg(target_os = "linux")]
    if environment::first_argument().is_some_and(|word| word == haft_exec::WORD) {
        haft_exec::keep_commands();
    }
    let cli = Cli::parse();
    let lost = Cell::new(None);
    let result = run(cli, &lost).and_then(|code| match lost.get() {
        None => Ok(code),
        Some(why) => bail!("standard output cannot be written, and the result is lost: {why}"),
    });
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let says = plain_lines(&format!("haft: {error:#}"));
            Printer { colour: false, lost: &lost }.note(says);
            ExitCode::from(USAGE)
        }
    }
}

fn run(cli: Cli, lost: &Cell<Option<ErrorKind>>) -> anyhow::Result<u8> {
    let environment = Environment::read()?;
    let colour = environment.colour && environment.stdout_is_terminal;
    let printer = Printer { colour, lost };
    let work = commands::run(cli.command, environment, cli.common, printer);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(work);
    // Whoever gave up on something that still blocks does not wait for it here.
    runtime.shutdown_background();
    code
}
