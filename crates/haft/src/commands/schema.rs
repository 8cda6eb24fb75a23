//! `haft schema`: the tools' definitions as a model's provider wants them.

use anyhow::bail;
use haft_runtime::{Form, Headless, lower};
use serde_json::Value;

use crate::open::Haft;
use crate::print::Printer;

pub(crate) async fn run(
    haft: &Haft,
    printer: Printer<'_>,
    form: Form,
    strict: bool,
    only: &[String],
) -> anyhow::Result<u8> {
    // A tool that is asked for by name is shown, also where a model would have to search for it.
    let runtime = match only {
        [] => haft.runtime(Headless)?,
        _ => haft.runtime_with(haft.registry(), Headless, usize::MAX)?,
    };
    let toolset = haft.toolset(&runtime).await;
    let names = toolset.names();
    if let Some(unknown) = only.iter().find(|name| !names.contains(name)) {
        bail!("there is no tool `{unknown}`; offered: {}", names.join(", "));
    }
    let wanted = toolset
        .advertised()
        .filter(|tool| only.is_empty() || only.iter().any(|id| id == tool.id()));
    let definitions: Vec<Value> =
        wanted.map(|tool| lower(&tool.definition(), form, strict)).collect();
    if haft.common.json {
        printer.json(&definitions)?;
    } else {
        printer.pretty_json(&definitions)?;
    }
    Ok(0)
}
