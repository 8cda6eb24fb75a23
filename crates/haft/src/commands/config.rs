//! `haft config`: what is in force, where it comes from, and what a file may say.

use haft_runtime::permission::LayerKind;
use schemars::generate::SchemaSettings;
use serde_json::json;

use crate::config::{ConfigFile, Loaded};
use crate::open::Haft;
use crate::print::Printer;

pub(crate) fn show(haft: &Haft, printer: Printer<'_>) -> anyhow::Result<u8> {
    let policy = haft.policy()?;
    let limits = haft.limits();
    if haft.common.json {
        let layers: Vec<_> = policy
            .layers()
            .iter()
            .map(|layer| {
                let rules: Vec<_> = layer.rules.iter().map(|rule| rule.to_ref()).collect();
                json!({ "source": layer.source, "rules": rules })
            })
            .collect();
        let files: Vec<_> = haft.configs.iter().map(|config| &config.path).collect();
        printer.json(&json!({
            "root": haft.root,
            "state": haft.environment.state_dir,
            "files": files,
            "limits": { "lines": limits.lines, "bytes": limits.bytes },
            "layers": layers,
        }))?;
        return Ok(0);
    }
    printer.line(format!("workspace  {}", haft.root.display()));
    let state = haft.environment.state_dir.as_ref();
    let state = state.map_or_else(|| "nowhere".to_owned(), |dir| dir.display().to_string());
    printer.line(format!("state      {state}"));
    for config in &haft.configs {
        printer.line(format!("config     {} ({})", config.path.display(), kind(config)));
    }
    printer.line(format!("limits     {} lines, {} bytes", limits.lines, limits.bytes));
    printer.line(
        "\nrules, the most specific last; in one place the last match wins, a deny always does:",
    );
    for rule in policy.layers().iter().flat_map(|layer| &layer.rules) {
        printer.line(format!("  {}", rule.to_ref()));
    }
    Ok(0)
}

/// The JSON Schema of a config file, for editors.
pub(crate) fn schema(printer: Printer<'_>) -> anyhow::Result<u8> {
    let generator = SchemaSettings::draft2020_12().into_generator();
    printer.pretty_json(&generator.into_root_schema_for::<ConfigFile>())?;
    Ok(0)
}

fn kind(config: &Loaded) -> &'static str {
    match config.kind {
        LayerKind::Managed => "the machine's",
        LayerKind::User => "yours",
        _ => "the project's",
    }
}
