//! `haft demo`: a recorded conversation works on a small project of its own, with the real tools.

use anyhow::Context;

use crate::args::{Common, RunArgs};
use crate::environment::Environment;
use crate::open::Haft;
use crate::print::Printer;

/// The sample project: shell scripts with checks of their own, so that every machine can run it.
const PROJECT: [(&str, &str); 3] = [
    ("slug.sh", include_str!("demo/slug.sh")),
    ("test.sh", include_str!("demo/test.sh")),
    ("README.txt", include_str!("demo/README.txt")),
];

/// What a model replied when it was asked to mend the project.
const CONVERSATION: &str = include_str!("demo/conversation.jsonl");

/// What may be done beside editing.
const POLICY: &str = include_str!("demo/policy.toml");

const PROMPT: &str = "The checks of this project fail. Find out why, and mend it.";

pub(crate) async fn run(
    environment: Environment,
    common: Common,
    printer: Printer<'_>,
) -> anyhow::Result<u8> {
    let folder = tempfile::Builder::new().prefix("haft-demo-").tempdir();
    let folder = folder.context("the demo needs a temporary folder")?.keep();
    let project = folder.join("project");
    fs_err::create_dir(&project)?;
    for (name, text) in PROJECT {
        fs_err::write(project.join(name), text)?;
    }
    let (policy, replay) = (folder.join("policy.toml"), folder.join("conversation.jsonl"));
    fs_err::write(&policy, POLICY)?;
    fs_err::write(&replay, CONVERSATION)?;
    let shown = project.display().to_string();
    printer
        .note(format!("A recorded model works on a sample project in {shown}, with real tools."));
    printer.note(format!("> {PROMPT}"));
    let common = Common {
        dir: Some(project.clone()),
        policy: Some(policy),
        allow_edits: true,
        session: None,
        ..common
    };
    let environment = Environment { current_dir: project, ..environment };
    let args = RunArgs {
        prompt: Some(PROMPT.to_owned()),
        replay: Some(replay),
        steps: 20,
        ..RunArgs::default()
    };
    let haft = Haft::open(environment, common)?;
    let code = super::run::run(haft, printer, args).await?;
    printer.note(format!("Now try: haft log --diff --dir {shown}, haft undo --dir {shown}"));
    Ok(code)
}
