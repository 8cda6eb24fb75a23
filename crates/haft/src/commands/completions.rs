//! `haft completions`: what a shell needs to complete our command line.

use clap::CommandFactory;

use crate::args::Cli;

pub(crate) fn run(shell: clap_complete::Shell) -> anyhow::Result<u8> {
    clap_complete::generate(shell, &mut Cli::command(), "haft", &mut std::io::stdout());
    Ok(0)
}
