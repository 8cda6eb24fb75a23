//! `haft man`: the manual page.

use anyhow::bail;
use clap::CommandFactory;

use crate::args::Cli;
use crate::print::Printer;

pub(crate) fn run(command: Option<&str>, printer: Printer<'_>) -> anyhow::Result<u8> {
    let mut cli = Cli::command();
    cli.build();
    let page = match command {
        None => cli,
        Some(name) => match cli.find_subcommand(name) {
            Some(command) => command.clone(),
            None => bail!("there is no command `{name}`; `haft help` lists them"),
        },
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    printer.line(String::from_utf8_lossy(&text).trim_end());
    Ok(0)
}
