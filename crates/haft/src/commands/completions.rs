//! `haft completions`: what a shell needs to complete our command line.

use clap::CommandFactory;

use crate::args::Cli;
use crate::print::Printer;

pub(crate) fn run(shell: clap_complete::Shell, printer: Printer<'_>) -> anyhow::Result<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "haft", &mut text);
    printer.line(String::from_utf8_lossy(&text).trim_end());
    Ok(0)
}
