//! `haft grants`: standing answers, and taking them back.

use haft_runtime::{Store, plain};
use serde_json::json;

use crate::args::GrantsCommand;
use crate::open::Haft;
use crate::print::{Printer, columns};

pub(crate) fn run(
    haft: &Haft,
    printer: Printer<'_>,
    command: Option<GrantsCommand>,
) -> anyhow::Result<u8> {
    match command {
        None => list(haft, printer, false),
        Some(GrantsCommand::List { all }) => list(haft, printer, all),
        Some(GrantsCommand::Revoke { ids }) => {
            let mut revoked = Vec::new();
            let mut unknown = Vec::new();
            for id in ids {
                if haft.store.revoke_grant(&id)? { revoked.push(id) } else { unknown.push(id) }
            }
            let code = u8::from(!unknown.is_empty());
            if haft.common.json {
                printer.json(&json!({ "revoked": revoked, "unknown": unknown }))?;
                return Ok(code);
            }
            revoked.iter().for_each(|id| printer.line(format!("{id}: revoked")));
            unknown.iter().for_each(|id| printer.line(format!("{id}: there is no such grant")));
            Ok(code)
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
