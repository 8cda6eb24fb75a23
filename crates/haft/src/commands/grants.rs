//! `haft grants`: standing answers, and taking them back.

use haft_runtime::Store;
use serde_json::json;

use crate::args::GrantsCommand;
use crate::open::Haft;
use crate::print::{Printer, columns};
use crate::terminal::plain;

pub(crate) fn run(
    haft: &Haft,
    printer: Printer<'_>,
    command: Option<GrantsCommand>,
) -> anyhow::Result<u8> {
    match command {
        None => list(haft, printer, false),
        Some(GrantsCommand::List { all }) => list(haft, printer, all),
        Some(GrantsCommand::Revoke { ids }) => {
            let mut missing = false;
            for id in ids {
                let revoked = haft.store.revoke_grant(&id)?;
                missing |= !revoked;
                let says = if revoked { "revoked" } else { "there is no such grant" };
                if haft.common.json {
                    printer.json(&json!({ "id": id, "revoked": revoked }))?;
                } else {
                    printer.line(format!("{id}: {says}"));
                }
            }
            Ok(u8::from(missing))
        }
    }
}

fn list(haft: &Haft, printer: Printer<'_>, all: bool) -> anyhow::Result<u8> {
    let grants = haft.store.grants((!all).then_some(haft.project.as_str()))?;
    if haft.common.json {
        printer.json(&grants)?;
        return Ok(0);
    }
    if grants.is_empty() {
        printer.line("nothing was allowed with \"always\" here");
    }
    let row = |grant: &haft_runtime::Grant| {
        let mut row = vec![grant.id.to_string(), grant.key.clone(), plain(&grant.pattern)];
        row.push(grant.created.strftime("%Y-%m-%d %H:%M").to_string());
        if all {
            row.push(plain(&grant.project));
        }
        row
    };
    let rows: Vec<Vec<String>> = grants.iter().map(row).collect();
    columns(&rows).into_iter().for_each(|line| printer.line(line));
    Ok(0)
}
