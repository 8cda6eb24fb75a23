//! `haft trust`: whether the project's own haft.toml may widen what is allowed.

use anyhow::bail;
use haft_runtime::permission::LayerKind;
use serde_json::json;

use crate::args::TrustCommand;
use crate::config::{self, Loaded};
use crate::open::Haft;
use crate::print::Printer;
use crate::trust;

pub(crate) fn run(
    haft: &Haft,
    printer: Printer<'_>,
    command: Option<TrustCommand>,
) -> anyhow::Result<u8> {
    // Read anew: what the command works with has already been cut down to what is trusted.
    let path = haft.root.join("haft.toml");
    let config = config::load(LayerKind::Project, &path, haft.environment.home.as_deref())?;
    match (command.unwrap_or(TrustCommand::Show), config) {
        (TrustCommand::Withdraw, config) => {
            trust::withdraw(haft.store.as_ref(), &haft.project)?;
            if haft.common.json {
                return show(haft, printer, config.as_ref());
            }
            printer.line("no file of this project is trusted any longer");
            Ok(0)
        }
        (TrustCommand::Give, Some(config)) => {
            trust::give(&config, haft.store.as_ref(), &haft.project)?;
            if haft.common.json {
                return show(haft, printer, Some(&config));
            }
            printer
                .line(format!("{} is trusted as it is now; a change asks again", path.display()));
            Ok(0)
        }
        (TrustCommand::Give, None) => bail!("{} does not exist", path.display()),
        (TrustCommand::Show, config) => show(haft, printer, config.as_ref()),
    }
}

fn show(haft: &Haft, printer: Printer<'_>, config: Option<&Loaded>) -> anyhow::Result<u8> {
    let Some(config) = config else {
        if haft.common.json {
            printer.json(&json!([]))?;
        } else {
            printer.line("this project has no haft.toml");
        }
        return Ok(0);
    };
    let trusted = trust::is_trusted(config, haft.store.as_ref(), &haft.project)?;
    let widens = config.widens();
    if haft.common.json {
        printer.json(&json!([{ "file": config.path, "trusted": trusted, "widens": widens }]))?;
        return Ok(0);
    }
    let says = match (trusted, widens.is_empty()) {
        (true, _) => "trusted",
        (false, true) => "only restricts; needs no trust",
        (false, false) => "not trusted; `haft trust give` would let it do this:",
    };
    printer.line(format!("{}: {says}", config.path.display()));
    widens.iter().for_each(|one| printer.line(format!("  {one}")));
    Ok(0)
}
