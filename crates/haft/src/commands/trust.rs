//! `haft trust`: what of the project's own files may do more than restrict.

use anyhow::bail;
use haft_runtime::permission::LayerKind;
use haft_runtime::plain;
use serde_json::{Value, json};

use crate::args::TrustCommand;
use crate::config;
use crate::open::Haft;
use crate::print::Printer;
use crate::trust::{self, Item};

pub(crate) fn run(
    haft: &Haft,
    printer: Printer<'_>,
    command: Option<TrustCommand>,
) -> anyhow::Result<u8> {
    // Read anew: what the command works with has already been cut down to what is trusted.
    let path = haft.root.join("haft.toml");
    let config = config::load(LayerKind::Project, &path, haft.environment.home.as_deref())?;
    let mut items: Vec<Item> = config.iter().map(Item::of_config).collect();
    items.extend(haft.supplied.items.iter().cloned());
    match command.unwrap_or(TrustCommand::Show) {
        TrustCommand::Show => {}
        TrustCommand::Withdraw => {
            trust::withdraw(haft.store.as_ref(), &haft.project)?;
            if !haft.common.json {
                printer.line("no file of this project is trusted any longer");
                return Ok(0);
            }
        }
        TrustCommand::Give if items.is_empty() => bail!("{} does not exist", path.display()),
        TrustCommand::Give => {
            trust::give(&items, haft.store.as_ref(), &haft.project)?;
            if !haft.common.json {
                given(&items, printer);
                return Ok(0);
            }
        }
    }
    show(haft, printer, &items)
}

fn given(items: &[Item], printer: Printer<'_>) {
    for item in items {
        let path = item.path.display();
        printer.line(match &item.hash {
            Ok(_) => format!("{path} is trusted as it is now; a change asks again"),
            Err(why) => format!("{path} cannot be trusted: {}", plain(why)),
        });
        if item.hash.is_ok() {
            item.widens.iter().for_each(|one| printer.line(format!("  {}", plain(one))));
        }
    }
}

fn show(haft: &Haft, printer: Printer<'_>, items: &[Item]) -> anyhow::Result<u8> {
    if items.is_empty() && !haft.common.json {
        printer.line("this project has no haft.toml, and supplies nothing else that needs trust");
    }
    let mut all: Vec<Value> = Vec::new();
    for item in items {
        let trusted = item.is_trusted(haft.store.as_ref(), &haft.project)?;
        if haft.common.json {
            let (widens, why) = (&item.widens, item.hash.as_ref().err());
            all.push(
                json!({ "file": item.path, "trusted": trusted, "widens": widens, "refused": why }),
            );
            continue;
        }
        let says = match (trusted, &item.hash) {
            (true, _) => "trusted".to_owned(),
            (false, Err(why)) => format!("cannot be trusted: {}", plain(why)),
            (false, Ok(_)) if item.widens.is_empty() => "only restricts; needs no trust".to_owned(),
            (false, Ok(_)) => "not trusted; `haft trust give` would let it do this:".to_owned(),
        };
        printer.line(format!("{}: {says}", item.path.display()));
        item.widens.iter().for_each(|one| printer.line(format!("  {}", plain(one))));
    }
    if haft.common.json {
        printer.json(&all)?;
    }
    Ok(0)
}
